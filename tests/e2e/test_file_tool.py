"""The memory tool over the real socket: a client that only knows files remembers (FIELD 3.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.daemon import Spawned
from support.desk import Desk, a_desk, served

from memd.base.errors import InvalidError

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model_dir: Any) -> Iterator[Spawned]:
    with served(tmp_path_factory.mktemp("home"), model_dir) as daemon:
        yield daemon


@pytest.fixture
def desk(daemon: Spawned, request: pytest.FixtureRequest) -> Iterator[Desk]:
    with a_desk(daemon, request.node.name) as desk:
        yield desk


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
    found = desk.call("memory.recall", query="On which day do we deploy?")
    assert "Thursdays" in found["memories"][0]["content"]
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
