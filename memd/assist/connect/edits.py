"""Adding memd's entries to one file's text, and removing them. Pure.

After each edit the new text is parsed and compared with the expected values: everything else
is unchanged. A text that cannot be edited so is refused, never damaged.
"""

from __future__ import annotations

import copy
import shlex
from types import ModuleType
from typing import Any, assert_never

from memd.assist.connect import json_text, toml_text
from memd.assist.connect import text as texts
from memd.assist.connect.entries import (
    Entry,
    Item,
    NotedEntry,
    Required,
    Setting,
    StatusLine,
    Target,
    contains,
    is_server,
    is_status_line,
    merge,
    own_paths,
    program,
)
from memd.assist.connect.text import Path, UnreadableError


class Edit:
    """A text being edited; every change is checked against the expected values."""

    def __init__(self, text: str, form: str, before: str | None = None) -> None:
        self.text = text
        self.form = _form(form)
        self._before = None if before is None else self.form.values(before)
        self._original = before

    @property
    def values(self) -> Any:
        values = self.form.values(self.text)
        if not isinstance(values, dict):
            raise UnreadableError("it is not an object of settings", 1)
        return values

    def at(self, path: Path) -> Any:
        return texts.at(self.values, path)

    def put(self, path: Path, value: Any) -> None:
        text = self.form.put(self.text, path, value)  # first: its error names the line
        values = copy.deepcopy(self.values)
        _parent_of(values, path)[path[-1]] = value
        self._replace_text(text, values)

    def append(self, path: Path, value: Any) -> None:
        text = self.form.append(self.text, path, value)
        values = copy.deepcopy(self.values)
        parent = _parent_of(values, path)
        current = parent.get(path[-1]) or []
        if not isinstance(current, list):
            raise UnreadableError(f"{path[-1]!r} has another kind of value there")
        parent[path[-1]] = [*current, value]
        self._replace_text(text, values)

    def remove(self, path: Path, *, only_this: bool = False) -> None:
        """Remove the value at *path*, and containers that memd added and that become empty.

        With *only_this* the containers stay, because somebody else made them.
        """
        while not only_this and len(path) > 1 and self._is_hollow(path[:-1]):
            path = path[:-1]
        values = copy.deepcopy(self.values)
        del texts.at(values, path[:-1])[path[-1]]
        self._replace_text(self.form.remove(self.text, path), values)

    def restore(self, path: Path, value: Any) -> None:
        """Restore a value in its original spelling."""
        self.put(path, value)
        if self._original is None or texts.at(self._before, path) != value:
            return
        literal = json_text.literal(self._original, path)
        if literal is not None:
            self.text = json_text.put_literal(self.text, path, literal)

    def is_new(self, path: Path) -> bool:
        """Return whether *path* did not exist before memd."""
        return self._original is None or not self._was_present(path)

    def _is_hollow(self, path: Path) -> bool:
        """Return whether memd added the container at *path* and it has one item left."""
        return not self._was_present(path) and len(self.at(path)) == 1

    def _was_present(self, path: Path) -> bool:
        return self._before is not None and texts.has(self._before, path)

    def _replace_text(self, text: str, values: Any) -> None:
        if _without_empty(self.form.values(text)) != _without_empty(values):
            raise UnreadableError("memd cannot edit it without changing something else")
        self.text = text


def add_entries(target: Target, text: str) -> str:
    """Return *text* with memd's entries. Raises UnreadableError."""
    edit = Edit(text, target.format)
    for entry in target.entries:
        _add(edit, entry)
    return edit.text


def remove_entries(target: Target, text: str, before: str | None) -> str | None:
    """Return *text* without memd's entries, None for a file that had nothing else.

    *before* is the text before memd; it is returned if nothing else has changed since.
    """
    if before is not None and add_entries(target, before) == text:
        return before
    edit = Edit(text, target.format, before)
    for entry in reversed(target.entries):  # in reverse of adding
        _remove(edit, entry)
    required = [entry for entry in target.entries if isinstance(entry, Required)]
    if before is None:
        rest = edit.values.keys() - {entry.path[0] for entry in required}
        return edit.text if rest or not present(target, text) else None
    for entry in reversed(required):
        if edit.at(entry.path) == entry.value and edit.is_new(entry.path):
            edit.remove(entry.path)
    return before if not edit.values and not before.strip() else edit.text


