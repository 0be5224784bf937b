"""What a nap remembers of a session by itself: a few whole memories, and a digest.

Pure, and a function of the messages alone: the same messages give the same memories, and
a longer session gives the same ones for what it had before, wherever they are told apart
by their *slot*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from memd.domain.enums import Origin
from memd.sleep.distil.candidates import Distilled, NapKind
from memd.sleep.distil.choice import chosen
from memd.sleep.distil.compose import composed, turns
from memd.sleep.distil.digest import WENT_WRONG, digest
from memd.sleep.distil.environment import environment
from memd.sleep.distil.exchanges import Exchange, exchanges
from memd.sleep.distil.findings import findings
from memd.sleep.distil.fixes import fixes
from memd.sleep.distil.reports import reports
from memd.sleep.nap.cleaning import Message


def distilled(messages: Sequence[Message]) -> tuple[Distilled, ...]:
    """Return the memories of *messages*, in their order, the digest last.

    >>> [each.kind.value for each in distilled([{"role": "user", "content": "We never push."}])]
    ['preference']
    """
    begun = turns(exchanges(messages))
    whole = [turn.exchange for turn in begun]
    also = (findings(whole), fixes(whole), environment(whole), reports(whole))
    memories = chosen([*composed(begun), *chain.from_iterable(also)], messages)
    return (*memories, *_digest(whole))


def _digest(exchanges: Sequence[Exchange]) -> Iterator[Distilled]:
    """Yield the digest of a session, nothing for one of which it would only say what was asked.

    One that tells what went wrong has a line of a tool's, which could say anything.
    """
    if text := digest(exchanges):
        places = (exchanges[0].place, exchanges[-1].end)
        origin = Origin.TOOL if WENT_WRONG in text else Origin.ASSISTANT
        yield Distilled(text, NapKind.DIGEST, places, "digest", origin)
