"""Patterns of many phrases, of which a text is compared with the few that it may have. Pure.

Python compiles an alternation as a whole and tries each branch at each character: one of forty
phrases takes 20 ms to compile, and half a millisecond to say that none is in a sentence. Of each
phrase :class:`Phrases` knows some letters without which it cannot be there, its keys, and compiles
and tries only those of which a text has one.

A list is text: expressions separated by commas, over any number of lines. A blank in one
matches any white space, and an umlaut its spelling with two letters, too ("ae"). A line that
begins with "|" continues the one before.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import Final, NamedTuple

_SPELLINGS: Final = str.maketrans(
    {" ": r"\s+", "ä": "(?:ä|ae)", "ö": "(?:ö|oe)", "ü": "(?:ü|ue)", "ß": "(?:ß|ss)"}
)
_CONTINUED: Final = re.compile(r"\n\s*(?=\|)")
_PHRASE_CHARS_MAX: Final = 2_000
"""A longer text has the letters of most phrases: the whole pattern is tried."""
_KEY_CHARS: Final = 6  # a longer key tells no more
_AROUND_CHARS_MAX: Final = 60  # of what each phrase would repeat of a pattern
_REPEATS: Final = r"(?:[*+?]|\{(?:\d+(?:,\d*)?|,\d+)\})[?+]?"
_PART: Final = re.compile(
    r"\\(?:u[\da-fA-F]{4}|U[\da-fA-F]{8}|x[\da-fA-F]{2}|.)"  # one character, or a class of them
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?:P<\w+>|-i:|[:=!>]|<[=!])?|[()|]"
    rf"|{_REPEATS}|[^\\\[()|{{}}*+?.^$]+(?![*+?{{])|.",
    re.DOTALL,
)
_NO_WORD: Final = re.compile(r"\W*+")
_LOOKS: Final = frozenset(("(?=", "(?!", "(?<=", "(?<!"))
_REPEAT: Final = re.compile(_REPEATS)
_OPTIONAL: Final = frozenset(("*", "?", "{0", "{,"))


class _Keys(NamedTuple):
    """Texts of which all that matches has one; a greater one is seldom in others, about."""

    chars: int
    """Of the shortest, as far as they count; none if nothing is sure."""
    fewer: int
    texts: tuple[str, ...]


_NONE: Final = _Keys(0, 0, ())


class _Index(NamedTuple):
    """The phrases of a pattern, each key with the number of its phrase, and those without any."""

    sources: list[str]
    keys: list[tuple[str, int]]
    always: list[int]


class Phrases:
    r"""A pattern like one of ``re``, whose phrases are compiled when a text first has keys of them.

    They are what its outermost bars part.

    >>> always = Phrases(r"\b(?:always|never ever)\b")
    >>> always.search("Never ever do it"), always.search("Do it"), always.phrases_compiled
    (<re.Match object; span=(0, 10), match='Never ever'>, None, 1)
    """

    def __init__(self, pattern: str, flags: int = re.IGNORECASE) -> None:
        self.pattern = pattern
        self.flags = flags
        self._compiled: dict[int, re.Pattern[str]] = {}
        self._known: re.Pattern[str] | None = None

    def search(self, text: str, *span: int) -> re.Match[str] | None:
        """Return the first match; of those at one place that of the first phrase."""
        if len(text) > _PHRASE_CHARS_MAX:
            return self._whole.search(text, *span)
        first: re.Match[str] | None = None
        for number in self._near(text):
            match = self._phrase(number).search(text, *span)
            if match and (first is None or match.start() < first.start()):
                first = match
        return first

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        """Return the match at the start: it is at one place, and found without further ado."""
        return self._whole.match(text, *span) if self._known or self._near(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of the whole *text*."""
        return self._whole.fullmatch(text) if self._known or self._near(text) else None

    def sequence_end(self, text: str) -> int:
        """Return where the phrases with which *text* begins end, with what is no word between them.

        Of those at one place the first counts, and no other is tried.
        """
        near = [self._phrase(number) for number in self._near(text)]
        end, at = -1, 0
        while end < at:
            end = at
            gap = _NO_WORD.match(text, at)
            begin = gap.end() if gap else at
            match = next((one for phrase in near if (one := phrase.match(text, begin))), None)
            at = match.end() if match else at
        return at

    def findall(self, text: str) -> list[str]:
        """Return what all matches have, which is one text each."""
        return self._whole.findall(text) if self._near(text) else []

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Return all matches."""
        return self._whole.finditer(text) if self._near(text) else iter(())

    def split(self, text: str) -> list[str]:
        """Return what the matches part."""
        return self._whole.split(text) if self._near(text) else [text]

    def sub(self, replacement: str, text: str, count: int = 0) -> str:
        """Return *text* with the *replacement* of the first *count* matches, or of all."""
        return self._whole.sub(replacement, text, count) if self._near(text) else text

    @property
    def phrases_compiled(self) -> int:
        """How many phrases have been compiled."""
        return len(self._compiled)

    @property
    def _whole(self) -> re.Pattern[str]:
        if self._known is None:  # a race of two threads is harmless
            self._known = re.compile(self.pattern, self.flags)
        return self._known

    @cached_property
    def _index(self) -> _Index:
        index = _Index([], [], [])
        for number, (source, keys) in enumerate(_split(self.pattern)):
            index.sources.append(source)
            index.keys.extend((key, number) for key in keys)
            index.always.extend([] if keys else [number])
        return index

    def _near(self, text: str) -> Sequence[int]:
        """Return the numbers of the phrases that *text* may have."""
        lower, always = text.lower(), self._index.always
        near = [number for key, number in self._index.keys if key in lower]
        return sorted({*near, *always}) if near else always

    def _phrase(self, number: int) -> re.Pattern[str]:
        phrase = self._compiled.get(number)
        if phrase is None:
            phrase = re.compile(self._index.sources[number], self.flags)
            self._compiled[number] = phrase
        return phrase


def _split(pattern: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what the outermost bars of *pattern* part, each with its keys.

    What has groups that are told apart, or would repeat too much for each, stays whole.
    """
    parts = _PART.findall(pattern)
    cuts = _bars(parts)
    before, after = parts[: cuts[0] + 1], parts[cuts[-1] :]
    is_whole = any(part in {"(", "(?"} or part.startswith("(?P") for part in parts)
    if is_whole or len("".join([*before, *after])) > _AROUND_CHARS_MAX:
        yield pattern, () if "(?" in parts else _keys(deque(parts)).texts
        return
    for begin, end in pairwise(cuts):
        own = parts[begin + 1 : end]
        keys = _keys(deque(own)).texts or _keys(deque([*before, *after])).texts
        yield "".join([*before, *own, *after]), keys


def _bars(parts: Sequence[str]) -> list[int]:
    """Return the places of the outermost bars and ends: of all, or else of the longest group."""
    depth, size = 0, 0
    longest: list[int] = []
    bars: tuple[list[int], list[int]] = ([-1], [])
    for at, part in enumerate(parts):
        if part[0] == "(":
            depth += 1
            if depth == 1:
                bars[1][:] = [at]
        elif part == ")":
            depth -= 1
            if depth == 0 and parts[bars[1][0]] == "(?:" and at - bars[1][0] > size:
                is_repeated = at + 1 < len(parts) and _REPEAT.match(parts[at + 1])
                size, longest = (
                    (size, longest) if is_repeated else (at - bars[1][0], [*bars[1], at])
                )
        elif part == "|" and depth < len(bars):
            bars[depth].append(at)
    return longest if longest and len(bars[0]) == 1 else [*bars[0], len(parts)]


def _keys(parts: deque[str]) -> _Keys:
    """Return texts in lower case of which each match of *parts* has one.

    They are read up to the end of a group.
    """
    branches, best, run = list[_Keys](), _NONE, ""
    while parts and (part := parts.popleft()) != ")":
        if part == "|":
            branches.append(max(best, _key(run)))
            best, run = _NONE, ""
            continue
        inner = _keys(parts) if part[0] == "(" else _NONE
        letters = _letters(part)
        is_repeated = parts and parts[0][0] in "*+?{" and _REPEAT.match(parts[0])
        repeat = parts.popleft() if is_repeated else ""
        if repeat[:1] in _OPTIONAL or repeat[:2] in _OPTIONAL or part in _LOOKS:
            inner, letters = _NONE, None
        run += letters or ""
        if letters is None or repeat:
            best, run = max(best, _key(run), inner), ""
    branches.append(max(best, _key(run)))
    keys = tuple(chain.from_iterable(each.texts for each in branches))
    return (
        _Keys(min(each.chars for each in branches), -len(keys), keys)
        if all(x.chars for x in branches)
        else _NONE
    )


def _key(run: str) -> _Keys:
    return _Keys(min(len(run), _KEY_CHARS), -1, (run,)) if run else _NONE


def _letters(part: str) -> str | None:
    """Return what *part* stands for, "" for a place between characters, None where it varies."""
    if part[0] != "\\":
        return None if part[0] in "([.^$" else part.lower()
    if part[2:]:
        return chr(int(part[2:], 16)).lower()
    return "" if part[1] in "bB" else None if part[1].isalnum() else part[1]


def any_of(phrases: str) -> str:
    r"""Return an alternation of the expressions of a list.

    >>> print(any_of("let me, i am, für"))
    let\s+me|i\s+am|f(?:ü|ue)r
    """
    return "|".join(item.translate(_SPELLINGS) for item in _items(phrases))


def longest_first(phrases: str) -> str:
    """Return :func:`any_of` with longer expressions first, so that a prefix hides none."""
    return any_of(", ".join(sorted(_items(phrases), key=len, reverse=True)))


def opening(*phrases: str, before: str = "") -> Phrases:
    """Return the pattern of any expression at the start, as whole words, ignoring case."""
    return Phrases(rf"{before}(?:{any_of(', '.join(phrases))})(?!\w)")


def anywhere(*phrases: str) -> Phrases:
    """Return the pattern of any expression anywhere, as whole words, ignoring case."""
    return Phrases(rf"(?<!\w)(?:{any_of(', '.join(phrases))})(?!\w)")


def _items(phrases: str) -> list[str]:
    return " ".join(_CONTINUED.sub("", phrases).split()).split(", ")
