"""Normalise a text and split it into chunks: steps one and two of ingest (SPEC 1.2, 1.3, D3).

Normalising makes four changes: equivalent characters become equal (NFC), line ends become
newlines, the ends are stripped, and three or more newlines become two. White space within a line,
markup and code stay unchanged.

A text is split at blank lines first, then between sentences, then between words. Short pieces
join a neighbour. A paragraph that is too large is split so that no part is short, if possible. A
fenced code block up to the maximum is one piece; a larger one is split at lines. The chunks are
in order. Together they contain every character of the text except white space, which may change
where the text is split.

The cost is bounded for every text, even for one word of a megabyte: normalising is linear, and
the token counter, which may be slow, reads a small multiple of the text's characters.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memd.base.limits import WINDOW_TOKENS_MAX
from memd.domain.encoding import MIN_CHUNK_TOKENS, TokenCounter
from memd.text.chunk_pieces import ChunkBounds, Piece, split_words

_MANY_NEWLINES = re.compile(r"\n{3,}")

# NFC sorts each run of combining marks, in quadratic time: 80,000 marks take
# five seconds. No script stacks more than a few dozen, so longer runs are
# normalised in pieces of this length.
_MARKS_MAX = 1_024
_LONG_RUN = re.compile(rb"[^\0]{%d,}" % (_MARKS_MAX + 1))

_BLANK_LINE = re.compile(r"\n\n")
_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?](\s+)(?=\S)")
_SPACE = re.compile(r"\s+")
_LINE_END = re.compile(r"\n+")


def clean(text: str) -> str:
    r"""Return *text* normalised (SPEC 1.2).

    Cleaning a cleaned text changes nothing, unless it has a run of over 1,024 combining marks.

    >>> clean("  Cafe\u0301\r\n\r\n\r\nLine two  ")
    'Café\n\nLine two'
    """
    if not text.isascii():
        text = _to_nfc(text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return _MANY_NEWLINES.sub("\n\n", text)


def _to_nfc(text: str) -> str:
    if len(text) <= _MARKS_MAX:
        return unicodedata.normalize("NFC", text)
    classes = bytes(map(unicodedata.combining, text))  # 0 for a character that is no mark
    cuts = [0]
    for run in _LONG_RUN.finditer(classes):
        cuts.extend(range(run.start() + _MARKS_MAX, run.end(), _MARKS_MAX))
    cuts.append(len(text))
    return "".join(unicodedata.normalize("NFC", text[start:end]) for start, end in pairwise(cuts))


def chunk(
    text: str,
    counter: TokenCounter,
    *,
    tokens_min: int = MIN_CHUNK_TOKENS,
    tokens_max: int = WINDOW_TOKENS_MAX,
) -> list[str]:
    """Return the chunks of *text* in order, none above *tokens_max* (SPEC 1.3).

    A chunk may be below *tokens_min*: the only one, a last paragraph, or a part whose
    neighbour cannot be split (docs/decisions/0064). A short grapheme above the maximum stays
    whole, a long one is split. A blank text has no chunks. Raises ValueError unless
    0 < *tokens_min* <= *tokens_max*.
    """
    if tokens_min <= 0 or tokens_max <= 0:
        raise ValueError("tokens_min and tokens_max must be above 0")
    if tokens_min > tokens_max:
        raise ValueError("tokens_min must not be above tokens_max")
    bounds = ChunkBounds(counter, tokens_min, tokens_max)
    if _BLANK_LINE.search(text) is None:  # one paragraph, which mostly fits
        whole = text.strip()
        if not whole or bounds.block(whole).tokens <= tokens_max:
            return [whole] if whole else []
    pieces = [piece for paragraph in _paragraphs(text) for piece in _fit(paragraph, bounds)]
    return [
        final.text for piece in _merge_short(pieces, bounds) for final in _recount(piece, bounds)
    ]


# Splitting at blank lines and around code.


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs, stripped; a blank line within a code fence is no boundary."""
    fences = _fences(text)
    start = 0
    fence = 0  # the first one that ends after the current blank line
    for blank in _BLANK_LINE.finditer(text):
        while fence < len(fences) and fences[fence][1] <= blank.start():
            fence += 1
        if fence < len(fences) and fences[fence][0] < blank.start():
            continue
        if paragraph := text[start : blank.start()].strip():
            yield paragraph
        start = blank.end()
    if paragraph := text[start:].strip():
        yield paragraph


def _fences(text: str) -> list[tuple[int, int]]:
    """Return the spans of the closed fenced blocks.

    After an unclosed fence, the rest of the text is ordinary text. Searching for further blocks
    from each later line would be quadratic.
    """
    spans: list[tuple[int, int]] = []
    opening: re.Match[str] | None = None
    for line in _FENCE_LINE.finditer(text):
        marks, info = line[1], line[2]
        if opening is None:
            if not (marks[0] == "`" and "`" in info):  # "```x```" is code within a line
                opening = line
        elif marks[0] == opening[1][0] and len(marks) >= len(opening[1]) and not info.strip():
            spans.append((opening.start(), line.end()))
            opening = None
    return spans


def _fit(paragraph: str, bounds: ChunkBounds) -> Iterator[Piece]:
    """Yield *paragraph* in pieces that fit: as a whole, or split into code and prose."""
    whole = bounds.block(paragraph)
    if whole.tokens <= bounds.tokens_max:
        yield whole
        return
    start = 0
    for begin, end in _fences(paragraph):
        yield from _prose(paragraph[start:begin].strip(), bounds)
        yield from _code(paragraph[begin:end], bounds)
        start = end
    yield from _prose(paragraph[start:].strip(), bounds)


