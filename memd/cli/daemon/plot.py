"""Statistics as one SVG: growth, response times, results, naps and nights. Pure.

A few simple plots need no library. The file has no script and no external reference, and its
text is only numbers, dates and memd's own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import log10
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 230, 150, 20, 40, 28
METHODS_DRAWN = 8
_INK, _PALE, _GRID, _ALARM = "#1f6f8b", "#9cc5d3", "#dddddd", "#b5402a"


class TwoPartBar(NamedTuple):
    """A bar of length *whole*, whose first part, up to *dark*, is dark."""

    label: str
    dark: float
    whole: float
    note: str


def draw_svg(metrics: dict[str, Any], history: dict[str, Any]) -> str:
    """Return the results of ``system.metrics`` and ``system.history`` as an SVG."""
    panels = [
        ("Memories", _line(history["days"])),
        ("Response times: p50 dark, p95 pale (ms, logarithmic)",
         _bars(_latency(metrics["methods"]), logarithmic=True)),
        ("Recalls, prompts and briefs since the start: with results dark, all pale",
         _bars(_results(metrics))),
        ("Memories in answered prompts since the start: used dark (estimated)",
         _bars(_uptake(metrics.get("uptake", {})))),
        ("Naps (dark) and nights (pale), seconds", _dots(history["works"])),
    ]  # fmt: skip
    whole = HEIGHT * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{whole}"'
        f' viewBox="0 0 {WIDTH} {whole}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{whole}" fill="white"/>',
    ]
    for number, (title, shapes) in enumerate(panels):
        inner = list(shapes) or [_text(LEFT, HEIGHT / 2, "nothing yet")]
        parts.append(f'<g transform="translate(0 {number * HEIGHT})">')
        parts.append(_text(12, 22, title, weight="bold"))
        parts += [*inner, "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _latency(methods: dict[str, dict[str, Any]]) -> list[TwoPartBar]:
    most = sorted(methods.items(), key=lambda item: -item[1]["requests"])[:METHODS_DRAWN]
    return [
        TwoPartBar(name, each["p50_us"] / 1e3, each["p95_us"] / 1e3,
            f"{each['p50_us'] / 1e3:.1f} / {each['p95_us'] / 1e3:.1f}")
        for name, each in most
    ]  # fmt: skip


def _results(metrics: dict[str, Any]) -> list[TwoPartBar]:
    bars = []
    for kind, outcomes in metrics["asked"].items():
        successes = outcomes.get("given", 0)
        texts = sum(n for what, n in metrics["given"].get(kind, {}).items() if what != "in_window")
        total = successes + outcomes.get("nothing", 0)
        bars.append(
            TwoPartBar(f"{kind}s", successes, total, f"{successes:,} of {total:,}, {texts:,} texts")
        )
    return bars


def _uptake(counts: dict[str, int]) -> list[TwoPartBar]:
    if not counts.get("answers"):
        return []
    used = counts["taken_up"]
    return [
        TwoPartBar(name, used, counts[what], f"{used:,} of {counts[what]:,}")
        for name, what in (("given", "given"), ("measurable", "tellable"))
    ]


def _line(days: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Draw the total per day; nothing for an empty store."""
    most = max((day["total"] for day in days), default=0)
    if not most:
        return
    yield from _scale(most)
    step = _inner() / max(1, len(days) - 1)
    points = " ".join(
        f"{LEFT + number * step:.1f},{_y(day['total'], most):.1f}"
        for number, day in enumerate(days)
    )
    yield f'<polyline points="{points}" fill="none" stroke="{_INK}" stroke-width="2"/>'
    yield _text(LEFT, HEIGHT - 8, days[0]["day"])
    yield _text(WIDTH - RIGHT, HEIGHT - 8, days[-1]["day"], anchor="end")


def _bars(bars: Sequence[TwoPartBar], *, logarithmic: bool = False) -> Iterator[str]:
    longest = max((bar.whole for bar in bars), default=0.0)
    room = _inner() - 130  # for the note after a bar

    def length(value: float) -> float:
        if logarithmic:
            return room * log10(1 + value) / (log10(1 + longest) or 1)
        return room * value / (longest or 1)

    for number, bar in enumerate(bars):
        y = TOP + number * 20
        yield _text(LEFT - 8, y + 11, bar.label, anchor="end")
        yield _rect(y, length(bar.whole), _PALE)
        yield _rect(y, length(bar.dark), _INK)
        yield _text(LEFT + length(bar.whole) + 6, y + 11, bar.note)


def _dots(works: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Draw each nap and night by time and duration; failed ones are red."""
    if not works:
        return
    times = [datetime.fromisoformat(each["at"]).timestamp() for each in works]
    first, span = times[0], (times[-1] - times[0]) or 1.0
    most = max(each["seconds"] for each in works) or 1.0
    yield from _scale(most)
    for at, each in zip(times, works, strict=True):
        colour = _PALE if each["work"] == "night" else _INK
        x, y = LEFT + _inner() * (at - first) / span, _y(each["seconds"], most)
        fill = colour if each["is_success"] else _ALARM
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}"/>'
    yield _text(LEFT, HEIGHT - 8, works[0]["at"][:10])
    yield _text(WIDTH - RIGHT, HEIGHT - 8, works[-1]["at"][:10], anchor="end")


def _scale(most: float) -> Iterator[str]:
    for share in (0.0, 0.5, 1.0):
        y = _y(share * most, most)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{_GRID}"/>'
        yield _text(LEFT - 8, y + 4, f"{share * most:,.4g}", anchor="end")


def _inner() -> int:
    return WIDTH - LEFT - RIGHT


def _y(value: float, most: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / most


def _rect(y: float, length: float, fill: str) -> str:
    return f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="14" fill="{fill}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )
