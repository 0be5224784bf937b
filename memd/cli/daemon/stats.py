"""``memd stats``: growth, response times, results, naps and nights, as text or as an SVG.

The plots are simple enough to be written without a library. The SVG has no script, no external
reference and no stored text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from math import log10
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from xml.sax.saxutils import escape

from memd.base.errors import InvalidError
from memd.cli import console, options
from memd.cli.connection import daemon

_METHODS_SHOWN = 12
_WORKS = {"compress": "compressions", "undo": "undoings"}
"""What work is called where adding an s is not enough."""
DAYS = 90


@options.examples(
    "memd stats",
    "memd stats --days 365 --plot memd.svg",
    "memd stats --json | jq .metrics.methods",
    "memd stats --prometheus > memd.prom",
)
def stats(
    days: Annotated[int, "--days N", "Days of growth to show."] = DAYS,
    plot: Annotated[Path | None, "--plot FILE", "Write plots to an SVG file."] = None,
    prometheus: Annotated[
        bool, "--prometheus", "Print only the metrics, in the Prometheus text format."
    ] = False,
) -> None:
    """Show growth, response times, results, naps and nights."""
    if plot is not None and plot.suffix.lower() != ".svg":
        raise InvalidError(f"{console.line(str(plot))} must end in .svg", field="plot")
    if prometheus:
        _print_for_prometheus(alone=plot is None and not console.is_json())
        return
    with daemon() as client:
        history = client.call("system.history", {"days": days})
        metrics = client.call("system.metrics")
    if plot is not None:
        _draw(plot, metrics, history)
    if console.is_json():
        console.print_json({"metrics": metrics, "history": history})
    elif plot is None:
        for line in lines(metrics, history):
            console.out(line)


def _print_for_prometheus(*, alone: bool) -> None:
    if not alone:
        raise InvalidError(
            "--prometheus cannot be combined with --plot or --json", field="prometheus"
        )
    with daemon() as client:
        console.out(str(client.call("system.metrics", {"format": "prometheus"})).rstrip("\n"))


def _draw(plot: Path, metrics: dict[str, Any], history: dict[str, Any]) -> None:
    name = console.line(str(plot))
    try:
        plot.write_text(draw_svg(metrics, history), "utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "invalid file name"
        raise InvalidError(f"{name} cannot be written: {why}", field="plot") from None
    console.note(f"wrote {name}")


def lines(metrics: dict[str, Any], history: dict[str, Any]) -> list[str]:
    """Return the lines of the text output.

    Counts after the line "since the daemon started" begin at the start of the daemon.
    """
    days = history["days"]
    added = sum(day["added"] for day in days)
    return [
        f"memories:   {days[-1]['total']:,}, {added:,} of them from the last"
        f" {console.count(len(days), 'day')}; {metrics['file_bytes'] / 1e6:.1f} MB",
        *_counts("waiting", metrics["queues"]),
        *_counts("records", metrics["records"]),
        f"since the daemon started, {timedelta(seconds=metrics['uptime_s'])} ago:",
        *_results(metrics),
        *_uptake(metrics.get("uptake", {})),
        *_works(metrics["works"]),
        *_methods(metrics["methods"]),
    ]


def _counts(label: str, counts: dict[str, int]) -> list[str]:
    text = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in counts.items())
    return [f"{label + ':':<11} {text}"] if text else []


def _results(metrics: dict[str, Any]) -> list[str]:
    rows = []
    for kind, outcomes in metrics["asked"].items():
        gave, empty = outcomes.get("given", 0), outcomes.get("nothing", 0)
        texts = metrics["given"].get(kind, {})
        what = ", ".join(_count_of(name, number) for name, number in texts.items())
        rows.append(f"  {kind + 's:':<10}{gave + empty:,}, {gave:,} with results: {what}")
    return rows


def _count_of(name: str, number: int) -> str:
    """Return *number* with the words of *name*, in the singular for 1.

    >>> _count_of("memories", 1), _count_of("items", 2), _count_of("in_window", 1)
    ('1 memory', '2 items', '1 in window')
    """
    words = name.replace("_", " ")
    if number == 1:
        words = f"{words[:-3]}y" if words.endswith("ies") else words.removesuffix("s")
    return f"{number:,} {words}"


def _uptake(counts: dict[str, int]) -> list[str]:
    if not counts.get("answers"):
        return []
    return [
        f"  {'answers:':<10}{counts['answers']:,} to prompts with memories:"
        f" {counts['given']:,} given, {counts['taken_up']:,} of {counts['tellable']:,}"
        " measurable ones used (estimated)"
    ]


def _works(works: dict[str, dict[str, float]]) -> list[str]:
    return [
        f"  {_WORKS.get(work, work + 's') + ':':<9} {counts['done']:,.0f},"
        f" {counts['failed']:,.0f} failed,"
        f" {counts['seconds']:.1f} s in total, the last one {counts['last_seconds']:.1f} s"
        for work, counts in works.items()
    ]


def _methods(methods: dict[str, dict[str, Any]]) -> list[str]:
    if not methods:
        return []
    most_used = sorted(methods.items(), key=lambda item: -item[1]["requests"])[:_METHODS_SHOWN]
    return [
        f"  {'method':<28}{'requests':>9}{'errors':>8}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}",
        *(
            f"  {console.line(name):<28}{row['requests']:>9,}{sum(row['errors'].values()):>8,}"
            f"{row['p50_us'] / 1e3:>9.1f}{row['p95_us'] / 1e3:>9.1f}{row['p99_us'] / 1e3:>9.1f}"
            for name, row in most_used
        ),
    ]


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 230, 150, 20, 40, 28
"""Size and margins of one panel, in pixels."""
METHODS_DRAWN = 8
_INK, _PALE, _GRID, _ALARM = "#1f6f8b", "#9cc5d3", "#dddddd", "#b5402a"


class TwoPartBar(NamedTuple):
    """A bar of *length*, whose first part, up to *dark*, is dark."""

    label: str
    dark: float
    length: float
    note: str


def draw_svg(metrics: dict[str, Any], history: dict[str, Any]) -> str:
    """Return an SVG with a panel for each aspect of ``system.metrics`` and ``system.history``."""
    panels = [
        ("Memories", _growth_line(history["days"])),
        ("Response times: p50 dark, p95 pale (ms, logarithmic)",
         _bars(_latency(metrics["methods"]), logarithmic=True)),
        ("Recalls, prompts and briefs since the start: with results dark, all pale",
         _bars(_results_bars(metrics))),
        ("Memories in answered prompts since the start: used dark (estimated)",
         _bars(_uptake_bars(metrics.get("uptake", {})))),
        ("Naps (dark) and nights (pale), seconds", _dots(history["works"])),
    ]  # fmt: skip
    height = HEIGHT * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for number, (title, shapes) in enumerate(panels):
        content = list(shapes) or [_label(LEFT, HEIGHT / 2, "nothing yet")]
        parts.append(f'<g transform="translate(0 {number * HEIGHT})">')
        parts.append(_label(12, 22, title, weight="bold"))
        parts += [*content, "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _latency(methods: dict[str, dict[str, Any]]) -> list[TwoPartBar]:
    most_used = sorted(methods.items(), key=lambda item: -item[1]["requests"])[:METHODS_DRAWN]
    return [
        TwoPartBar(name, latency["p50_us"] / 1e3, latency["p95_us"] / 1e3,
            f"{latency['p50_us'] / 1e3:.1f} / {latency['p95_us'] / 1e3:.1f}")
        for name, latency in most_used
    ]  # fmt: skip


def _results_bars(metrics: dict[str, Any]) -> list[TwoPartBar]:
    bars = []
    for kind, outcomes in metrics["asked"].items():
        successes = outcomes.get("given", 0)
        texts = sum(n for what, n in metrics["given"].get(kind, {}).items() if what != "in_window")
        total = successes + outcomes.get("nothing", 0)
        bars.append(
            TwoPartBar(f"{kind}s", successes, total, f"{successes:,} of {total:,}, {texts:,} texts")
        )
    return bars


def _uptake_bars(counts: dict[str, int]) -> list[TwoPartBar]:
    if not counts.get("answers"):
        return []
    used = counts["taken_up"]
    return [
        TwoPartBar(name, used, counts[what], f"{used:,} of {counts[what]:,}")
        for name, what in (("given", "given"), ("measurable", "tellable"))
    ]


def _growth_line(days: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Draw the total per day; nothing for an empty store."""
    highest = max((day["total"] for day in days), default=0)
    if not highest:
        return
    yield from _scale(highest)
    step = _plot_width() / max(1, len(days) - 1)
    points = " ".join(
        f"{LEFT + number * step:.1f},{_y(day['total'], highest):.1f}"
        for number, day in enumerate(days)
    )
    yield f'<polyline points="{points}" fill="none" stroke="{_INK}" stroke-width="2"/>'
    yield _label(LEFT, HEIGHT - 8, days[0]["day"])
    yield _label(WIDTH - RIGHT, HEIGHT - 8, days[-1]["day"], anchor="end")


