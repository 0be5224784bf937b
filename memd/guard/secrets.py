"""Secrets are replaced before anything else happens to a text (PROMISES 5, H61-H68).

What leaves here has a placeholder such as ``[secret:aws-key#1]`` where a key
stood, so neither the file nor its indexes, the model, the log or the audit ever
see the key. Only this module, and readers of rows, make ``Screened`` texts.

A secret is looked for in the text as it would be seen: characters that nobody
sees cannot hide one, nor can a line break in its middle. What is replaced is
then the whole original stretch. Every text that is stored passes here, so a
benign line costs a few plain substring searches.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

from memd.base.limits import NAME_CHARS_MAX
from memd.domain.trust import Screened, SecretsPolicy
from memd.guard.secret_rules import ACCOUNT, ANY, NUMBER, Match, detector, is_named_hash, shows
from memd.guard.secret_shapes import (
    CARD,
    CARDS,
    EXAMPLES,
    IBAN,
    IBANS,
    SecretShape,
    is_said_to_be_a_card,
)
from memd.view.view import hidden

ENCODED = "encoded_secret"
HIDDEN = "hidden_text"


class Screening(NamedTuple):
    """A screened text, and the *kinds* of secrets that were replaced."""

    text: Screened
    kinds: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Remarks on what was not replaced; looked for when they are asked for."""
        return _flags(self.text)


class _Finding(NamedTuple):
    start: int
    end: int
    kind: str
    secret: str


class _Bare(NamedTuple):
    """A text with gaps taken out; *starts* and *shifts* lead back to the original."""

    text: str
    starts: list[int]
    shifts: list[int]

    def original(self, index: int) -> int:
        return index + self.shifts[bisect_right(self.starts, index) - 1]


_PLACEHOLDER = re.compile(r"\[secret:([a-z0-9-]+)#(\d{1,6})\]")
_WHOLE = tuple(map(re.compile, (r"\s", r"\n", r"\n[ \t\r]*\n")))
"""Where a stretch ends that goes as a whole: a word, a line, a paragraph; then all goes."""
_FREED_MAX = 16  # so many keys, freed by those before them, and stretches go at once

# How base64 of a listed prefix begins: AKIA, ghp_, sk-, xox, AIza, glpa, -----BEGIN, github_pat.
_ENCODED = re.compile(
    r"(?<![A-Za-z0-9+/])(?:QUtJQ|QVNJQ|Z2h[wvd]X|c2st|eG94|QUl6Y|Z2xwYX|LS0tLS1CRUdJTi|Z2l0aHViX3Bhd)"
    r"[A-Za-z0-9+/]{12,4096}"
)
ROUNDS_MAX = 8  # keys written together without a gap; one round and a look for all others
_LETTERS_MIN = 20  # of a secret that has nothing but letters: AKIA and sixteen more
_TAIL_CHARS_MIN = 8
_WORD = re.compile(r"[A-Za-z][a-z_-]{0,30}|[A-Z]{1,16}")
_PLAIN = b"\t\n" + bytes(range(ord(" "), 0x7F))


def screen(text: str) -> Screening:
    """Return *text* with every secret replaced by a numbered placeholder.

    The same secret has the same number throughout the text; numbers that the
    text brings along from an earlier screening are not given twice. Screening
    twice changes nothing more: what still has a secret after some rounds, of keys in a
    row without a gap, loses whole stretches. So the passes are counted, whatever the text.

    >>> screen("use ghp_0123456789abcdefghijABCDEFGHIJ012345 now").text
    'use [secret:github-token#1] now'
    """
    if _is_known(text):
        return Screening(Screened(text))
    kinds: list[str] = []
    whole = iter(_WHOLE)
    for number in range(ROUNDS_MAX + len(_WHOLE) + 1):
        matches = _all(text)
        if not matches:
            _note(text)
            break
        kinds += [one.kind for one in matches]
        # What ran on behind a key is a word of its own now, and may be the next key.
        if number >= ROUNDS_MAX or (number and len(matches) > _FREED_MAX):
            ends = next(whole, None)
            if ends is None:
                return Screening(Screened(_replaced(text, [_all_of(text, matches)])), _once(kinds))
            matches = _apart([_until(one, text, ends) for one in matches])
        text = _replaced(text, matches)
    return Screening(Screened(text), _once(kinds))


def _once(kinds: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kinds))


def _until(one: _Finding, text: str, ends: re.Pattern[str]) -> _Finding:
    end = ends.search(text, one.end)
    return one._replace(end=end.start() if end else len(text))


