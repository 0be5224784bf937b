"""An assistant's file is replaced as a whole, on the text that was shown, or not at all."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from memd.assist.connect import connect, edits, files
from memd.assist.connect.clients import ASSISTANTS, Assistant, Locations
from memd.base.errors import InvalidStateError

QWEN = ASSISTANTS["qwen"]


@pytest.fixture
def place(tmp_path: Path) -> Locations:
    return Locations(tmp_path, tmp_path / "memd", "/opt/memd", {}, {})


def settings(place: Locations, text: str) -> Path:
    file = place.home / ".qwen" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def left(place: Locations) -> list[str]:
    """Return the names of all files but those in memd's own data folder."""
    every = (each for each in place.home.rglob("*") if not each.is_dir())
    return sorted(each.name for each in every if place.data not in each.parents)


def test_a_file_that_changed_since_it_was_shown_is_left_as_it_is(place: Locations) -> None:
    file = settings(place, "{}")
    plan = connect.plan_connect(QWEN, place)
    file.write_text('{"mine": 1}', "utf-8")
    with pytest.raises(InvalidStateError, match="changed meanwhile"):
        connect.write(plan, place)
    assert file.read_text("utf-8") == '{"mine": 1}'
    assert left(place) == ["settings.json"]


def test_what_fails_half_way_leaves_the_file_whole(
    place: Locations, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = settings(place, "{}")
    plan = connect.plan_connect(QWEN, place)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device", str(file))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        connect.write(plan, place)
    assert file.read_text("utf-8") == "{}"
    assert left(place) == ["settings.json"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "large", "below a file"])
def test_what_is_no_text_of_moderate_size_is_refused_by_name(place: Locations, kind: str) -> None:
    folder = place.home / ".qwen"
    file = folder / "settings.json"
    if kind == "below a file":
        folder.write_text("x")
    else:
        folder.mkdir()
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "large":
        file.write_bytes(b" " * (files.BYTES_MAX + 1))
    with pytest.raises(InvalidStateError, match=r"\.qwen.*memd leaves the file unchanged"):
        connect.plan_connect(QWEN, place)


def test_a_link_that_leads_nowhere_is_written_through(place: Locations) -> None:
    link = place.home / ".qwen" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(place.home / "dots" / "qwen.json")
    connect.write(connect.plan_connect(QWEN, place), place)
    assert link.is_symlink()
    assert "memd" in (place.home / "dots" / "qwen.json").read_text("utf-8")
    assert stat.S_IMODE(link.stat().st_mode) == 0o600


def test_what_somebody_added_to_memds_entry_stays_when_it_is_renewed(place: Locations) -> None:
    connect.write(connect.plan_connect(QWEN, place), place)
    file = place.home / ".qwen" / "settings.json"
    config = json.loads(file.read_text("utf-8"))
    config["mcpServers"]["memd"] |= {"trust": True, "env": {"MEMD_HOME": "/old", "MINE": "1"}}
    file.write_text(json.dumps(config), "utf-8")
    moved = place._replace(command="/usr/bin/memd")
    connect.write(connect.plan_connect(QWEN, moved), place)
    entry = json.loads(file.read_text("utf-8"))["mcpServers"]["memd"]
    assert entry["command"] == "/usr/bin/memd"
    assert (entry["trust"], entry["env"]) == (True, {"MINE": "1"})
    assert connect.plan_connect(QWEN, moved) == []


def test_a_hook_that_shares_its_group_with_anothers_goes_alone(place: Locations) -> None:
    gemini = ASSISTANTS["gemini"]
    connect.write(connect.plan_connect(gemini, place), place)
    file = place.home / ".gemini" / "settings.json"
    config = json.loads(file.read_text("utf-8"))
    config["hooks"]["AfterAgent"][0]["hooks"].insert(0, {"type": "command", "command": "mine"})
    file.write_text(json.dumps(config, indent=4), "utf-8")
    connect.write(connect.plan_removal(gemini, place), place)
    assert json.loads(file.read_text("utf-8")) == {
        "hooks": {"AfterAgent": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


def test_what_claude_code_noted_of_the_plugin_is_taken_out(place: Locations) -> None:
    claude = ASSISTANTS["claude-code"]
    connect.write(connect.plan_connect(claude, place), place)
    noted = place.home / ".claude" / "plugins" / "known_marketplaces.json"
    noted.parent.mkdir()
    others = '{\n  "memd-local": {"installLocation": "/x"},\n  "other": {"a": 1}\n}'
    noted.write_text(others, "utf-8")
    installed = noted.with_name("installed_plugins.json")
    installed.write_text('{"version": 2, "plugins": {"memd@memd-local": []}}', "utf-8")
    assert connect.plan_connect(claude, place) == []
    connect.write(connect.plan_removal(claude, place), place)
    assert noted.read_text("utf-8") == '{\n  "other": {"a": 1}\n}'
    assert json.loads(installed.read_text("utf-8")) == {"version": 2, "plugins": {}}
    assert left(place) == ["installed_plugins.json", "known_marketplaces.json"]


@pytest.mark.parametrize("name", ASSISTANTS)
def test_memds_own_is_known_whatever_its_path_was(place: Locations, name: str) -> None:
    assistant: Assistant = ASSISTANTS[name]
    odd = place._replace(command="/a 'b/\\\"é/memd", variables={"MEMD_HOME": '/m "x" $y'})
    connect.write(connect.plan_connect(assistant, odd), place)
    connect.write(connect.plan_connect(assistant, place), place)
    for target in assistant.targets(place):
        if target.format != "own" and target.file.exists():
            assert edits.add_entries(
                target, target.file.read_text("utf-8")
            ) == target.file.read_text("utf-8")
            assert "/a 'b" not in target.file.read_text("utf-8")
    connect.write(connect.plan_removal(assistant, place), place)
    assert left(place) == []


REFUSED = {
    "an anchor": ("goose", "a: &x\n  b: {c: 1}\nextensions: *x\n"),
    "two documents": ("goose", "a: 1\n---\nb: 2\n"),
    "a null that is written": ("goose", "extensions: null\n"),
    "an inline table": ("codex", "mcp_servers = { other = { command = 'x' } }\n"),
    "memd inline": ("codex", "mcp_servers.memd = { command = 'memd', args = ['mcp'] }\n"),
    "a key twice": ("qwen", '{"mcpServers": {}, "mcpServers": {}}'),
    "another server called memd": ("gemini", '{"mcpServers": {"memd": {"command": "other"}}}'),
    "another shape": ("gemini", '{"hooks": {"AfterAgent": {}}}'),
}
"""What memd would have to rewrite to get into it."""


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_edited_in_place_is_refused(place: Locations, what: str) -> None:
    name, text = REFUSED[what]
    assistant = ASSISTANTS[name]
    file = assistant.targets(place)[0].file
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    with pytest.raises(InvalidStateError, match="memd leaves the file unchanged"):
        connect.plan_connect(assistant, place)
    assert file.read_text("utf-8") == text


def test_a_file_of_its_name_that_is_not_memds_stays(place: Locations) -> None:
    assistant = ASSISTANTS["opencode"]
    file = next(target.file for target in assistant.targets(place) if target.format == "own")
    file.parent.mkdir(parents=True)
    file.write_text("// my own\n", "utf-8")
    with pytest.raises(InvalidStateError, match="is not memd's; memd leaves the file unchanged"):
        connect.plan_connect(assistant, place)
    assert connect.plan_removal(assistant, place) == []


def test_a_server_of_its_name_that_is_not_memds_is_not_removed(place: Locations) -> None:
    assistant = ASSISTANTS["gemini"]
    file = assistant.targets(place)[0].file
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"memd": {"command": "other"}}}', "utf-8")
    assert not connect.is_connected(assistant, place)
    assert connect.plan_removal(assistant, place) == []


@pytest.mark.parametrize("name", list(ASSISTANTS))
def test_nothing_is_left_of_an_assistant_that_was_never_there(place: Locations, name: str) -> None:
    connect.write(connect.plan_connect(ASSISTANTS[name], place), place)
    connect.write(connect.plan_removal(ASSISTANTS[name], place), place)
    assert set(place.home.iterdir()) <= {place.data}


@pytest.mark.parametrize("name", list(ASSISTANTS))
def test_a_folder_that_was_there_stays_however_empty(place: Locations, name: str) -> None:
    parents = [target.file.parent for target in ASSISTANTS[name].targets(place)]
    own = [folder for folder in parents if place.data not in folder.parents]
    for folder in own:
        folder.mkdir(parents=True, exist_ok=True)
    connect.write(connect.plan_connect(ASSISTANTS[name], place), place)
    connect.write(connect.plan_removal(ASSISTANTS[name], place), place)
    assert all(folder.is_dir() for folder in own)
    assert list(place.data.rglob("*")) == []
