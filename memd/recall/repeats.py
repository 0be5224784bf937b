"""Which memories say the same: an answer tells each thing once. Pure.

Of memories that say the same, one is told: what is trusted most, and of these the newest. A name, a
number or a negation that differs makes it another thing; what only leads to it ("No,", "Noted:",
"Remember that") does not. Of two of which one holds all that the other says, that one is told
(decision 0306):

- a longer text holds one of some length whole, unless it is trusted less;
- what a nap composed holds the turns of its session of which it quotes all that they state, whoever
  said them, and a turn holds what a nap made of some of its sentences alone;
- what the owner said, and what a nap composed, holds what their assistant in the same session
  repeats of it to acknowledge it ("Got it, I'll use port 9443").

No word stands for another one: who says that the front door's key is under the pot says nothing of
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
from memd.recall.ranking.rankings import Ranked
from memd.recall.ranking.scored_memories import jaccard
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.alternations import longest_first
from memd.text.words import ENGLISH_FUNCTION_WORDS, WORD, sentences

ALIKE = 0.8  # of their word pairs in common: the same thing said again
WITHIN_WORDS_MIN = 8  # a shorter text means something else where it is a part of a longer one
ECHOED_WORDS_MAX = 60  # of what is acknowledged: a longer text has many words by chance
LEFT_OUT = "\u2026"  # where a nap left out sentences
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
"""The first words of all that leads to a statement: most texts begin with none of them."""
_TAKES_UP = frozenset(
    """use using used keep remember note noted make sure stick set
    ich wir es nutze benutze verwende nehme merke mir ab jetzt für""".split()  # noqa: SIM905
)
"""Words with which an assistant takes up what it is told, besides function words."""


class Repetition(NamedTuple):
    """A memory that is not told, and the one that is told in its place."""

    item: Ranked
    of: Ranked


@dataclass(frozen=True)
class Saying:
    """A text as it is compared: its words, without what only leads to them.

    *telling* are those of its words that may not differ.
    """

    its: SearchCandidate
    acknowledges: bool
    folded: tuple[str, ...]
    line: str
    telling: frozenset[str]

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        return frozenset(itertools.pairwise(self.folded))

    @cached_property
    def quoted(self) -> frozenset[tuple[str, ...]]:
        """The words of each of the texts that a nap composed it of."""
        parts = composed_parts(self.its.own) if self.its.is_composed else ()
        return frozenset(_fold(_split_lead(part)[1]) for part in parts)

    @cached_property
    def sentences(self) -> dict[tuple[str, ...], str]:
        """Its sentences by their words."""
        parts = composed_parts(self.its.own) if self.its.is_composed else [self.its.own]
        every = (
            each for part in parts for text in part.split(LEFT_OUT) for each in sentences(text)
        )
        return {words: each for each in every if (words := _fold(_split_lead(each)[1]))}

    @cached_property
    def stated(self) -> Collection[tuple[str, ...]]:
        """The words of those sentences that state something, of all where none does."""
        if self.its.is_composed:
            return self.sentences.keys()
        stating = [words for words, each in self.sentences.items() if passing_kind(each) is None]
        return stating or self.sentences.keys()


def tell_once(items: Iterable[Ranked]) -> tuple[list[Ranked], list[Repetition]]:
    """Return *items*, best first, for each thing the one that stands for it; and the others.

    It stands where the best of its likes stood, with that one's relevance.
    """
    once: list[Ranked] = []
    sayings: list[Saying] = []
    cut: list[Repetition] = []
    for item in items:
        saying = read_saying(item.measured.candidate)
        places = [at for at, other in enumerate(sayings) if repeat(saying, other)]
        if not places:
            once.append(item)
            sayings.append(saying)
            continue
        first, *others = places
        stands = once[first]
        if not stands_for(saying, sayings[first]):
            cut.append(Repetition(item, stands))
            continue
        new = replace(item, relevance=stands.relevance, bar=stands.bar)
        cut.append(Repetition(stands, new))
        once[first], sayings[first] = new, saying
        for at in reversed([at for at in others if stands_for(saying, sayings[at])]):
            cut.append(Repetition(once.pop(at), new))
            del sayings[at]
    return once, cut


def read_saying(its: SearchCandidate) -> Saying:
    words = WORD.findall(its.own)
    acknowledges = False
    if words and words[0].casefold() in _LEADING:
        acknowledges, text = _split_lead(its.own)
        words = WORD.findall(text)
    folded = tuple(map(str.casefold, words))
    telling = {
        plain
        for at, (word, plain) in enumerate(zip(words, folded, strict=True))
        if (at and word != plain and word[0].isupper() and plain not in ENGLISH_FUNCTION_WORDS)
        or (not word.isalpha() and any(map(str.isdigit, word)))
    }
    line = f" {' '.join(folded)} "
    return Saying(its, acknowledges, folded, line, _NOT.intersection(folded) | telling)


def _split_lead(text: str) -> tuple[bool, str]:
    """Return whether *text* begins with an acknowledgement, and what follows all that leads to it.

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


def repeat(one: Saying, other: Saying) -> bool:
    """Return whether two texts say the same, or one of them holds all that the other says."""
    if one.folded == other.folded:
        return True
    # Hardly a word differs, and no name, number or negation.
    if one.telling == other.telling and jaccard(one.pairs, other.pairs) >= ALIKE:
        return True
    longer, shorter = (one, other) if len(one.folded) > len(other.folded) else (other, one)
    return _holds(longer, shorter) or _holds(shorter, longer)


def stands_for(one: Saying, other: Saying) -> bool:
    """Return whether *one* is told rather than *other*, which it repeats."""
    holds = _holds(one, other)
    if holds != _holds(other, one):
        return holds
    return _precedence(one.its) > _precedence(other.its)


def _precedence(its: SearchCandidate) -> tuple[int, int]:
    """Return what decides between two that say the same: the trust, then the time."""
    return int(its.trust), its.moment_us


def _holds(whole: Saying, part: Saying) -> bool:
    """Return whether *whole* says all that *part* says, and may be told in its place."""
    is_shorter = WITHIN_WORDS_MIN <= len(part.folded) < len(whole.folded)
    if is_shorter and whole.its.trust >= part.its.trust and part.line in whole.line:
        return True
    if _quotes(whole, part) or _is_made_of(part, whole):
        return True
    return part.acknowledges and _is_echo(part, whole)


def _quotes(whole: Saying, part: Saying) -> bool:
    """Return whether a nap composed *whole* of *part* and of more.

    Though it is trusted less than what a person said, it tells what that answers. What is foreign
    stands for nobody's word.
    """
    if not whole.its.is_composed or whole.its.trust == Trust.UNTRUSTED:
        return False
    if not _are_of_one_session(whole, part):
        return False
    is_quoted = part.line in whole.line and part.folded in whole.quoted
    return is_quoted or _states_all(whole, part)


def _states_all(whole: Saying, part: Saying) -> bool:
    """Return whether each sentence with which *part* states something is one of *whole*."""
    return bool(part.stated) and all(words in whole.sentences for words in part.stated)


def _is_made_of(part: Saying, whole: Saying) -> bool:
    """Return whether a nap composed *part* of sentences of the turn *whole* alone."""
    if not part.its.is_composed or whole.its.is_composed or whole.its.trust < part.its.trust:
        return False
    return _are_of_one_session(whole, part) and _states_all(whole, part)


def _is_echo(part: Saying, whole: Saying) -> bool:
    """Return whether an assistant acknowledges with *part* and says nothing beyond *whole*."""
    is_fact = whole.its.is_composed or whole.its.origin == Origin.PERSON
    if not is_fact or part.its.origin != Origin.ASSISTANT or whole.its.trust < part.its.trust:
        return False
    if not _are_of_one_session(whole, part) or len(whole.folded) > ECHOED_WORDS_MAX:
        return False
    return all(_is_said(word, whole.folded) for word in part.folded if _says_something(word))


def _are_of_one_session(one: Saying, other: Saying) -> bool:
    return one.its.session_key is not None and one.its.session_key == other.its.session_key


def _says_something(word: str) -> bool:
    return word in _NOT or not (word in ENGLISH_FUNCTION_WORDS or word in _TAKES_UP)


def _is_said(word: str, words: Sequence[str]) -> bool:
    """Return whether *words* have *word*, in any form that only its ending tells apart."""
    if word in words:
        return True
    bare = word.removesuffix("s")
    return any(
        min(len(bare), len(other)) >= BEGIN_CHARS_MIN
        and (bare.startswith(other) or other.startswith(bare))
        for other in words
        if other.isalpha() and bare.isalpha()
    )
