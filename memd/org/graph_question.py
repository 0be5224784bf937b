"""Parse a question to the graph: which things it names, and which relations to walk, in order.

A question is read from its thing outwards; the relation nearest to the thing is walked first.
"Who leads the team that uses Kafka?" begins at Kafka, walks *uses* backwards to a team and
*leads* backwards to a person. All readings of an ambiguous question are kept with their costs,
and the cheapest that leads anywhere in the graph gives the answer (``graph_search.py``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, permutations, product
from operator import itemgetter
from typing import NamedTuple

from memd.base.limits import QUERY_TERMS_MAX
from memd.domain.org.graph import fold_name
from memd.extract.things import TEAM
from memd.org.cues import NOUNS, PHRASE_WORDS_MAX, VERBS, WEAK
from memd.text.words import ENGLISH_FUNCTION_WORDS

NAME_WORDS_MAX = 8
MENTIONS_MAX = 4
CUES_MAX = 4
READINGS_MAX = 400
COST_MAX = 3.0
"""A costlier reading is dropped: better no answer than one to another question."""

_CHOICES_MAX = {1: 10, 2: 8, 3: 4, 4: 2}  # readings of each cue, by the number of cues

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

_COST_OTHER_READING, _COST_ACROSS, _COST_SAME_SIDE, _COST_LEFT_OUT, _COST_DISTANCE = (
    1.0,
    1.0,
    3.0,
    1.5,
    0.05,
)


class QuestionWord(NamedTuple):
    """One word of a question; *text* is in lower case without a genitive ending."""

    raw: str
    text: str
    genitive: bool


class Mention(NamedTuple):
    """A known thing, named from word *first* to word *last*."""

    name: str
    first: int
    last: int


class Cue(NamedTuple):
    """Words that ask for a relation; readings are (relation, forward) seen from a thing."""

    first: int
    last: int
    readings: tuple[tuple[str, bool], ...]
    """For a thing that precedes the cue; reversed for a verb whose thing follows it."""
    noun: bool = False
    negated: bool = False
    weak: bool = False
    word: str | None = None
    subject_first: bool = False
    """The subject precedes the verb whatever follows it: "does the team use"."""


class Hop(NamedTuple):
    """One relation to walk: *forward* from subject to object."""

    relation: str
    forward: bool
    negated: bool = False
    word: str | None = None
    """The question's word for a relation that memd does not know."""


class QuestionReading(NamedTuple):
    """One reading of a question: its starting thing and the relations to walk."""

    cost: float
    mention: Mention
    hops: tuple[Hop, ...]


def split_words(question: str) -> tuple[QuestionWord, ...]:
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


def name_candidates(tokens: Sequence[QuestionWord]) -> dict[str, list[tuple[int, int]]]:
    """Return every possible name in a question, folded, with its places.

    "we" is the team that texts without a subject are about.
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
    """Return the *known* things that a question names, the longest match of overlapping ones.

    A bare noun that gives the kind of the answer ("which team", "the tool that") is not a
    mention if the question names another thing.
    """
    spans = [Mention(name, *place) for name in known for place in places.get(name, ())]
    spans.sort(key=lambda mention: (mention.first - mention.last, mention.first))
    covered: set[int] = set()
    result: list[Mention] = []
    for mention in spans:
        place = set(range(mention.first, mention.last + 1))
        if not place & covered:
            covered |= place
            result.append(mention)
    things = [mention for mention in result if not _is_kind(tokens, mention)]
    return tuple(sorted(things or result, key=lambda mention: mention.first))


def _is_kind(tokens: Sequence[QuestionWord], mention: Mention) -> bool:
    word = tokens[mention.last]
    bare = mention.first + (tokens[mention.first].text in _ARTICLES)
    if bare != mention.last or word.raw != word.raw.lower():
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
    """Return the words that ask for relations, in order, CUES_MAX at most."""
    covered = {place for mention in mentions for place in range(mention.first, mention.last + 1)}
    result: list[Cue] = []
    at = 0
    while at < len(tokens):
        cue = (
            None
            if at in covered
            else _noun_cue(tokens, at) or _verb_cue(tokens, at, covered, result)
        )
        if cue is not None:
            result.append(cue)
            at = cue.last
        at += 1
    places = any("located_in" in dict(cue.readings) for cue in result)
    if tokens and any(word.text == "where" for word in tokens) and not places:
        where = next(n for n, word in enumerate(tokens) if word.text == "where")
        result.append(Cue(where, where, (("located_in", True),), noun=True, weak=bool(result)))
    result = sorted(result, key=lambda cue: cue.first)[:CUES_MAX]
    own = _custom_cues(
        tokens, covered | {n for cue in result for n in range(cue.first, cue.last + 1)}
    )
    result = sorted([*result, *own[: CUES_MAX - len(result)]], key=lambda cue: cue.first)
    if not result and any(word.text in {"is", "are", "was", "were", "who"} for word in tokens):
        result.append(Cue(-1, -1, (("is", True), ("is_a", True)), noun=True))
    return tuple(result)


def _custom_cues(tokens: Sequence[QuestionWord], covered: Collection[int]) -> list[Cue]:
    """Return words that may be a relation which memd does not know: "Ann -> mentors -> Bob"."""
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
    """Return *word* without its inflected ending.

    >>> stem("mentors") == stem("mentored") == stem("mentoring")
    True
    """
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


def _noun_cue(tokens: Sequence[QuestionWord], at: int) -> Cue | None:
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


def _verb_cue(
    tokens: Sequence[QuestionWord], at: int, covered: Collection[int], before: Sequence[Cue]
) -> Cue | None:
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
    near = tokens[max(0, at - 2) : at]
    return any(word.text in _NEGATIONS or word.text.endswith("n't") for word in near)


def _is_inverted(
    tokens: Sequence[QuestionWord], at: int, after: int, before: Sequence[Cue]
) -> bool:
    """Return whether an auxiliary precedes the subject: "where is X hosted".

    In "the team led by Ann" the agent follows the verb, whatever precedes it.
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


