"""Select the memories of an answer: those likely enough to be worth reading. Pure.

Each memory in an answer costs the reader something, and pays off with its relevance, the calibrated
probability that it answers. So a memory is selected if its relevance reaches its bar. The bar
depends on the kind of the memory (``weights.py``), and rises when the gate doubts that anything
answers (``rankings.answer_bar``). Rank, ratio to the best and size of the store are already part of
the relevance.

In a prompt some memories have a higher bar, because nobody asked for them:

- memories of another project (decision 0260), notes of no project (0255), above all those that do
  not concern the active one (0394), digests of talks in no project (0330), and turns of an
  assistant (0363);
- what naps composed, beside a memory that probably answers (0394);
- memories that match one part of the question and not another (``weigh_evenness``, 0349);
- all memories, if the prompt asks nothing. It gets none if none of them is related to its words
  (0357);
- with the default model, those that a nap composed without a word of a question that is not
  English (0416).

Of memories that say the same only one is selected (``repeats.py``). A memory that is newer than
another one, or corrects it, comes before it (``newer_first.py``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from memd.domain.enums import Origin, Passing, SearchMode
from memd.domain.recall import ExcludedMemory, RecallRequest
from memd.domain.sleep.consolidation import DIGEST_TAG
from memd.domain.values import names_project
from memd.extract.passing import asks_tersely, passing_kind
from memd.extract.passing_words import ASKS
from memd.extract.requests import COMMANDS
from memd.recall.candidates import Ranking
from memd.recall.question import MARKS
from memd.recall.ranking.newer_first import asks_before, put_newer_first
from memd.recall.ranking.rankings import RankedCandidate
from memd.recall.repeats import remove_repetitions
from memd.recall.unread import raise_unread_bars
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.languages import is_english

ENTRIES_MAX = 20  # of one answer
NAMED_MODE_ENTRIES = 5  # of a request that names a search mode and no number
REQUEST_BARS = 3.0
"""Factor of all bars if the prompt asks nothing: an order, or a statement."""
ELSEWHERE_BARS = 4.0
"""Factor of the bar of a memory of another project, in a prompt."""
NOTE_BARS = 2.5
"""Factor of the bar of a note, which belongs to no session and no project."""
UNRELATED_BAR, UNRELATED_REQUEST_BAR = 0.6, 0.9
"""Bars of a note that does not concern the project: if the prompt asks anything, and if not."""
TALK_BARS = 2.0
"""Factor of the bar of a digest of a talk in no project: it has questions, and few results."""
ASSISTANT_BARS = 2.0
"""Factor of the bar of an assistant's turn that no nap made a memory of."""
RELATED_MATCH = 0.4
"""Mean cosine of the tokens from which a memory is related to a prompt without a word of it."""
DIGEST_BESIDE = 0.15
"""Relevance of a digest in a prompt, beside a likelier memory of its session."""
SURE, COMPOSED_BESIDE = 0.7, 0.1
"""Relevance of a composed memory in a prompt, beside one of at least SURE."""
_LOOKUP_WORDS_MAX = 4  # "the nginx port"
_NEXT_CLAUSE = re.compile(r"[.,;:!]\s+\w")  # "cool, lunch" is no lookup
COMPARED_SHARE = 0.5  # of its bar, from which a memory is compared with others that say the same
CUTS_TOLD_MAX = 20
EVEN_BARS = 0.6
"""Factor of the bar of the best match, if all of the question's tokens match it evenly."""
UNEVEN = 0.22
"""Standard deviation of the tokens' cosines up to which a match is even."""
_UNEVEN_ODDS = 25.0  # log odds added to the bar for each 1.0 of deviation above UNEVEN
_FARTHER_ODDS = 5.0  # log odds added for each 1.0 of mean cosine below the best match
_BAR_MAX = 0.3  # an uneven match raises a bar no higher than this


class Exclusion(NamedTuple):
    """A candidate that is not in the answer, and the reason."""

    item: RankedCandidate
    reason: Literal["gate", "bar", "repeats", "room"]
    duplicate_of: RankedCandidate | None = None
    """The memory that says the same, for ``repeats``."""


class Selection(NamedTuple):
    """The selected memories, best first, how many of them to return, and the best of the others."""

    items: list[RankedCandidate]
    count_max: int
    excluded: list[Exclusion]

    def all_excluded(self, answer: Sequence[RankedCandidate]) -> tuple[ExcludedMemory, ...]:
        """Return what was cut, and selected memories that had no room in *answer*."""
        keys = {item.measured.candidate.memory_key for item in answer}
        worth = self.items[: self.count_max]
        left = [
            Exclusion(item, "room")
            for item in worth
            if item.measured.candidate.memory_key not in keys
        ]
        return tuple(
            ExcludedMemory(
                id=cut.item.measured.candidate.memory_id,
                relevance_score=cut.item.relevance,
                by=cut.reason,
                of=None
                if cut.duplicate_of is None
                else cut.duplicate_of.measured.candidate.memory_id,
            )
            for cut in [*left, *self.excluded]
        )


