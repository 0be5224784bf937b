"""Draw timelines as bars: as text for a terminal, and as a self-contained SVG.

Every text passes :func:`memd.view.view.one_line`, and is escaped in the SVG, which has no script,
no external style and no link.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from memd.base.clock import DAY_US, from_us
from memd.view.view import one_line

TEXT_BAR_CHARS = 32
LABEL_CHARS_MAX = 60
_BAR, _GAP, _OPEN_START, _OPEN_END = "\u2588", "\u00b7", "\u2039", "\u203a"
_BAR_PAST = "\u2591"

# Lengths in the SVG, in user units: height of a row, width of the texts, of the bars, of the right
# margin, height of the heading.
_ROW = 34
_LEFT, _WIDE, _RIGHT, _TOP = 330, 560, 20, 56


class Bar(NamedTuple):
    """One period of a timeline.

    *label* is what held, *detail* who said so; a None start or end is open. *is_retracted* marks a
    period that was believed once and no longer is.
    """

    label: str
    detail: str
    start_us: int | None
    stop_us: int | None
    is_retracted: bool = False


class _Frame(NamedTuple):
    """The first and the last moment of the axis, in microseconds."""

    start: int
    stop: int


def as_text(bars: Sequence[Bar], now_us: int) -> list[tuple[str, str, str]]:
    """Return a row for each of *bars*: bar, label, detail; all bars share one axis.

    >>> as_text([Bar("Flask", "Ann", None, 10), Bar("Litestar", "Ann", 10, None)], 10)[0][1]
    'Flask'
    """
    frame = _frame(bars, now_us)
    return [(_draw_bar(bar, frame), _short(bar.label), one_line(bar.detail)) for bar in bars]


def axis(bars: Sequence[Bar], now_us: int) -> tuple[str, str]:
    """Return the first and last day of the axis of :func:`as_text`."""
    frame = _frame(bars, now_us)
    return _day(frame.start), _day(frame.stop)


def as_svg(title: str, bars: Sequence[Bar], now_us: int) -> str:
    """Return *bars* as an SVG document."""
    frame = _frame(bars, now_us)
    height = _TOP + _ROW * len(bars) + 44
    width = _LEFT + _WIDE + _RIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" font-family="sans-serif" font-size="13">',
        f"<title>{_safe(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="30" font-size="17" fill="#1a1a1a">{_safe(_short(title))}</text>',
    ]
    for index, bar in enumerate(bars):
        lines += _row(bar, frame, _TOP + _ROW * index)
    lines += _foot(frame, now_us, _TOP + _ROW * len(bars))
    return "\n".join([*lines, "</svg>", ""])


def _row(bar: Bar, frame: _Frame, top: int) -> list[str]:
    left = _x(frame.start if bar.start_us is None else bar.start_us, frame)
    right = max(left + 2, _x(frame.stop if bar.stop_us is None else bar.stop_us, frame))
    fill = "#b8c0c8" if bar.is_retracted else "#2f6f9f"
    dash = ' stroke="#6b7680" stroke-dasharray="3 2"' if bar.is_retracted else ""
    return [
        "<g>",
        f"<title>{_safe(f'{bar.label}: {bar.detail}')}</title>",
        f'<text x="16" y="{top + 14}" fill="#1a1a1a">{_safe(_short(bar.label, 44))}</text>',
        f'<text x="16" y="{top + 27}" font-size="10" fill="#5a6570">'
        f"{_safe(_short(bar.detail, 62))}</text>",
        f'<rect x="{left}" y="{top + 4}" width="{right - left}" height="16" rx="3" fill="{fill}"'
        f"{dash}/>",
        "</g>",
    ]


def _foot(frame: _Frame, now_us: int, top: int) -> list[str]:
    lines = [
        f'<line x1="{_LEFT}" y1="{top + 6}" x2="{_LEFT + _WIDE}" y2="{top + 6}" stroke="#8a949e"/>',
        f'<text x="{_LEFT}" y="{top + 24}" font-size="11" fill="#5a6570">'
        f"{_day(frame.start)}</text>",
        f'<text x="{_LEFT + _WIDE}" y="{top + 24}" font-size="11" fill="#5a6570"'
        f' text-anchor="end">{_day(frame.stop)}</text>',
    ]
    if frame.start <= now_us <= frame.stop:
        x = _x(now_us, frame)
        lines.append(
            f'<line x1="{x}" y1="{_TOP - 6}" x2="{x}" y2="{top + 6}" stroke="#b03a2e"'
            ' stroke-dasharray="4 3"/>'
        )
    return lines


def _frame(bars: Sequence[Bar], now_us: int) -> _Frame:
    """Return the range of the bars and of now, with a margin at an open end."""
    edges = [now_us, *(edge for bar in bars for edge in bar[2:4] if edge is not None)]
    first, last = min(edges), max(edges)
    margin = max(DAY_US, (last - first) // 10)
    return _Frame(
        first - (margin if any(bar.start_us is None for bar in bars) or first == now_us else 0),
        last + (margin if any(bar.stop_us is None for bar in bars) else 0),
    )


def _draw_bar(bar: Bar, frame: _Frame) -> str:
    begin = 0 if bar.start_us is None else _column(bar.start_us, frame)
    end = TEXT_BAR_CHARS if bar.stop_us is None else _column(bar.stop_us, frame)
    end = min(TEXT_BAR_CHARS, max(end, begin + 1))
    begin = min(begin, end - 1)
    full = (_BAR_PAST if bar.is_retracted else _BAR) * (end - begin)
    text = _GAP * begin + full + _GAP * (TEXT_BAR_CHARS - end)
    before = _OPEN_START if bar.start_us is None else " "
    return before + text + (_OPEN_END if bar.stop_us is None else " ")


def _column(moment_us: int, frame: _Frame) -> int:
    return (moment_us - frame.start) * TEXT_BAR_CHARS // max(1, frame.stop - frame.start)


def _x(moment_us: int, frame: _Frame) -> int:
    return _LEFT + (moment_us - frame.start) * _WIDE // max(1, frame.stop - frame.start)


def _day(moment_us: int) -> str:
    try:
        return f"{from_us(moment_us):%Y-%m-%d}"
    except OverflowError:  # an open end beyond the calendar's range
        return ""


def _short(text: str, chars_max: int = LABEL_CHARS_MAX) -> str:
    text = one_line(text)
    return text if len(text) <= chars_max else f"{text[: chars_max - 1]}\u2026"


def _safe(text: str) -> str:
    """Return *text* escaped for SVG, without characters that XML forbids."""
    return escape("".join(filter(str.isprintable, one_line(text))))
