"""Step two of ingest: a text is cut where its meaning turns (SPEC 1.3, D3).

Blank lines first, then sentences, then words; short pieces join a neighbour.
A fenced code block is one piece up to the maximum, and keeps its lines when it
is larger. The chunks are in order and together hold every character of the
text that is not white space; white space at the seams may change.

Every text is counted by the counter that is passed in, and the number of
characters counted is a small multiple of the text's own, whatever the text:
a counter may be slow, and a hostile text may be one word of a megabyte.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from memd.base.limits import WINDOW_TOKENS_MAX
from memd.model.chunking import MIN_CHUNK_TOKENS
from memd.model.encoding import TokenCounter

_BLANK_LINE = re.compile(r"\n\n")
_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?](\s+)(?=\S)")

# A word-piece vocabulary counts a word of more than 100 characters as one unknown
# piece. To whoever reads the chunk it costs what it costs: about a token for
# each four characters, so such runs are charged for. Ideographs are counted
# one by one and need no charge.
_LONG_WORD = re.compile(r"[^\s!-/:-@\[-`{-~\u3000-\u303f\u3400-\u9fff]{101,}")
_WORD_CHARS_MAX = 100
_CHARS_PER_TOKEN = 4

_JOINER = "\u200d"
_GRAPHEME_CHARS_MAX = 32  # how far back a cut looks for a seam between graphemes
_INTERPOLATIONS_MAX = 8  # after that the search halves


def chunk(
    text: str,
    counter: TokenCounter,
    *,
    tokens_min: int = MIN_CHUNK_TOKENS,
    tokens_max: int = WINDOW_TOKENS_MAX,
) -> list[str]:
    """Return the chunks of *text* in order, none above *tokens_max* (SPEC 1.3).

    A chunk may be below *tokens_min*: the only one, the last one, or a tail
    (SPEC 1.3.8). A single grapheme above the maximum stays whole where it is
    short, and is cut where it is not. White space alone gives no chunk. Raises
    ValueError unless 0 < *tokens_min* <= *tokens_max*.
    """
    if tokens_min <= 0 or tokens_max <= 0:
        raise ValueError("tokens_min and tokens_max must be above 0")
    if tokens_min > tokens_max:
        raise ValueError("tokens_min must not be above tokens_max")
    rule = _Rule(counter, tokens_min, tokens_max)
    pieces = [piece for segment in _segments(text) for piece in _fitting(segment, rule)]
    return [final.text for piece in _merged(pieces, rule) for final in _certain(piece, rule)]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text with its tokens: counted, or the *estimated* sum of its parts."""

    text: str
    tokens: int
    estimated: bool = False

    def then(self, other: _Piece, glue: str) -> _Piece:
        return _Piece(self.text + glue + other.text, self.tokens + other.tokens, estimated=True)


@dataclass(frozen=True, slots=True)
class _Rule:
    """The bounds, and the counter they are measured with."""

    counter: TokenCounter
    tokens_min: int
    tokens_max: int

    def piece(self, text: str) -> _Piece:
        return _Piece(text, self.tokens(text))

    def tokens(self, text: str) -> int:
        counted = self.counter.count(text)
        if len(max(text.split(), key=len, default="")) <= _WORD_CHARS_MAX:
            return max(1, counted)  # a look that costs a third of the pattern's
        charged = sum(len(word) for word in _LONG_WORD.findall(text)) // _CHARS_PER_TOKEN
        return max(1, counted + charged)


# Cutting at blank lines, and around code.


def _segments(text: str) -> Iterator[str]:
    """Yield the paragraphs, stripped; a blank line inside a fence is no boundary."""
    fences = _fences(text)
    start = 0
    at = 0
    for blank in _BLANK_LINE.finditer(text):
        while at < len(fences) and fences[at][1] <= blank.start():
            at += 1
        if at < len(fences) and fences[at][0] < blank.start():
            continue
        if segment := text[start : blank.start()].strip():
            yield segment
        start = blank.end()
    if segment := text[start:].strip():
        yield segment


def _fences(text: str) -> list[tuple[int, int]]:
    """Return where closed fenced blocks begin and end.

    A block that is never closed is ordinary text, together with what follows:
    it is nobody's intention, and looking for its end again from each later
    line would cost the square of the text.
    """
    found: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for line in _FENCE_LINE.finditer(text):
        marks, rest = line[1], line[2]
        if opened is None:
            if not (marks[0] == "`" and "`" in rest):  # that would be code within a line
                opened = line
        elif marks[0] == opened[1][0] and len(marks) >= len(opened[1]) and not rest.strip():
            found.append((opened.start(), line.end()))
            opened = None
    return found


def _fitting(segment: str, rule: _Rule) -> Iterator[_Piece]:
    """Yield *segment* in pieces that fit: itself, or its code and prose apart."""
    whole = rule.piece(segment)
    if whole.tokens <= rule.tokens_max:
        yield whole
        return
    start = 0
    for begin, end in _fences(segment):
        yield from _prose(segment[start:begin].strip(), rule)
        yield from _code(segment[begin:end], rule)
        start = end
    yield from _prose(segment[start:].strip(), rule)


def _code(block: str, rule: _Rule) -> Iterator[_Piece]:
    """Yield a fenced block whole, or, where it is too large, in runs of whole lines."""
    whole = rule.piece(block)
    if whole.tokens <= rule.tokens_max:
        yield whole
        return
    lines = [rule.piece(line) for line in block.split("\n") if line.strip()]
    yield from _packed(lines, "\n", rule)