def select(candidates: Ranking, request: RecallRequest, *, reordered: bool) -> Selection:
    """Return the candidates that answer *request*: as many as it names, else those above their bar.

    *reordered* says that a re-ranker orders the result: it gets more candidates to choose from, and
    the bars say only how many to return.
    """
    items, least = candidates.items, request.min_relevance
    in_prompt = request.preferences == "first"
    asks = not in_prompt or _asks(request.query)
    if request.search_mode is SearchMode.HYBRID:
        weighed = weigh_evenness(items, request.query)
        if in_prompt:
            pairs = zip(items, weighed, strict=True)
            weighed = [_raise_bar(*pair, request, asks=asks) for pair in pairs]
            weighed = _raise_unrelated(weighed, candidates.unrelated, asks=asks)
        items = put_newer_first(weighed, candidates.kin, request.query)
    if request.top_k is not None or request.search_mode is not SearchMode.HYBRID:
        passing = [item for item in items if item.passes and item.relevance >= least]
        return Selection(passing, request.top_k or NAMED_MODE_ENTRIES, [])
    once, cut = _each_once([item for item in items if item.passes])
    worth = _reach_bars(once, request, asks=asks)
    kept = {item.measured.candidate.memory_key for item in worth}
    others = [item for item in once if item.measured.candidate.memory_key not in kept]
    cut += [Exclusion(item, "bar") for item in others]
    cut += [Exclusion(item, "gate") for item in items if not item.passes]
    cut.sort(key=lambda each: -each.item.relevance)
    pool = [item for item in others if item.relevance >= least] if reordered and worth else []
    return Selection([*worth, *pool], len(worth), cut[:CUTS_TOLD_MAX])


def _reach_bars(
    items: Sequence[RankedCandidate], request: RecallRequest, *, asks: bool
) -> list[RankedCandidate]:
    """Return the *items* that are worth their place.

    If the prompt asks nothing, they are returned only if one of them is related to its words.
    """
    least = request.min_relevance
    worth = [item for item in items if item.relevance >= max(item.bar, least)][:ENTRIES_MAX]
    if request.preferences == "first":
        worth = _drop_fillers(worth)
    if asks:
        return worth
    return worth if any(map(_is_related, worth)) else []


def _drop_fillers(items: Sequence[RankedCandidate]) -> list[RankedCandidate]:
    """Return *items* without composed memories that hardly answer beside one that probably does.

    These are digests beside a likelier memory of their session, and all beside one of at least
    ``SURE``.
    """
    best: dict[int | None, float] = {}  # by session
    for item in items:
        key = item.measured.candidate.session_key
        best[key] = max(item.relevance, best.get(key, 0.0))
    is_sure = max(best.values(), default=0.0) >= SURE

    def is_filler(item: RankedCandidate) -> bool:
        candidate = item.measured.candidate
        key = candidate.session_key
        is_second = candidate.kind == DIGEST_TAG and key is not None and best[key] > item.relevance
        least = max(DIGEST_BESIDE * is_second, COMPOSED_BESIDE * is_sure)
        return candidate.is_composed and item.relevance < least

    return [item for item in items if not is_filler(item)]


def _is_related(item: RankedCandidate) -> bool:
    """Return whether a memory has a word of the prompt, or words near to its words in meaning.

    Memories that a time brings have no bar, and need neither.
    """
    measured = item.measured
    return bool(measured.matched) or measured.match.mean >= RELATED_MATCH or not item.bar


def _each_once(items: Sequence[RankedCandidate]) -> tuple[list[RankedCandidate], list[Exclusion]]:
    """Return *items* in their order without those that repeat another one, and the repetitions."""
    compared = [item for item in items if item.relevance >= COMPARED_SHARE * item.bar]
    others = [item for item in items if item.relevance < COMPARED_SHARE * item.bar]
    once, repetitions = remove_repetitions(compared)
    return [*once, *others], [
        Exclusion(each.item, "repeats", each.original) for each in repetitions
    ]


