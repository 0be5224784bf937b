"""``memd import`` of what other programs export: chats, and memories (decision 0140)."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import spawned
from support.notes_folder import Desk

from memd.base.errors import InvalidError
from memd.cli.transfer import chats

pytestmark = pytest.mark.model

CHATGPT = [
    {
        "conversation_id": "c1", "title": "Bread", "create_time": 1760000000, "current_node": "n4",
        "mapping": {
            "n1": {"message": None, "parent": None},
            "n2": {"parent": "n1", "message": {
                "author": {"role": "user"}, "create_time": 1760000001,
                "content": {"parts": ["Always bake with rye from the mill in Voss."]}}},
            "other": {"parent": "n2", "message": {
                "author": {"role": "assistant"}, "create_time": 1760000002,
                "content": {"parts": ["A branch that was left."]}}},
            "n3": {"parent": "n2", "message": {
                "author": {"role": "assistant"}, "create_time": 1760000002,
                "content": {"parts": ["Rye only, then."]}}},
            "n4": {"parent": "n3", "message": {
                "author": {"role": "user"}, "create_time": 1760000003,
                "content": {"parts": ["How long does the sourdough rest?"]}}},
        },
    }
]  # fmt: skip
CLAUDE = [
    {
        "uuid": "u-1", "name": "Deploy", "created_at": "2026-01-02T10:00:00Z",
        "chat_messages": [
            {"sender": "human", "text": "We decided to deploy with blue-green, not rolling.",
             "created_at": "2026-01-02T10:00:00Z"},
            {"sender": "assistant", "content": [{"type": "text", "text": "Blue-green, noted."}],
             "created_at": "2026-01-02T10:00:05Z"},
        ],
    }
]  # fmt: skip
AIDER = """
# aider chat started at 2025-03-04 10:11:12

> Aider v0.80

#### never use tabs in this repository
#### thanks

Understood, spaces only.

> Applied edit to a.py
"""
GRAPH: list[dict[str, Any]] = [
    {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]},
    {"type": "relation", "from": "Ada", "to": "Heron", "relationType": "works_on"},
]
MEM0 = {"results": [{"memory": "Likes oat milk", "created_at": "2025-11-02T10:00:00-07:00"}]}

USERS: list[dict[str, Any]] = [
    {"id": "a", "memory": "The spare key is at the baker", "user_id": "noor", "run_id": "r-7",
     "categories": ["home"], "hash": "h", "score": 0.7,
     "metadata": {"room": "hall", "floor": 2, "checked": True, "seen": None}},
    {"id": "b", "memory": "Walnuts make Noor ill", "user_id": "noor", "metadata": None},
    {"id": "c", "memory": "Cello lessons are on Tuesdays", "user_id": "ilja",
     "agent_id": "butler", "metadata": {"address": {"street": "Quay 4"}}},
    {"id": "d", "memory": "The butler answers in rhymes", "agent_id": "butler"},
    {"id": "e", "memory": "The pantry door sticks"},
]  # fmt: skip
LEFT_OUT = "left out, of how many memories: agent_id 1, metadata.address 1"


@pytest.fixture
def desk(tmp_path: Path, model_dir: Path) -> Iterator[Desk]:
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(model_dir)}) as daemon:
        yield Desk(tmp_path, daemon)


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def zipped(desk: Desk, name: str, rows: object) -> None:
    with zipfile.ZipFile(desk.notes / name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export/conversations.json", json.dumps(rows))


def everything(desk: Desk) -> list[str]:
    zipped(desk, "chatgpt.zip", CHATGPT)
    zipped(desk, "claude.zip", CLAUDE)
    desk.write(".aider.chat.history.md", AIDER)
    desk.write("memory.json", lines(GRAPH))
    desk.write("mem0.json", json.dumps(MEM0))
    return ["chatgpt.zip", "claude.zip", ".aider.chat.history.md", "memory.json", "mem0.json"]


def test_chats_become_sessions_and_memories_memories_once(desk: Desk) -> None:
    files = everything(desk)
    report = desk("import", *files, "--json").json
    assert (report["failed"], report["files"]) == (0, 5)
    items = {one["content"]: one for one in desk.memories()}
    assert items["Always bake with rye from the mill in Voss."]["occurred_at"][:4] == "2025"
    assert "We decided to deploy with blue-green, not rolling." in items
    assert "never use tabs in this repository" in items
    assert items["Ada (person): likes tea"]["origin"] == "import"
    assert "Ada works on Heron" in items
    assert items["Likes oat milk"]["occurred_at"][:10] == "2025-11-02"
    (hit,) = desk("search", "--sessions", "sourdough", "--json").json["items"]
    assert hit["session_id"] == "c1"
    assert desk("search", "--sessions", "branch", "--json").json["items"] == []
    again = desk("import", *files, "--json").json
    assert (again["new"], again["failed"]) == (0, 0)
    assert len(desk.memories()) == len(items)


def test_all_chats_of_an_export_are_forgotten_by_its_name_and_the_next_import_says_so(
    desk: Desk,
) -> None:
    zipped(desk, "chatgpt.zip", CHATGPT)
    zipped(desk, "claude.zip", CLAUDE)
    new = desk("import", "chatgpt.zip", "claude.zip", "--json").json["new"]
    forgotten = desk("forget", "--source", "chatgpt.zip", "--yes", "--json").json
    assert (forgotten["count"], forgotten["messages"]) == (new - len(desk.memories()), 3)
    assert [one["session_id"] for one in desk.memories()] == ["u-1"] * len(desk.memories())
    again = desk("import", "chatgpt.zip", "--json").json
    assert (again["new"], again["kept"]) == (0, 0)
    assert again["results"][0]["forgotten"] == forgotten["count"]


def test_what_is_in_the_trash_is_not_counted_as_kept(desk: Desk) -> None:
    zipped(desk, "chatgpt.zip", CHATGPT)
    count = desk("import", "chatgpt.zip", "--json").json["new"]
    desk("sleep", "--undo", "--last")
    again = desk("import", "chatgpt.zip", "--json").json
    assert (again["kept"], again["results"][0]["trashed"]) == (0, count)


def test_what_a_graph_says_no_more_is_superseded(desk: Desk) -> None:
    desk.write("memory.json", lines(GRAPH))
    desk("import", "memory.json")
    desk.write("memory.json", lines(GRAPH[1:]))
    assert desk("import", "memory.json", "--json").json["replaced"] == 1
    items = desk.memories()
    assert [one["content"] for one in items] == ["Ada works on Heron"]


def of_agent(desk: Desk, agent: str) -> dict[str, dict[str, Any]]:
    items = desk("list", "--agent", agent, "--json").json["items"]
    return {one["content"]: one for one in items}


def test_each_user_of_mem0_is_an_agent_and_what_is_left_out_is_told(desk: Desk) -> None:
    desk.write("mem0.json", json.dumps(USERS))
    foretold = desk("import", "mem0.json", "--dry-run", "--json").json
    assert of_agent(desk, "noor") == {}
    report = desk("import", "mem0.json", "--json").json
    assert (foretold["new"], report["new"]) == (5, 5)
    (problems,) = (one["problems"] for one in report["results"])
    assert problems == [
        "each user is an agent: noor 2, ilja 1, butler 1; of no user 1; to give all to the agent "
        "that assistants share: --agent default",
        LEFT_OUT,
    ]
    assert [one["problems"] for one in foretold["results"]] == [problems]
    noor = of_agent(desk, "noor")
    assert set(noor) == {"The spare key is at the baker", "Walnuts make Noor ill"}
    key = noor["The spare key is at the baker"]
    assert key["session_id"] == "r-7"
    assert key["metadata"]["tags"] == ["home", "room:hall", "floor:2", "checked:true"]
    assert set(of_agent(desk, "ilja")) == {"Cello lessons are on Tuesdays"}
    assert set(of_agent(desk, "butler")) == {"The butler answers in rhymes"}
    assert set(of_agent(desk, "default")) == {"The pantry door sticks"}
    assert desk("import", "mem0.json", "--json").json["kept"] == 5


def test_users_of_mem0_that_are_stored_for_one_agent_are_told(desk: Desk) -> None:
    desk.write("mem0.json", json.dumps(USERS[:3]))
    foretold = desk("import", "mem0.json", "--agent", "mig", "--dry-run")
    assert "mem0.json: 2 users, all for agent mig: noor 2, ilja 1\n" in foretold.err
    assert LEFT_OUT in foretold.err
    done = desk("import", "mem0.json", "--agent", "mig")
    assert done.err == foretold.err
    assert len(of_agent(desk, "mig")) == 3
    desk.write("mem0.json", json.dumps(USERS[:2]))
    assert desk("import", "mem0.json", "--agent", "mig").err == ""


def test_files_of_nobody_are_refused_by_name(desk: Desk) -> None:
    desk.write("other.json", '{"a": 1}')
    desk.write("broken.zip", "PK no archive")
    with zipfile.ZipFile(desk.notes / "empty.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    result = desk("import", "other.json", "broken.zip", "empty.zip", "--json")
    assert (result.code, result.json["failed"]) == (1, 3)
    errors = [each["error"] for each in result.json["results"]]
    for reason, error in zip(("--format text", "unpacked", "not an export"), errors, strict=True):
        assert reason in error
    assert desk("import", "other.json", "--format", "text", "--json").json["failed"] == 0


def test_what_is_packed_larger_than_it_may_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", " " * 100_000)
    monkeypatch.setattr(chats, "BYTES_MAX", 50_000)
    with pytest.raises(InvalidError, match="larger than"):
        chats.read_zip(tmp_path / "bomb.zip")


@pytest.mark.parametrize(
    "text",
    [
        '[{"chat_messages": [1]}]',
        '[{"chat_messages": 1}]',
        '[{"mapping": {"a": 1}, "current_node": "a"}]',
        "[" * 100_000,
        "[1]",
        "",
    ],
    ids=["message", "messages", "node", "deep", "row", "empty"],
)
def test_an_export_of_another_shape_is_none(text: str) -> None:
    assert chats.parse_chats(text) is None


def test_an_archive_that_is_damaged_inside_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[]" * 5_000)
    raw = bytearray(file.read_bytes())
    raw[50:60] = bytes(10)
    file.write_bytes(raw)
    with pytest.raises(InvalidError, match="unpacked"):
        chats.read_zip(file)
