"""A strict parser of Prometheus' text format, version 0.0.4."""

from __future__ import annotations

import re
from collections.abc import Mapping

_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"'
_SAMPLE = re.compile(rf"(memd_[a-z0-9_]+)(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? (-?[0-9.e+-]+)")


def families(text: str) -> dict[str, tuple[str, dict[str, float]]]:
    """Read *text* strictly; return each family's kind and its samples by suffix and labels.

    Each family is announced once and stands in one piece.
    """
    assert text.endswith("\n")
    by_name: dict[str, tuple[str, dict[str, float]]] = {}
    helped = ""
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            helped = line.split()[2]
            assert helped not in by_name
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name == helped
            assert kind in {"counter", "gauge", "histogram"}
            by_name[name] = (kind, {})
        else:
            sample = _SAMPLE.fullmatch(line)
            assert sample is not None, line
            name = sample[1]
            last = list(by_name)[-1]
            suffixes = ("", "_bucket", "_sum", "_count")
            assert name in {last + suffix for suffix in suffixes}, line
            key = f"{name.removeprefix(last)}{{{sample[2] or ''}}}"
            assert key not in by_name[last][1], line
            by_name[last][1][key] = float(sample[3])
    for name, (kind, samples) in by_name.items():
        assert samples, name
        if kind == "histogram":
            _check_histogram(samples)
        elif kind == "counter":
            assert all(value >= 0 for value in samples.values())
    return by_name


def _check_histogram(samples: Mapping[str, float]) -> None:
    """See that buckets rise with their bounds to the count, and that each has its sum."""
    buckets: dict[str, list[tuple[float, float]]] = {}
    for key, value in samples.items():
        if key.startswith("_bucket"):
            rest, _, bound = key.removesuffix('"}').rpartition('le="')
            labels = rest.removeprefix("_bucket").removesuffix(",").rstrip("{")
            buckets.setdefault(labels, []).append((float(bound), value))
    for labels, counted in buckets.items():
        bounds = [bound for bound, _ in counted]
        assert bounds == sorted(set(bounds))
        assert bounds[-1] == float("inf")
        values = [value for _, value in counted]
        assert values == sorted(values)
        whole = f"{labels}}}" if labels else "{}"
        assert samples[f"_count{whole}"] == values[-1]
        assert samples[f"_sum{whole}"] >= 0
