"""A statement that holds one part of a question, and another part not, has to be surer. Pure.

"When is Jannik's birthday?" finds what is known of Jannik, and whose birthday is known. Each
matches a part of the question as well as an answer does, so the ranker is as sure of it. What tells
them from an answer is that the parts are matched unevenly: of an answer in other words all are
matched, none of them well (decision 0349).

So the bar of what a person stated rises, in log odds, by how unevenly the question's tokens are
matched, and by how much nearer they come to another memory that is worth its place. The nearest
needs less than its bar where it is matched evenly. Turns of a dialogue are read with others, what
naps composed holds more than one thing, and tokens are those of English: these stay as they are,
and so does all where a question asks for what was before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from memd.domain.enums import Origin
from memd.recall.ranking.newer import asks_before
from memd.recall.ranking.rankings import Ranked
from memd.text.languages import is_english

EVEN_BARS = 0.6
"""How many times its bar the nearest needs where it is matched evenly."""
UNEVEN = 0.22
"""The standard deviation of the tokens' cosines up to which a memory is matched evenly."""
_UNEVEN_ODDS = 25.0  # of log odds, for each 1 of that deviation above it
_FARTHER_ODDS = 5.0  # the same, for each 1 that the mean cosine lacks to that of the nearest
_BAR_MAX = 0.3  # what is as likely as that is told, however it is matched


def weigh_evenness(items: Sequence[Ranked], query: str) -> list[Ranked]:
    """Return *items* in their order, what a person stated with a bar of its own."""
    if not is_english(query) or asks_before(query):
        return list(items)
    near = (item.measured.match.mean for item in items if _is_near_bar(item))
    nearest = max(near, default=0.0)
    return [_with_bar(item, nearest) if _is_weighed(item) else item for item in items]


def _is_near_bar(item: Ranked) -> bool:
    """Return whether a memory that stands alone is worth its place at the least bar it can get."""
    its = item.measured.candidate
    stands_alone = its.speaker is None and not its.is_composed
    return stands_alone and item.passes and item.relevance >= EVEN_BARS * item.bar


def _is_weighed(item: Ranked) -> bool:
    is_stated = item.measured.candidate.origin == Origin.PERSON and item.measured.match.mean > 0
    return is_stated and 0 < item.bar < 1 and _is_near_bar(item)


def _with_bar(item: Ranked, nearest: float) -> Ranked:
    match, bar = item.measured.match, EVEN_BARS * item.bar
    doubt = _UNEVEN_ODDS * max(0.0, match.spread - UNEVEN)
    doubt += _FARTHER_ODDS * max(0.0, nearest - match.mean)
    odds = bar / (1 - bar) * math.exp(doubt)
    return replace(item, bar=min(odds / (1 + odds), max(_BAR_MAX, item.bar)))
