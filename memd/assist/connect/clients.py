"""The supported assistants: their settings files, and memd's entries in them.

The formats were tested with the program itself, or follow its documentation
(docs/assistants.md says which). Every command is an absolute path, because assistants start
programs with a short PATH, and some pass on few environment variables.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

from memd.assist.connect.entries import (
    Entry,
    Item,
    NotedEntry,
    RequiredEntry,
    Setting,
    StatusLine,
    Target,
)
from memd.assist.events import EVENTS

HOOK_SECONDS_MAX: Final = 10
"""Timeout after which an assistant stops a hook. A hook itself gives up earlier (``hook.py``)."""


class Locations(NamedTuple):
    """The folders, program and environment of the user whose assistants are connected."""

    home: Path
    data: Path
    """memd's data folder, for plugins that an assistant loads from there."""
    command: str
    """The absolute path of the memd program."""
    variables: Mapping[str, str]
    """The variables that hooks and servers need to find memd's files (``PASSED_ON``)."""
    environ: Mapping[str, str]
    """The whole environment, which may relocate an assistant's folder."""
    is_mac: bool = False

    def folder(self, variable: str, name: str) -> Path:
        """Return the folder that *variable* names, or *name* in the home folder."""
        value = self.environ.get(variable)
        return Path(value) if value and Path(value).is_absolute() else self.home / name

    @property
    def config(self) -> Path:
        return self.folder("XDG_CONFIG_HOME", ".config")

    @property
    def vscode(self) -> Path:
        above = self.home / "Library" / "Application Support" if self.is_mac else self.config
        return above / "Code"


class Assistant(NamedTuple):
    """One assistant."""

    title: str
    programs: tuple[str, ...]
    folder: Callable[[Locations], Path]
    """Its settings folder. This folder or a program on the PATH shows that it is installed."""
    targets: Callable[[Locations], list[Target]]
    """The files that memd edits or writes."""
    next_step: str = ""
    """What the user still has to do after connecting."""
    other_files: Callable[[Locations, Path], list[Path]] = lambda place, here: []
    """Other files that it reads, some in the folder *here*, where memd would be a duplicate."""


def server(place: Locations, name: str, **extra: Any) -> dict[str, Any]:
    """Return the MCP server entry of client *name*, in the form that most assistants use."""
    entry: dict[str, Any] = {**extra, "command": place.command, "args": ["mcp", "--client", name]}
    return {**entry, "env": dict(place.variables)} if place.variables else entry


def hook(place: Locations, name: str, event: str) -> str:
    """Return the shell command of a hook.

    ``|| true``, because several assistants reject a prompt when a hook exits with 2, which another
    version of memd may do.
    """
    return f"{_shell(place, 'hook', name, event, '--client', name)} || true"


def _shell(place: Locations, *words: str) -> str:
    return shlex.join([*_command(place), *words])


def _command(place: Locations) -> list[str]:
    """Return the words that start memd, such as ``env MEMD_HOME=/m /bin/memd``."""
    variables = [f"{key}={value}" for key, value in place.variables.items()]
    return [*(["env", *variables] if variables else []), place.command]


_PLUGIN_COMMAND = 'const COMMAND = ["memd", "hook", "opencode"]'


def plugin(command: Sequence[str], client: str | None = None) -> str:
    """Return the plugin that runs hooks in opencode, which has no settings for hooks.

    *command* starts memd, *client* names the key.

    >>> '["/bin/memd","hook","opencode","--client","oc"]' in plugin(["/bin/memd"], "oc")
    True
    """
    text = (resources.files("memd.assist") / "opencode.js").read_text("utf-8")
    words = [*command, "hook", "opencode", *([] if client is None else ["--client", client])]
    assert _PLUGIN_COMMAND in text
    return text.replace(
        _PLUGIN_COMMAND, f"const COMMAND = {json.dumps(words, separators=(',', ':'))}"
    )


def _nested_hooks(place: Locations, source: str, timeout: int, **extra: str) -> dict[str, Any]:
    """Return the hooks by event, in the nested form that Claude Code introduced.

    *timeout* is in seconds, or in milliseconds for Gemini CLI and Qwen Code.
    """

    def entry(event: str) -> dict[str, Any]:
        command = hook(place, source, event)
        return {**extra, "type": "command", "command": command, "timeout": timeout}

    return {event: {"hooks": [entry(event)]} for event in EVENTS[source]}


def _items(hooks: Mapping[str, dict[str, Any]]) -> tuple[Entry, ...]:
    return tuple(Item(("hooks", event), value) for event, value in hooks.items())


def _text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _claude_folder(place: Locations) -> Path:
    return place.folder("CLAUDE_CONFIG_DIR", ".claude")


