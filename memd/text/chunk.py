"""Step two of ingest: a text is cut where its meaning turns (SPEC 1.3, D3).

Blank lines first, then sentences, then words; short pieces join a neighbour. A
paragraph that has to be cut is cut so that no part is short, where it can be.
A fenced code block is one piece up to the maximum, and keeps its lines when it
is larger. The chunks are in order and together hold every character of the
text that is not white space; white space at the seams may change.

Every text is counted by the counter that is passed in, and the number of
characters counted is a small multiple of the text's own, whatever the text:
a counter may be slow, and a hostile text may be one word of a megabyte.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memd.base.limits import WINDOW_TOKENS_MAX
from memd.domain.encoding import MIN_CHUNK_TOKENS, TokenCounter
from memd.text.chunk_pieces import Piece, Rule, worded

_BLANK_LINE = re.compile(r"\n\n")
_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?](\s+)(?=\S)")
_SPACE = re.compile(r"\s+")
_LINE_END = re.compile(r"\n+")


def chunk(
    text: str,
    counter: TokenCounter,
    *,
    tokens_min: int = MIN_CHUNK_TOKENS,
    tokens_max: int = WINDOW_TOKENS_MAX,
) -> list[str]:
    """Return the chunks of *text* in order, none above *tokens_max* (SPEC 1.3).

    A chunk may be below *tokens_min*: the only one, a last paragraph, or a part whose
    neighbour has no seam to be cut at (docs/decisions/0064). A single grapheme above
    the maximum stays whole where it is short, and is cut where it is not. White space
    alone gives no chunk. Raises ValueError unless 0 < *tokens_min* <= *tokens_max*.
    """
    if tokens_min <= 0 or tokens_max <= 0:
        raise ValueError("tokens_min and tokens_max must be above 0")
    if tokens_min > tokens_max:
        raise ValueError("tokens_min must not be above tokens_max")
    rule = Rule(counter, tokens_min, tokens_max)
    pieces = [piece for segment in _segments(text) for piece in _fitting(segment, rule)]
    return [final.text for piece in _merged(pieces, rule) for final in _certain(piece, rule)]


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
    spans: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for line in _FENCE_LINE.finditer(text):
        marks, rest = line[1], line[2]
        if opened is None:
            if not (marks[0] == "`" and "`" in rest):  # that would be code within a line
                opened = line
        elif marks[0] == opened[1][0] and len(marks) >= len(opened[1]) and not rest.strip():
            spans.append((opened.start(), line.end()))
            opened = None
    return spans


def _fitting(segment: str, rule: Rule) -> Iterator[Piece]:
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


def _code(block: str, rule: Rule) -> Iterator[Piece]:
    """Yield a fenced block whole, or, where it is too large, in runs of whole lines."""
    whole = rule.piece(block)
    if whole.tokens <= rule.tokens_max:
        yield whole
        return
    lines = [rule.piece(line) for line in block.split("\n") if line.strip()]
    yield from _evened(_packed(lines, "\n", rule), _LINES, rule)


def _prose(text: str, rule: Rule) -> Iterator[Piece]:
    if text:
        sentences = [rule.piece(sentence) for sentence in _sentences(text)]
        yield from _evened(_packed(sentences, " ", rule), _WORDS, rule)


def _sentences(text: str) -> Iterator[str]:
    """Cut after ``.``, ``!`` or ``?`` where white space and a capital follow (SPEC 1.3.3)."""
    start = 0
    for end, begin in _sentence_seams(text):
        yield text[start:end]
        start = begin
    yield text[start:]


def _sentence_seams(text: str) -> Iterator[_Seam]:
    for end in _SENTENCE_END.finditer(text):
        if text[end.end()].isupper():
            yield end.span(1)


def _packed(parts: list[Piece], glue: str, rule: Rule) -> Iterator[Piece]:
    """Join *parts* greedily; a part that is too large by itself goes by words."""
    pack: Piece | None = None
    for part in parts:
        if pack and pack.tokens + part.tokens <= rule.tokens_max:
            pack = pack.then(part, glue)
            continue
        if pack:
            yield pack
            pack = None
        if part.tokens > rule.tokens_max:
            yield from worded(part.text, rule)
        else:
            pack = part
    if pack:
        yield pack


# Cutting again where a part is short.

_Seam = tuple[int, int]
"""Where the text before a seam ends, and where the text after it begins."""


@dataclass(frozen=True, slots=True)
class _Cuts:
    """How parts of one text are joined, and at which seams it is cut, the best kind first."""

    glue: str
    kinds: tuple[Callable[[str], Iterator[_Seam]], ...]


def _line_seams(text: str) -> Iterator[_Seam]:
    return (gap.span() for gap in _LINE_END.finditer(text))


def _word_seams(text: str) -> Iterator[_Seam]:
    return (gap.span() for gap in _SPACE.finditer(text))


_LINES = _Cuts("\n", (_line_seams,))
_WORDS = _Cuts(" ", (_sentence_seams, _word_seams))


def _evened(pieces: Iterable[Piece], cuts: _Cuts, rule: Rule) -> list[Piece]:
    """Return the pieces of one text, none below the minimum where that can be avoided."""
    evened: list[Piece] = []
    for piece in pieces:
        if evened and min(evened[-1].tokens, piece.tokens) < rule.tokens_min:
            evened[-1:] = _shared(evened[-1], piece, cuts, rule)
        else:
            evened.append(piece)
    return evened


def _shared(left: Piece, right: Piece, cuts: _Cuts, rule: Rule) -> Sequence[Piece]:
    """Return two neighbours as one, as two that are not short, or else as they are."""
    whole = rule.piece(left.text + cuts.glue + right.text)
    if whole.tokens <= rule.tokens_max:
        return (whole,)
    for kind in cuts.kinds:
        if halves := _halves(whole, list(kind(whole.text)), rule):
            return halves
    return (left, right)


def _halves(whole: Piece, seams: Sequence[_Seam], rule: Rule) -> tuple[Piece, Piece] | None:
    """Cut at the seam nearest to the middle; None when a half would be out of bounds."""
    text = whole.text
    middle = bisect_left(seams, whole.tokens / 2, key=lambda seam: rule.tokens(text[: seam[0]]))
    near = [
        (rule.piece(text[:end]), rule.piece(text[begin:]))
        for end, begin in seams[max(0, middle - 1) : middle + 1]
    ]
    fit = [
        halves
        for halves in near
        if all(rule.tokens_min <= half.tokens <= rule.tokens_max for half in halves)
    ]
    return min(fit, key=lambda halves: abs(halves[0].tokens - halves[1].tokens), default=None)


# Joining what is short.


def _merged(pieces: list[Piece], rule: Rule) -> list[Piece]:
    """Join short pieces to the one before, or else to the next one (SPEC 1.3.6)."""
    emitted: list[Piece] = []
    waiting: Piece | None = None
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


def _certain(piece: Piece, rule: Rule) -> Iterator[Piece]:
    """Count what was only added up, and cut again what is too large after all (SPEC 1.3.7)."""
    counted = rule.piece(piece.text) if piece.estimated else piece
    if counted.tokens <= rule.tokens_max:
        yield counted
        return
    for part in _fitting(piece.text, rule):
        if part.estimated and rule.tokens(part.text) > rule.tokens_max:
            yield from _evened(worded(part.text, rule), _WORDS, rule)
        else:
            yield part
