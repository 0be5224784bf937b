"""Match long alternations of phrases without compiling the phrases that cannot match. Pure.

Python compiles an alternation as a whole and tries each branch at each character. With forty
phrases that takes 20 ms to compile, and 0.5 ms to search one sentence. :class:`Phrases` derives
*keys* from each phrase: substrings of which every match of the phrase contains at least one. It
compiles and tries only the phrases of which the text contains a key.

A phrase list is one string: regular expressions separated by commas, over any number of lines. A
space in an expression matches any white space, and an umlaut also its two-letter spelling ("ae").
A line that begins with "|" continues the line before.
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
"""A longer text contains keys of most phrases, so it is searched with the whole pattern."""
_KEY_CHARS: Final = 6
"""Key length that counts: a longer key is hardly more selective."""
_AROUND_CHARS_MAX: Final = 60
"""Characters before and after an alternation that each of its phrases may repeat."""
_QUANTIFIER_SOURCE: Final = r"(?:[*+?]|\{(?:\d+(?:,\d*)?|,\d+)\})[?+]?"
_QUANTIFIER: Final = re.compile(_QUANTIFIER_SOURCE)  # "*", "+?", "{2,}", "{,3}"
# One syntactic part of a pattern: r"(?:ab+|\w)" has "(?:", "a", "b", "+", "|", r"\w" and ")".
_PART: Final = re.compile(
    r"\\(?:u[\da-fA-F]{4}|U[\da-fA-F]{8}|x[\da-fA-F]{2}|.)"  # an escape: \u00e4, \w, \.
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]"  # a set of characters
    r"|\(\?(?:P<\w+>|-i:|[:=!>]|<[=!])?|[()|]"  # the beginning or end of a group, a bar
    # A quantifier, a run of literal characters whose last one is not quantified, or any other sign.
    rf"|{_QUANTIFIER_SOURCE}|[^\\\[()|{{}}*+?.^$]+(?![*+?{{])|.",
    re.DOTALL,
)
_NON_WORD: Final = re.compile(r"\W*+")
_LOOKAROUNDS: Final = frozenset(("(?=", "(?!", "(?<=", "(?<!"))
_OPTIONAL: Final = frozenset(("*", "?", "{0", "{,"))  # beginnings of quantifiers that allow zero


class _Keys(NamedTuple):
    """Keys of a part of a pattern: every match contains one of *texts*, in lower case.

    Compared as tuples, greater keys are more selective: longer, then fewer.
    """

    chars: int
    """Length of the shortest key, at most _KEY_CHARS; 0 if no substring is certain."""
    negative_count: int
    texts: tuple[str, ...]


_NO_KEYS: Final = _Keys(0, 0, ())


class _Index(NamedTuple):
    """The phrases of a pattern and their keys."""

    sources: list[str]
    keys: dict[tuple[str, str], list[tuple[str, int]]]
    """Each key with the number of its phrase, by the key's first two characters."""
    short_keys: list[tuple[str, int]]
    """The keys of one character."""
    always: list[int]
    """Numbers of the phrases without a key, which are tried on every text."""


class Phrases:
    r"""A pattern with the methods of ``re.Pattern`` that compiles its phrases on demand.

    The phrases are the branches of the outermost alternation. A phrase is compiled when a text
    first contains one of its keys. Keys are searched in the text in lower case, so the letters
    \u017f, \u0131 and \u0130, which ``re`` takes for s and i, may prevent a match: screening for
    attacks (``guard``) must not use this class.

    >>> always = Phrases(r"\b(?:always|never ever)\b")
    >>> always.search("Never ever do it"), always.search("Do it"), always.phrases_compiled
    (<re.Match object; span=(0, 10), match='Never ever'>, None, 1)
    """

    def __init__(self, pattern: str, flags: int = re.IGNORECASE) -> None:
        self.pattern = pattern
        self.flags = flags
        self._compiled: dict[int, re.Pattern[str]] = {}
        self._whole_pattern: re.Pattern[str] | None = None

    def search(self, text: str, *span: int) -> re.Match[str] | None:
        """Return the first match in *text*; of matches at one position, that of the first phrase.

        *span* holds the optional arguments *pos* and *endpos* of ``re.Pattern.search``.
        """
        if len(text) > _PHRASE_CHARS_MAX:
            return self._whole.search(text, *span)
        first: re.Match[str] | None = None
        for number in self._candidates(text):
            match = self._phrase(number).search(text, *span)
            if match and (first is None or match.start() < first.start()):
                first = match
        return first

    # A match at a fixed position is fast also with the whole pattern. Once that is compiled,
    # ``match`` and ``fullmatch`` skip the look for keys.

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        """Return the match at the start of *text*, or at the *pos* in *span*."""
        may_match = self._whole_pattern or self._candidates(text)
        return self._whole.match(text, *span) if may_match else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of the whole *text*."""
        may_match = self._whole_pattern or self._candidates(text)
        return self._whole.fullmatch(text) if may_match else None

    def sequence_end(self, text: str) -> int:
        """Return the end of the sequence of phrases with which *text* begins, 0 without one.

        Only characters that are no word characters may separate two phrases. At each position
        the first phrase that matches counts.
        """
        phrases = [self._phrase(number) for number in self._candidates(text)]
        previous_end, end = -1, 0
        while previous_end < end:
            previous_end = end
            gap = _NON_WORD.match(text, end)
            start = gap.end() if gap else end
            matches = (phrase.match(text, start) for phrase in phrases)
            match = next(filter(None, matches), None)
            end = match.end() if match else end
        return end

    def findall(self, text: str) -> list[str]:
        """Return the texts of all matches; the pattern may have one group at most."""
        return self._whole.findall(text) if self._candidates(text) else []

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Return an iterator over all matches."""
        return self._whole.finditer(text) if self._candidates(text) else iter(())

    def split(self, text: str) -> list[str]:
        """Return *text* split at the matches."""
        return self._whole.split(text) if self._candidates(text) else [text]

    def sub(self, replacement: str, text: str, count: int = 0) -> str:
        """Return *text* with the first *count* matches replaced, or all of them for 0."""
        return self._whole.sub(replacement, text, count) if self._candidates(text) else text

    @property
    def phrases_compiled(self) -> int:
        """How many phrases have been compiled."""
        return len(self._compiled)

    @property
    def _whole(self) -> re.Pattern[str]:
        if self._whole_pattern is None:  # two threads may both compile it, which is harmless
            self._whole_pattern = re.compile(self.pattern, self.flags)
        return self._whole_pattern

    @cached_property
    def _index(self) -> _Index:
        index = _Index([], {}, [], [])
        for number, (source, keys) in enumerate(_split(self.pattern)):
            index.sources.append(source)
            index.always.extend([] if keys else [number])
            for key in keys:
                alike = index.keys.setdefault((key[0], key[1]), []) if key[1:] else index.short_keys
                alike.append((key, number))
        return index

    def _candidates(self, text: str) -> Sequence[int]:
        """Return the numbers, in order, of the phrases that may match in *text*."""
        lower, index = text.lower(), self._index
        # Most keys begin with two characters that are nowhere in the text.
        begins = index.keys.keys() & set(pairwise(lower))
        numbers = {
            number
            for keys in (index.short_keys, *map(index.keys.__getitem__, begins))
            for key, number in keys
            if key in lower
        }
        return sorted(numbers.union(index.always)) if numbers else index.always

    def _phrase(self, number: int) -> re.Pattern[str]:
        phrase = self._compiled.get(number)
        if phrase is None:
            phrase = re.compile(self._index.sources[number], self.flags)
            self._compiled[number] = phrase
        return phrase


def _split(pattern: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the phrases of *pattern*, each with its keys.

    ``a(?:b|c)d`` has the phrases ``abd`` and ``acd``. A pattern with capturing groups is one
    phrase, and so is one whose phrases would repeat more than _AROUND_CHARS_MAX characters.
    """
    parts = _PART.findall(pattern)
    cuts = _outer_bars(parts)
    before, after = parts[: cuts[0] + 1], parts[cuts[-1] :]
    has_captures = any(part in {"(", "(?"} or part.startswith("(?P") for part in parts)
    if has_captures or len("".join([*before, *after])) > _AROUND_CHARS_MAX:
        yield pattern, () if "(?" in parts else _keys(deque(parts)).texts
        return
    for start, end in pairwise(cuts):
        branch = parts[start + 1 : end]
        keys = _keys(deque(branch)).texts or _keys(deque([*before, *after])).texts
        yield "".join([*before, *branch, *after]), keys


def _outer_bars(parts: Sequence[str]) -> list[int]:
    """Return the indexes of an alternation's beginning, bars and end.

    It is the alternation of the whole pattern, from -1 to the number of *parts*. For a pattern
    without a bar outside of groups, it is the longest ``(?:...)`` group without a quantifier.
    """
    depth, longest_size = 0, 0
    longest: list[int] = []
    bars: tuple[list[int], list[int]] = ([-1], [])  # outside of groups; in the group being read
    for index, part in enumerate(parts):
        if part[0] == "(":
            depth += 1
            if depth == 1:
                bars[1][:] = [index]
        elif part == ")":
            depth -= 1
            size = index - bars[1][0]
            if depth == 0 and parts[bars[1][0]] == "(?:" and size > longest_size:
                following = parts[index + 1 : index + 2]
                if not following or not _QUANTIFIER.match(following[0]):
                    longest_size, longest = size, [*bars[1], index]
        elif part == "|" and depth < len(bars):
            bars[depth].append(index)
    return longest if longest and len(bars[0]) == 1 else [*bars[0], len(parts)]


def _keys(parts: deque[str]) -> _Keys:
    """Return the keys of *parts*, removing them up to the end of the current group."""
    branches, best, run = list[_Keys](), _NO_KEYS, ""
    while parts and (part := parts.popleft()) != ")":
        if part == "|":
            branches.append(max(best, _literal_key(run)))
            best, run = _NO_KEYS, ""
            continue
        inner = _keys(parts) if part[0] == "(" else _NO_KEYS
        literal = _literal(part)
        is_quantified = parts and parts[0][0] in "*+?{" and _QUANTIFIER.match(parts[0])
        quantifier = parts.popleft() if is_quantified else ""
        is_optional = quantifier[:1] in _OPTIONAL or quantifier[:2] in _OPTIONAL
        if is_optional or part in _LOOKAROUNDS:
            inner, literal = _NO_KEYS, None
        run += literal or ""
        if literal is None or quantifier:
            best, run = max(best, _literal_key(run), inner), ""
    branches.append(max(best, _literal_key(run)))
    if not all(branch.chars for branch in branches):
        return _NO_KEYS
    keys = tuple(chain.from_iterable(branch.texts for branch in branches))
    return _Keys(min(branch.chars for branch in branches), -len(keys), keys)


def _literal_key(run: str) -> _Keys:
    return _Keys(min(len(run), _KEY_CHARS), -1, (run,)) if run else _NO_KEYS


def _literal(part: str) -> str | None:
    r"""Return the text that *part* matches, in lower case.

    "" for a part that matches no character (``\b``), None for one that matches several texts.
    """
    if part[0] != "\\":
        return None if part[0] in "([.^$" else part.lower()
    if part[2:]:
        return chr(int(part[2:], 16)).lower()
    return "" if part[1] in "bB" else None if part[1].isalnum() else part[1]


def any_of(phrases: str) -> str:
    r"""Return the alternation of the expressions in a phrase list.

    >>> print(any_of("let me, i am, für"))
    let\s+me|i\s+am|f(?:ü|ue)r
    """
    return "|".join(item.translate(_SPELLINGS) for item in _items(phrases))


def longest_first(phrases: str) -> str:
    """Return :func:`any_of` with the longest expressions first, so that no prefix hides another."""
    return any_of(", ".join(sorted(_items(phrases), key=len, reverse=True)))


def opening(*phrases: str, before: str = "") -> Phrases:
    """Return a pattern of the expressions, as whole words, to be matched at the start of a text.

    It ignores case. *before* is a pattern that precedes the expressions.
    """
    return Phrases(rf"{before}(?:{any_of(', '.join(phrases))})(?!\w)")


def anywhere(*phrases: str) -> Phrases:
    """Return a pattern that finds any of the expressions as whole words, ignoring case."""
    return Phrases(rf"(?<!\w)(?:{any_of(', '.join(phrases))})(?!\w)")


def _items(phrases: str) -> list[str]:
    return " ".join(_CONTINUED.sub("", phrases).split()).split(", ")
