"""Add memd's entries to the text of one file, and remove them. Pure.

After each edit the new text is parsed and compared with the expected values, so that nothing else
changes. A text that cannot be edited this way raises UnreadableError.
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
    RequiredEntry,
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
    """A text that is being edited; every change is checked against the expected values.

    *before* is the text from before memd, if a backup has it.
    """

    def __init__(self, text: str, form: str, before: str | None = None) -> None:
        self.text = text
        self.form = _form(form)
        self._original = before
        self._original_values = None if before is None else self.form.values(before)

    @property
    def values(self) -> Any:
        """The parsed text. Raises UnreadableError unless it is an object."""
        values = self.form.values(self.text)
        if not isinstance(values, dict):
            raise UnreadableError("it is not an object of settings", 1)
        return values

    def at(self, path: Path) -> Any:
        return texts.at(self.values, path)

    def put(self, path: Path, value: Any) -> None:
        """Set the value at *path*; missing parents are created."""
        text = self.form.put(self.text, path, value)  # first, because its error names the line
        values = copy.deepcopy(self.values)
        _parent_of(values, path)[path[-1]] = value
        self._replace_text(text, values)

    def append(self, path: Path, value: Any) -> None:
        """Append *value* to the list at *path*, which is created if missing."""
        text = self.form.append(self.text, path, value)
        values = copy.deepcopy(self.values)
        parent = _parent_of(values, path)
        current = parent.get(path[-1]) or []
        if not isinstance(current, list):
            raise UnreadableError(f"{path[-1]!r} has another kind of value there")
        parent[path[-1]] = [*current, value]
        self._replace_text(text, values)

    def remove(self, path: Path, *, keeps_parents: bool = False) -> None:
        """Remove the value at *path*, and parents that memd added and that become empty.

        With *keeps_parents* empty parents stay, because somebody else added them.
        """
        while not keeps_parents and len(path) > 1 and self._becomes_empty(path[:-1]):
            path = path[:-1]
        values = copy.deepcopy(self.values)
        del texts.at(values, path[:-1])[path[-1]]
        self._replace_text(self.form.remove(self.text, path), values)

    def restore(self, path: Path, value: Any) -> None:
        """Set *value* at *path*, in the original spelling if the original text had this value.

        A string may be written with other escapes than memd would use.
        """
        self.put(path, value)
        if self._original is None or texts.at(self._original_values, path) != value:
            return
        literal = json_text.literal(self._original, path)
        if literal is not None:
            self.text = json_text.put_literal(self.text, path, literal)

    def is_new(self, path: Path) -> bool:
        """Return whether *path* did not exist in the original text."""
        return self._original_values is None or not texts.has(self._original_values, path)

    def _becomes_empty(self, path: Path) -> bool:
        """Return whether memd added the container at *path* and it has one item left."""
        return self.is_new(path) and len(self.at(path)) == 1

    def _replace_text(self, text: str, values: Any) -> None:
        """Set the new text. Raises UnreadableError unless it parses to *values*."""
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
    """Return *text* without memd's entries, None if the file is to be deleted.

    *before* is the text from before memd, None if there is no backup. It is returned as it is if
    nothing else has changed since. A file is deleted if memd created it and nothing else is in it.
    """
    if before is not None and add_entries(target, before) == text:
        return before
    edit = Edit(text, target.format, before)
    for entry in reversed(target.entries):  # the reverse order of adding
        _remove(edit, entry)
    required = [entry for entry in target.entries if isinstance(entry, RequiredEntry)]
    if before is None:
        others = edit.values.keys() - {entry.path[0] for entry in required}
        return edit.text if others or not present(target, text) else None
    for entry in reversed(required):
        if edit.at(entry.path) == entry.value and edit.is_new(entry.path):
            edit.remove(entry.path)
    return before if not edit.values and not before.strip() else edit.text


def present(target: Target, text: str) -> bool:
    """Return whether *text* has any entry of memd."""
    edit = Edit(text, target.format)
    for entry in target.entries:
        value = edit.at(entry.path)
        if isinstance(entry, Setting) and value is not None and not _is_foreign(entry, value):
            return True
        if isinstance(entry, Item) and any(own_paths(value)):
            return True
        if isinstance(entry, StatusLine) and is_status_line(texts.at(value, ("command",))):
            return True
    return False


def _add(edit: Edit, entry: Entry) -> None:
    match entry:
        case Setting(path, value):
            if edit.at(path) is not None and _is_foreign(entry, edit.at(path)):
                raise UnreadableError(f"a server that is not memd's is called {path[-1]!r}")
            _set(edit, path, value)
        case RequiredEntry(path, value):
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
            if edit.at(path) is not None and not _is_foreign(entry, edit.at(path)):
                edit.remove(path, keeps_parents=isinstance(entry, NotedEntry))
        case Item(path):
            _remove_items(edit, path)
        case StatusLine(path):
            _unchain(edit, path)
        case RequiredEntry():
            pass
        case _:
            assert_never(entry)


def _is_foreign(entry: Entry, value: Any) -> bool:
    """Return whether *value* is another program's server with the name of memd's."""
    return isinstance(entry, Setting) and is_server(entry.value) and not is_server(value)


def _set(edit: Edit, path: Path, value: Any) -> None:
    """Set memd's value at *path*, merged with keys that others added to it.

    In JSON only the keys that differ are edited, so that comments and order of the others stay.
    """
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
    """Make *value* memd's only item in the list at *path*."""
    current = edit.at(path)
    own_items = list(own_paths(current))
    if len(own_items) == 1 and contains(texts.at(current, own_items[0]), value):
        return
    _remove_items(edit, path)
    edit.append(path, value)


def _remove_items(edit: Edit, path: Path) -> None:
    """Remove memd's items from the list at *path*, the last first: positions before it stay."""
    for keys in reversed(list(own_paths(edit.at(path)))):
        edit.remove((*path, *keys))


def _chain(edit: Edit, path: Path, command: str) -> None:
    """Set the status line to *command*, followed by ``--`` and the user's own command, if any."""
    current = edit.at(path)
    if current is None:
        edit.put(path, {"type": "command", "command": command})
        return
    earlier = current.get("command") if isinstance(current, dict) else None
    if not isinstance(earlier, str):
        raise UnreadableError(f"{path[-1]!r} is not a command")
    if is_status_line(earlier):
        words = program(earlier)
        chained = words[words.index("--") :] if "--" in words else []
        chain = f"{command} {shlex.join(chained)}" if chained else command
    else:
        # Quoted as one word, because "memd statusline" runs a single word with the shell.
        chain = f"{command} -- {shlex.quote(earlier)}"
    if chain != earlier:
        edit.put((*path, "command"), chain)


def _unchain(edit: Edit, path: Path) -> None:
    """Restore the user's own status line from behind ``--``, or remove the setting."""
    current = edit.at(path)
    command = current.get("command") if isinstance(current, dict) else None
    if not is_status_line(command):
        return
    words = program(str(command))
    if "--" not in words:
        edit.remove(path)
        return
    chained = words[words.index("--") + 1 :]
    edit.restore((*path, "command"), chained[0] if len(chained) == 1 else shlex.join(chained))


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
    """Return the module that edits the format *name*. PyYAML is imported only if it is needed."""
    if name == "yaml":
        from memd.assist.connect import yaml_text

        return yaml_text
    return {"json": json_text, "toml": toml_text}[name]


def _without_empty(values: Any) -> Any:
    """Return *values* without empty members: an empty list and no list mean the same."""
    if isinstance(values, dict):
        inner = {key: _without_empty(value) for key, value in values.items()}
        return {key: value for key, value in inner.items() if value not in (None, {}, [])}
    if isinstance(values, list):
        return [_without_empty(value) for value in values]
    return values
