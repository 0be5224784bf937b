"""What a question asks of the graph: which things it names, and which relations, in which order.

A question is read from its thing outwards: what stands nearest to the thing is
walked first. "Who leads the team that uses Kafka?" begins at Kafka, goes back over
*uses* to a team and back over *leads* to a person. Where a sentence can be read in
several ways every reading is kept with its cost, and the graph decides: the cheapest
reading that leads anywhere is the answer's (``answers.py``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, permutations, product
from operator import itemgetter
from typing import NamedTuple

from memd.base.limits import QUERY_TERMS_MAX
from memd.domain.org.graph import folded
from memd.extract.things import TEAM
from memd.org.cues import NOUNS, PHRASE_WORDS_MAX, VERBS, WEAK
from memd.text.function_words import FUNCTION_WORDS

NAME_WORDS_MAX = 8
MENTIONS_MAX = 4
CUES_MAX = 4
READINGS_MAX = 400
COST_MAX = 3.0
"""What costs more is not what was asked: better no answer than one to another question."""

_CHOICES_MAX = {1: 10, 2: 8, 3: 4, 4: 2}  # of each cue, by how many there are

_WORD = re.compile(r"[^\s?!,;()\"“”\[\]]+")
_GENITIVE = re.compile(r"(?:['\u2019]s|(?<=s)['\u2019])$", re.IGNORECASE)
_EDGES = ".:'\u2019`*"
_NEGATIONS = frozenset(("not", "never", "cannot", "without"))
_RELATIVE = frozenset(("who", "whom", "which", "whose", "that", "what"))
_WH = frozenset(("who", "whom", "what", "which", "where", "whose", "how"))
_AUXILIARIES = frozenset(
    [
        "do",
        "does",
        "did",
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "may",
        "must",
        "can",
        "could",
        "should",
        "will",
        "would",
    ]
)
_WE = frozenset(("we", "us", "our", "everyone", "everybody"))
_ARTICLES = frozenset(("the", "a", "an", "this", "that"))
_OPENING = frozenset(("in", "on", "at", "by", "to"))
_OF = frozenset(("of", "for", "behind", "from", "to", "in", "at"))

OTHER = "related_to"

_OTHER_READING, _ACROSS, _WITHIN, _LEFT_OUT, _FAR = 1.0, 1.0, 3.0, 1.5, 0.05


class QuestionWord(NamedTuple):
    """One word of a question; *text* is in lower case and without its genitive."""

    raw: str
    text: str
    genitive: bool


class Mention(NamedTuple):
    """A known thing from word *first* to word *last*."""

    name: str
    first: int
    last: int


class Cue(NamedTuple):
    """Words that ask for a relation: readings are (relation, forward) seen from a thing."""

    first: int
    last: int
    readings: tuple[tuple[str, bool], ...]
    """As if the thing stood before it; for a verb the other way round where it stands after."""
    noun: bool = False
    negated: bool = False
    weak: bool = False
    word: str | None = None
    subject_first: bool = False
    """What it is asked of stands before it whatever comes after: "does the team use"."""


class Hop(NamedTuple):
    """One relation to walk: *forward* from subject to object."""

    relation: str
    forward: bool
    negated: bool = False
    word: str | None = None
    """Of a relation that memd has no word of its own for: the question's word for it."""


class QuestionReading(NamedTuple):
    """One way to understand a question: where it begins and what is walked."""

    cost: float
    mention: Mention
    hops: tuple[Hop, ...]


def words(question: str) -> tuple[QuestionWord, ...]:
    """Return the words of a question, QUERY_TERMS_MAX at most."""
    result: list[QuestionWord] = []
    for match in _WORD.finditer(question):
        raw = match.group().strip(_EDGES) or match.group()
        text = _GENITIVE.sub("", match.group().casefold().strip(".:`*"))
        genitive = bool(_GENITIVE.search(match.group()))
        result.append(QuestionWord(raw, text.replace("\u2019", "'"), genitive))
        if len(result) == QUERY_TERMS_MAX:
            break
    return tuple(result)


