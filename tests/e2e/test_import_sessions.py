"""Recorded sessions are imported by typing commands at a real daemon."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.daemon import spawned
from support.notes_folder import Desk

from memd.cli.options import NAP_KINDS

pytestmark = pytest.mark.model

GOLDEN = Path(__file__).parents[1] / "golden" / "clients"
CLIENTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "clients" / "transcripts"

ASKED = "The release failed again."
RULE = "We never deploy on Fridays, because nobody is at the river then."
CAUSE = "The release failed because HERON_PORT was missing: the server listens on port 8443."
WRAPPERS = ("<command-", "<system-reminder", "[Request interrupted", "<memory", "hook_context")


def line(role: str, at: str, content: object, **more: object) -> dict[str, Any]:
    return {
        "type": role,
        "uuid": f"u-{at}",
        "sessionId": "river-1",
        "timestamp": f"2026-03-02T{at}Z",
        "message": {"role": role, "content": content},
        **more,
    }


def calls(at: str, name: str, **given: str) -> dict[str, Any]:
    return line(
        "assistant", at, [{"type": "tool_use", "id": f"c-{at}", "name": name, "input": given}]
    )


def answers(at: str, of: str, text: str) -> dict[str, Any]:
    return line("user", at, [{"type": "tool_result", "tool_use_id": f"c-{of}", "content": text}])


def session(cwd: Path) -> list[dict[str, Any]]:
    return [
        line("user", "09:59:00", "<command-name>/clear</command-name>"),
        line("user", "10:00:00", ASKED, cwd=str(cwd)),
        calls("10:00:10", "mcp__memd__memory_search", query="release"),
        answers(
            "10:00:11", "10:00:10", "<memory>\nThe otter always lives at port 9999.\n</memory>"
        ),
        calls("10:00:20", "Bash", command="make release"),
        answers("10:00:21", "10:00:20", "Error: HERON_PORT is not set\nmake: *** [release] 1"),
        line("assistant", "10:00:30", CAUSE),
        line("user", "10:01:00", "[Request interrupted by user for tool use]"),
        line("user", "10:01:10", RULE),
        line("assistant", "10:01:20", "The deploy job is now only run from Monday to Thursday."),
    ]


@pytest.fixture
def desk(tmp_path: Path, model_dir: Path) -> Iterator[Desk]:
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(model_dir)}) as daemon:
        yield Desk(tmp_path, daemon)


@pytest.fixture
def recorded(desk: Desk) -> Path:
    (desk.notes.parent / "river" / ".git").mkdir(parents=True)
    (desk.notes.parent / "river" / "src").mkdir()
    lines = session(desk.notes.parent / "river" / "src")
    return desk.write("session.jsonl", "".join(json.dumps(each) + "\n" for each in lines))


def digests(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in items if "digest" in item["metadata"]["tags"]]


def reads_well(items: list[dict[str, Any]]) -> None:
    for item in items:
        assert not any(mark in item["content"] for mark in WRAPPERS), item["content"]
        assert "nap" in item["metadata"]["tags"]


def test_a_session_becomes_memories_with_its_own_name_project_and_day(
    desk: Desk, recorded: Path
) -> None:
    output = desk("import", "session.jsonl", "--json")

    assert (output.code, output.json["failed"]) == (0, 0)
    (result,) = output.json["results"]
    assert (result["session"], result["messages"]) == ("river-1", 9)
    items = desk.memories()
    assert len(items) == output.json["new"] >= 2
    assert len(digests(items)) == 1
    assert any(RULE in item["content"] for item in items)
    assert not any("otter" in item["content"] for item in items), "what memd said is not learnt"
    reads_well(items)
    assert {item["session_id"] for item in items} == {"river-1"}
    assert {item["project_id"] for item in items} == {str(desk.notes.parent / "river")}
    assert {item["occurred_at"][:10] for item in items} == {"2026-03-02"}
    assert "\t2026-03-02T" in desk("list").out
    (hit,) = desk("search", "--sessions", "Fridays", "--json").json["items"]
    assert (hit["session_id"], hit["at"][:10]) == ("river-1", "2026-03-02")
    with desk.daemon.client() as client:
        (ended,) = client.call("session.list")["items"]
        assert ended["ended_at"] is not None
        assert client.call("usage.list")["items"] == [], "a recorded session has no window"


@pytest.mark.parametrize(
    ("name", "day"), [("2026-03-02-river.jsonl", "2026-03-02"), ("river.jsonl", "2026-02-01")]
)
def test_a_session_without_times_is_of_the_day_of_its_file(desk: Desk, name: str, day: str) -> None:
    turns = [{"role": "user", "content": RULE}, {"role": "assistant", "content": CAUSE}]
    path = desk.write(name, "".join(json.dumps(each) + "\n" for each in turns))
    modified = datetime(2026, 2, 1, 12, tzinfo=UTC).timestamp()
    os.utime(path, (modified, modified))
    desk("import", name)

    assert {item["occurred_at"][:10] for item in desk.memories()} == {day}
    ids = [line.partition("\t")[0] for line in desk("list").out.splitlines()]
    assert ids == sorted(ids, reverse=True), "the newest first, also of one session"


def test_a_dry_run_foretells_and_stores_nothing_and_the_same_file_adds_nothing(
    desk: Desk, recorded: Path
) -> None:
    foretold = desk("import", "session.jsonl", "--dry-run", "--json").json
    assert desk.memories() == []
    first = desk("import", "session.jsonl", "--json").json
    again = desk("import", str(recorded), "--json").json
    after = desk("import", "session.jsonl", "--dry-run", "--json").json

    assert foretold["new"] == first["new"] > 0
    assert (again["new"], again["kept"]) == (0, first["new"])
    assert (after["new"], after["kept"]) == (0, first["new"])
    assert len(desk.memories()) == first["new"]


def test_a_session_that_went_on_adds_what_is_new_and_keeps_one_digest(
    desk: Desk, recorded: Path
) -> None:
    desk("import", "session.jsonl")
    rule = "From now on always run make check before a release."
    request = "Now show the port of the server in the status page."
    with recorded.open("a") as stream:
        for at, text in (("11:00:00", rule), ("11:01:00", request)):
            stream.write(json.dumps(line("user", at, text)) + "\n")
    desk("import", "session.jsonl")

    items = desk.memories()
    assert any(rule in item["content"] for item in items)
    assert len(digests(items)) == 1
    assert request in digests(items)[0]["content"]


def test_what_was_forgotten_is_not_learnt_again(desk: Desk, recorded: Path) -> None:
    desk("import", "session.jsonl")
    (rule,) = [
        item
        for item in desk.memories()
        if RULE in item["content"] and "digest" not in item["metadata"]["tags"]
    ]
    desk("forget", rule["id"], "--yes")
    desk("import", "session.jsonl")

    assert not any(rule["content"] == item["content"] for item in desk.memories())


def test_what_is_in_the_trash_is_named_when_its_session_is_imported_again(
    desk: Desk, recorded: Path
) -> None:
    new = desk("import", "session.jsonl", "--json").json["new"]
    desk("sleep", "--undo", "--last")
    for words in (("--dry-run",), ()):
        again = desk("import", "session.jsonl", *words)
        assert f"{new} memories of it in the trash: memd trash list" in again.out + again.err
    assert desk("import", "session.jsonl", "--json").json["new"] == 0


def test_files_of_every_kind_are_told_apart_and_a_bad_one_stops_no_other(
    desk: Desk, recorded: Path
) -> None:
    page = (
        "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n"
        "<!-- Codex CLI Session page-1 (2026-02-01 10:00:00Z) -->\n\n"
        f"_**User (2026-02-01 10:00:00Z)**_\n\n{RULE}\n"
    )
    desk.write("river/.specstory/history/first.md", page)
    desk.write("plain.jsonl", json.dumps({"role": "user", "content": "We always sail at nine."}))
    desk.write("note.md", "The boat is green.\n")
    desk.write("odd.jsonl", '{"odd": 1}\n')

    output = desk("import", ".", "river/.specstory/history", "--tag", "x", "--json")

    assert output.code == 1
    results = {Path(each["file"]).name: each for each in output.json["results"]}
    assert results["first.md"]["session"] == "page-1"
    assert results["plain.jsonl"]["session"].startswith("plain-")
    assert results["note.md"]["session"] is None
    assert "nor a session of Claude Code, Codex" in results["odd.jsonl"]["error"]
    assert "--tag" in results["session.jsonl"]["problems"][0]
    kept = {item["content"]: item for item in desk.memories()}
    assert kept["The boat is green."]["metadata"]["tags"] == ["x"]
    pages = [item for item in kept.values() if item["session_id"] == "page-1"]
    assert {item["project_id"] for item in pages} == {None}, "a folder that is there, and no tree"
    assert desk("import", "plain.jsonl", "--json").json["new"] == 0
    as_note = desk("import", "river/.specstory/history/first.md", "--format", "text", "--json")
    assert as_note.json["results"][0]["session"] is None
    assert as_note.json["new"] > 0


def test_a_session_larger_than_a_frame_and_with_a_line_larger_than_one_is_read_whole(
    desk: Desk, recorded: Path
) -> None:
    lines = recorded.read_text().splitlines()
    printed = "".join(f"{n} \u00e9\u4e2d\\ " for n in range(150_000))
    more = [calls("10:00:22", "Bash", command="cat log"), answers("10:00:23", "10:00:22", printed)]
    lines[6:6] = [json.dumps(each, ensure_ascii=False) for each in more]
    recorded.write_text("\n".join(lines) + "\n", "utf-8")
    assert recorded.stat().st_size > 1_500_000

    report = desk("import", "session.jsonl", "--json").json

    assert (report["failed"], report["results"][0]["messages"]) == (0, 11)
    assert any(RULE in item["content"] for item in desk.memories())
    with desk.daemon.client() as client:
        page = client.call("session.messages", {"session_id": "river-1"})
        assert page["items"]


def test_five_sessions_read_as_the_memory_of_a_project(desk: Desk, recorded: Path) -> None:
    text = recorded.read_text()
    ports = ("8443", "9001", "9102", "9203", "9304")
    for day, port in enumerate(ports, 2):
        other = text.replace("2026-03-02", f"2026-03-0{day}").replace("river-1", f"river-{port}")
        other = other.replace("8443", port).replace("on Fridays", f"to the quay {port} on Fridays")
        other = other.replace("to Thursday", f"to Thursday, and on quay {port}")
        desk.write(f"{port}.jsonl", other)
    recorded.unlink()
    # Whichever is imported first: a list is read by what happened.
    for port in sorted(ports, reverse=True):
        output = desk("import", f"{port}.jsonl").out
        assert f"{port}.jsonl (2026-03-0{ports.index(port) + 2}, " in output

    rows = [row.split("\t") for row in desk("list").out.splitlines()]

    assert [when for _, when, *_ in rows] == sorted((row[1] for row in rows), reverse=True)
    assert [row[2] for row in rows].count("digest") == len(ports)
    assert {row[2] for row in rows} <= NAP_KINDS
    kind = rows[0][2]
    of_kind = [line.split("\t")[2] for line in desk("list", "-c", kind).out.splitlines()]
    assert of_kind == [row[2] for row in rows if row[2] == kind]
    preferences = [row[3] for row in rows if row[2] == "preference"]
    assert len(preferences) == len(ports)
    newest = RULE.replace("on Fridays", "to the quay 9304 on Fridays")
    assert preferences[0].startswith(f"User: {newest}"), "a row begins with the user's word"
    assert len({row[3] for row in rows}) == len(rows), "nothing stands there twice"


@pytest.mark.parametrize("client", sorted(path.stem for path in GOLDEN.glob("*.jsonl")))
def test_what_was_said_in_a_session_as_each_client_writes_it_is_all_that_is_kept_of_it(
    desk: Desk, client: str
) -> None:
    """Recorded files hold what hooks injected and memd's own results: they teach nothing."""
    text = (GOLDEN / f"{client}.jsonl").read_text("utf-8")
    session = text.replace("How do we deploy? CALLTOOL", RULE).replace("How do we deploy?", RULE)
    desk.write("asked.jsonl", text)
    desk.write("said.jsonl", session.replace("Understood: fake answer.", CAUSE))

    asked = desk("import", "asked.jsonl", "--json").json
    assert (asked["failed"], asked["new"]) == (0, 0), "a question alone is no memory"
    assert desk("import", "said.jsonl", "--json").json["failed"] == 0

    items = desk.memories()
    reads_well(items)
    assert [RULE in item["content"] for item in items].count(True) >= 1
    assert len(digests(items)) <= 1
    assert not any(
        "blue-green" in item["content"] or "EPISODIC" in item["content"] for item in items
    )


