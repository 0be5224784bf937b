"""The parts that an agent's rows in the words and vector caches are divided into.

A search names the parts that it reads, so it neither meets nor pays for what it
would drop. Which part a memory lies in is said once, by the view ``cache_part``.
"""

from __future__ import annotations

from enum import StrEnum


class CachePart(StrEnum):
    """One part; the letter begins the owner's token, the order numbers the partitions."""

    READ = "a"
    """What every search reads: what is visible, and what stands behind a summary."""
    AWAY = "h"
    """What was put away by itself."""
    SUMMARY = "s"
    """Summaries: their sources are searched, they are shown."""
    PASSING = "p"
    """Turns that state nothing: searched on request."""


def owner(agent_key: int, part: CachePart) -> str:
    """Return the token of an agent's rows of one part in the words cache.

    >>> owner(12, CachePart.READ)
    'a12'
    """
    return f"{part}{agent_key}"
