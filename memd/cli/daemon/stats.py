"""``memd stats``: growth, response times and results, as text or as an SVG."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from memd.base.errors import InvalidError
from memd.cli import options, say
from memd.cli.reach import daemon

_METHODS_TOLD = 12
DAYS = 90


@options.examples(
    "memd stats",
    "memd stats --days 365 --plot memd.svg",
    "memd stats --json | jq .metrics.methods",
    "memd stats --prometheus > memd.prom",
)
def stats(
    days: Annotated[
        int, options.option("--days", metavar="N", help="Days of growth to show.")
    ] = DAYS,
    plot: Annotated[
        Path | None, options.option("--plot", metavar="FILE", help="Write plots to an SVG file.")
    ] = None,
    prometheus: Annotated[
        bool,
        options.option(
            "--prometheus", help="Print only the metrics, in the Prometheus text format."
        ),
    ] = False,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Show statistics: growth, response times, recalls, prompts, naps and nights."""
    if plot is not None and plot.suffix.lower() != ".svg":
        raise InvalidError(f"{say.line(str(plot))} must end in .svg", field="plot")
    if prometheus:
        _print_for_prometheus(profile, alone=plot is None and not json)
        return
    with daemon(profile) as client:
        history = client.call("system.history", {"days": days})
        metrics = client.call("system.metrics")
    if plot is not None:
        _draw(plot, metrics, history)
    if json:
        say.print_json({"metrics": metrics, "history": history})
    elif plot is None:
        for line in lines(metrics, history):
            say.out(line)


def _print_for_prometheus(profile: str | None, *, alone: bool) -> None:
    if not alone:
        raise InvalidError(
            "--prometheus cannot be combined with --plot or --json", field="prometheus"
        )
    with daemon(profile) as client:
        say.out(str(client.call("system.metrics", {"format": "prometheus"})).rstrip("\n"))


def _draw(plot: Path, metrics: dict[str, Any], history: dict[str, Any]) -> None:
    from memd.cli.daemon.plot import draw_svg

    name = say.line(str(plot))
    try:
        plot.write_text(draw_svg(metrics, history), "utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "invalid file name"
        raise InvalidError(f"{name} cannot be written: {why}", field="plot") from None
    say.note(f"wrote {name}")


def lines(metrics: dict[str, Any], history: dict[str, Any]) -> list[str]:
    """Return the lines of the text output; counts are since the start, except the first line."""
    days = history["days"]
    added = sum(day["added"] for day in days)
    return [
        f"memories:   {days[-1]['total']:,}, {added:,} of them from the last {len(days)} days;"
        f" {metrics['file_bytes'] / 1e6:.1f} MB",
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
        what = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in texts.items())
        rows.append(f"  {kind + 's:':<10}{gave + empty:,}, {gave:,} with results: {what}")
    return rows


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
        f"  {work + 's:':<10}{each['done']:,.0f}, {each['failed']:,.0f} failed,"
        f" {each['seconds']:.1f} s in total, the last one {each['last_seconds']:.1f} s"
        for work, each in works.items()
    ]


def _methods(methods: dict[str, dict[str, Any]]) -> list[str]:
    if not methods:
        return []
    most = sorted(methods.items(), key=lambda item: -item[1]["requests"])[:_METHODS_TOLD]
    return [
        f"  {'method':<28}{'requests':>9}{'errors':>8}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}",
        *(
            f"  {say.line(name):<28}{row['requests']:>9,}{sum(row['errors'].values()):>8,}"
            f"{row['p50_us'] / 1e3:>9.1f}{row['p95_us'] / 1e3:>9.1f}{row['p99_us'] / 1e3:>9.1f}"
            for name, row in most
        ),
    ]
