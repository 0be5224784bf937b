"""Parse a question into what the ranker needs: terms, names, times. Pure.

Function words carry no content. Names of known speakers say who, not what, and would pull up every
turn of that person in the vector space, so they are removed from the text that is embedded and
become a feature of their own (decision 0020).
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memd.base.limits import QUERY_TERMS_MAX
from memd.extract.times import Period, asks_ahead
from memd.store.search.cjk_bigrams import split_signs
from memd.text.languages import (
    ASKS_FOR_ALL,
    DECIDED,
    FOREIGN_FUNCTION_WORDS,
    PLANNED,
    capitals_name,
    is_english,
)
from memd.text.words import ENGLISH_FUNCTION_WORDS, WORD

NAME_WORDS_MAX = 3

_IN_SENTENCE = re.compile(r"(?<=[\w,;)] )[^\W_]{2,}")
_ASKS_WHEN = re.compile(r"\b(?:when|(?:what|which) (?:year|month|day|date)|how long|date)\b", re.I)
_ASKS_NOW = re.compile(
    r"\b(?:now|nowadays|current(?:ly)?|still|these days|at (?:the moment|present)|latest|newest"
    r"|(?:most )?recent(?:ly)?|lately|jetzt|aktuell\w*|derzeit|momentan|zurzeit|noch|neueste\w*"
    r"|neulich|kürzlich|kuerzlich|letztens|unlängst|vor kurzem|in letzter zeit|maintenant|actuel\w*"
    r"|encore|récemment|dernièrement|ahora|actual\w*|todavía|recientemente|[uú]ltimamente|adesso"
    r"|attual\w*|ancora|recentemente|agora|atual\w*|ainda|nu|momenteel|nog|onlangs|laatst)\b",
    re.IGNORECASE,
)
MARKS = frozenset("?\uff1f\u061f")
_KANA = re.compile("[\u3040-\u309f]{1,2}")  # of Japanese: particles and endings, as a rule


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question. *terms* are stemmed and distinct; *content* are those that name nobody.

    *written* has a word of the question for each of *terms*: the index is searched for words,
    because the stem of a stem may differ. *pairs* are adjacent stems, at least one of them in
    *terms*; *proper* are terms capitalised within a sentence that are no speaker's name.
    *dense* is the text to embed, *asks_when* whether it asks for a time.
    """

    text: str
    terms: tuple[str, ...]
    written: Mapping[str, str]
    content: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    proper: frozenset[str]
    names: frozenset[str]
    person: str | None
    """The one known speaker whom it names, casefolded; None where it names none or several."""
    is_request: bool
    """Whether it is an instruction rather than a question."""
    dense: str
    times: tuple[Period, ...]
    asks_when: bool
    asks_now: bool = False
    """Whether it asks for the current or most recent state."""
    only_time: bool = False
    """Whether it names nothing but a time: "what happened last week?"."""
    asks_decided: bool = False
    """Whether it asks for what was decided."""
    asks_planned: bool = False
    """Whether it names nothing but a time to come, or asks for what is planned in a time."""
    last_digests: tuple[int, ...] = ()
    """For a question about where the work stopped, the digests that tell it (``times``)."""
    plans: tuple[int, ...] = ()
    """For one about what is planned, the memories that name that time, the soonest first."""


def name_candidates(text: str) -> list[str]:
    """Return every sequence of one to three words of *text*, casefolded: possible names."""
    words = [match.group().casefold() for match in WORD.finditer(text)]
    return list(
        dict.fromkeys(
            " ".join(words[start : start + size])
            for size in range(1, NAME_WORDS_MAX + 1)
            for start in range(len(words) - size + 1)
        )
    )


def question(
    text: str,
    names: frozenset[str],
    stem: Callable[[str], Iterable[str]],
    times: tuple[Period, ...] = (),
    now_us: int = 0,
) -> Question:
    """Parse *text*; *names* are its known speakers, *stem* the index's stemmer.

    *times* are the periods that it names at *now_us*.
    """
    # Not casefolded: the index folds words itself, in its own way ("ß" is not "ss").
    words = _words(unicodedata.normalize("NFC", text))
    function_words = ENGLISH_FUNCTION_WORDS if is_english(text) else FOREIGN_FUNCTION_WORDS
    meaning = [
        word
        for word in words
        if word.casefold() not in function_words and not _KANA.fullmatch(word)
    ] or words
    terms = _stem_words(meaning, stem)
    of_terms = frozenset(terms)
    spoken = {word for name in names for word in name.split()}
    unnamed = [word for word in meaning if word.casefold() not in spoken]
    content = _stem_words(unnamed, stem) or terms
    written = {term: word for word in meaning for term in stem(word)}
    return Question(
        text=text,
        terms=terms,
        written={term: written[term] for term in terms},
        content=content,
        pairs=frozenset(
            pair for pair in itertools.pairwise(stem(text)) if not of_terms.isdisjoint(pair)
        ),
        proper=frozenset()
        if text[1:].islower()
        else _proper_terms(text, words, stem).intersection(content),
        names=names,
        person=next(iter(names)) if len(names) == 1 else None,
        is_request=MARKS.isdisjoint(text),
        dense=without_names(text, names) if names else text,
        times=times,
        asks_when=_ASKS_WHEN.search(text) is not None,
        asks_now=_ASKS_NOW.search(text) is not None,
        only_time=bool(times) and _is_only_time(times, text, ASKS_FOR_ALL),
        asks_planned=bool(times) and _asks_planned(times, text, now_us),
        asks_decided=not DECIDED.isdisjoint(word.casefold() for word in words),
    )


def _words(text: str) -> list[str]:
    """Return the words of *text* in order; of Chinese, Japanese and Korean the pairs of signs."""
    return WORD.findall(split_signs(text))


def _is_only_time(times: Sequence[Period], text: str, others: frozenset[str]) -> bool:
    """Return whether *text* has nothing but *times* and *others*, such as "what happened"."""
    if any(one.from_us is None for one in times):
        return False
    for one in reversed(times):
        text = f"{text[: one.start]} {text[one.end :]}"
    left = {match.group().casefold() for match in WORD.finditer(text)}
    return left <= others


def _asks_planned(times: Sequence[Period], text: str, now_us: int) -> bool:
    """Return whether *text* asks for what is to come in *times*, and for nothing else."""
    ends = [one.to_us for one in times if one.to_us is not None and one.to_us > now_us]
    if not ends or not _is_only_time(times, text, ASKS_FOR_ALL | PLANNED):
        return False
    is_ahead = all(one.from_us is not None and one.from_us >= now_us for one in times)
    words = {match.group().casefold() for match in WORD.finditer(text)}
    return is_ahead or asks_ahead(text) or not PLANNED.isdisjoint(words)


def _proper_terms(
    text: str, words: Iterable[str], stem: Callable[[str], Iterable[str]]
) -> frozenset[str]:
    if not capitals_name(frozenset(words)):
        return frozenset()
    matches = (match.group() for match in _IN_SENTENCE.finditer(text))
    return frozenset(term for word in matches if word[0].isupper() for term in stem(word))


def _stem_words(words: Iterable[str], stem: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term for word in words for term in stem(word)))[:QUERY_TERMS_MAX]


def without_names(text: str, names: frozenset[str]) -> str:
    """Return *text* without the names, as whole words, and their possessive s.

    Returns *text* as it is when nothing would be left.

    >>> without_names("What did Tim's boss say that time?", frozenset({"tim"}))
    'What did boss say that time?'
    """
    for name in sorted(names, key=len, reverse=True):
        pattern = r"\s+".join(re.escape(word) for word in name.split())
        text_left = re.sub(rf"\b{pattern}\b(?:['\u2019]s)?", " ", text, flags=re.IGNORECASE)
        text = " ".join(text_left.split()) if WORD.search(text_left) else text
    return text