def _asks(query: str) -> bool:
    """Return whether *query* is a question, with or without its mark, or a lookup of a few words.

    An order of a few words is none.

    >>> _asks("which port does redis use"), _asks("Tom wants a crane for Christmas")
    (True, False)
    >>> _asks("the nginx port"), _asks("great. coffee. bye")
    (True, False)
    >>> _asks("run it"), _asks("pip install pyarrow"), _asks("relay: how often does it poll")
    (False, False, True)
    """
    if not MARKS.isdisjoint(query) or ASKS.match(query) or asks_tersely(query):
        return True
    is_lookup = len(query.split()) <= _LOOKUP_WORDS_MAX and not _NEXT_CLAUSE.search(query)
    is_order = COMMANDS.match(query) or passing_kind(query) is Passing.REQUEST
    return is_lookup and not is_order


def _raise_bar(
    item: RankedCandidate, weighed: RankedCandidate, request: RecallRequest, *, asks: bool
) -> RankedCandidate:
    """Return *weighed* with a higher bar, if it is of a kind that a prompt did not ask for.

    *item* is the same memory with its original bar, of which the result's is a multiple. *asks* is
    whether the prompt asks anything. The kinds are listed in the module's docstring.
    """
    candidate, project_id = item.measured.candidate, request.project_id
    times = 1.0 if asks else REQUEST_BARS
    if candidate.project_id is None and candidate.kind == DIGEST_TAG:
        times *= TALK_BARS
    elif candidate.project_id is None:
        times *= NOTE_BARS if project_id is not None and candidate.session_key is None else 1.0
    elif candidate.project_id != project_id and not names_project(
        request.query, candidate.project_id
    ):
        times *= ELSEWHERE_BARS if project_id is not None or not asks else 1.0
    if _is_assistants_turn(candidate):
        times *= ASSISTANT_BARS
    return weighed if times == 1.0 else replace(item, bar=max(times * item.bar, weighed.bar))


def _raise_unrelated(
    items: Sequence[RankedCandidate], unrelated: frozenset[int], *, asks: bool
) -> list[RankedCandidate]:
    """Return *items* in their order, those that do not concern the project with a high bar."""
    bar = UNRELATED_BAR if asks else UNRELATED_REQUEST_BAR
    return [
        replace(item, bar=bar) if item.measured.candidate.memory_key in unrelated else item
        for item in items
    ]


def _is_assistants_turn(candidate: SearchCandidate) -> bool:
    """Return whether *candidate* is a turn of an assistant, not a memory that a nap made of it."""
    has_session = candidate.session_key is not None
    is_turn = has_session and candidate.speaker is None and candidate.reference is None
    return is_turn and candidate.origin == Origin.ASSISTANT and not candidate.is_composed


# Near misses (decision 0349): a statement that matches only a part of the question needs more.
#
# "When is Jannik's birthday?" retrieves other facts about Jannik, and other people's birthdays.
# Each of them matches one part of the question as well as an answer would, so the ranker is as sure
# of it. But the match is uneven: an answer in other words matches every part to some degree.


def weigh_evenness(items: Sequence[RankedCandidate], query: str) -> list[RankedCandidate]:
    """Return *items* in their order, with adjusted bars for statements of a person.

    A bar rises (in log odds) with the unevenness of the match, and with its distance to the best
    match. The best match itself has a lower bar if it is even. Memories with a speaker are read
    together with their neighbours, and those of naps hold several things, so their bars stay. All
    bars stay if the question asks for earlier values. For questions that are not English, see
    ``raise_unread_bars``.
    """
    if not is_english(query):
        return raise_unread_bars(items, query)
    if asks_before(query):
        return list(items)
    matches = (item.measured.match.mean for item in items if _is_near_bar(item))
    best = max(matches, default=0.0)
    return [_with_bar(item, best) if _is_weighed(item) else item for item in items]


def _is_near_bar(item: RankedCandidate) -> bool:
    """Return whether a self-contained memory reaches the lowest bar that it can get."""
    candidate = item.measured.candidate
    stands_alone = candidate.speaker is None and not candidate.is_composed
    return stands_alone and item.passes and item.relevance >= EVEN_BARS * item.bar


def _is_weighed(item: RankedCandidate) -> bool:
    is_stated = item.measured.candidate.origin == Origin.PERSON and item.measured.match.mean > 0
    return is_stated and 0 < item.bar < 1 and _is_near_bar(item)


def _with_bar(item: RankedCandidate, best: float) -> RankedCandidate:
    match, bar = item.measured.match, EVEN_BARS * item.bar
    doubt = _UNEVEN_ODDS * max(0.0, match.spread - UNEVEN)
    doubt += _FARTHER_ODDS * max(0.0, best - match.mean)
    odds = bar / (1 - bar) * math.exp(doubt)
    return replace(item, bar=min(odds / (1 + odds), max(_BAR_MAX, item.bar)))