def present(target: Target, text: str) -> bool:
    """Return whether *text* has any entry of memd."""
    edit = Edit(text, target.format)
    for entry in target.entries:
        value = edit.at(entry.path)
        if isinstance(entry, Setting) and value is not None and not _is_others(entry, value):
            return True
        if isinstance(entry, Item) and any(own_paths(value)):
            return True
        if isinstance(entry, StatusLine) and is_status_line(texts.at(value, ("command",))):
            return True
    return False


def _add(edit: Edit, entry: Entry) -> None:
    match entry:
        case Setting(path, value):
            if edit.at(path) is not None and _is_others(entry, edit.at(path)):
                raise UnreadableError(f"a server that is not memd's is called {path[-1]!r}")
            _set(edit, path, value)
        case Required(path, value):
            if edit.at(path) is None:
                edit.put(path, value)
        case Item(path, value):
            _put_item(edit, path, value)
        case StatusLine(path, command):
            _chain(edit, path, command)
        case NotedEntry():
            pass
        case _:
            assert_never(entry)


def _remove(edit: Edit, entry: Entry) -> None:
    match entry:
        case Setting(path) | NotedEntry(path):
            if edit.at(path) is not None and not _is_others(entry, edit.at(path)):
                edit.remove(path, only_this=isinstance(entry, NotedEntry))
        case Item(path):
            for place in reversed(list(own_paths(edit.at(path)))):
                edit.remove((*path, *place))
        case StatusLine(path):
            _unchain(edit, path)
        case Required():
            pass
        case _:
            assert_never(entry)


def _is_others(entry: Entry, value: Any) -> bool:
    """Return whether another program's server has the name of memd's."""
    return isinstance(entry, Setting) and is_server(entry.value) and not is_server(value)


def _set(edit: Edit, path: Path, value: Any) -> None:
    current = edit.at(path)
    result = merge(current, value)
    if current is None or not isinstance(result, dict):
        if current != result:
            edit.put(path, result)
        return
    if result == current:
        return
    if edit.form is not json_text:
        edit.put(path, result)
        return
    for key in {**current, **result}:
        if key not in result:
            edit.remove((*path, key))
        elif current.get(key) != result[key]:
            edit.put((*path, key), result[key])


def _put_item(edit: Edit, path: Path, value: dict[str, Any]) -> None:
    current = edit.at(path)
    own_items = list(own_paths(current))
    if len(own_items) == 1 and contains(texts.at(current, own_items[0]), value):
        return
    for place in reversed(own_items):
        edit.remove((*path, *place))
    edit.append(path, value)


def _chain(edit: Edit, path: Path, command: str) -> None:
    current = edit.at(path)
    if current is None:
        edit.put(path, {"type": "command", "command": command})
        return
    earlier = current.get("command") if isinstance(current, dict) else None
    if not isinstance(earlier, str):
        raise UnreadableError(f"{path[-1]!r} is not a command")
    if is_status_line(earlier):
        words = program(earlier)
        rest = words[words.index("--") :] if "--" in words else []
        chain = f"{command} {shlex.join(rest)}" if rest else command
    else:
        chain = f"{command} -- {shlex.quote(earlier)}"  # a single word is a shell command
    if chain != earlier:
        edit.put((*path, "command"), chain)


def _unchain(edit: Edit, path: Path) -> None:
    current = edit.at(path)
    command = current.get("command") if isinstance(current, dict) else None
    if not is_status_line(command):
        return
    words = program(str(command))
    if "--" not in words:
        edit.remove(path)
        return
    rest = words[words.index("--") + 1 :]
    edit.restore((*path, "command"), rest[0] if len(rest) == 1 else shlex.join(rest))


def _parent_of(values: Any, path: Path) -> Any:
    """Return the mapping that contains the last key of *path*, creating missing ones."""
    for key in path[:-1]:
        if isinstance(key, str) and isinstance(values, dict) and values.get(key) is None:
            values[key] = {}
        values = texts.at(values, (key,))
        if not isinstance(values, dict):
            raise UnreadableError(f"{key!r} has another kind of value there")
    return values


def _form(name: str) -> ModuleType:
    if name == "yaml":
        from memd.assist.connect import yaml_text

        return yaml_text
    return {"json": json_text, "toml": toml_text}[name]


def _without_empty(values: Any) -> Any:
    """Return *values* without empty ones: to assistants an empty list and none are the same."""
    if isinstance(values, dict):
        inner = {key: _without_empty(value) for key, value in values.items()}
        return {key: value for key, value in inner.items() if value not in (None, {}, [])}
    if isinstance(values, list):
        return [_without_empty(value) for value in values]
    return values
