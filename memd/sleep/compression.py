"""The summary of an old session (SPEC 3.4-3.5). Pure, and the prompt for a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence

SENTENCES = 3
CHARS = 900
TAG = "compressed"

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def in_short(contents: Sequence[str]) -> str:
    """Return the first three sentences of what was said, at most 900 characters.

    >>> in_short(["We met.  It rained!", "We left", "and more"])
    'We met. It rained! We left and more.'
    """
    joined = " ".join(" ".join(contents).split())
    short = " ".join(_SENTENCE_END.split(joined)[:SENTENCES])[:CHARS]
    return f"{short}." if short and short[-1].isalnum() else short
