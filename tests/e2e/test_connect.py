"""``memd connect NAME``: the files are what the assistant reads, and as before when undone."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import forked
from support.daemon import Spawned, environment
from support.mcp_process import pumped

from memd.assist.connect.clients import ASSISTANTS
from memd.assist.events import EVENTS

NAMES = list(ASSISTANTS)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def typed(daemon: Spawned, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**environment(daemon.home), "HOME": str(home)}
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME"):
        environ.pop(name, None)
    return forked.run(words, env=environ)


def connected(daemon: Spawned, home: Path, name: str) -> dict[str, Any]:
    done = typed(daemon, home, "connect", name, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def everything(home: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(home)): each.read_bytes() for each in home.rglob("*") if each.is_file()
    }


def server(home: Path, name: str, data: Path) -> dict[str, Any]:
    """Return memd's server as the assistant's documents say that it is read."""
    if name == "codex":
        toml = tomllib.loads((home / ".codex/config.toml").read_text("utf-8"))
        return dict(toml["mcp_servers"]["memd"])
    if name == "goose":
        goose = yaml.safe_load((home / ".config/goose/config.yaml").read_text("utf-8"))
        entry = goose["extensions"]["memd"]
        return {"command": entry["cmd"], "args": entry["args"], "env": entry["envs"]}
    if name == "continue":
        config = yaml.safe_load((home / ".continue/config.yaml").read_text("utf-8"))
        return dict(next(each for each in config["mcpServers"] if each["name"] == "memd"))
    place, key = {
        "claude-code": (data / "assistants/claude-code/memd/.mcp.json", "mcpServers"),
        "gemini": (home / ".gemini/settings.json", "mcpServers"),
        "qwen": (home / ".qwen/settings.json", "mcpServers"),
        "copilot": (home / ".copilot/mcp-config.json", "mcpServers"),
        "opencode": (home / ".config/opencode/opencode.json", "mcp"),
        "cursor": (home / ".cursor/mcp.json", "mcpServers"),
        "vscode": (home / ".config/Code/User/mcp.json", "servers"),
        "zed": (home / ".config/zed/settings.json", "context_servers"),
        "lmstudio": (home / ".lmstudio/mcp.json", "mcpServers"),
    }[name]
    entry = json.loads(place.read_text("utf-8"))[key]["memd"]
    if name == "opencode":
        command, *args = entry["command"]
        return {"command": command, "args": args, "env": entry["environment"]}
    return dict(entry)


@pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")
@pytest.mark.parametrize("name", NAMES)
def test_one_command_connects_it_and_one_undoes_it(daemon: Spawned, home: Path, name: str) -> None:
    answer = connected(daemon, home, name)
    assert answer["connected"]
    entry = server(home, name, daemon.paths.data_dir)
    assert Path(entry["command"]).is_absolute()
    assert entry["args"] == ["mcp", "--client", name]
    assert entry["env"] == {"MEMD_HOME": str(daemon.home)}
    bare = {**environment(daemon.home), **entry["env"]}
    with pumped(daemon.home, "--client", name, environ=bare) as pump:
        assert pump.tool("memory_status")["structuredContent"]["client"] == name
    files = everything(home)
    again = connected(daemon, home, name)
    assert again["files"] == []
    assert everything(home) == files
    done = typed(daemon, home, "connect", name, "--remove", "--yes")
    assert done.returncode == 0, done.stderr
    assert everything(home) == {}
    assert not (daemon.paths.data_dir / "assistants" / "claude-code").exists()


FOREIGN = {
    ".codex/config.toml": b"# mine\r\nmodel = 'gpt'  # why\r\n\r\n"
    b"[mcp_servers.other]\r\ncommand='x'",
    ".claude/settings.json": b'{\n\t"statusLine": {"type": "command", '
    b'"command": "my \\u0041 | cat"},\n\t"enabledPlugins": {}\n}',
    ".gemini/settings.json": b'{"hooks": {"AfterAgent": [ {"hooks": [{"command": "mine"}]} ]} }',
    ".cursor/mcp.json": b'// mine\n{"mcpServers": {\n  "other": {"command": "x"}, // last\n}}\n',
    ".config/goose/config.yaml": b"extensions:\n    developer:  {type: builtin} # x\nA: 'b'",
    ".config/zed/settings.json": b'// Zed\n{\n  "theme": "One",\n}\n',
}
"""Files as people have them, by the assistant whose they are."""


@pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")
@pytest.mark.parametrize("file", FOREIGN)
def test_what_others_wrote_stays_byte_by_byte(daemon: Spawned, home: Path, file: str) -> None:
    place = home / file
    place.parent.mkdir(parents=True)
    place.write_bytes(FOREIGN[file])
    place.chmod(0o640)
    before = everything(home)
    name = {"claude": "claude-code"}.get(place.parent.name.strip("."), place.parent.name.strip("."))
    connected(daemon, home, name)
    assert place.read_bytes() != FOREIGN[file]
    assert place.with_name(f"{place.name}.memd.bak").read_bytes() == FOREIGN[file]
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    done = typed(daemon, home, "connect", name, "--remove", "--yes")
    assert done.returncode == 0, done.stderr
    assert everything(home) == before


def test_a_status_line_that_was_there_is_called_by_memds(daemon: Spawned, home: Path) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"statusLine": {"type": "command", "command": "mine \'a b\' | cat"}}')
    connected(daemon, home, "claude-code")
    line = json.loads(settings.read_text("utf-8"))["statusLine"]["command"]
    assert line.endswith("statusline -- 'mine '\"'\"'a b'\"'\"' | cat'")
    settings.write_text(settings.read_text("utf-8").replace("{", '{"theme": "dark", ', 1))
    typed(daemon, home, "connect", "claude-code", "--remove", "--yes")
    left = json.loads(settings.read_text("utf-8"))
    assert left == {
        "theme": "dark",
        "statusLine": {"type": "command", "command": "mine 'a b' | cat"},
    }


def test_hooks_are_written_for_each_event_that_memd_understands(
    daemon: Spawned, home: Path
) -> None:
    for name in ("codex", "gemini", "cursor", "claude-code", "copilot"):
        connected(daemon, home, name)
    connected(daemon, home, "opencode")
    opencode = (home / ".config/opencode/plugins/memd.js").read_text("utf-8")
    assert '"hook","opencode","--client","opencode"]' in opencode
    plugin = daemon.paths.data_dir / "assistants" / "claude-code" / "memd" / "hooks" / "hooks.json"
    for name, place in (
        ("codex", home / ".codex/hooks.json"),
        ("gemini", home / ".gemini/settings.json"),
        ("cursor", home / ".cursor/hooks.json"),
        ("copilot", home / ".copilot/hooks/memd.json"),
        ("claude-code", plugin),
    ):
        hooks = json.loads(place.read_text("utf-8"))["hooks"]
        assert set(hooks) == set(EVENTS[name])
        for event, items in hooks.items():
            # A failing hook takes the prompt back: seen with Claude Code and Codex.
            assert f"hook {name} {event} --client {name} || true" in json.dumps(items)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{\n "a": 1,\n b\n}', "line 3: it is not JSON"),
        (b'{"mcpServers": 7}', "line 1: it has another kind of value there"),
        (b"[]", "line 1: it is not an object of settings"),
        (b'{"a": "\xff"}', "line 1: it is not UTF-8"),
    ],
)
def test_a_file_that_memd_does_not_understand_is_not_touched(
    daemon: Spawned, home: Path, text: bytes, why: str
) -> None:
    place = home / ".qwen" / "settings.json"
    place.parent.mkdir()
    place.write_bytes(text)
    done = typed(daemon, home, "connect", "qwen", "--yes")
    assert done.returncode == 1
    assert str(place) in done.stderr
    assert why in done.stderr
    assert everything(home) == {".qwen/settings.json": text}


def test_a_link_stays_a_link(daemon: Spawned, home: Path) -> None:
    real = home / "dotfiles" / "qwen.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    link = home / ".qwen" / "settings.json"
    link.parent.mkdir()
    link.symlink_to("../dotfiles/qwen.json")
    connected(daemon, home, "qwen")
    assert str(link.readlink()) == "../dotfiles/qwen.json"
    assert "memd" in real.read_text("utf-8")
    typed(daemon, home, "connect", "qwen", "--remove", "--yes")
    assert str(link.readlink()) == "../dotfiles/qwen.json"
    assert real.read_text("utf-8") == "{}\n"


def test_nothing_is_written_unless_it_is_asked_for(daemon: Spawned, home: Path) -> None:
    shown = typed(daemon, home, "connect", "codex", "--print")
    assert "+[mcp_servers.memd]" in shown.stdout
    unasked = typed(daemon, home, "connect", "codex")
    assert unasked.returncode == 2
    assert "confirm with --yes" in unasked.stderr
    assert everything(home) == {}


def test_the_list_says_what_is_installed_and_connected(daemon: Spawned, home: Path) -> None:
    (home / ".cursor").mkdir()
    connected(daemon, home, "codex")
    items = json.loads(typed(daemon, home, "connect", "--json").stdout)["items"]
    by_name = {one["name"]: (one["installed"], one["connected"]) for one in items}
    assert list(by_name) == NAMES
    assert by_name["cursor"][0]
    assert by_name["codex"] == (True, True)
    assert not by_name["continue"][0]
    table = typed(daemon, home, "connect")
    assert f"codex\tyes\tyes\t{home}/.codex" in table.stdout


def test_an_unknown_assistant_is_refused_by_name(daemon: Spawned, home: Path) -> None:
    unknown = typed(daemon, home, "connect", "eliza", "--print")
    assert unknown.returncode == 2
    assert "claude-code, codex" in unknown.stderr


def test_entries_of_a_program_that_moved_are_renewed(daemon: Spawned, home: Path) -> None:
    connected(daemon, home, "codex")
    for place in (home / ".codex").iterdir():
        text = place.read_text("utf-8")
        place.write_text(text.replace("/memd", "/old/memd"), "utf-8")
    renewed = connected(daemon, home, "codex")
    assert len(renewed["files"]) == 2
    assert "/old/memd" not in "".join(
        place.read_text("utf-8") for place in (home / ".codex").iterdir()
    )
    hooks = json.loads((home / ".codex/hooks.json").read_text("utf-8"))["hooks"]
    assert all(len(items) == 1 for items in hooks.values())
    typed(daemon, home, "connect", "codex", "--remove", "--yes")
    assert everything(home) == {}
