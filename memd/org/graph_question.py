"""Parse a question about the graph: the things it names, and the relations to walk, in order.

A *mention* names a thing, a *cue* asks for a relation. The cue nearest to the mention is walked
first: "Who leads the team that uses Kafka?" begins at Kafka, walks *uses* backwards to a team and
*leads* backwards to a person. An ambiguous question has several readings, each with a cost. The
cheapest reading that leads anywhere in the graph gives the answer (``graph_search.py``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, islice, permutations, product
from typing import NamedTuple

from memd.base.limits import QUERY_TERMS_MAX
from memd.domain.org.graph import fold_name
from memd.extract.entity_names import TEAM
from memd.org.cues import NOUNS, PHRASE_WORDS_MAX, VERBS, WEAK
from memd.text.words import ENGLISH_FUNCTION_WORDS

# Bounds of the combinatorial search for readings. Real questions stay far below them.
NAME_WORDS_MAX = 8
MENTIONS_MAX = 4
CUES_MAX = 4
READINGS_MAX = 400
_CHOICES_MAX = {1: 10, 2: 8, 3: 4, 4: 2}  # readings of each cue, by the number of cues

COST_MAX = 3.0
"""A reading that costs more is dropped: it would answer another question."""

_WORD = re.compile(r"[^\s?!,;()\"“”\[\]]+")
_GENITIVE = re.compile(r"(?:['\u2019]s|(?<=s)['\u2019])$", re.IGNORECASE)  # "Ann's", "users'"
_PUNCTUATION = ".:'\u2019`*"
_NEGATIONS = frozenset(("not", "never", "cannot", "without"))
_RELATIVE = frozenset(("who", "whom", "which", "whose", "that", "what"))
_WH = frozenset(("who", "whom", "what", "which", "where", "whose", "how"))
_AUXILIARIES = frozenset(
    "do does did is are was were has have had may must can could should will would".split()  # noqa: SIM905
)
_WE = frozenset(("we", "us", "our", "everyone", "everybody"))
_ARTICLES = frozenset(("the", "a", "an", "this", "that"))
_OPENING = frozenset(("in", "on", "at", "by", "to"))
_OF = frozenset(("of", "for", "behind", "from", "to", "in", "at"))  # "the owner of Atlas"

OTHER = "related_to"
"""The relation of statements whose own relation memd does not know."""

_COST_OTHER_READING = 1.0  # for each place of a cue's reading after its first
_COST_ACROSS = 1.0  # for walking a cue before a nearer one on the other side of the mention
_COST_SAME_SIDE = 3.0  # the same for a cue on the same side
_COST_LEFT_OUT = 1.5  # for each ignored cue
_COST_DISTANCE = 0.05  # for the distance of the first cue: only decides between equal readings


class QuestionWord(NamedTuple):
    """One word of a question."""

    raw: str
    """As written, without punctuation."""
    text: str
    """In lower case, without a genitive ending."""
    genitive: bool


class Mention(NamedTuple):
    """A known thing, named by the words *first* to *last* (inclusive) of the question."""

    name: str
    first: int
    last: int


class Cue(NamedTuple):
    """The words *first* to *last* (inclusive) that ask for a relation."""

    first: int
    last: int
    readings: tuple[tuple[str, bool], ...]
    """Pairs of relation and direction, True for forward, seen from a thing that precedes the cue.

    The direction is reversed for a verb whose thing follows it.
    """
    noun: bool = False
    negated: bool = False
    weak: bool = False
    """A reading may ignore the cue."""
    word: str | None = None
    """The stem of a relation that memd does not know."""
    subject_first: bool = False
    """The verb's subject precedes it, also where the mention follows: "does the team use"."""


class Hop(NamedTuple):
    """One relation to walk: *forward* from subject to object."""

    relation: str
    forward: bool
    negated: bool = False
    word: str | None = None
    """The stem of a relation that memd does not know."""


class QuestionReading(NamedTuple):
    """One reading of a question: its starting thing and the relations to walk."""

    cost: float
    mention: Mention
    hops: tuple[Hop, ...]


def split_words(question: str) -> tuple[QuestionWord, ...]:
    """Return the words of a question, at most QUERY_TERMS_MAX."""
    words: list[QuestionWord] = []
    for match in islice(_WORD.finditer(question), QUERY_TERMS_MAX):
        raw = match.group().strip(_PUNCTUATION) or match.group()
        text = _GENITIVE.sub("", match.group().casefold().strip(".:`*"))
        genitive = bool(_GENITIVE.search(match.group()))
        words.append(QuestionWord(raw, text.replace("\u2019", "'"), genitive))
    return tuple(words)


def name_candidates(tokens: Sequence[QuestionWord]) -> dict[str, list[tuple[int, int]]]:
    """Return every possible name in a question, folded, with its (first, last) places.

    "we" names the team that texts without a subject are about.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for first in range(len(tokens)):
        for last in range(first, min(first + NAME_WORDS_MAX, len(tokens))):
            if first == last and tokens[first].text in ENGLISH_FUNCTION_WORDS - _WE:
                continue
            name = fold_name(" ".join(word.text for word in tokens[first : last + 1]))
            if name:
                places.setdefault(name, []).append((first, last))
            if tokens[last].genitive:
                break
        if tokens[first].text in _WE:
            places.setdefault(fold_name(TEAM), []).append((first, first))
    return places


def find_mentions(
    tokens: Sequence[QuestionWord],
    places: dict[str, list[tuple[int, int]]],
    known: Collection[str],
) -> tuple[Mention, ...]:
    """Return the *known* things that a question names; of overlapping names the longest.

    A noun that only gives the kind of the answer ("which team", "the tool that") is no mention if
    the question names another thing.
    """
    candidates = [Mention(name, *place) for name in known for place in places.get(name, ())]
    candidates.sort(key=lambda mention: (mention.first - mention.last, mention.first))
    covered: set[int] = set()
    mentions: list[Mention] = []
    for mention in candidates:
        place = set(range(mention.first, mention.last + 1))
        if not place & covered:
            covered |= place
            mentions.append(mention)
    things = [mention for mention in mentions if not _is_kind(tokens, mention)]
    return tuple(sorted(things or mentions, key=lambda mention: mention.first))


def _is_kind(tokens: Sequence[QuestionWord], mention: Mention) -> bool:
    """Return whether *mention* is one noun in small letters that gives the answer's kind."""
    word = tokens[mention.last]
    noun_place = mention.first + (tokens[mention.first].text in _ARTICLES)
    if noun_place != mention.last or word.raw != word.raw.lower():
        return False
    if word.text in _WE:
        return True
    before = tokens[mention.first - 1].text if mention.first else ""
    after = tokens[mention.last + 1].text if mention.last + 1 < len(tokens) else ""
    return (
        word.text in NOUNS
        or word.text in VERBS
        or before in {"which", "what", "whose"}
        or after in {"that", "which", "who", "whom", "whose"}
    )


def find_cues(tokens: Sequence[QuestionWord], mentions: Sequence[Mention]) -> tuple[Cue, ...]:
    """Return the words that ask for relations, in order, at most CUES_MAX.

    Nouns and verbs of the tables come first, then "where", then words that may be relations which
    memd does not know. A question without any, "who is Ann?", asks for *is* and *is_a*.
    """
    covered = {place for mention in mentions for place in range(mention.first, mention.last + 1)}
    cues: list[Cue] = []
    at = 0
    while at < len(tokens):
        cue = (
            None if at in covered else _noun_cue(tokens, at) or _verb_cue(tokens, at, covered, cues)
        )
        if cue is not None:
            cues.append(cue)
            at = cue.last
        at += 1
    asks_place = any("located_in" in dict(cue.readings) for cue in cues)
    where = next((place for place, word in enumerate(tokens) if word.text == "where"), None)
    if where is not None and not asks_place:
        cues.append(Cue(where, where, (("located_in", True),), noun=True, weak=bool(cues)))
    cues = sorted(cues, key=lambda cue: cue.first)[:CUES_MAX]
    covered |= {place for cue in cues for place in range(cue.first, cue.last + 1)}
    unknown = _unknown_cues(tokens, covered)
    cues = sorted([*cues, *unknown[: CUES_MAX - len(cues)]], key=lambda cue: cue.first)
    if not cues and any(word.text in {"is", "are", "was", "were", "who"} for word in tokens):
        cues.append(Cue(-1, -1, (("is", True), ("is_a", True)), noun=True))
    return tuple(cues)


