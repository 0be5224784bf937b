"""Splitting a text into sentences. Pure."""

from __future__ import annotations

import re

_END = re.compile(
    r"(?<=[.!?])(?<!\.\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!^\d\.)(?<!\betc\.)(?:\s+(?=\S)|[\"'\u201d\u2019)\]]+\s+(?=[^\sa-z]))"
    r"|(?<=[\u3002\uff01\uff1f])|\n+",
    re.MULTILINE,
)


def sentences(text: str) -> list[str]:
    """Return the sentences of *text* in order.

    >>> sentences("No. Use tabs, e.g. here.")
    ['No.', 'Use tabs, e.g. here.']
    """
    return [part.strip() for part in _END.split(text) if part.strip()]