@pytest.mark.skipif(not CLIENTS.is_dir(), reason="the recorded sessions are not here")
def test_the_recorded_session_of_each_client_reads_as_a_memory(desk: Desk) -> None:
    report = desk("import", str(CLIENTS), "--json").json

    assert report["failed"] == 0
    assert len(report["results"]) == len(list(CLIENTS.glob("*.jsonl"))) >= 4
    assert all(each["messages"] for each in report["results"])
    items = desk.memories()
    reads_well(items)
    # Each only asks one question and calls a tool: that it was asked is no memory.
    assert items == []
    of = {each["session"] for each in report["results"]}
    with desk.daemon.client() as client:
        for session_id in of:
            page = client.call("session.messages", {"session_id": session_id})
            assert any("deploy" in message["text"] for message in page["items"])
    assert desk("search", "--sessions", "deploy", "--json").json["items"]
    assert desk("import", str(CLIENTS), "--json").json["new"] == 0


def test_what_is_wished_everywhere_is_in_the_brief_of_another_project(desk: Desk) -> None:
    wish, of_project = "one question at a time please", "use pnpm here, not npm"
    for name in ("river", "lake"):
        (desk.notes.parent / name / ".git").mkdir(parents=True)
    lines = [
        line("user", "10:00:00", ASKED, cwd=str(desk.notes.parent / "river")),
        line("assistant", "10:00:30", CAUSE),
        line("user", "10:01:00", wish),
        line("assistant", "10:01:10", "I will."),
        line("user", "10:02:00", of_project),
    ]
    desk.write("session.jsonl", "".join(json.dumps(each) + "\n" for each in lines))
    assert desk("import", "session.jsonl").code == 0
    briefs = {
        name: desk("brief", "--project", str(desk.notes.parent / name)).out
        for name in ("river", "lake")
    }
    assert wish in briefs["river"]
    assert of_project in briefs["river"]
    assert f"| of river] {wish}" in briefs["lake"]
    assert of_project not in briefs["lake"]


def test_sessions_are_imported_in_the_order_of_their_times(desk: Desk) -> None:
    old, new = "use analogies please", "stop the analogies please"
    for name, day, text in (("z", "2026-03-02", old), ("a", "2026-05-02", new)):
        lines = [line("user", "10:00:00", text), line("assistant", "10:00:10", "I will.")]
        session = "".join(json.dumps(each) + "\n" for each in lines).replace("2026-03-02", day)
        desk.write(f"river/{name}.jsonl", session.replace("river-1", f"river-{name}"))
    assert desk("import", "river").code == 0
    assert [each["content"] for each in desk("list", "--json").json["items"]] == [new]
