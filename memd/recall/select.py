"""How many memories a question gets: those that are worth their place, each thing once. Pure.

An entry costs whoever reads it, and pays by how likely it answers. So the rule is one
comparison: its relevance against the bar of its kind (``weights.py``), which stands higher
where the gate doubts that anything answers (``rankings.answer_bar``). What else a rule could
look at (rank, ratio to the best, the gate's chance, how small the store is) is in the relevance.
What belongs to another project than the one that asks stands under a higher bar in a prompt
(decision 0260), nobody asked for it; a note of no project (0255) and the digest of a talk in none
(0330) under a somewhat higher one, and so does what holds one part of the question and another part
not (``weigh_evenness``), an assistant's turn (0363), and all beside a prompt that asks nothing
(0357).
Of memories that say the same, one is told (``repeats.py``), and what is newer or corrects another
one (``newer.py``) stands before it.

``spread`` caps how much of an answer one foreign source may fill. An attacker who controls a tool's
output or a web page can state the same thing many times in different words (PROMISES H49-H51, H60).
So of memories from outside an answer holds a few of one source, fewer that say the same, one of a
burst, and a few of one client. The client counts because memd knows it, whereas sessions and
sources are names that a client chooses. What the owner or their assistant wrote is not capped.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from memd.base.limits import (
    RECALL_BURST_ITEMS_MAX,
    RECALL_CLIENT_ITEMS_MAX,
    RECALL_SOURCE_ITEMS_MAX,
    RECALL_TWINS_ITEMS_MAX,
)
from memd.domain.enums import Origin, SearchMode, Trust
from memd.domain.recall import ExcludedMemory, RecallRequest
from memd.domain.sleep.consolidation import DIGEST_TAG
from memd.domain.trust import FOREIGN
from memd.domain.values import folder_name
from memd.extract.passing_words import ASKS
from memd.recall.candidates import RankedCandidates
from memd.recall.question import MARKS
from memd.recall.ranking.newer import asks_before, put_newer_first
from memd.recall.ranking.rankings import Ranked
from memd.recall.ranking.scored_memories import Bigrams, bigrams, jaccard
from memd.recall.repeats import tell_once
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.languages import is_english

ENTRIES_MAX = 20  # of one answer
NAMED_MODE_ENTRIES = 5  # where a mode says how to search, and no number how many
REQUEST_BARS = 2.0
"""How many times its bar a memory needs beside what asks nothing: an order, or something told."""
ELSEWHERE_BARS = 4.0
"""How many times its bar a memory of another project needs in a prompt."""
NOTE_BARS = 2.5
"""The same for a note, which is of no session and of no project."""
TALK_BARS = 2.0
"""The same for the digest of a talk in no project: it tells what was asked, and little was done."""
ASSISTANT_BARS = 2.0
"""The same for a turn of an assistant, which a nap has not made a memory of."""
_LOOKUP_WORDS_MAX = 4  # "the nginx port"
COMPARED_SHARE = 0.5  # of its bar: what is less likely is not looked at for saying something again
TWINS_ALIKE = 0.5  # of their word pairs in common: foreign texts that say the same in other words
CUTS_TOLD_MAX = 20
EVEN_BARS = 0.6
"""How many times its bar the nearest needs where it is matched evenly."""
UNEVEN = 0.22
"""The standard deviation of the tokens' cosines up to which a memory is matched evenly."""
_UNEVEN_ODDS = 25.0  # of log odds, for each 1 of that deviation above it
_FARTHER_ODDS = 5.0  # the same, for each 1 that the mean cosine lacks to that of the nearest
_BAR_MAX = 0.3  # what is as likely as that is told, however it is matched
UNREAD_SHARE = 0.5
"""Of the best relevance: what a memory needs for a question that the model does not read."""


class Cut(NamedTuple):
    """A memory that is not told, and why; of the many, few are shown."""

    item: Ranked
    by: Literal["gate", "bar", "repeats", "room"]
    of: Ranked | None = None
    """The one that says the same."""