def candidates(tokens: Sequence[QuestionWord]) -> dict[str, list[tuple[int, int]]]:
    """Return every name that could stand in a question, folded, with where it would stand.

    "we" stands for the team that texts without a subject are about.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for first in range(len(tokens)):
        for last in range(first, min(first + NAME_WORDS_MAX, len(tokens))):
            if first == last and tokens[first].text in FUNCTION_WORDS - _WE:
                continue
            name = folded(" ".join(word.text for word in tokens[first : last + 1]))
            if name:
                places.setdefault(name, []).append((first, last))
            if tokens[last].genitive:
                break
        if tokens[first].text in _WE:
            places.setdefault(folded(TEAM), []).append((first, first))
    return places


def mentions(
    tokens: Sequence[QuestionWord],
    places: dict[str, list[tuple[int, int]]],
    known: Collection[str],
) -> tuple[Mention, ...]:
    """Return the known things that a question names: the longest first, none within another.

    A bare noun that only says of what kind an answer is ("which team", "the tool
    that") is no thing of its own where the question names another.
    """
    spans = [Mention(name, *place) for name in known for place in places.get(name, ())]
    spans.sort(key=lambda one: (one.first - one.last, one.first))
    taken: set[int] = set()
    result: list[Mention] = []
    for one in spans:
        place = set(range(one.first, one.last + 1))
        if not place & taken:
            taken |= place
            result.append(one)
    meant = [one for one in result if not _is_kind(tokens, one)]
    return tuple(sorted(meant or result, key=lambda one: one.first))


def _is_kind(tokens: Sequence[QuestionWord], one: Mention) -> bool:
    word = tokens[one.last]
    bare = one.first + (tokens[one.first].text in _ARTICLES)
    if bare != one.last or word.raw != word.raw.lower():
        return False
    if word.text in _WE:
        return True
    before = tokens[one.first - 1].text if one.first else ""
    after = tokens[one.last + 1].text if one.last + 1 < len(tokens) else ""
    return (
        word.text in NOUNS
        or word.text in VERBS
        or before in {"which", "what", "whose"}
        or after in {"that", "which", "who", "whom", "whose"}
    )


def cues(tokens: Sequence[QuestionWord], named: Sequence[Mention]) -> tuple[Cue, ...]:
    """Return the words of a question that ask for relations, in order, CUES_MAX at most."""
    taken = {place for one in named for place in range(one.first, one.last + 1)}
    result: list[Cue] = []
    at = 0
    while at < len(tokens):
        cue = None if at in taken else _noun(tokens, at) or _verb(tokens, at, taken, result)
        if cue is not None:
            result.append(cue)
            at = cue.last
        at += 1
    places = any("located_in" in dict(cue.readings) for cue in result)
    if tokens and any(word.text == "where" for word in tokens) and not places:
        where = next(n for n, word in enumerate(tokens) if word.text == "where")
        result.append(Cue(where, where, (("located_in", True),), noun=True, weak=bool(result)))
    result = sorted(result, key=lambda cue: cue.first)[:CUES_MAX]
    own = _own_words(tokens, taken | {n for cue in result for n in range(cue.first, cue.last + 1)})
    result = sorted([*result, *own[: CUES_MAX - len(result)]], key=lambda cue: cue.first)
    if not result and any(word.text in {"is", "are", "was", "were", "who"} for word in tokens):
        result.append(Cue(-1, -1, (("is", True), ("is_a", True)), noun=True))
    return tuple(result)


def _own_words(tokens: Sequence[QuestionWord], taken: Collection[int]) -> list[Cue]:
    """Return what may be the words of a triple's own relation: "Ann -> mentors -> Bob"."""
    return [
        Cue(
            at,
            at,
            ((OTHER, True),),
            weak=True,
            negated=_negated(tokens, at),
            word=stem(word.text),
            subject_first=_inverted(tokens, at, at + 1, ()),
        )
        for at, word in enumerate(tokens)
        if at not in taken
        and word.text not in FUNCTION_WORDS
        and word.text not in NOUNS
        and word.text not in _AUXILIARIES
        and word.raw == word.raw.lower()
    ]


def stem(word: str) -> str:
    """Return *word* without what its forms differ in.

    >>> stem("mentors") == stem("mentored") == stem("mentoring")
    True
    """
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


def _noun(tokens: Sequence[QuestionWord], at: int) -> Cue | None:
    options = NOUNS.get(tokens[at].text)
    if options is None:
        return None
    owned = at > 0 and (tokens[at - 1].genitive or tokens[at - 1].text in {"whose", "our", "their"})
    of = at + 1 < len(tokens) and tokens[at + 1].text in _OF
    if not (owned or of or tokens[at].genitive):
        return None
    if not owned and tokens[at].text in VERBS and tokens[at - 1].text not in {"the", "a", "an"}:
        return None
    return Cue(at, at, tuple((option.relation, option.forward) for option in options), noun=True)


def _verb(
    tokens: Sequence[QuestionWord], at: int, taken: Collection[int], before: Sequence[Cue]
) -> Cue | None:
    for length in range(min(PHRASE_WORDS_MAX, len(tokens) - at), 0, -1):
        if any(place in taken for place in range(at, at + length)):
            continue
        phrase = " ".join(word.text for word in tokens[at : at + length])
        options = VERBS.get(phrase)
        if options is None or (length == 1 and _leads_in(tokens, at)):
            continue
        return Cue(
            at,
            at + length - 1,
            tuple((option.relation, not option.turned) for option in options),
            negated=_negated(tokens, at),
            weak=phrase in WEAK,
            subject_first=_inverted(tokens, at, at + length, before),
        )
    return None


def _leads_in(tokens: Sequence[QuestionWord], at: int) -> bool:
    """Return whether a preposition only opens a question: "in which city", "to whom"."""
    return tokens[at].text in _OPENING and at + 1 < len(tokens) and tokens[at + 1].text in _WH


def _negated(tokens: Sequence[QuestionWord], at: int) -> bool:
    near = tokens[max(0, at - 2) : at]
    return any(word.text in _NEGATIONS or word.text.endswith("n't") for word in near)


def _inverted(tokens: Sequence[QuestionWord], at: int, after: int, before: Sequence[Cue]) -> bool:
    """Return whether an auxiliary before its subject comes first: "where is X hosted".

    In "the team led by Ann" what it is led by comes after, whatever stood before.
    """
    if any(not cue.noun for cue in before):
        return False
    if tokens[after - 1].text == "by" and after < len(tokens):
        return False
    for place in range(at - 2, -1, -1):
        if tokens[place].text.removesuffix("n't") in _AUXILIARIES:
            lead = tokens[:place]
            return any(word.text in _WH for word in lead) or not lead
    return False


def readings(
    tokens: Sequence[QuestionWord], named: Sequence[Mention], asked: Sequence[Cue]
) -> list[QuestionReading]:
    """Return how a question can be understood, the likeliest first, READINGS_MAX at most."""
    result: list[QuestionReading] = []
    for mention in named[:MENTIONS_MAX]:
        outside = [cue for cue in asked if cue.last < mention.first or cue.first > mention.last]
        for left_out, chosen in _chosen(outside):
            for order_cost, order in _orders(tokens, mention, chosen):
                far = _FAR * _distance(tokens, mention, order[0])
                for cost, hops in _walks(mention, order):
                    whole = left_out + order_cost + cost
                    if whole <= COST_MAX:
                        result.append(QuestionReading(whole + far, mention, hops))
    result.sort(key=lambda reading: reading.cost)
    return result[:READINGS_MAX]


def _chosen(asked: Sequence[Cue]) -> Iterator[tuple[float, tuple[Cue, ...]]]:
    """Yield the cues that a reading heeds: all, or without some of the weak ones."""
    weak = [cue for cue in asked if cue.weak]
    for dropped in [(), *((cue,) for cue in weak), *([tuple(weak)] if len(weak) > 1 else [])]:
        kept = tuple(cue for cue in asked if cue not in dropped)
        if kept:
            yield _LEFT_OUT * len(dropped), kept


def _orders(
    tokens: Sequence[QuestionWord], mention: Mention, asked: Sequence[Cue]
) -> Iterator[tuple[float, tuple[Cue, ...]]]:
    near = sorted(asked, key=lambda cue: _distance(tokens, mention, cue))
    for order in permutations(near):
        cost = 0.0
        for a, b in combinations(order, 2):
            if _distance(tokens, mention, a) > _distance(tokens, mention, b):
                same_side = (a.first < mention.first) == (b.first < mention.first)
                cost += _WITHIN if same_side else _ACROSS
        yield cost, order


def _walks(mention: Mention, order: Sequence[Cue]) -> Iterator[tuple[float, tuple[Hop, ...]]]:
    """Yield the hops that cues can mean, with what their less likely readings cost."""
    choices: list[list[tuple[float, Hop]]] = []
    for cue in order:
        after = cue.noun or cue.subject_first or cue.first > mention.last
        mine: list[tuple[float, Hop]] = []
        for place, (relation, forward) in enumerate(cue.readings):
            straight = forward if after else not forward
            hop = Hop(relation, straight, cue.negated, cue.word)
            mine.append((_OTHER_READING * place, hop))
        choices.append(sorted(mine, key=itemgetter(0))[: _CHOICES_MAX[len(order)]])
    for choice in product(*choices):
        yield sum(cost for cost, _ in choice), tuple(hop for _, hop in choice)


def _distance(tokens: Sequence[QuestionWord], mention: Mention, cue: Cue) -> float:
    """Return how far a cue stands from a thing: what lies between, clauses above all.

    "The owner of Atlas" and "Ann's team" hold together more closely than any verb.
    """
    if cue.first > mention.last:
        between = tokens[mention.last + 1 : cue.first]
    else:
        between = tokens[cue.last + 1 : mention.first]
    clauses = sum(word.text in _RELATIVE for word in between)
    words_between = sum(word.text not in FUNCTION_WORDS for word in between)
    return words_between + 2 * clauses + (0.0 if cue.noun else 0.5)