def _code(block: str, bounds: ChunkBounds) -> Iterator[Piece]:
    """Yield a fenced block as one piece or, if it is too large, in runs of whole lines."""
    whole = bounds.block(block)
    if whole.tokens <= bounds.tokens_max:
        yield whole
        return
    lines = [bounds.block(line) for line in block.split("\n") if line.strip()]
    yield from _balance(_pack(lines, "\n", bounds), _LINES, bounds)


def _prose(text: str, bounds: ChunkBounds) -> Iterator[Piece]:
    if text:
        sentences = [bounds.block(sentence) for sentence in _sentences(text)]
        yield from _balance(_pack(sentences, " ", bounds), _WORDS, bounds)


def _sentences(text: str) -> Iterator[str]:
    """Split after ``.``, ``!`` or ``?`` before white space and a capital (SPEC 1.3.3)."""
    start = 0
    for end, begin in _sentence_seams(text):
        yield text[start:end]
        start = begin
    yield text[start:]


def _sentence_seams(text: str) -> Iterator[_Seam]:
    for end in _SENTENCE_END.finditer(text):
        if text[end.end()].isupper():
            yield end.span(1)


def _pack(parts: list[Piece], glue: str, bounds: ChunkBounds) -> Iterator[Piece]:
    """Join *parts* greedily up to the maximum; a part above the maximum is split into words."""
    pack: Piece | None = None
    for part in parts:
        if pack and pack.tokens + part.tokens <= bounds.tokens_max:
            pack = pack.join(part, glue)
            continue
        if pack:
            yield pack
            pack = None
        if part.tokens > bounds.tokens_max:
            yield from split_words(part.text, bounds)
        else:
            pack = part
    if pack:
        yield pack


# Rebalancing short parts.

_Seam = tuple[int, int]
"""The end of the text before a seam, and the start of the text after it."""


@dataclass(frozen=True, slots=True)
class _Cuts:
    """How parts of one text are joined, and the kinds of seams to split it at, best first."""

    glue: str
    kinds: tuple[Callable[[str], Iterator[_Seam]], ...]


def _line_seams(text: str) -> Iterator[_Seam]:
    return (gap.span() for gap in _LINE_END.finditer(text))


def _word_seams(text: str) -> Iterator[_Seam]:
    return (gap.span() for gap in _SPACE.finditer(text))


_LINES = _Cuts("\n", (_line_seams,))
_WORDS = _Cuts(" ", (_sentence_seams, _word_seams))


def _balance(pieces: Iterable[Piece], cuts: _Cuts, bounds: ChunkBounds) -> list[Piece]:
    """Return the pieces of one text, none below the minimum where possible."""
    balanced: list[Piece] = []
    for piece in pieces:
        if balanced and min(balanced[-1].tokens, piece.tokens) < bounds.tokens_min:
            balanced[-1:] = _rebalance(balanced[-1], piece, cuts, bounds)
        else:
            balanced.append(piece)
    return balanced


def _rebalance(left: Piece, right: Piece, cuts: _Cuts, bounds: ChunkBounds) -> Sequence[Piece]:
    """Return two neighbours joined, or split anew so that neither is short, or else unchanged."""
    whole = bounds.piece(left.text + cuts.glue + right.text)
    if whole.tokens <= bounds.tokens_max:
        return (whole,)
    for kind in cuts.kinds:
        if halves := _halves(whole, list(kind(whole.text)), bounds):
            return halves
    return (left, right)


def _halves(
    whole: Piece, seams: Sequence[_Seam], bounds: ChunkBounds
) -> tuple[Piece, Piece] | None:
    """Split at the seam nearest to the middle; None if a half would be out of bounds."""
    text = whole.text
    # The first seam whose left side has at least half of the tokens.
    middle = bisect_left(seams, whole.tokens / 2, key=lambda seam: bounds.tokens(text[: seam[0]]))
    candidates = [
        (bounds.piece(text[:end]), bounds.piece(text[begin:]))
        for end, begin in seams[max(0, middle - 1) : middle + 1]
    ]
    fitting = [
        halves
        for halves in candidates
        if all(bounds.tokens_min <= half.tokens <= bounds.tokens_max for half in halves)
    ]
    return min(fitting, key=lambda halves: abs(halves[0].tokens - halves[1].tokens), default=None)


# Merging short pieces.


def _merge_short(pieces: list[Piece], bounds: ChunkBounds) -> list[Piece]:
    """Join short pieces to the one before, or else to the next one (SPEC 1.3.6)."""
    emitted: list[Piece] = []
    waiting: Piece | None = None
    for index, piece in enumerate(pieces):
        current = waiting.join(piece, "\n\n") if waiting else piece
        waiting = None
        if current.tokens >= bounds.tokens_min:
            emitted.append(current)
        elif emitted and emitted[-1].tokens + current.tokens <= bounds.tokens_max:
            emitted[-1] = emitted[-1].join(current, "\n\n")
        elif index + 1 < len(pieces):
            waiting = current
        else:
            emitted.append(current)
    return emitted


def _recount(piece: Piece, bounds: ChunkBounds) -> Iterator[Piece]:
    """Count an estimated piece, and split it again if it is too large (SPEC 1.3.7)."""
    recounted = bounds.piece(piece.text) if piece.estimated else piece
    if recounted.tokens <= bounds.tokens_max:
        yield recounted
        return
    for part in _fit(piece.text, bounds):
        if part.estimated and bounds.tokens(part.text) > bounds.tokens_max:
            yield from _balance(split_words(part.text, bounds), _WORDS, bounds)
        else:
            yield part
