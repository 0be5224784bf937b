"""The entries that memd writes into settings files, and how to recognize them there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from memd.assist.connect.text import Path as Keys

PASSED_ON: Final = ("MEMD_HOME", "MEMD_PROFILE", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
"""Variables that locate memd's files.

They are written into the entries, because not every assistant passes on its environment.
"""

ENVIRONMENTS: Final = ("env", "envs", "environment")
"""The keys by which assistants name the environment of a server."""


class Setting(NamedTuple):
    """A value that memd owns, such as its server; keys that others added to it stay."""

    path: Keys
    value: Any


class Item(NamedTuple):
    """An item of a shared list, such as the hooks of an event."""

    path: Keys
    value: dict[str, Any]


class RequiredEntry(NamedTuple):
    """A value that the file must have, such as a version number; an existing one stays."""

    path: Keys
    value: Any


class StatusLine(NamedTuple):
    """The status line command; memd's command runs an existing one first."""

    path: Keys
    command: str


class NotedEntry(NamedTuple):
    """An entry that the assistant writes about memd's plugin; memd only removes it."""

    path: Keys


Entry = Setting | Item | RequiredEntry | StatusLine | NotedEntry


class Target(NamedTuple):
    """A settings file of an assistant with memd's entries, or a file that memd owns."""

    file: Path
    format: str
    """``json``, ``toml`` or ``yaml``; ``own`` for a file that memd owns."""
    entries: tuple[Entry, ...] = ()
    """The entries of a settings file."""
    text: str = ""
    """The whole text of a file that memd owns."""
    sign: str = ""
    """A part of *text* in every version of memd. A file without it was written by somebody else."""


def program(command: str) -> list[str]:
    """Return the words of a command that starts memd, without ``env``; [] for other commands.

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
    """Return whether an entry starts memd as an MCP server, under any name.

    >>> is_server({"command": ["/bin/memd", "mcp"]}), is_server({"command": "cat", "args": ["mcp"]})
    (True, False)
    """
    if not isinstance(value, Mapping):
        return False
    command = value.get("command", value.get("cmd"))
    words = list(command) if isinstance(command, list) else [command]  # opencode has a list
    args = value.get("args")
    words += list(args) if isinstance(args, list) else []
    texts = [word for word in words if isinstance(word, str)]
    return len(texts) > 1 and Path(texts[0]).name == "memd" and texts[1] == "mcp"


def own_paths(items: Any) -> Iterator[Keys]:
    """Yield the paths of memd's items in a list: whole items, or hooks in a shared item.

    >>> memd, other = {"command": "memd hook codex Stop"}, {"command": "say done"}
    >>> list(own_paths([memd, {"hooks": [other, memd]}, other]))
    [(0,), (1, 'hooks', 1)]
    """
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            continue
        hooks = item.get("hooks")
        if isinstance(hooks, list):
            own_hooks = [n for n, hook in enumerate(hooks) if _is_own(hook)]
            if own_hooks and len(own_hooks) == len(hooks):
                yield (index,)
            else:
                yield from ((index, "hooks", n) for n in own_hooks)
        elif _is_own(item):
            yield (index,)


def contains(present: Any, part: Any) -> bool:
    """Return whether *present* contains all of *part*; lists must have the same length.

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
    """Return *ours* with the keys and variables that others added to *present*.

    Variables of ``PASSED_ON`` in *present* are memd's, so they are dropped unless *ours* has them.

    >>> merge({"a": 1, "env": {"X": "1", "MEMD_HOME": "/old"}}, {"a": 2})
    {'a': 2, 'env': {'X': '1'}}
    """
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
    is_memd_server = item.get("name") == "memd" and is_server(item)
    return is_memd_server or is_hook(item.get("command")) or is_hook(item.get("bash"))