def _bars(bars: Sequence[TwoPartBar], *, logarithmic: bool = False) -> Iterator[str]:
    """Draw horizontal bars, each with its label before it and its note after it."""
    longest = max((bar.length for bar in bars), default=0.0)
    room = _plot_width() - 130  # the note after a bar needs 130 pixels

    def length(value: float) -> float:
        if logarithmic:
            return room * log10(1 + value) / (log10(1 + longest) or 1)
        return room * value / (longest or 1)

    for number, bar in enumerate(bars):
        y = TOP + number * 20
        yield _label(LEFT - 8, y + 11, bar.label, anchor="end")
        yield _rect(y, length(bar.length), _PALE)
        yield _rect(y, length(bar.dark), _INK)
        yield _label(LEFT + length(bar.length) + 6, y + 11, bar.note)


def _dots(works: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Draw each nap and night by time and duration; failed ones are red."""
    if not works:
        return
    times = [datetime.fromisoformat(run["at"]).timestamp() for run in works]
    first, span = times[0], (times[-1] - times[0]) or 1.0
    longest = max(run["seconds"] for run in works) or 1.0
    yield from _scale(longest)
    for at, run in zip(times, works, strict=True):
        colour = _PALE if run["work"] == "night" else _INK
        x, y = LEFT + _plot_width() * (at - first) / span, _y(run["seconds"], longest)
        fill = colour if run["is_success"] else _ALARM
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}"/>'
    yield _label(LEFT, HEIGHT - 8, works[0]["at"][:10])
    yield _label(WIDTH - RIGHT, HEIGHT - 8, works[-1]["at"][:10], anchor="end")


def _scale(highest: float) -> Iterator[str]:
    """Draw a labelled grid line at 0, at half of *highest* and at *highest*."""
    for share in (0.0, 0.5, 1.0):
        y = _y(share * highest, highest)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{_GRID}"/>'
        yield _label(LEFT - 8, y + 4, f"{share * highest:,.4g}", anchor="end")


def _plot_width() -> int:
    return WIDTH - LEFT - RIGHT


def _y(value: float, highest: float) -> float:
    """Return the vertical position of *value* in a panel whose scale ends at *highest*."""
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / highest


def _rect(y: float, length: float, fill: str) -> str:
    return f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="14" fill="{fill}"/>'


def _label(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )
