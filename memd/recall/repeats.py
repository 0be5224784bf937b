"""Remove repetitions from an answer, so that it tells each thing once. Pure.

Two texts repeat each other if they share nearly all word pairs, and all names, numbers and
negations. An introduction ("No,", "Noted:", "Remember that") does not count. The memory with the
higher trust stays, and among equals the newer one.

Two texts also repeat each other if one contains all that the other says (decision 0306). Then the
one that contains more stays:

- a longer text contains a shorter one as a whole, and is trusted at least as much;
- a memory of a nap quotes all statements of a turn of its session, or consists of sentences of one
  turn (then the turn stays);
- in one session, the assistant's acknowledgement ("Got it, I'll use port 9443") says nothing beyond
  the owner's statement or a memory of a nap.

Synonyms are never treated as equal: that the front door's key is under the pot says nothing about
the back door's.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from memd.domain.enums import Origin, Trust
from memd.domain.sleep.consolidation import composed_parts
from memd.extract.passing import passing_kind
from memd.recall.ranking.rankings import RankedCandidate
from memd.recall.ranking.scored_memories import jaccard
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.alternations import longest_first
from memd.text.words import ENGLISH_FUNCTION_WORDS, WORD, sentences

ALIKE = 0.8  # share of common word pairs at which two texts are the same
WITHIN_WORDS_MIN = 8  # a shorter text can mean something else as a part of a longer one
ECHOED_WORDS_MAX = 60  # longest text that is acknowledged: a longer one has many words by chance
LEFT_OUT = "\u2026"  # marks where a nap left out sentences
BEGIN_CHARS_MIN = 3  # of a word that another one begins with: "tag", "tagged"

_NOT = frozenset({"no", "not", "never", "nor", "none", "without", "t"})
_ACKNOWLEDGEMENTS = """
    no, nope, yes, yeah, yep, ok, okay, alright, all right, right, sure, got it, noted, understood,
    i see, makes sense, will do, good, great, perfect, thanks, thank you, exactly, you're right,
    you are right, my mistake, sorry, actually, nein, nee, ja, doch, gut, danke, verstanden,
    notiert, vermerkt, gemerkt, alles klar, in ordnung, genau, stimmt, entschuldigung, oui, non,
    d'accord, compris, noté, entendu, c'est noté, merci, sí, vale, entendido, anotado, de acuerdo,
    gracias, sì, capito, va bene, d'accordo, segnato, grazie, sim, não, certo, entendi, obrigado,
    obrigada, begrepen, genoteerd, bedankt
"""
_REMINDERS = """
    remember, note, keep in mind, bear in mind, don't forget, denk daran, denk dran, merk dir,
    nicht vergessen
"""
_ACKNOWLEDGES = re.compile(
    rf"\s*+(?:{longest_first(_ACKNOWLEDGEMENTS)})(?:\s*[,;:.!]+\s+|\s+[\u2013\u2014-]\s+)",
    re.IGNORECASE,
)
_ASKS_TO_KEEP = re.compile(
    rf"""\s*+(?:(?:please|bitte)\s+)?
    (?:(?:{longest_first(_REMINDERS)})(?:\s*:|,?\s+(?:that|dass)\b|\s)|please\s|bitte\s|actually\s)\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_LEADING = frozenset(
    WORD.findall(phrase)[0]
    for phrase in f"{_ACKNOWLEDGEMENTS.strip()}, {_REMINDERS.strip()}, please, bitte".split(",")
)
"""First words of all introductions, a cheap first check: most texts begin with none of them."""
_TAKES_UP = frozenset(
    """use using used keep remember note noted make sure stick set
    ich wir es nutze benutze verwende nehme merke mir ab jetzt für""".split()  # noqa: SIM905
)
"""Words, besides function words, of an assistant that confirms a statement: "I'll use ..."."""


class Repetition(NamedTuple):
    """A memory that is left out, and the one that stays in its place."""

    item: RankedCandidate
    original: RankedCandidate


@dataclass(frozen=True)
class ComparableText:
    """A text in the form that is compared: without its introduction, in lower case."""

    candidate: SearchCandidate
    acknowledges: bool
    """Whether the introduction is an acknowledgement: "Got it, ..."."""
    words: tuple[str, ...]
    """Its words."""
    line: str
    """Its words joined by spaces, with one at each end, to search for whole words."""
    key_words: frozenset[str]
    """Its names, numbers and negations, in which texts that say the same must agree."""

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        return frozenset(itertools.pairwise(self.words))

    @cached_property
    def part_words(self) -> frozenset[tuple[str, ...]]:
        """The words of each text that a nap composed this memory of; empty for other memories."""
        parts = composed_parts(self.candidate.own) if self.candidate.is_composed else ()
        return frozenset(_fold(_split_lead(part)[1]) for part in parts)

    @cached_property
    def sentences(self) -> dict[tuple[str, ...], str]:
        """Its sentences by their words."""
        parts = (
            composed_parts(self.candidate.own)
            if self.candidate.is_composed
            else [self.candidate.own]
        )
        every = (
            sentence
            for part in parts
            for text in part.split(LEFT_OUT)
            for sentence in sentences(text)
        )
        return {words: text for text in every if (words := _fold(_split_lead(text)[1]))}

    @cached_property
    def statements(self) -> Collection[tuple[str, ...]]:
        """The words of its sentences that state something, or of all sentences if none does."""
        if self.candidate.is_composed:
            return self.sentences.keys()
        stating = [words for words, text in self.sentences.items() if passing_kind(text) is None]
        return stating or self.sentences.keys()


def remove_repetitions(
    items: Iterable[RankedCandidate],
) -> tuple[list[RankedCandidate], list[Repetition]]:
    """Return *items*, best first, without repetitions, and the repetitions.

    The memory that stays takes the place and the relevance of the best one that it replaces.
    """
    once: list[RankedCandidate] = []
    texts: list[ComparableText] = []
    cut: list[Repetition] = []
    for item in items:
        text = to_comparable(item.measured.candidate)
        places = [at for at, other in enumerate(texts) if repeat(text, other)]
        if not places:
            once.append(item)
            texts.append(text)
            continue
        first, *others = places
        stands = once[first]
        if not stands_for(text, texts[first]):
            cut.append(Repetition(item, stands))
            continue
        new = replace(item, relevance=stands.relevance, bar=stands.bar)
        cut.append(Repetition(stands, new))
        once[first], texts[first] = new, text
        for at in reversed([at for at in others if stands_for(text, texts[at])]):
            cut.append(Repetition(once.pop(at), new))
            del texts[at]
    return once, cut


def to_comparable(candidate: SearchCandidate) -> ComparableText:
    """Return the text of *candidate* in the form that is compared."""
    words = WORD.findall(candidate.own)
    acknowledges = False
    if words and words[0].casefold() in _LEADING:
        acknowledges, text = _split_lead(candidate.own)
        words = WORD.findall(text)
    folded = tuple(map(str.casefold, words))
    telling = {
        plain
        for at, (word, plain) in enumerate(zip(words, folded, strict=True))
        if (at and word != plain and word[0].isupper() and plain not in ENGLISH_FUNCTION_WORDS)
        or (not word.isalpha() and any(map(str.isdigit, word)))
    }
    line = f" {' '.join(folded)} "
    return ComparableText(
        candidate, acknowledges, folded, line, _NOT.intersection(folded) | telling
    )


def _split_lead(text: str) -> tuple[bool, str]:
    """Return whether *text* begins with an acknowledgement, and the text after its introduction.

    >>> _split_lead("Got it: remember that staging is down."), _split_lead("No deployments today.")
    ((True, 'staging is down.'), (False, 'No deployments today.'))
    """
    start, acknowledges = 0, False
    while lead := _ACKNOWLEDGES.match(text, start):
        start, acknowledges = lead.end(), True
    if lead := _ASKS_TO_KEEP.match(text, start):
        start = lead.end()
    return acknowledges, text[start:]


def _fold(text: str) -> tuple[str, ...]:
    return tuple(map(str.casefold, WORD.findall(text)))


def repeat(one: ComparableText, other: ComparableText) -> bool:
    """Return whether two texts say the same, or one contains all that the other says."""
    if one.words == other.words:
        return True
    if one.key_words == other.key_words and jaccard(one.pairs, other.pairs) >= ALIKE:
        return True
    longer, shorter = (one, other) if len(one.words) > len(other.words) else (other, one)
    return _holds(longer, shorter) or _holds(shorter, longer)


def stands_for(one: ComparableText, other: ComparableText) -> bool:
    """Return whether *one* stays rather than *other*, which it repeats."""
    holds = _holds(one, other)
    if holds != _holds(other, one):
        return holds
    return _precedence(one.candidate) > _precedence(other.candidate)


def _precedence(candidate: SearchCandidate) -> tuple[int, int]:
    """Return the key by which one of two equal texts is chosen: trust, then time."""
    return int(candidate.trust), candidate.moment_us


def _holds(whole: ComparableText, part: ComparableText) -> bool:
    """Return whether *whole* contains all that *part* says, and may replace it."""
    is_shorter = WITHIN_WORDS_MIN <= len(part.words) < len(whole.words)
    if is_shorter and whole.candidate.trust >= part.candidate.trust and part.line in whole.line:
        return True
    if _quotes(whole, part) or _is_made_of(part, whole):
        return True
    return part.acknowledges and _is_echo(part, whole)


def _quotes(whole: ComparableText, part: ComparableText) -> bool:
    """Return whether *whole* is a nap's memory that quotes *part*, of the same session.

    It may replace a person's statement, although it is trusted less, because it also has the
    question that the statement answers. Untrusted memories replace nothing.
    """
    if not whole.candidate.is_composed or whole.candidate.trust == Trust.UNTRUSTED:
        return False
    if not _are_of_one_session(whole, part):
        return False
    is_quoted = part.line in whole.line and part.words in whole.part_words
    return is_quoted or _states_all(whole, part)


def _states_all(whole: ComparableText, part: ComparableText) -> bool:
    """Return whether *whole* has every sentence in which *part* states something."""
    return bool(part.statements) and all(words in whole.sentences for words in part.statements)


def _is_made_of(part: ComparableText, whole: ComparableText) -> bool:
    """Return whether a nap composed *part* only of sentences of the turn *whole*."""
    if (
        not part.candidate.is_composed
        or whole.candidate.is_composed
        or whole.candidate.trust < part.candidate.trust
    ):
        return False
    return _are_of_one_session(whole, part) and _states_all(whole, part)


def _is_echo(part: ComparableText, whole: ComparableText) -> bool:
    """Return whether *part* is an assistant's acknowledgement that adds nothing to *whole*."""
    is_fact = whole.candidate.is_composed or whole.candidate.origin == Origin.PERSON
    if (
        not is_fact
        or part.candidate.origin != Origin.ASSISTANT
        or whole.candidate.trust < part.candidate.trust
    ):
        return False
    if not _are_of_one_session(whole, part) or len(whole.words) > ECHOED_WORDS_MAX:
        return False
    return all(_is_said(word, whole.words) for word in part.words if _says_something(word))


def _are_of_one_session(one: ComparableText, other: ComparableText) -> bool:
    return (
        one.candidate.session_key is not None
        and one.candidate.session_key == other.candidate.session_key
    )


def _says_something(word: str) -> bool:
    return word in _NOT or not (word in ENGLISH_FUNCTION_WORDS or word in _TAKES_UP)


def _is_said(word: str, words: Sequence[str]) -> bool:
    """Return whether *words* contain *word*, or a form of it with another ending."""
    if word in words:
        return True
    bare = word.removesuffix("s")
    return any(
        min(len(bare), len(other)) >= BEGIN_CHARS_MIN
        and (bare.startswith(other) or other.startswith(bare))
        for other in words
        if other.isalpha() and bare.isalpha()
    )
