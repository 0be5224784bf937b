"""The parts into which an agent's rows in the full-text index and the vector cache are divided.

A search names the parts that it reads, so it does not pay for rows that it would drop. The view
``cache_part`` defines in which part a memory is.
"""

from __future__ import annotations

from enum import StrEnum


class CachePart(StrEnum):
    """One part. The letter begins the owner token; the order numbers the vector partitions."""

    SEARCHED = "a"
    """Read by every search: visible memories and superseded sources."""
    HIDDEN = "h"
    """Memories hidden on their own, not by a summary."""
    SUMMARY = "s"
    """Summaries: a search reads their sources and returns them."""
    PASSING = "p"
    """Turns in passing: searched on request."""


def owner_token(agent_key: int, part: CachePart) -> str:
    """Return the token of an agent's rows of one part in the full-text index.

    >>> owner_token(12, CachePart.SEARCHED)
    'a12'
    """
    return f"{part}{agent_key}"
