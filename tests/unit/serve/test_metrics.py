"""What the daemon counts, as JSON and in Prometheus' text format."""

from __future__ import annotations

from typing import Any

from support.prometheus import families

from memd.domain.inject import Brief, PreparedPrompt
from memd.domain.recall import RecallResult
from memd.serve.metrics import BOUNDS_US, Metrics, quantile_us

NOW: dict[str, Any] = {
    "uptime_s": 7, "rss_bytes": 5_000_000, "connections": 1, "in_flight": 2, "file_bytes": 99,
    "notes_dropped": 0, "queues": {"writes": 1, "naps": 0}, "memories": {"active": 3},
    "records": {"tasks": 10}, "model": {"embedding": {"installed": True, "loaded": False}},
    "works": {"night": {"done": 2, "failed": 1, "seconds": 3.5, "last_seconds": 1.25}},
}  # fmt: skip


def sample_metrics() -> Metrics:
    metrics = Metrics()
    for elapsed_us in (900, 900, 3_000, BOUNDS_US[-1] + 1):
        metrics.count("memory.recall", "ok", elapsed_us)
    metrics.count("memory.recall", "busy", 10)
    metrics.dropped["slow"] += 2
    metrics.accepted = 3
    return metrics


def test_every_family_is_announced_and_every_sample_is_well_formed() -> None:
    metrics_out = families(sample_metrics().as_prometheus(NOW))
    assert metrics_out["memd_requests_total"][0] == "counter"
    assert metrics_out["memd_requests_total"][1] == {
        '{method="memory.recall",outcome="busy"}': 1,
        '{method="memory.recall",outcome="ok"}': 4,
    }
    kind, seconds = metrics_out["memd_request_seconds"]
    assert kind == "histogram"
    assert seconds['_bucket{method="memory.recall",le="0.001"}'] == 3
    assert seconds['_bucket{method="memory.recall",le="+Inf"}'] == 5
    assert seconds['_count{method="memory.recall"}'] == 5
    assert metrics_out["memd_queue_depth"][1] == {'{queue="writes"}': 1, '{queue="naps"}': 0}
    assert metrics_out["memd_model_installed"][1] == {'{model="embedding"}': 1}
    assert metrics_out["memd_model_loaded"][1] == {'{model="embedding"}': 0}
    assert metrics_out["memd_works_total"][1] == {'{work="night"}': 2}
    assert metrics_out["memd_works_last_seconds"][1] == {'{work="night"}': 1.25}
    assert metrics_out["memd_records"][1] == {'{entity="tasks"}': 10}
    assert metrics_out["memd_memories"][1] == {'{state="active"}': 3}


def test_a_daemon_that_was_never_asked_tells_what_there_is() -> None:
    assert "memd_request_seconds" not in families(Metrics().as_prometheus({}))
    assert Metrics().as_json({})["methods"] == {}


def test_a_label_is_escaped() -> None:
    metrics = Metrics()
    metrics.dropped['a"b\\c\nd'] += 1
    assert '{reason="a\\"b\\\\c\\nd"}' in families(metrics.as_prometheus({}))[
        "memd_connections_dropped_total"
    ][1]  # fmt: skip


def test_a_quantile_lies_between_the_bounds_of_its_bucket() -> None:
    counts = [0] * (len(BOUNDS_US) + 1)
    assert quantile_us(counts, 0.5) == 0
    counts[0] = 10
    assert quantile_us(counts, 0.5) == 500
    counts[2] = 90
    assert BOUNDS_US[1] < quantile_us(counts, 0.5) <= BOUNDS_US[2]
    counts = [0] * len(BOUNDS_US) + [1]
    assert quantile_us(counts, 0.5) == BOUNDS_US[-1]
    metrics_out = sample_metrics().as_json({})["methods"]["memory.recall"]
    assert metrics_out["p50_us"] <= metrics_out["p95_us"] <= metrics_out["p99_us"] == BOUNDS_US[-1]


def test_what_was_given_is_counted_and_what_gave_nothing() -> None:
    metrics = Metrics()
    metrics.count_result(RecallResult())
    metrics.count_result(PreparedPrompt(strategy="context", token_budget=10, in_window=("a", "b")))
    prompt = PreparedPrompt(strategy="context", token_budget=10)
    told_of: dict[str, Any] = {"memories": (1, 2), "facts": (1,)}
    metrics.count_result(prompt.model_copy(update=told_of))
    metrics.count_result(Brief(token_budget=10).model_copy(update={"items": (1,)}))
    metrics.count_result({"memories": [1]})
    metrics_out = metrics.as_json({})
    assert metrics_out["asked"] == {
        "brief": {"given": 1}, "prompt": {"given": 1, "nothing": 1}, "recall": {"nothing": 1},
    }  # fmt: skip
    assert metrics_out["given"]["prompt"] == {
        "facts": 1,
        "in_window": 2,
        "lessons": 0,
        "memories": 2,
    }
    given = families(metrics.as_prometheus({}))["memd_given_total"][1]
    assert given['{for="prompt",what="memories"}'] == 2
