"""The memory tool over the real socket: a client that only knows files remembers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Spawned, spawned
from support.desk import Desk, a_desk

from memd.base.errors import InvalidError

pytestmark = pytest.mark.model


def test_a_file_is_written_edited_recalled_and_deleted(desk: Desk) -> None:
    def tool(command: str, **fields: Any) -> str:
        reply = desk.call("inject.file", command=command, **fields)
        assert not reply["is_error"], reply["text"]
        return str(reply["text"])

    path = "/memories/project/decisions.md"
    text = "# Decisions\n\nWe deploy on Tuesdays.\n"
    assert tool("create", path=path, file_text=text) == f"File created successfully at: {path}"
    assert tool("view", path="/memories").split("\n")[1:] == [
        "36B\t/memories",
        "36B\t/memories/project/",
        "36B\t/memories/project/decisions.md",
    ]
    assert "     3\tWe deploy on Thursdays." in tool(
        "str_replace", path=path, old_str="Tuesdays", new_str="Thursdays"
    )
    desk.settle()
    answer = desk.call("memory.recall", query="On which day do we deploy?")
    assert "Thursdays" in answer["memories"][0]["content"]
    assert tool("delete", path="/memories/project") == "Successfully deleted /memories/project"
    assert tool("view", path="/memories").split("\n")[1:] == ["0B\t/memories"]


def test_a_mistake_is_an_answer_and_an_unknown_command_an_error(desk: Desk) -> None:
    lost = desk.call("inject.file", command="view", path="/memories/x")
    assert lost == {
        "text": "The path /memories/x does not exist. Please provide a valid path.",
        "is_error": True,
    }
    with pytest.raises(InvalidError):
        desk.call("inject.file", command="chmod", path="/memories/x")
    with pytest.raises(InvalidError):
        desk.call("inject.file", command="view")


def answered(desk: Desk, command: str, **fields: Any) -> str:
    """Return what the tool answers, marked when it is an error."""
    reply = desk.call("inject.file", command=command, **fields)
    return f"{'refused: ' if reply['is_error'] else ''}{reply['text']}"


@pytest.mark.parametrize(
    "path", ["/memories/../x", "/memories/a/../../x", "/memories/..", "/memories/./../memoriesx"]
)
def test_no_path_leads_out_of_the_root(desk: Desk, path: str) -> None:
    refusal = f"refused: Path {path} would escape /memories directory"
    for command, more in (("view", {}), ("create", {"file_text": "x"}), ("delete", {})):
        assert answered(desk, command, path=path, **more) == refusal
    move = {"old_path": "/memories/a", "new_path": path}
    assert answered(desk, "rename", **move) == refusal


def test_nothing_in_a_path_is_decoded(desk: Desk) -> None:
    """An encoded traversal is a name like any other, and leads nowhere."""
    names = ["/memories/%2e%2e/x", "/memories/a%00b", "/memories/b%2f..%2f..%2fx"]
    for path in names:
        made = answered(desk, "create", path=path, file_text=path)
        assert made == f"File created successfully at: {path}"
    shown = answered(desk, "view", path="/memories").split("\n")[2:]
    paths = [line.split("\t")[1] for line in shown if "\t" in line]  # in fences: no plain names
    assert paths == ["/memories/%2e%2e/", *names]


@pytest.mark.parametrize("view_range", [[1], [1, 2, 3], ["1", 2], [1.0, 2], [True, 2], "1"])
def test_a_range_is_two_whole_numbers(desk: Desk, view_range: Any) -> None:
    answered(desk, "create", path="/memories/a", file_text="a\nb\nc")
    assert answered(desk, "view", path="/memories/a", view_range=[2, -1]).endswith(
        ":\n     2\tb\n     3\tc"
    )
    with pytest.raises(InvalidError, match="view_range"):
        desk.call("inject.file", command="view", path="/memories/a", view_range=view_range)


def test_a_nul_and_a_path_or_a_text_without_end_are_refused(desk: Desk) -> None:
    with pytest.raises(InvalidError, match="NUL"):
        answered(desk, "create", path="/memories/a\x00b", file_text="x")
    with pytest.raises(InvalidError, match="path"):
        answered(desk, "create", path="/memories/" + "x" * 1_024, file_text="x")
    with pytest.raises(InvalidError, match="file_text"):
        answered(desk, "create", path="/memories/a", file_text="x" * 900_001)
    assert answered(desk, "view", path="/memories").endswith("0B\t/memories")


def test_a_file_outgrows_no_frame_and_is_shown_in_parts(tmp_path: Path) -> None:
    """In a daemon without the model, which would embed a file this large for seconds."""
    with spawned(tmp_path) as daemon, a_desk(daemon, "large") as desk:
        answered(desk, "create", path="/memories/a", file_text="y\n" * 200_000)
        assert "Use view_range" in answered(desk, "view", path="/memories/a")
        part = answered(desk, "view", path="/memories/a", view_range=[200_000, -1])
        assert part.endswith("200000\ty\n200001\t")
        more = "y\n" * 300_000
        for _ in range(2):
            refusal = answered(desk, "insert", path="/memories/a", insert_line=0, insert_text=more)
            assert refusal.startswith("refused: The file /memories/a was not changed")


def test_two_clients_edit_one_file_and_no_edit_is_lost(daemon: Spawned) -> None:
    with a_desk(daemon, "two") as first, a_desk(daemon, "two") as second:
        answered(first, "create", path="/memories/a", file_text="")

        def edits(desk: Desk) -> list[str]:
            return [
                answered(desk, "insert", path="/memories/a", insert_line=0, insert_text=f"line {n}")
                for n in range(15)
            ]

        with ThreadPoolExecutor(2) as both:
            replies = [*both.map(edits, (first, second))]

        assert {*replies[0], *replies[1]} == {"The file /memories/a has been edited."}
        assert answered(first, "view", path="/memories/a").count("\tline ") == 30
        with ThreadPoolExecutor(2) as both:
            once = both.map(
                lambda desk: answered(desk, "create", path="/memories/b", file_text="x"),
                (first, second),
            )
        assert sorted(once) == [
            "File created successfully at: /memories/b",
            "refused: File /memories/b already exists",
        ]