class Selection(NamedTuple):
    """What may be told, best first, how many of it at most, and what is not among it and why."""

    items: list[Ranked]
    most: int
    cut: list[Cut]

    def all_cut(self, answer: Sequence[Ranked]) -> tuple[ExcludedMemory, ...]:
        """Return what was cut with what was worth its place and is not in *answer* after all."""
        keys = {item.measured.candidate.memory_key for item in answer}
        worth = self.items[: self.most]
        left = [
            Cut(item, "room") for item in worth if item.measured.candidate.memory_key not in keys
        ]
        return tuple(
            ExcludedMemory(
                id=cut.item.measured.candidate.memory_id,
                relevance_score=cut.item.relevance,
                by=cut.by,
                of=None if cut.of is None else cut.of.measured.candidate.memory_id,
            )
            for cut in [*left, *self.cut]
        )


def select(candidates: RankedCandidates, request: RecallRequest, *, reordered: bool) -> Selection:
    """Return what of *candidates* answers *request*: as many as it says, or by the rule.

    *reordered*: somebody who looks at the texts decides which; the rule says how many.
    """
    items, least = candidates.items, request.min_relevance
    if request.search_mode is SearchMode.HYBRID:
        weighed = weigh_evenness(items, request.query)
        if request.preferences == "first":
            asks = _asks(request.query)
            pairs = zip(items, weighed, strict=True)
            weighed = [_raise_bar(*pair, request, asks=asks) for pair in pairs]
        items = put_newer_first(weighed, candidates.kin, request.query)
    if request.top_k is not None or request.search_mode is not SearchMode.HYBRID:
        passing = [item for item in items if item.passes and item.relevance >= least]
        return Selection(passing, request.top_k or NAMED_MODE_ENTRIES, [])
    once, cut = _each_once([item for item in items if item.passes])
    worth = [item for item in once if item.relevance >= max(item.bar, least)][:ENTRIES_MAX]
    kept = {item.measured.candidate.memory_key for item in worth}
    others = [item for item in once if item.measured.candidate.memory_key not in kept]
    cut += [Cut(item, "bar") for item in others]
    cut += [Cut(item, "gate") for item in items if not item.passes]
    cut.sort(key=lambda each: -each.item.relevance)
    pool = [item for item in others if item.relevance >= least] if reordered and worth else []
    return Selection([*worth, *pool], len(worth), cut[:CUTS_TOLD_MAX])


def _each_once(items: Sequence[Ranked]) -> tuple[list[Ranked], list[Cut]]:
    """Return *items* in their order, for each thing the one memory that stands for it."""
    compared = [item for item in items if item.relevance >= COMPARED_SHARE * item.bar]
    others = [item for item in items if item.relevance < COMPARED_SHARE * item.bar]
    once, repetitions = tell_once(compared)
    return [*once, *others], [Cut(each.item, "repeats", each.of) for each in repetitions]


def _asks(query: str) -> bool:
    """Return whether *query* asks something, with or without its mark, or in a few words.

    >>> _asks("which port does redis use"), _asks("Tom wants a crane for Christmas")
    (True, False)
    """
    is_question = not MARKS.isdisjoint(query) or ASKS.match(query) is not None
    return is_question or len(query.split()) <= _LOOKUP_WORDS_MAX


def _raise_bar(item: Ranked, weighed: Ranked, request: RecallRequest, *, asks: bool) -> Ranked:
    """Return *weighed*, *item* with its own bar, with a higher one for what nobody asks about.

    That is anything beside an order or a statement, a memory of a project that neither asks nor is
    named, a note beside a project's memories, and the digest of a talk.
    """
    its, project_id = item.measured.candidate, request.project_id
    times = 1.0 if asks else REQUEST_BARS
    if its.project_id is None and its.kind == DIGEST_TAG:
        times *= TALK_BARS
    elif its.project_id is None:
        times *= NOTE_BARS if project_id is not None and its.session_key is None else 1.0
    elif its.project_id != project_id and not _is_named(its.project_id, request.query):
        times *= ELSEWHERE_BARS if project_id is not None or not asks else 1.0
    if _is_assistants_turn(its):
        times *= ASSISTANT_BARS
    return weighed if times == 1.0 else replace(item, bar=max(times * item.bar, weighed.bar))


def _is_assistants_turn(its: SearchCandidate) -> bool:
    """Return whether *its* is what an assistant said in a session, in no memory of a nap."""
    is_turn = its.session_key is not None and its.speaker is None and its.reference is None
    return is_turn and its.origin == Origin.ASSISTANT and not its.is_composed


