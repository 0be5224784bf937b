"""Replace secrets in texts before anything else is done with them (PROMISES 5, H61-H68).

A key is replaced by a placeholder such as ``[secret:aws-key#1]``, so it reaches neither the file
and its indexes nor the model, the log or the audit. Only this module and readers of rows make
``Screened`` texts.

Secrets are searched in the visible text: invisible characters or a line break cannot hide one, and
the whole original span is replaced. Every stored text is screened, so a line without secrets costs
only a few substring searches.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

from memd.base.errors import SecretRefusedError
from memd.base.limits import NAME_CHARS_MAX
from memd.domain.trust import Screened, SecretsPolicy
from memd.guard.secret_checks import has_card_context
from memd.guard.secret_rules import (
    ACCOUNT,
    ANY,
    NUMBER,
    Match,
    detector,
    has_harmless_name,
    has_sign,
)
from memd.guard.secret_shapes import CARD, CARDS, EXAMPLES, IBAN, IBANS, SecretShape
from memd.view.view import hidden_characters

ENCODED = "encoded_secret"
HIDDEN = "hidden_text"


class Screening(NamedTuple):
    """A screened text, and the *kinds* of secrets that were replaced."""

    text: Screened
    kinds: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags of suspicious parts that were not replaced; computed on access."""
        return _find_flags(self.text)


class _Finding(NamedTuple):
    start: int
    end: int
    kind: str
    secret: str


class _GaplessText(NamedTuple):
    """A text without invisible gaps; *starts* and *shifts* map offsets to the original."""

    text: str
    starts: list[int]
    shifts: list[int]

    def original(self, index: int) -> int:
        return index + self.shifts[bisect_right(self.starts, index) - 1]


_PLACEHOLDER = re.compile(r"\[secret:([a-z0-9-]+)#(\d{1,6})\]")
_WHOLE = tuple(map(re.compile, (r"\s", r"\n", r"\n[ \t\r]*\n")))
"""Ends of larger spans to replace as a whole: a word, a line, a paragraph; finally all text."""
_UNCOVERED_MAX = 16  # if a replacement uncovers more keys than this, larger spans are replaced

# How base64 of a listed prefix begins: AKIA, ghp_, sk-, xox, AIza, glpa, -----BEGIN, github_pat.
_ENCODED = re.compile(
    r"(?<![A-Za-z0-9+/])(?:QUtJQ|QVNJQ|Z2h[wvd]X|c2st|eG94|QUl6Y|Z2xwYX|LS0tLS1CRUdJTi|Z2l0aHViX3Bhd)"
    r"[A-Za-z0-9+/]{12,4096}"
)
ROUNDS_MAX = 8  # for keys without a gap between them; other texts need one round and a check
_LETTERS_MIN = 20  # of a secret with letters only: AKIA and sixteen more
_TAIL_CHARS_MIN = 8
_WORD = re.compile(r"[A-Za-z][a-z_-]{0,30}|[A-Z]{1,16}")
_PLAIN = b"\t\n" + bytes(range(ord(" "), 0x7F))


def screen(text: str) -> Screening:
    """Return *text* with every secret replaced by a numbered placeholder.

    The same secret has the same number throughout the text; numbers from an earlier screening
    are not reused. Screening is idempotent: a text with secrets left after ROUNDS_MAX rounds,
    from keys in a row without a gap, loses larger spans, so the number of passes is bounded.

    >>> screen("use ghp_0123456789abcdefghijABCDEFGHIJ012345 now").text
    'use [secret:github-token#1] now'
    """
    if len(text) > _LONG_CHARS and _digest(text) in SCREENED:
        return Screening(Screened(text))
    kinds: list[str] = []
    whole = iter(_WHOLE)
    for number in range(ROUNDS_MAX + len(_WHOLE) + 1):
        matches = _find_secrets(text)
        if not matches:
            if len(text) > _LONG_CHARS:
                _remember_screened(text)
            break
        kinds += [finding.kind for finding in matches]
        # The text after a replaced key may now be recognised as the next key.
        if number >= ROUNDS_MAX or (number and len(matches) > _UNCOVERED_MAX):
            ends = next(whole, None)
            if ends is None:
                text = _replace(text, [matches[0]._replace(start=0, end=len(text), secret=text)])
                break
            matches = _merge_overlaps([_extend_to(finding, text, ends) for finding in matches])
        text = _replace(text, matches)
    return Screening(Screened(text), tuple(dict.fromkeys(kinds)))


def _extend_to(finding: _Finding, text: str, ends: re.Pattern[str]) -> _Finding:
    end = ends.search(text, finding.end)
    return finding._replace(end=end.start() if end else len(text))


# A long text is screened on arrival and again whenever it leaves, often in the event loop; so
# the hashes of screened texts are kept.
_LONG_CHARS, _SCREENED_MAX = 2_000, 4_096
SCREENED: OrderedDict[bytes, None] = OrderedDict()


def _remember_screened(text: str) -> None:
    SCREENED[_digest(text)] = None
    if len(SCREENED) > _SCREENED_MAX:
        with suppress(KeyError):  # another thread emptied it meanwhile
            SCREENED.popitem(last=False)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def admit(text: str, policy: SecretsPolicy) -> Screening:
    """Return *text* for storing by *policy*: screened, or unchanged with ``keep``.

    A text that is kept is redacted whenever it leaves (:mod:`memd.guard.redaction`).
    """
    return Screening(Screened(text)) if policy == "keep" else screen(text)


def refuse_kinds(kinds: Sequence[str], policy: SecretsPolicy, field: str | None) -> None:
    """Raise SecretRefusedError, naming *field*, if *kinds* of secrets are refused by *policy*."""
    if policy == "refuse" and kinds:
        raise SecretRefusedError(
            f"the text holds a secret ({', '.join(kinds)})",
            field=field,
            hint="take it out, or set daemon.secrets to redact",
        )


def screen_name(text: str) -> str:
    """Return a tag, a source or a namespace, screened and cut to a name's length."""
    if len(text) < _LETTERS_MIN and text.isalpha() and text.isascii():
        return Screened(text)  # the fast path for most names
    return screen(text).text[:NAME_CHARS_MAX]


# Detection.


def _find_secrets(text: str) -> list[_Finding]:
    """Return the secrets of *text* in order, without overlaps."""
    # Deleting plain ASCII by a table takes a tenth of a pattern's time. What remains is valid
    # UTF-8, as the bytes of other characters are all outside of the table.
    unusual = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    unseen = hidden_characters(unusual.decode("utf-8", "surrogatepass")) if unusual else frozenset()
    if not unseen:
        return _merge_overlaps(list(_find_in_lines(text)) + list(_find_wrapped(text)))
    gaps = re.compile(f"[{re.escape(''.join(sorted(unseen)))}]+")
    bare = _remove_gaps(text, gaps)
    return _merge_overlaps(
        list(_to_original(bare, chain(_find_in_lines(bare.text), _find_wrapped(bare.text))))
    )


def _merge_overlaps(matches: list[_Finding]) -> list[_Finding]:
    """Return *matches* in order, overlapping ones merged; the longer one's secret counts."""
    merged: list[_Finding] = []
    for finding in sorted(matches, key=lambda finding: (finding.start, -finding.end)):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = last._replace(
                end=max(last.end, finding.end),
                secret=finding.secret if finding.end > last.end else last.secret,
            )
        else:
            merged.append(finding)
    return merged


def _find_in_lines(text: str) -> Iterator[_Finding]:
    if not has_sign(ANY, text):
        return
    for match in detector().find(text):
        yield from _check_match(match, text)
    for number in CARDS.finditer(text) if has_sign(NUMBER, text) else ():
        for finding in _validate(CARD, text, *number.span()):
            if has_card_context(text, *number.span()):
                yield finding
    if has_sign(ACCOUNT, text):
        yield from _find_accounts(text)


def _check_match(match: Match, text: str) -> Iterator[_Finding]:
    start = match.secret_start
    # A match in the middle of a word is part of a longer name.
    if start == match.start and start and text[start].isalnum() and text[start - 1].isalnum():
        return
    if not has_harmless_name(match, text):
        yield from _validate(match.shape, text, start, match.end)


def _validate(shape: SecretShape, text: str, start: int, end: int) -> Iterator[_Finding]:
    secret = "".join(text[start:end].split())
    if secret.startswith("[secret:") and _PLACEHOLDER.fullmatch(secret):
        return  # some rules match any value after their keyword, a placeholder, too
    if secret not in EXAMPLES and shape.check(secret):
        yield _Finding(start, end, shape.kind, secret)


def _find_accounts(text: str) -> Iterator[_Finding]:
    """Yield account numbers, without a capital word that follows one."""
    for match in IBANS.finditer(text):
        start, end = match.span()
        while end > start and not IBAN.check(text[start:end]):
            end = max(text.rfind(" ", start, end), start)
        account = text[start:end].replace(" ", "")
        if account and account not in EXAMPLES:
            yield _Finding(start, end, IBAN.kind, account)


def _find_wrapped(text: str) -> Iterator[_Finding]:
    """Yield the keys that span a line break."""
    if "\n" not in text:
        return
    lines = _Lines(text)
    if not has_sign(ANY, lines.joined):
        return
    lengths: dict[tuple[str, str], int] = {}
    for match in list(detector().find(lines.joined, wraps=True)):
        start, end = lines.original(match.secret_start), lines.original(match.end - 1) + 1
        if start and text[start - 1].isalnum():
            continue
        key = match.shape.pattern, text[start:end]
        if key not in lengths:  # a text may repeat one line again and again
            lengths[key] = _key_length(match.shape, text[start:end])
        end = start + lengths[key]
        if "\n" in text[start:end]:
            yield from _validate(match.shape, text, start, end)


class _Lines:
    """A text of several lines, *joined* without line ends and indentation."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        # lstrip takes a tenth of a pattern's time.
        self._stripped = [line.lstrip(" \t") for line in self._lines]
        self._stripped[0] = self._lines[0]
        if "\r" in text:
            self._stripped[:-1] = [line.removesuffix("\r") for line in self._stripped[:-1]]
        self.joined = "".join(self._stripped)

    def original(self, index: int) -> int:
        """Return the offset in the original of *index* in the joined text."""
        joined, original = self._starts
        number = bisect_right(joined, index) - 1
        line = self._lines[number]
        blanks = len(line) - len(line.lstrip(" \t")) if number else 0
        return original[number] + number + blanks + index - joined[number]

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        """The start of each line, joined and in the original, there not counting line ends."""
        joined, original = (
            accumulate(map(len, lines), initial=0) for lines in (self._stripped, self._lines)
        )
        return list(joined), list(original)


def _key_length(shape: SecretShape, stretch: str) -> int:
    """Return the length of *stretch* without lines at its end that do not belong to the key.

    A key that is complete at a line's end is followed by an ordinary or a short word; the rest
    of a broken key is longer, with digits or irregular capitals.
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


def _remove_gaps(text: str, gaps: re.Pattern[str]) -> _GaplessText:
    pieces, starts, shifts = [], [0], [0]
    at = length = 0
    for gap in gaps.finditer(text):
        pieces.append(text[at : gap.start()])
        length += gap.start() - at
        at = gap.end()
        starts.append(length)
        shifts.append(at - length)
    pieces.append(text[at:])
    return _GaplessText("".join(pieces), starts, shifts)


def _to_original(bare: _GaplessText, matches: Iterator[_Finding]) -> Iterator[_Finding]:
    for finding in matches:
        yield finding._replace(
            start=bare.original(finding.start), end=bare.original(finding.end - 1) + 1
        )


# Replacement, and flags for parts that are not replaced.


def _replace(text: str, matches: list[_Finding]) -> str:
    used: dict[str, int] = {}
    for kind, number in _PLACEHOLDER.findall(text):
        used[kind] = max(used.get(kind, 0), int(number))
    numbers: dict[tuple[str, str], int] = {}
    pieces: list[str] = []
    at = 0
    for finding in matches:
        key = (finding.kind, finding.secret)
        if key not in numbers:
            used[finding.kind] = numbers[key] = used.get(finding.kind, 0) + 1
        pieces += (text[at : finding.start], f"[secret:{finding.kind}#{numbers[key]}]")
        at = finding.end
    return "".join((*pieces, text[at:]))


def _find_flags(text: str) -> tuple[str, ...]:
    flags: list[str] = []
    if any(map(_decodes_to_secret, _ENCODED.findall(text))):
        flags.append(ENCODED)
    if not text.isascii() and _SMUGGLED.search(text):
        flags.append(HIDDEN)
    return tuple(flags)


# Tag letters, bidirectional overrides, and sequences of selectors, which do not occur in prose.
_SMUGGLED = re.compile(
    "[\U000e0001-\U000e007f\u202a-\u202e\u2066-\u2069]|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}"
)


def _decodes_to_secret(blob: str) -> bool:
    try:
        plain = base64.b64decode(blob + "=" * (-len(blob) % 4)).decode("ascii", "replace")
    except binascii.Error:
        return False
    return plain.startswith("-----BEGIN ") or any(_find_in_lines(plain))
