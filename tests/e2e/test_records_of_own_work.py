"""What memd itself writes into records: hooks, naps, nights, completions of a real daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.commands import Memd
from support.daemon import Spawned, spawned, wait_until
from support.hook_process import hook, introduce
from support.llm_endpoint import an_endpoint
from support.sample_records import EXAMPLES

from memd.client import Client

TOLD = "We deploy the heron service with ansible from the bastion host, never by hand."
FACT = {"kind": "decision", "text": TOLD, "turns": [0]}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": TOLD},
    *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(9)),
]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    """Yield a daemon that a hook, a nap with a language model and a night went over."""
    home = tmp_path_factory.mktemp("home")
    with an_endpoint({"facts": [FACT], "digest": []}) as stub:
        llm = {
            "MEMD_LLM__PROVIDER": "openai_compatible",
            "MEMD_LLM__URL": stub.url,
            "MEMD_LLM__MODEL": "stub",
            "MEMD_LLM__NIGHT_TOKENS": "1000000",
            "MEMD_LLM__USES__NAPS": "true",
        }
        with spawned(home, llm) as made:
            introduce(made, "claude-code")
            with made.client() as client:
                _at_work(home, client)
            yield made


def _at_work(home: Path, client: Client) -> None:
    of_session = {"session_id": "s1", "cwd": str(home)}
    hook(home, "claude-code", "SessionStart", {**of_session, "source": "startup"})
    hook(home, "claude-code", "SessionEnd", {**of_session, "reason": "other"})
    full = {"source": "cursor", "used_tokens": 170_000, "window_tokens": 200_000}
    client.call("usage.report", {"session_id": "s2", "messages": MESSAGES, **full})
    client.call("sleep.run")
    client.call("records.projects.save", {"record": EXAMPLES["projects"]})
    types = {"session_started", "session_ended", "nap_completed", "night_completed"}
    wait_until(lambda: {event["event_type"] for event in events(client)} >= types, "it is noted")
    wait_until(lambda: client.call("records.cost_records.count")["count"], "its cost is noted")


def events(client: Client) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = client.call("records.lifecycle_events.list")["items"]
    return answer


def test_a_hook_a_nap_and_a_night_are_events_and_metrics(client: Client) -> None:
    by_type = {event["event_type"]: event for event in events(client)}
    assert by_type["session_ended"]["metadata"]["session_id"] == "s1"
    assert {each["initiated_by"] for each in by_type.values()} == {"memd"}
    assert all(each["id"].startswith("memd:") for each in by_type.values())
    metrics = client.call("records.task_metrics.list")["items"]
    assert {"nap", "night"} <= {each["task_type"] for each in metrics}
    assert all(each["is_success"] and each["duration_seconds"] >= 0 for each in metrics)
    assert any(each["tokens_used"] > 0 for each in metrics if each["task_type"] == "nap")
    assert "heron" not in json.dumps([events(client), metrics])


def test_a_completion_is_a_cost_of_its_purpose(client: Client, memd: Memd) -> None:
    (cost,) = client.call("records.cost_records.list")["items"]
    assert (cost["call_category"], cost["model"], cost["cost"]) == ("nap", "stub", 0.0)
    assert cost["input_tokens"] > 0
    assert cost["output_tokens"] > 0
    task = client.call("records.tasks.get", {"id": cost["task_id"]})["record"]
    assert (task["project"], task["created_by"]) == ("memd", "memd")
    assert client.call("records.cost_records.aggregate") == {"amount": 0.0, "currency": "USD"}
    listed = memd("records", "cost_records", "list").out.split("\t")[0]
    assert memd("records", "cost_records", "show", listed, "--json").json["record"] == cost


def test_status_counts_the_records_of_each_entity(client: Client, memd: Memd) -> None:
    answer = client.call("system.status")["records"]
    for name, number in answer.items():
        assert client.call(f"records.{name}.count") == {"count": number}
    assert answer.keys() == {
        "cost_records", "lifecycle_events", "projects", "task_metrics", "tasks",
    }  # fmt: skip
    shown = memd("status")
    assert shown.code == 4, shown.err  # degraded: it has no model
    lines = [line.split() for line in shown.out.splitlines()]
    for name, number in client.call("system.status")["records"].items():
        assert [*(name.replace("_", " ") + ":").split(), str(number)] in lines


def test_an_export_has_what_others_wrote_and_not_what_memd_noted(memd: Memd) -> None:
    shown = memd("export")
    assert shown.code == 0, shown.err
    lines = [json.loads(line) for line in shown.out.splitlines()]
    kinds = {line["entity"] for line in lines if line.get("kind") == "record"}
    assert "projects" in kinds
    assert not kinds & {"lifecycle_events", "task_metrics", "cost_records"}


def test_what_is_forgotten_leaves_records_alone_and_none_of_them_tells_of_it(
    daemon: Spawned, client: Client
) -> None:
    before = client.call("system.status")["records"]
    kept = client.call("memory.list")["items"]
    assert [each for each in kept if "heron" in each["content"]]
    client.call("memory.forget", {"ids": [each["id"] for each in kept]})
    after = client.call("system.status")["records"]
    assert after.items() >= before.items() - {("lifecycle_events", before["lifecycle_events"])}
    with closing(apsw.Connection(str(daemon.paths.database))) as conn:
        names = [f"record_{name}" for name in before]
        rows = [conn.execute(f"SELECT * FROM {name}").fetchall() for name in names]
    assert "heron" not in repr(rows)


def test_a_store_without_records_has_no_page_of_them_and_a_start_loads_none_of_it(
    tmp_path: Path,
) -> None:
    """By counts: the modules that a fresh process imports, the objects that the file has."""
    params = {"PYTHONPROFILEIMPORTTIME": "1"}
    with spawned(tmp_path, params, fresh=True) as daemon, daemon.client() as client:
        client.add("The archive of the heron service is in Fjord.")
        client.recall("Where is the archive?")
        assert client.call("system.status")["records"] == {}
        file = daemon.paths.database
        daemon.stop()
    imported = {
        line.rpartition("|")[2].strip()
        for line in daemon.log.read_text("utf-8").splitlines()
        if line.startswith("import time:")
    }
    assert "memd.store.file.database" in imported
    assert {each for each in imported if each.startswith("memd.records.")} <= {"memd.records.notes"}
    assert {each for each in imported if "serve.routes.records" in each} == set()
    with closing(apsw.Connection(str(file))) as conn:
        tables = conn.execute("SELECT count(*) FROM sqlite_schema WHERE name GLOB 'record_*'").get
        used = conn.execute("SELECT count(*) FROM dbstat WHERE name GLOB 'record_*'").get
    assert (tables, used) == (0, 0)