def _prose(text: str, rule: _Rule) -> Iterator[_Piece]:
    if text:
        yield from _packed([rule.piece(sentence) for sentence in _sentences(text)], " ", rule)


def _sentences(text: str) -> Iterator[str]:
    """Cut after ``.``, ``!`` or ``?`` where white space and a capital follow (SPEC 1.3.3)."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if text[end.end()].isupper():
            yield text[start : end.start(1)]
            start = end.end()
    yield text[start:]


def _packed(parts: list[_Piece], glue: str, rule: _Rule) -> Iterator[_Piece]:
    """Join *parts* greedily; a part that is too large by itself goes by words."""
    pack: _Piece | None = None
    for part in parts:
        if pack and pack.tokens + part.tokens <= rule.tokens_max:
            pack = pack.then(part, glue)
            continue
        if pack:
            yield pack
            pack = None
        if part.tokens > rule.tokens_max:
            yield from _worded(part.text, rule)
        else:
            pack = part
    if pack:
        yield pack


# Joining what is short.


def _merged(pieces: list[_Piece], rule: _Rule) -> list[_Piece]:
    """Join short pieces to the one before, or else to the next one (SPEC 1.3.6)."""
    emitted: list[_Piece] = []
    waiting: _Piece | None = None
    for index, piece in enumerate(pieces):
        current = waiting.then(piece, "\n\n") if waiting else piece
        waiting = None
        if current.tokens >= rule.tokens_min:
            emitted.append(current)
        elif emitted and emitted[-1].tokens + current.tokens <= rule.tokens_max:
            emitted[-1] = emitted[-1].then(current, "\n\n")
        elif index + 1 < len(pieces):
            waiting = current
        else:
            emitted.append(current)
    return emitted


def _certain(piece: _Piece, rule: _Rule) -> Iterator[_Piece]:
    """Count what was only added up, and cut again what is too large after all (SPEC 1.3.7)."""
    counted = rule.piece(piece.text) if piece.estimated else piece
    if counted.tokens <= rule.tokens_max:
        yield counted
        return
    for part in _fitting(piece.text, rule):
        if part.estimated and rule.tokens(part.text) > rule.tokens_max:
            yield from _worded(part.text, rule)
        else:
            yield part


# Cutting by words, and inside a word.


def _worded(text: str, rule: _Rule) -> Iterator[_Piece]:
    """Fill up to the maximum with words joined by one space (SPEC 1.3.4)."""
    words = [unit for word in text.split() for unit in _units(word, rule)]
    start = 0
    guess = rule.tokens_max
    while start < len(words):
        guess, piece = _longest(partial(_words, words, start), len(words) - start, guess, rule)
        yield piece
        start += guess


def _units(word: str, rule: _Rule) -> Iterator[str]:
    """Yield *word*, or the parts of a word that is too large, cut between graphemes."""
    if len(word) * _CHARS_PER_TOKEN <= rule.tokens_max or rule.tokens(word) <= rule.tokens_max:
        yield word
        return
    start = 0
    guess = rule.tokens_max * _CHARS_PER_TOKEN
    while start < len(word):
        guess, _ = _longest(partial(_characters, word, start), len(word) - start, guess, rule)
        end = _seam(word, start, start + guess)
        yield word[start:end]
        start = end


def _words(words: list[str], start: int, n: int) -> str:
    return " ".join(words[start : start + n])


def _characters(word: str, start: int, n: int) -> str:
    return word[start : start + n]


def _longest(take: Callable[[int], str], size: int, guess: int, rule: _Rule) -> tuple[int, _Piece]:
    """Return the largest n in 1..*size* for which ``take(n)`` fits, with that piece.

    Guesses in proportion first, as most texts are even, then halves. It never
    tries more than twice what is known to fit. n = 1 is returned also when it
    does not fit.
    """
    fits, best = 0, None
    too_large = size + 1
    n = min(guess, size)
    tries = 0
    while fits + 1 < too_large:
        piece = rule.piece(take(n))
        if piece.tokens <= rule.tokens_max:
            fits, best = n, piece
            if piece.tokens == rule.tokens_max:
                break
        else:
            too_large = n
        tries += 1
        ahead = min(too_large, 2 * fits + 2)
        even = n * rule.tokens_max // piece.tokens
        n = even if tries <= _INTERPOLATIONS_MAX else (fits + ahead) // 2
        n = max(fits + 1, min(n, ahead - 1))
    return (fits, best) if best else (1, rule.piece(take(1)))


def _seam(word: str, start: int, end: int) -> int:
    """Move *end* back to a seam between graphemes, if there is one not far back.

    A mark, a joiner, a variation selector or a skin tone belongs to what stands
    before it, and so does whatever follows a joiner; two regional indicators
    make one flag. A chain of dozens is cut all the same, between two of its
    links; only a character buried under dozens of marks loses some of them.
    """
    if end >= len(word):
        return len(word)
    near = range(end, max(start, end - _GRAPHEME_CHARS_MAX), -1)
    links = [at for at in near if not _clings(word[at])]
    for at in links:
        if word[at - 1] != _JOINER and not _in_flag(word, start, at):
            return at
    return links[0] if links else end


def _clings(character: str) -> bool:
    return (
        character == _JOINER
        or unicodedata.category(character).startswith("M")  # variation selectors too
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _in_flag(word: str, start: int, at: int) -> bool:
    """Return whether a cut at *at* would part two regional indicators that are one flag."""
    before = at
    while before > start and "\U0001f1e6" <= word[before - 1] <= "\U0001f1ff":
        before -= 1
    return (at - before) % 2 == 1 and "\U0001f1e6" <= word[at] <= "\U0001f1ff"