def find_readings(
    tokens: Sequence[QuestionWord], mentions: Sequence[Mention], cues: Sequence[Cue]
) -> list[QuestionReading]:
    """Return the readings of a question, the likeliest first, READINGS_MAX at most."""
    result: list[QuestionReading] = []
    for mention in mentions[:MENTIONS_MAX]:
        outside = [cue for cue in cues if cue.last < mention.first or cue.first > mention.last]
        for left_out, chosen in _cue_subsets(outside):
            for order_cost, order in _cue_orders(tokens, mention, chosen):
                far = _COST_DISTANCE * _distance(tokens, mention, order[0])
                for cost, hops in _hop_choices(mention, order):
                    whole = left_out + order_cost + cost
                    if whole <= COST_MAX:
                        result.append(QuestionReading(whole + far, mention, hops))
    result.sort(key=lambda reading: reading.cost)
    return result[:READINGS_MAX]


def _cue_subsets(cues: Sequence[Cue]) -> Iterator[tuple[float, tuple[Cue, ...]]]:
    """Yield the sets of cues that a reading may use: all, or all but some weak ones."""
    weak = [cue for cue in cues if cue.weak]
    for dropped in [(), *((cue,) for cue in weak), *([tuple(weak)] if len(weak) > 1 else [])]:
        used = tuple(cue for cue in cues if cue not in dropped)
        if used:
            yield _COST_LEFT_OUT * len(dropped), used


def _cue_orders(
    tokens: Sequence[QuestionWord], mention: Mention, cues: Sequence[Cue]
) -> Iterator[tuple[float, tuple[Cue, ...]]]:
    near = sorted(cues, key=lambda cue: _distance(tokens, mention, cue))
    for order in permutations(near):
        cost = 0.0
        for a, b in combinations(order, 2):
            if _distance(tokens, mention, a) > _distance(tokens, mention, b):
                same_side = (a.first < mention.first) == (b.first < mention.first)
                cost += _COST_SAME_SIDE if same_side else _COST_ACROSS
        yield cost, order


def _hop_choices(mention: Mention, order: Sequence[Cue]) -> Iterator[tuple[float, tuple[Hop, ...]]]:
    """Yield the hops that cues may mean, with the costs of less likely readings."""
    choices: list[list[tuple[float, Hop]]] = []
    for cue in order:
        after = cue.noun or cue.subject_first or cue.first > mention.last
        mine: list[tuple[float, Hop]] = []
        for place, (relation, forward) in enumerate(cue.readings):
            straight = forward if after else not forward
            hop = Hop(relation, straight, cue.negated, cue.word)
            mine.append((_COST_OTHER_READING * place, hop))
        choices.append(sorted(mine, key=itemgetter(0))[: _CHOICES_MAX[len(order)]])
    for choice in product(*choices):
        yield sum(cost for cost, _ in choice), tuple(hop for _, hop in choice)


def _distance(tokens: Sequence[QuestionWord], mention: Mention, cue: Cue) -> float:
    """Return the distance from a cue to a thing by the words and clauses between them.

    A noun cue ("the owner of Atlas", "Ann's team") is nearer than a verb.
    """
    if cue.first > mention.last:
        between = tokens[mention.last + 1 : cue.first]
    else:
        between = tokens[cue.last + 1 : mention.first]
    clauses = sum(word.text in _RELATIVE for word in between)
    words_between = sum(word.text not in ENGLISH_FUNCTION_WORDS for word in between)
    return words_between + 2 * clauses + (0.0 if cue.noun else 0.5)
