"""The entries that memd writes into settings files, and how to recognize them there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from memd.assist.connect.text import Path as Keys

PASSED_ON: Final = ("MEMD_HOME", "MEMD_PROFILE", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
"""Variables that locate memd's files. Not every assistant passes its own environment on."""

ENVIRONMENTS: Final = ("env", "envs", "environment")
"""Assistants' names for the environment of a server."""


class Setting(NamedTuple):
    """A value of memd's own, such as its server; keys that others added to it stay."""

    path: Keys
    value: Any


class Item(NamedTuple):
    """An item of a shared list, such as the hooks of an event."""

    path: Keys
    value: dict[str, Any]


class Required(NamedTuple):
    """A value that the file must have, such as its version; an existing one stays as it is."""

    path: Keys
    value: Any


class StatusLine(NamedTuple):
    """The status line command; memd's calls an earlier one."""

    path: Keys
    command: str


class NotedEntry(NamedTuple):
    """An entry that the assistant itself writes about memd; removed, never added."""

    path: Keys


Entry = Setting | Item | Required | StatusLine | NotedEntry


class Target(NamedTuple):
    """A file of an assistant, its format and memd's entries; or a file of memd's own."""

    file: Path
    format: str
    """``json``, ``toml``, ``yaml``, or ``own``."""
    entries: tuple[Entry, ...] = ()
    text: str = ""
    """The text of a file of memd's own."""
    sign: str = ""
    """What each of memd's texts for it contains, where somebody else may use its name."""


def program(command: str) -> list[str]:
    """Return the words of a command that starts memd, from the program on, else [].

    >>> program("env MEMD_HOME=/m '/opt/a b/memd' hook codex Stop")
    ['/opt/a b/memd', 'hook', 'codex', 'Stop']
    >>> program("cat memd")
    []
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    if words[:1] == ["env"]:
        words = words[1:]
        while words and "=" in words[0]:
            words = words[1:]
    return words if words and Path(words[0]).name == "memd" else []


def is_hook(command: object) -> bool:
    """Return whether a command is one of memd's hooks."""
    return isinstance(command, str) and program(command)[1:2] == ["hook"]


def is_status_line(command: object) -> bool:
    """Return whether a command is memd's status line."""
    return isinstance(command, str) and program(command)[1:2] == ["statusline"]


def is_server(value: object) -> bool:
    """Return whether an entry starts memd as an MCP server, whatever its name.

    >>> is_server({"command": ["/bin/memd", "mcp"]}), is_server({"command": "cat", "args": ["mcp"]})
    (True, False)
    """
    if not isinstance(value, Mapping):
        return False
    command = value.get("command", value.get("cmd"))
    words = list(command) if isinstance(command, list) else [command]
    args = value.get("args")
    words += list(args) if isinstance(args, list) else []
    texts = [word for word in words if isinstance(word, str)]
    return len(texts) > 1 and Path(texts[0]).name == "memd" and texts[1] == "mcp"


def own_paths(items: Any) -> Iterator[Keys]:
    """Yield the paths of memd's items in a list: whole items, or hooks in a shared item."""
    for place, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            continue
        hooks = item.get("hooks")
        if isinstance(hooks, list):
            own_hooks = [n for n, hook in enumerate(hooks) if _is_own(hook)]
            if own_hooks and len(own_hooks) == len(hooks):
                yield (place,)
            else:
                yield from ((place, "hooks", n) for n in own_hooks)
        elif _is_own(item):
            yield (place,)


def contains(present: Any, part: Any) -> bool:
    """Return whether *present* contains all of *part*.

    >>> contains({"a": 1, "b": [{"c": 2, "d": 3}]}, {"b": [{"c": 2}]}), contains({"a": 1}, {"a": 2})
    (True, False)
    """
    if isinstance(part, dict):
        return isinstance(present, dict) and all(
            key in present and contains(present[key], value) for key, value in part.items()
        )
    if isinstance(part, list):
        return (
            isinstance(present, list)
            and len(present) == len(part)
            and all(map(contains, present, part))
        )
    return type(present) is type(part) and bool(present == part)


def merge(present: Any, ours: Any) -> Any:
    """Return *ours* merged with what others added to *present*."""
    if not isinstance(present, dict) or not isinstance(ours, dict):
        return ours
    result = {**present, **ours}
    for name in ENVIRONMENTS:
        variables = present.get(name)
        if isinstance(variables, dict):
            others = {key: value for key, value in variables.items() if key not in PASSED_ON}
            result[name] = {**others, **ours.get(name, {})}
            if not result[name] and name not in ours:
                del result[name]
    return result


def _is_own(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    named = item.get("name") == "memd" and is_server(item)
    return named or is_hook(item.get("command")) or is_hook(item.get("bash"))