def _claude_code(place: Locations) -> list[Target]:
    """Return a plugin in a marketplace, a folder in memd's data, and settings that enable it."""
    from memd import __version__

    folder = place.data / "assistants" / "claude-code"
    about = {"name": "memd", "description": "The memory of your assistants, on this computer."}
    marketplace = {"name": "memd-local", "owner": {"name": "memd"}, "plugins": [
        {**about, "source": "./memd"}
    ]}  # fmt: skip
    hooks = {
        event: [group]
        for event, group in _nested_hooks(place, "claude-code", HOOK_SECONDS_MAX).items()
    }
    source = {"source": {"source": "directory", "path": str(folder)}}
    state = _claude_folder(place) / "plugins"
    plugin_id = "memd@memd-local"
    return [
        Target(folder / ".claude-plugin" / "marketplace.json", "own", text=_text(marketplace)),
        Target(
            folder / "memd" / ".claude-plugin" / "plugin.json",
            "own",
            text=_text({**about, "version": __version__}),
        ),
        Target(
            folder / "memd" / ".mcp.json",
            "own",
            text=_text({"mcpServers": {"memd": server(place, "claude-code")}}),
        ),
        Target(folder / "memd" / "hooks" / "hooks.json", "own", text=_text({"hooks": hooks})),
        Target(
            _claude_folder(place) / "settings.json",
            "json",
            (
                Setting(("extraKnownMarketplaces", "memd-local"), source),
                Setting(("enabledPlugins", plugin_id), True),
                StatusLine(("statusLine",), _shell(place, "statusline")),
            ),
        ),
        Target(state / "known_marketplaces.json", "json", (NotedEntry(("memd-local",)),)),
        Target(state / "installed_plugins.json", "json", (NotedEntry(("plugins", plugin_id)),)),
    ]


def _codex_folder(place: Locations) -> Path:
    return place.folder("CODEX_HOME", ".codex")


def _codex(place: Locations) -> list[Target]:
    folder = _codex_folder(place)
    return [
        Target(
            folder / "config.toml",
            "toml",
            (Setting(("mcp_servers", "memd"), server(place, "codex")),),
        ),
        Target(
            folder / "hooks.json", "json", _items(_nested_hooks(place, "codex", HOOK_SECONDS_MAX))
        ),
    ]


def _gemini_folder(place: Locations) -> Path:
    return place.folder("GEMINI_CLI_HOME", "") / ".gemini"


def _gemini(place: Locations) -> list[Target]:
    return _gemini_settings(place, "gemini", _gemini_folder(place))


def _qwen(place: Locations) -> list[Target]:
    return _gemini_settings(place, "qwen", place.home / ".qwen")


def _gemini_settings(place: Locations, name: str, folder: Path) -> list[Target]:
    entries: tuple[Entry, ...] = (Setting(("mcpServers", "memd"), server(place, name)),)
    entries += _items(_nested_hooks(place, name, HOOK_SECONDS_MAX * 1000, name="memd"))
    return [Target(folder / "settings.json", "json", entries)]


def _copilot_folder(place: Locations) -> Path:
    return place.folder("COPILOT_HOME", ".copilot")


def _copilot(place: Locations) -> list[Target]:
    hooks = {
        event: [
            {
                "type": "command",
                "bash": hook(place, "copilot", event),
                "timeoutSec": HOOK_SECONDS_MAX,
            }
        ]
        for event in EVENTS["copilot"]
    }
    entry = server(place, "copilot", type="local", tools=["*"])
    folder = _copilot_folder(place)
    return [
        Target(folder / "mcp-config.json", "json", (Setting(("mcpServers", "memd"), entry),)),
        Target(
            folder / "hooks" / "memd.json",
            "own",
            text=_text({"version": 1, "hooks": hooks}),
            sign=" hook copilot ",
        ),
    ]


def _opencode(place: Locations) -> list[Target]:
    folder = place.config / "opencode"
    candidates = [folder / name for name in ("opencode.jsonc", "opencode.json")]
    file = next((path for path in candidates if path.exists()), candidates[-1])
    entry: dict[str, Any] = {
        "type": "local",
        "command": [place.command, "mcp", "--client", "opencode"],
        "enabled": True,
    }
    if place.variables:
        entry["environment"] = dict(place.variables)
    text = plugin(_command(place), "opencode")
    return [
        Target(file, "json", (Setting(("mcp", "memd"), entry),)),
        Target(
            folder / "plugins" / "memd.js", "own", text=text, sign="// memd's plugin for opencode"
        ),
    ]


def _cursor(place: Locations) -> list[Target]:
    folder = place.home / ".cursor"
    hooks: tuple[Entry, ...] = tuple(
        Item(
            ("hooks", event),
            {"command": hook(place, "cursor", event), "timeout": HOOK_SECONDS_MAX},
        )
        for event in EVENTS["cursor"]
    )
    return [
        _servers(place, "cursor", folder / "mcp.json"),
        Target(folder / "hooks.json", "json", (RequiredEntry(("version",), 1), *hooks)),
    ]


def _servers(place: Locations, name: str, file: Path) -> Target:
    return Target(file, "json", (Setting(("mcpServers", "memd"), server(place, name)),))


def _vscode(place: Locations) -> list[Target]:
    entry = Setting(("servers", "memd"), server(place, "vscode", type="stdio"))
    return [Target(place.vscode / "User" / "mcp.json", "json", (entry,))]


def _zed(place: Locations) -> list[Target]:
    entry = Setting(("context_servers", "memd"), server(place, "zed", source="custom"))
    return [Target(place.config / "zed" / "settings.json", "json", (entry,))]


def _goose(place: Locations) -> list[Target]:
    entry = {
        "name": "memd",
        "description": "What was said, decided and learnt in earlier sessions.",
        "type": "stdio",
        "enabled": True,
        "cmd": place.command,
        "args": ["mcp", "--client", "goose"],
        "envs": dict(place.variables),
        "timeout": 60,
    }
    file = place.config / "goose" / "config.yaml"
    return [Target(file, "yaml", (Setting(("extensions", "memd"), entry),))]


def _continue(place: Locations) -> list[Target]:
    entries = (
        RequiredEntry(("name",), "Local config"),
        RequiredEntry(("version",), "1.0.0"),
        RequiredEntry(("schema",), "v1"),
        Item(("mcpServers",), {"name": "memd", **server(place, "continue")}),
    )
    return [Target(place.home / ".continue" / "config.yaml", "yaml", entries)]


def _lmstudio_folder(place: Locations) -> Path:
    candidates = (place.home / ".lmstudio", place.home / ".cache" / "lm-studio")
    return next((path for path in candidates if path.is_dir()), candidates[0])


ASSISTANTS: Final[Mapping[str, Assistant]] = {
    "claude-code": Assistant(
        "Claude Code",
        ("claude",),
        _claude_folder,
        _claude_code,
        other_files=lambda place, here: [
            place.home / ".claude.json",
            here / ".mcp.json",
            here / ".claude" / "settings.json",
            here / ".claude" / "settings.local.json",
        ],
    ),
    "codex": Assistant(
        "Codex",
        ("codex",),
        _codex_folder,
        _codex,
        "Codex runs hooks only once you trust them: start codex, which asks you (or type /hooks)",
        lambda place, here: [here / ".codex" / "config.toml", here / ".codex" / "hooks.json"],
    ),
    "gemini": Assistant(
        "Gemini CLI",
        ("gemini",),
        _gemini_folder,
        _gemini,
        "Gemini CLI starts nothing of it in a folder that you do not trust: type /permissions",
        lambda place, here: [here / ".gemini" / "settings.json"],
    ),
    "qwen": Assistant(
        "Qwen Code",
        ("qwen",),
        lambda place: place.home / ".qwen",
        _qwen,
        other_files=lambda place, here: [here / ".qwen" / "settings.json"],
    ),
    "copilot": Assistant("Copilot CLI", ("copilot",), _copilot_folder, _copilot),
    "opencode": Assistant(
        "opencode", ("opencode",), lambda place: place.config / "opencode", _opencode
    ),
    "cursor": Assistant(
        "Cursor",
        ("cursor",),
        lambda place: place.home / ".cursor",
        _cursor,
        other_files=lambda place, here: [
            here / ".cursor" / "mcp.json",
            _claude_folder(place) / "settings.json",
        ],
    ),
    "vscode": Assistant(
        "VS Code",
        ("code",),
        lambda place: place.vscode,
        _vscode,
        other_files=lambda place, here: [
            here / ".vscode" / "mcp.json",
            _copilot_folder(place) / "mcp-config.json",
        ],
    ),
    "zed": Assistant("Zed", ("zed", "zeditor"), lambda place: place.config / "zed", _zed),
    "goose": Assistant("Goose", ("goose",), lambda place: place.config / "goose", _goose),
    "continue": Assistant("Continue", ("cn",), lambda place: place.home / ".continue", _continue),
    "lmstudio": Assistant(
        "LM Studio",
        ("lms",),
        _lmstudio_folder,
        lambda place: [_servers(place, "lmstudio", _lmstudio_folder(place) / "mcp.json")],
    ),
}
