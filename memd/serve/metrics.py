"""Counters of the daemon: requests by method and outcome, latencies, texts put into prompts.

They are rendered as JSON and in Prometheus' text format (docs/metrics.md). They contain numbers
and the names of methods, states and entities, never a text or a name that a client chose.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

BOUNDS_US = (1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000)
QUANTILES = (0.5, 0.95, 0.99)

_COUNTED_RESULTS = {  # by class name, so that these models need not be imported at the start
    "RecallResult": ("recall", ("memories",)),
    "PreparedPrompt": ("prompt", ("memories", "facts", "lessons")),
    "Brief": ("brief", ("items",)),
}
"""The results whose texts are counted: the kind of the call, and the fields with the texts."""

Labels = Mapping[str, str]
Snapshot = Mapping[str, Any]
"""The current gauges, as ``System.snapshot`` returns them."""


class Metrics:
    """Counters since the daemon started. Method names come from the routes, so they are bounded."""

    def __init__(self) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.sums_us: Counter[str] = Counter()
        self.buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS_US) + 1))
        self.dropped: Counter[str] = Counter()
        self.accepted = 0
        self.asked: Counter[tuple[str, str]] = Counter()
        """Calls, by kind (recall, prompt, brief) and by whether their results had any text."""
        self.given: Counter[tuple[str, str]] = Counter()
        """Texts in results, by kind of call and of text.

        ``in_window`` counts texts that were left out because the context window has them.
        """

    def count(self, method: str, kind: str, elapsed_us: int) -> None:
        """Count one answered request; *kind* is the error's kind, or ``ok``."""
        self.outcomes[method, kind] += 1
        self.sums_us[method] += elapsed_us
        self.buckets[method][bisect_left(BOUNDS_US, elapsed_us)] += 1

    def count_result(self, result: Any) -> None:
        """Count the texts of a recall, a prompt or a brief."""
        call, fields = _COUNTED_RESULTS.get(type(result).__name__, ("", ()))
        if not call:
            return
        counts = {field: len(getattr(result, field)) for field in fields}
        self.asked[call, "given" if any(counts.values()) else "nothing"] += 1
        counts["in_window"] = len(getattr(result, "in_window", ()))
        self.given.update({(call, field): number for field, number in counts.items()})

    def as_json(self, now: Snapshot) -> dict[str, Any]:
        """Return the gauges *now* and the counters."""
        methods: dict[str, dict[str, Any]] = {}
        for (method, kind), number in sorted(self.outcomes.items()):
            counters = methods.setdefault(method, {"requests": 0, "errors": {}})
            counters["requests"] += number
            if kind != "ok":
                counters["errors"][kind] = number
        for method, counters in methods.items():
            counters["mean_us"] = self.sums_us[method] // counters["requests"]
            for share in QUANTILES:
                counters[f"p{share * 100:.0f}_us"] = quantile_us(self.buckets[method], share)
        return {
            **now,
            "accepted": self.accepted,
            "dropped": dict(self.dropped),
            "asked": _nest(self.asked),
            "given": _nest(self.given),
            "methods": methods,
        }

    def as_prometheus(self, now: Snapshot) -> str:
        """Return the same in Prometheus' text format, version 0.0.4."""
        lines = [line for family in self._families(now) for line in family.lines()]
        return "\n".join(lines) + "\n"

    def _families(self, now: Snapshot) -> Iterator[Family]:
        yield from _snapshot_families(now)
        yield _counter("connections_accepted_total", "Connections since the start.", self.accepted)
        dropped = ({"reason": why, "": number} for why, number in sorted(self.dropped.items()))
        text = "Connections that memd closed."
        yield _labelled_family("connections_dropped_total", text, "counter", dropped)
        yield _two_label_family(
            "requests_total", "Answered requests.", ("method", "outcome"), self.outcomes
        )
        yield _two_label_family(
            "asked_total", "Recalls, prompts and briefs.", ("for", "outcome"), self.asked
        )
        yield _two_label_family("given_total", "Texts they gave.", ("for", "what"), self.given)
        samples = [
            sample
            for method, counts in sorted(self.buckets.items())
            for sample in self._histogram(method, counts)
        ]
        yield Family("request_seconds", "How long requests took.", "histogram", samples)

    def _histogram(self, method: str, counts: Sequence[int]) -> Iterator[Sample]:
        total = 0
        for bound, number in zip((*BOUNDS_US, None), counts, strict=True):
            total += number
            edge = "+Inf" if bound is None else f"{bound / 1e6:g}"
            yield Sample("_bucket", {"method": method, "le": edge}, total)
        yield Sample("_sum", {"method": method}, self.sums_us[method] / 1e6)
        yield Sample("_count", {"method": method}, total)


def quantile_us(counts: Sequence[int], share: float) -> int:
    """Return the quantile *share* of a histogram in microseconds, interpolated within its bucket.

    Values above the last bound count as the last bound.

    >>> quantile_us([0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0], 0.5)
    1750
    """
    rank, below, low = share * sum(counts), 0, 0
    for bound, number in zip(BOUNDS_US, counts, strict=False):
        if number and below + number >= rank:
            return int(low + (bound - low) * (rank - below) / number)
        below, low = below + number, bound
    return low if below < sum(counts) else 0


class Sample(NamedTuple):
    """One number of a family."""

    suffix: str
    labels: Labels
    value: float


class Family(NamedTuple):
    """A Prometheus metric family."""

    name: str
    help: str
    kind: Literal["counter", "gauge", "histogram"]
    samples: Sequence[Sample]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the family, none without samples."""
        if self.samples:
            yield f"# HELP memd_{self.name} {self.help}"
            yield f"# TYPE memd_{self.name} {self.kind}"
        for suffix, labels, value in self.samples:
            text = ",".join(f'{name}="{_escape(label)}"' for name, label in labels.items())
            yield f"memd_{self.name}{suffix}{{{text}}} {value:.12g}".replace("{} ", " ")


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _snapshot_families(now: Snapshot) -> Iterator[Family]:
    """Yield a family for each gauge of *now*."""
    for key, name, text in _GAUGES:
        if key in now:
            yield Family(name, text, "gauge", [Sample("", {}, now[key])])
    for key, name, label, text in _LABELLED_GAUGES:
        rows = ({label: name, "": number} for name, number in now.get(key, {}).items())
        yield _labelled_family(name, text, "gauge", rows)
    models = now.get("model", {})
    for state in ("installed", "loaded"):
        rows = ({"model": name, "": int(bool(model[state]))} for name, model in models.items())
        yield _labelled_family(f"model_{state}", f"Whether the model is {state}.", "gauge", rows)
    works = now.get("works", {})
    for key, name, text in _WORKS:
        rows = ({"work": work, "": counts[key]} for work, counts in works.items())
        kind: Literal["counter", "gauge"] = "gauge" if key == "last_seconds" else "counter"
        yield _labelled_family(name, text, kind, rows)


_GAUGES = (
    ("uptime_s", "uptime_seconds", "Since the start."),
    ("rss_bytes", "rss_bytes", "Main memory of the process."),
    ("connections", "connections", "Open connections."),
    ("in_flight", "in_flight", "Requests that are being answered."),
    ("file_bytes", "file_bytes", "Size of the store."),
    ("notes_dropped", "notes_dropped", "Notes of memd's own work that were not written."),
)
_LABELLED_GAUGES = (
    ("queues", "queue_depth", "queue", "What waits."),
    ("memories", "memories", "state", "Memories by state."),
    ("records", "records", "entity", "Operational records."),
    ("uptake", "uptake", "what", "Memories in prompts that were answered; taken_up is estimated."),
)
_WORKS = (
    ("done", "works_total", "Naps, nights and compressions that were finished."),
    ("failed", "works_failed_total", "Those that failed."),
    ("seconds", "works_seconds_total", "How long they took together."),
    ("last_seconds", "works_last_seconds", "How long the last one took."),
)


def _counter(name: str, text: str, value: float) -> Family:
    return Family(name, text, "counter", [Sample("", {}, value)])


def _labelled_family(
    name: str, text: str, kind: Literal["counter", "gauge"], rows: Iterable[Mapping[str, Any]]
) -> Family:
    """Return a family of labelled samples; the empty key of each row is its value."""
    samples = [Sample("", {k: str(v) for k, v in row.items() if k}, float(row[""])) for row in rows]
    return Family(name, text, kind, samples)


def _two_label_family(
    name: str, text: str, labels: tuple[str, str], counts: Mapping[tuple[str, str], int]
) -> Family:
    rows = (
        {labels[0]: one, labels[1]: other, "": number}
        for (one, other), number in sorted(counts.items())
    )
    return _labelled_family(name, text, "counter", rows)


def _nest(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for (one, other), number in sorted(counts.items()):
        table.setdefault(one, {})[other] = number
    return table
