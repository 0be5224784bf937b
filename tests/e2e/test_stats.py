"""``memd stats`` and ``system.metrics`` of a daemon that did some work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import Memd
from support.daemon import ROOT, Spawned, spawned, wait_until
from support.prometheus import families

from memd.client import Client

TOLD = "The zebrafish Ferdinand must always be fed at noon."


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    with spawned(tmp_path_factory.mktemp("home")) as made:
        with made.client() as client:
            client.call("session.start", {"session_id": "s"})
            for number in range(3):
                client.add(f"{TOLD} {number}")
            client.recall("When is Ferdinand fed?")
            client.call("inject.prepare", {"query": TOLD, "token_budget": 500})
            client.call("inject.brief", {"session_id": "s", "token_budget": 500})
            client.call("sleep.run")
        yield made


def test_the_metrics_tell_of_all_that_works(client: Client) -> None:
    answer = client.call("system.metrics")
    assert answer["queues"].keys() == {"writes", "naps", "notes", "embedding"}
    assert answer["works"]["night"]["done"] == 1
    assert sum(answer["memories"].values()) == 3
    assert sum(answer["asked"]["recall"].values()) == 1
    assert answer["given"]["prompt"]["memories"] >= 1
    assert answer["model"].keys() == {"embedding", "reranker"}
    assert {"p50_us", "p95_us", "p99_us"} <= answer["methods"]["memory.recall"].keys()
    text = client.call("system.metrics", {"format": "prometheus"})
    for name in ("memd_queue_depth", "memd_works_total", "memd_given_total", "memd_memories"):
        assert f"# TYPE {name} " in text
    assert "Ferdinand" not in text + json.dumps(answer)


def told_by(client: Client) -> dict[str, tuple[str, dict[str, float]]]:
    return families(client.call("system.metrics", {"format": "prometheus"}))


FAMILIES = {
    "memd_request_seconds": "histogram", "memd_requests_total": "counter",
    "memd_asked_total": "counter", "memd_given_total": "counter", "memd_uptake": "gauge",
    "memd_queue_depth": "gauge", "memd_works_total": "counter",
    "memd_works_failed_total": "counter", "memd_works_seconds_total": "counter",
    "memd_works_last_seconds": "gauge", "memd_model_installed": "gauge",
    "memd_model_loaded": "gauge", "memd_memories": "gauge", "memd_records": "gauge",
    "memd_file_bytes": "gauge", "memd_connections": "gauge", "memd_in_flight": "gauge",
    "memd_connections_accepted_total": "counter", "memd_uptime_seconds": "gauge",
    "memd_rss_bytes": "gauge", "memd_notes_dropped": "gauge",
}  # fmt: skip


def test_a_collector_reads_every_family_as_what_it_is(client: Client) -> None:
    wait_until(lambda: "memd_records" in told_by(client), "what memd did is noted")
    kinds = {name: kind for name, (kind, _) in told_by(client).items()}
    assert kinds == FAMILIES
    page = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    assert [name for name in kinds if f"`{name}`" not in page] == []


def test_the_figures_move_with_the_work(tmp_path: Path) -> None:
    with spawned(tmp_path) as made, made.client() as client:
        client.recall("When is Ferdinand fed?")
        before = told_by(client)
        client.add(TOLD)  # there is no model here: it waits for its vector
        assert told_by(client)["memd_queue_depth"][1]['{queue="embedding"}'] == 1
        client.recall("When is Ferdinand fed?")
        client.call("inject.prepare", {"query": TOLD, "token_budget": 500})
        client.call("sleep.run")
        after = told_by(client)

    def grown(family: str, key: str) -> float:
        return after[family][1][key] - before.get(family, ("", {}))[1].get(key, 0.0)

    assert grown("memd_request_seconds", '_count{method="memory.recall"}') == 1
    assert grown("memd_requests_total", '{method="sleep.run",outcome="ok"}') == 1
    assert grown("memd_asked_total", '{for="recall",outcome="given"}') == 1
    assert grown("memd_given_total", '{for="recall",what="memories"}') == 1
    assert grown("memd_given_total", '{for="prompt",what="memories"}') == 1
    assert grown("memd_works_total", '{work="night"}') == 1
    assert grown("memd_works_seconds_total", '{work="night"}') > 0
    assert after["memd_works_last_seconds"][1]['{work="night"}'] > 0
    assert sum(after["memd_memories"][1].values()) == 1
    assert after["memd_model_installed"][1].keys() == {
        '{model="embedding"}', '{model="reranker"}',
    }  # fmt: skip


def test_notes_are_written_a_moment_after_the_work(client: Client) -> None:
    def kinds() -> set[str]:
        page = client.call("records.lifecycle_events.list")
        return {each["event_type"] for each in page["items"]}

    types = {"night_completed", "session_started"}
    wait_until(lambda: kinds() >= types, "what memd did is noted")
    assert client.call("system.status")["records"]["lifecycle_events"] >= len(types)


def test_the_command_tells_a_person_and_draws(memd: Memd, tmp_path: Path) -> None:
    text = memd("stats").out
    assert "memories:   3, 3 of them" in text
    assert "memory.recall" in text
    history = memd("stats", "--json", "--days", "7").json["history"]
    assert [day["total"] for day in history["days"]] == [0] * 6 + [3]
    file = tmp_path / "memd.svg"
    assert memd("stats", "--plot", str(file))[:2] == (0, "")
    svg = file.read_text("utf-8")
    assert svg.startswith("<svg ")
    assert "Ferdinand" not in svg + text
    code, _, err = memd("stats", "--plot", str(tmp_path / "memd.png"))
    assert code == 2
    assert "must end in .svg" in err


def test_the_command_prints_what_prometheus_reads(memd: Memd, client: Client) -> None:
    shown = families(memd("stats", "--prometheus").out)
    assert shown.keys() == told_by(client).keys()
    assert memd("stats", "--prometheus", "--json")[:2] == (2, "")


def test_a_file_that_cannot_be_written_is_told(memd: Memd, tmp_path: Path) -> None:
    for name in ("nowhere/memd.svg", "x" * 300 + ".svg"):
        code, _, err = memd("stats", "--plot", str(tmp_path / name))
        assert code == 2
        assert "cannot be written" in err