def _unknown_cues(tokens: Sequence[QuestionWord], covered: Collection[int]) -> list[Cue]:
    """Return the words that may be a relation memd does not know: "Ann -> mentors -> Bob"."""
    return [
        Cue(
            at,
            at,
            ((OTHER, True),),
            weak=True,
            negated=_is_negated(tokens, at),
            word=stem(word.text),
            subject_first=_is_inverted(tokens, at, at + 1, ()),
        )
        for at, word in enumerate(tokens)
        if at not in covered
        and word.text not in ENGLISH_FUNCTION_WORDS
        and word.text not in NOUNS
        and word.text not in _AUXILIARIES
        and word.raw == word.raw.lower()
    ]


def stem(word: str) -> str:
    """Return *word* without the ending of an English verb form.

    >>> stem("mentors") == stem("mentored") == stem("mentoring")
    True
    """
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


def _noun_cue(tokens: Sequence[QuestionWord], at: int) -> Cue | None:
    """Return the cue of the noun at *at*; None without a possessor ("Ann's team", "team of")."""
    options = NOUNS.get(tokens[at].text)
    if options is None:
        return None
    has_possessor = at > 0 and (
        tokens[at - 1].genitive or tokens[at - 1].text in {"whose", "our", "their"}
    )
    has_of = at + 1 < len(tokens) and tokens[at + 1].text in _OF
    if not (has_possessor or has_of or tokens[at].genitive):
        return None
    # "leads of" is a noun only after an article, else a verb.
    has_article = at > 0 and tokens[at - 1].text in {"the", "a", "an"}
    if not has_possessor and tokens[at].text in VERBS and not has_article:
        return None
    return Cue(at, at, tuple((option.relation, option.forward) for option in options), noun=True)


def _verb_cue(
    tokens: Sequence[QuestionWord], at: int, covered: Collection[int], before: Sequence[Cue]
) -> Cue | None:
    """Return the cue of the longest verb phrase that begins at *at*; *before*: previous cues."""
    for length in range(min(PHRASE_WORDS_MAX, len(tokens) - at), 0, -1):
        if any(place in covered for place in range(at, at + length)):
            continue
        phrase = " ".join(word.text for word in tokens[at : at + length])
        options = VERBS.get(phrase)
        if options is None or (length == 1 and _is_opening(tokens, at)):
            continue
        return Cue(
            at,
            at + length - 1,
            tuple((option.relation, not option.inverted) for option in options),
            negated=_is_negated(tokens, at),
            weak=phrase in WEAK,
            subject_first=_is_inverted(tokens, at, at + length, before),
        )
    return None


def _is_opening(tokens: Sequence[QuestionWord], at: int) -> bool:
    """Return whether a preposition only opens a question: "in which city", "to whom"."""
    return tokens[at].text in _OPENING and at + 1 < len(tokens) and tokens[at + 1].text in _WH


def _is_negated(tokens: Sequence[QuestionWord], at: int) -> bool:
    words_before = tokens[max(0, at - 2) : at]
    return any(word.text in _NEGATIONS or word.text.endswith("n't") for word in words_before)


def _is_inverted(
    tokens: Sequence[QuestionWord], at: int, after: int, before: Sequence[Cue]
) -> bool:
    """Return whether an auxiliary precedes the subject of the verb at *at*: "where is X hosted".

    *after* is the place after the verb. Not in "the team led by Ann", where the subject of the
    action follows "by".
    """
    if any(not cue.noun for cue in before):
        return False
    if tokens[after - 1].text == "by" and after < len(tokens):
        return False
    for place in range(at - 2, -1, -1):
        if tokens[place].text.removesuffix("n't") in _AUXILIARIES:
            opening = tokens[:place]
            return any(word.text in _WH for word in opening) or not opening
    return False


def find_readings(
    tokens: Sequence[QuestionWord], mentions: Sequence[Mention], cues: Sequence[Cue]
) -> list[QuestionReading]:
    """Return the readings of a question, the cheapest first, at most READINGS_MAX."""
    readings: list[QuestionReading] = []
    for mention in mentions[:MENTIONS_MAX]:
        outside = [cue for cue in cues if cue.last < mention.first or cue.first > mention.last]
        for subset_cost, subset in _cue_subsets(outside):
            for order_cost, order in _cue_orders(tokens, mention, subset):
                distance_cost = _COST_DISTANCE * _distance(tokens, mention, order[0])
                for hops_cost, hops in _hop_choices(mention, order):
                    cost = subset_cost + order_cost + hops_cost
                    if cost <= COST_MAX:
                        readings.append(QuestionReading(cost + distance_cost, mention, hops))
    readings.sort(key=lambda reading: reading.cost)
    return readings[:READINGS_MAX]


def _cue_subsets(cues: Sequence[Cue]) -> Iterator[tuple[float, tuple[Cue, ...]]]:
    """Yield the cues that a reading may use: all, or all without one or without all weak ones.

    Each with the cost of the ignored cues.
    """
    weak = [cue for cue in cues if cue.weak]
    for ignored in [(), *((cue,) for cue in weak), *([tuple(weak)] if len(weak) > 1 else [])]:
        used = tuple(cue for cue in cues if cue not in ignored)
        if used:
            yield _COST_LEFT_OUT * len(ignored), used


def _cue_orders(
    tokens: Sequence[QuestionWord], mention: Mention, cues: Sequence[Cue]
) -> Iterator[tuple[float, tuple[Cue, ...]]]:
    """Yield the orders in which *cues* may be walked, each with its cost: 0 for nearest first."""
    nearest_first = sorted(cues, key=lambda cue: _distance(tokens, mention, cue))
    for order in permutations(nearest_first):
        cost = 0.0
        for earlier, later in combinations(order, 2):
            if _distance(tokens, mention, earlier) > _distance(tokens, mention, later):
                same_side = (earlier.first < mention.first) == (later.first < mention.first)
                cost += _COST_SAME_SIDE if same_side else _COST_ACROSS
        yield cost, order


def _hop_choices(mention: Mention, order: Sequence[Cue]) -> Iterator[tuple[float, tuple[Hop, ...]]]:
    """Yield the hops that the cues in *order* may mean, each with the cost of these readings."""
    hops_by_cue: list[list[tuple[float, Hop]]] = []
    for cue in order:
        keeps_direction = cue.noun or cue.subject_first or cue.first > mention.last
        hops: list[tuple[float, Hop]] = []
        for place, (relation, forward) in enumerate(cue.readings):
            direction = forward if keeps_direction else not forward
            hop = Hop(relation, direction, cue.negated, cue.word)
            hops.append((_COST_OTHER_READING * place, hop))
        hops_by_cue.append(hops[: _CHOICES_MAX[len(order)]])
    for choice in product(*hops_by_cue):
        yield sum(cost for cost, _ in choice), tuple(hop for _, hop in choice)


def _distance(tokens: Sequence[QuestionWord], mention: Mention, cue: Cue) -> float:
    """Return the distance from a cue to a mention, by the words and clauses between them.

    A noun ("the owner of Atlas", "Ann's team") is nearer than a verb.
    """
    if cue.first > mention.last:
        between = tokens[mention.last + 1 : cue.first]
    else:
        between = tokens[cue.last + 1 : mention.first]
    clauses = sum(word.text in _RELATIVE for word in between)
    words_between = sum(word.text not in ENGLISH_FUNCTION_WORDS for word in between)
    return words_between + 2 * clauses + (0.0 if cue.noun else 0.5)