def _is_named(project_id: str, query: str) -> bool:
    """Return whether *query* names the folder of a project.

    >>> _is_named("/home/ada/bee-hives", "how did we test the Bee-Hives?")
    True
    """
    name = folder_name(project_id)
    return bool(name) and bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", query, re.IGNORECASE))


# A statement that holds one part of a question, and another part not, has to be surer.
#
# "When is Jannik's birthday?" finds what is known of Jannik, and whose birthday is known. Each
# matches a part of the question as well as an answer does, so the ranker is as sure of it. What
# tells them from an answer is that the parts are matched unevenly: of an answer in other words all
# are matched, none of them well (decision 0349).


def weigh_evenness(items: Sequence[Ranked], query: str) -> list[Ranked]:
    """Return *items* in their order, what a person stated with a bar of its own.

    The bar rises, in log odds, by how unevenly the question's tokens are matched, and by how much
    nearer they come to another memory that is worth its place; the nearest needs less than its bar
    where it is matched evenly. Turns of a dialogue are read with others, and what naps composed
    holds more than one thing: these stay as they are, and so does all where a question asks for
    what was before. Tokens are those of English; for other languages see ``_raise_unread_bars``.
    """
    if not is_english(query):
        return _raise_unread_bars(items)
    if asks_before(query):
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


def _raise_unread_bars(items: Sequence[Ranked]) -> list[Ranked]:
    """Return *items* with bars of at least a half of the best relevance.

    That is of those that are compared by tokens, which the default model does alone: it reads
    English, and takes all texts of another language for alike (decision 0380).
    """
    best = max((item.relevance for item in items if item.passes), default=0.0)
    least = UNREAD_SHARE * best
    return [
        replace(item, bar=max(item.bar, least)) if item.measured.match.mean else item
        for item in items
    ]


# The cap on foreign sources.


def spread(items: Sequence[Ranked]) -> list[Ranked]:
    """Return *items* in their order, without the foreign ones that exceed a cap."""
    counts: Counter[Hashable] = Counter()
    remaining: list[Ranked] = []
    foreign = _WordPairs()
    for item in items:
        candidate = item.measured.candidate
        if is_foreign(candidate):
            groups = list(_groups(candidate))
            if any(counts[group] >= cap for group, cap in groups):
                continue
            pairs = bigrams(candidate.own)
            if foreign.count_alike(pairs) >= RECALL_TWINS_ITEMS_MAX:
                continue
            counts.update(group for group, _ in groups)
            foreign.add(pairs)
        remaining.append(item)
    return remaining


@dataclass
class _WordPairs:
    """The word pairs of several texts; each text is split once."""

    each: list[Bigrams] = field(default_factory=list)
    all: set[tuple[str, str]] = field(default_factory=set)

    def add(self, pairs: Bigrams) -> None:
        self.each.append(pairs)
        self.all |= pairs

    def count_alike(self, pairs: Bigrams) -> int:
        """Return how many of the texts say the same as a text of *pairs*."""
        if len(self.all & pairs) < TWINS_ALIKE * len(pairs):
            return 0  # no single text can hold enough of them
        return sum(jaccard(pairs, each) >= TWINS_ALIKE for each in self.each)


def is_foreign(candidate: SearchCandidate) -> bool:
    """Return whether neither the owner nor their assistant wrote *candidate*."""
    return candidate.trust == Trust.UNTRUSTED or Origin(candidate.origin) in FOREIGN


def _groups(candidate: SearchCandidate) -> Iterator[tuple[Hashable, int]]:
    """Yield each group that a memory counts for, with the cap of that group."""
    if candidate.is_burst:
        yield ("burst", candidate.client_key), RECALL_BURST_ITEMS_MAX
    if candidate.reference is not None:
        yield ("source", candidate.reference.partition("#")[0]), RECALL_SOURCE_ITEMS_MAX
    if Origin(candidate.origin) is Origin.IMPORT:
        return  # one client imports a whole file of the owner's memories
    if candidate.reference is None:
        yield ("unnamed", candidate.client_key), RECALL_SOURCE_ITEMS_MAX
    yield ("client", candidate.client_key), RECALL_CLIENT_ITEMS_MAX
