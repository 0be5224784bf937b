"""What a nap remembers of a session by itself: a few whole memories, and a digest.

Pure, and a function of the messages alone: the same messages give the same memories, and
a longer session gives the same ones for what it had before, wherever they are told apart
by their *slot*.
"""

from __future__ import annotations

from collections.abc import Sequence

from memd.sleep.nap.candidates import Distilled
from memd.sleep.nap.choice import chosen
from memd.sleep.nap.cleaning import Message
from memd.sleep.nap.compose import composed, turns
from memd.sleep.nap.exchanges import exchanges


def distilled(messages: Sequence[Message]) -> tuple[Distilled, ...]:
    """Return the memories of *messages*, in their order, the digest last.

    >>> [each.text for each in distilled([{"role": "user", "content": "We never push to main."}])]
    ['We never push to main.']
    """
    return chosen(composed(turns(exchanges(messages))), messages)
