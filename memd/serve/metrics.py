"""Counters of what the socket did: requests by method and outcome, and how long they took."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from typing import Any

BOUNDS_US = (1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000)


class Metrics:
    """Counts since the daemon started. Method names come from the table, so there are few."""

    def __init__(self) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.sums_us: Counter[str] = Counter()
        self.buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS_US) + 1))
        self.dropped: Counter[str] = Counter()
        self.accepted = 0

    def count(self, method: str, kind: str, elapsed_us: int) -> None:
        """Count one answered request; *kind* is the error's, or ``ok``."""
        self.outcomes[method, kind] += 1
        self.sums_us[method] += elapsed_us
        self.buckets[method][bisect_left(BOUNDS_US, elapsed_us)] += 1

    def as_json(self, gauges: dict[str, int]) -> dict[str, Any]:
        """Return the counters and *gauges*, what is true right now."""
        methods: dict[str, dict[str, Any]] = {}
        for (method, kind), number in sorted(self.outcomes.items()):
            told = methods.setdefault(method, {"requests": 0, "errors": {}})
            told["requests"] += number
            if kind != "ok":
                told["errors"][kind] = number
        for method, told in methods.items():
            told["mean_us"] = self.sums_us[method] // told["requests"]
        return {
            **gauges,
            "accepted": self.accepted,
            "dropped": dict(self.dropped),
            "methods": methods,
        }

    def as_prometheus(self, gauges: dict[str, int]) -> str:
        """Return the same in Prometheus' text format, version 0.0.4."""
        lines = [f"memd_{name} {value}" for name, value in gauges.items()]
        lines.append(f"memd_connections_accepted_total {self.accepted}")
        for reason, number in sorted(self.dropped.items()):
            lines.append(f'memd_connections_dropped_total{{reason="{reason}"}} {number}')
        for (method, kind), number in sorted(self.outcomes.items()):
            lines.append(f'memd_requests_total{{method="{method}",outcome="{kind}"}} {number}')
        for method, counts in sorted(self.buckets.items()):
            lines.extend(self._histogram(method, counts))
        return "\n".join(lines) + "\n"

    def _histogram(self, method: str, counts: list[int]) -> list[str]:
        name, total, lines = "memd_request_seconds", 0, []
        for bound, number in zip((*BOUNDS_US, None), counts, strict=True):
            total += number
            edge = "+Inf" if bound is None else f"{bound / 1e6:g}"
            lines.append(f'{name}_bucket{{method="{method}",le="{edge}"}} {total}')
        lines.append(f'{name}_sum{{method="{method}"}} {self.sums_us[method] / 1e6:g}')
        lines.append(f'{name}_count{{method="{method}"}} {total}')
        return lines