def _all_of(text: str, matches: list[_Finding]) -> _Finding:
    """Return the text as one stretch: nobody writes what comes this far."""
    return matches[0]._replace(start=0, end=len(text), secret=text)


# A long text is screened as it comes in, and again whenever it leaves, then often where
# others wait: what came out of here is known by its hash.
_LONG_CHARS, _KNOWN_MAX = 2_000, 4_096
KNOWN: OrderedDict[bytes, None] = OrderedDict()


def _is_known(text: str) -> bool:
    return len(text) > _LONG_CHARS and _digest(text) in KNOWN


def _note(text: str) -> None:
    if len(text) > _LONG_CHARS:
        KNOWN[_digest(text)] = None
        if len(KNOWN) > _KNOWN_MAX:
            with suppress(KeyError):  # another thread was faster
                KNOWN.popitem(last=False)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def admitted(text: str, policy: SecretsPolicy) -> Screening:
    """Return *text* as *policy* lets it in: screened, or with ``keep`` as it is.

    What is kept is screened whenever it leaves (:mod:`memd.guard.outgoing`).
    """
    return Screening(Screened(text)) if policy == "keep" else screen(text)


def screened_name(text: str) -> str:
    """Return *text*, a tag, a source or a namespace, screened and at most a name's length."""
    if len(text) < _LETTERS_MIN and text.isalpha() and text.isascii():
        return Screened(text)  # most names; a draft has several
    return screen(text).text[:NAME_CHARS_MAX]


# Where secrets are.


def _all(text: str) -> list[_Finding]:
    """Return the secrets of *text* in order, without overlaps."""
    # A table of bytes tells in a tenth of the time that a pattern takes; what is left are
    # whole characters, as the bytes of all others are above those of the table.
    rest = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    unseen = hidden(rest.decode("utf-8", "surrogatepass")) if rest else frozenset()
    if not unseen:
        return _apart(list(_in_lines(text)) + list(_wrapped(text)))
    gaps = re.compile(f"[{re.escape(''.join(sorted(unseen)))}]+")
    bare = _without(text, gaps)
    return _apart(list(_mapped(bare, chain(_in_lines(bare.text), _wrapped(bare.text)))))


def _apart(matches: list[_Finding]) -> list[_Finding]:
    """Join what overlaps: the longer stretch wins, and takes in what it meets."""
    kept: list[_Finding] = []
    for one in sorted(matches, key=lambda one: (one.start, -one.end)):
        if kept and one.start < kept[-1].end:
            last = kept[-1]
            kept[-1] = last._replace(
                end=max(last.end, one.end),
                secret=one.secret if one.end > last.end else last.secret,
            )
        else:
            kept.append(one)
    return kept


def _in_lines(text: str) -> Iterator[_Finding]:
    if not shows(ANY, text):
        return
    for match in detector().find(text):
        yield from _of(match, text)
    for number in CARDS.finditer(text) if shows(NUMBER, text) else ():
        for finding in _judged(CARD, text, *number.span()):
            if is_said_to_be_a_card(text, *number.span()):
                yield finding
    if shows(ACCOUNT, text):
        yield from _accounts(text)


def _of(match: Match, text: str) -> Iterator[_Finding]:
    start = match.secret_start
    # A key that continues a word is part of a longer name.
    if start == match.start and start and text[start].isalnum() and text[start - 1].isalnum():
        return
    if not is_named_hash(match, text):
        yield from _judged(match.shape, text, start, match.end)


def _judged(shape: SecretShape, text: str, start: int, end: int) -> Iterator[_Finding]:
    secret = "".join(text[start:end].split())
    if secret.startswith("[secret:") and _PLACEHOLDER.fullmatch(secret):
        return  # a rule takes whatever stands behind its word for the secret
    if secret not in EXAMPLES and shape.check(secret):
        yield _Finding(start, end, shape.kind, secret)


def _accounts(text: str) -> Iterator[_Finding]:
    """Yield account numbers; a capital word after one is not a part of it."""
    for match in IBANS.finditer(text):
        start, end = match.span()
        while end > start and not IBAN.check(text[start:end]):
            end = max(text.rfind(" ", start, end), start)
        if end > start:
            yield _Finding(start, end, IBAN.kind, text[start:end].replace(" ", ""))


def _wrapped(text: str) -> Iterator[_Finding]:
    """Yield the keys whose lines were broken in the middle."""
    if "\n" not in text:
        return
    lines = _Lines(text)
    if not shows(ANY, lines.joined):
        return
    lengths: dict[tuple[str, str], int] = {}
    for match in list(detector().find(lines.joined, wraps=True)):
        start, end = lines.original(match.secret_start), lines.original(match.end - 1) + 1
        if start and text[start - 1].isalnum():
            continue
        asked = match.shape.pattern, text[start:end]
        if asked not in lengths:  # a text may be one line again and again
            lengths[asked] = _without_words(match.shape, text[start:end])
        end = start + lengths[asked]
        if "\n" in text[start:end]:
            yield from _judged(match.shape, text, start, end)


class _Lines:
    """A text of several lines, *joined* without their ends and the blanks they begin with."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._kept = [line.lstrip(" \t") for line in self._lines]  # a tenth of a pattern's cost
        self._kept[0] = self._lines[0]
        if "\r" in text:
            self._kept[:-1] = [line.removesuffix("\r") for line in self._kept[:-1]]
        self.joined = "".join(self._kept)

    def original(self, index: int) -> int:
        """Return where *index* of the joined text is in the original."""
        kept, begun = self._starts
        number = bisect_right(kept, index) - 1
        line = self._lines[number]
        blanks = len(line) - len(line.lstrip(" \t")) if number else 0
        return begun[number] + number + blanks + index - kept[number]

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        """Where each line begins, joined and in the original without the ends before it."""
        kept, lines = (accumulate(map(len, each), initial=0) for each in (self._kept, self._lines))
        return list(kept), list(lines)


def _without_words(shape: SecretShape, stretch: str) -> int:
    """Return the length of *stretch* without the lines at its end that are not the key's.

    A key that is complete at its line's end is followed by an ordinary word or
    a short one; the rest of a broken key is longer, with digits or odd capitals.
    """
    key, end = "".join(stretch.split()), len(stretch)
    while (line := stretch.rfind("\n", 0, end)) >= 0:
        tail = stretch[line + 1 : end].strip()
        if len(tail) >= _TAIL_CHARS_MIN and not _WORD.fullmatch(tail):
            break
        key = key[: len(key) - len("".join(tail.split()))]
        if not detector().is_whole(shape, key):
            break
        end = line
    return end


def _without(text: str, gaps: re.Pattern[str]) -> _Bare:
    pieces, starts, shifts = [], [0], [0]
    at = length = 0
    for gap in gaps.finditer(text):
        pieces.append(text[at : gap.start()])
        length += gap.start() - at
        at = gap.end()
        starts.append(length)
        shifts.append(at - length)
    pieces.append(text[at:])
    return _Bare("".join(pieces), starts, shifts)


def _mapped(bare: _Bare, matches: Iterator[_Finding]) -> Iterator[_Finding]:
    for one in matches:
        yield one._replace(start=bare.original(one.start), end=bare.original(one.end - 1) + 1)


# What stands there afterwards, and what is only remarked on.


def _replaced(text: str, matches: list[_Finding]) -> str:
    used: dict[str, int] = {}
    for kind, number in _PLACEHOLDER.findall(text):
        used[kind] = max(used.get(kind, 0), int(number))
    numbers: dict[tuple[str, str], int] = {}
    pieces: list[str] = []
    at = 0
    for one in matches:
        key = (one.kind, one.secret)
        if key not in numbers:
            used[one.kind] = numbers[key] = used.get(one.kind, 0) + 1
        pieces += (text[at : one.start], f"[secret:{one.kind}#{numbers[key]}]")
        at = one.end
    return "".join((*pieces, text[at:]))


def _flags(text: str) -> tuple[str, ...]:
    flags: list[str] = []
    if any(map(_decodes_to_secret, _ENCODED.findall(text))):
        flags.append(ENCODED)
    if not text.isascii() and _SMUGGLED.search(text):
        flags.append(HIDDEN)
    return tuple(flags)


# Tag letters, bidirectional overrides, and selectors in a row: none has a place in prose.
_SMUGGLED = re.compile(
    "[\U000e0001-\U000e007f\u202a-\u202e\u2066-\u2069]|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}"
)


def _decodes_to_secret(blob: str) -> bool:
    try:
        plain = base64.b64decode(blob + "=" * (-len(blob) % 4)).decode("ascii", "replace")
    except binascii.Error:
        return False
    return plain.startswith("-----BEGIN ") or any(_in_lines(plain))
