"""One file's text with memd's entries in it, and without them. Pure.

After each edit the new text is read again and compared with what it has to say: everything
else as before. A text that memd would have to change otherwise is refused, never damaged.
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
    Needed,
    NotedEntry,
    Setting,
    StatusLine,
    Target,
    holds,
    is_status_line,
    merged,
    own,
    program,
)
from memd.assist.connect.text import Path, UnreadableError


class Edit:
    """A text being edited: every change is checked against what it has to mean."""

    def __init__(self, text: str, form: str, before: str | None = None) -> None:
        self.text = text
        self.form = _form(form)
        self._before = None if before is None else self.form.values(before)
        self._original = before

    @property
    def values(self) -> Any:
        values = self.form.values(self.text)
        if not isinstance(values, dict):
            raise UnreadableError("it holds no settings by name", 1)
        return values

    def at(self, path: Path) -> Any:
        return texts.at(self.values, path)

    def put(self, path: Path, value: Any) -> None:
        text = self.form.put(self.text, path, value)  # first: it knows the line of what is wrong
        values = copy.deepcopy(self.values)
        _above(values, path)[path[-1]] = value
        self._become(text, values)

    def append(self, path: Path, value: Any) -> None:
        text = self.form.append(self.text, path, value)
        values = copy.deepcopy(self.values)
        above = _above(values, path)
        there = above.get(path[-1]) or []
        if not isinstance(there, list):
            raise UnreadableError(f"{path[-1]!r} holds something else there")
        above[path[-1]] = [*there, value]
        self._become(text, values)

    def take(self, path: Path, *, alone: bool = False) -> None:
        """Take out what is at *path*, and what holds nothing else and was not there before.

        *alone*: what holds it stays in any case, since somebody else made it.
        """
        while not alone and len(path) > 1 and self._is_hollow(path[:-1]):
            path = path[:-1]
        values = copy.deepcopy(self.values)
        del texts.at(values, path[:-1])[path[-1]]
        self._become(self.form.take(self.text, path), values)

    def restore(self, path: Path, value: Any) -> None:
        """Put a value back, written as it was before."""
        self.put(path, value)
        if self._original is None or texts.at(self._before, path) != value:
            return
        written = json_text.literal(self._original, path)
        if written is not None:
            self.text = json_text.put_literal(self.text, path, written)

    def is_new(self, path: Path) -> bool:
        """Return whether *path* was not there before memd."""
        return self._original is None or not self._known(path)

    def _is_hollow(self, path: Path) -> bool:
        """Return whether what holds one thing will hold none, and was not there before."""
        return not self._known(path) and len(self.at(path)) == 1

    def _known(self, path: Path) -> bool:
        return self._before is not None and texts.has(self._before, path)

    def _become(self, text: str, values: Any) -> None:
        if _filled(self.form.values(text)) != _filled(values):
            raise UnreadableError("memd cannot edit it without changing something else")
        self.text = text


def added(target: Target, text: str) -> str:
    """Return *text* with memd's entries in it. Raises UnreadableError."""
    edit = Edit(text, target.format)
    for entry in target.entries:
        _add(edit, entry)
    return edit.text


def removed(target: Target, text: str, before: str | None) -> str | None:
    """Return *text* without memd's entries; None for a file that held nothing else.

    *before* is what the file was before memd: where nothing else changed since, it is that.
    """
    if before is not None and added(target, before) == text:
        return before
    edit = Edit(text, target.format, before)
    for entry in reversed(target.entries):  # the last put in is the first to go
        _remove(edit, entry)
    needed = [each for each in target.entries if isinstance(each, Needed)]
    if before is None:
        rest = edit.values.keys() - {each.path[0] for each in needed}
        return edit.text if rest or not present(target, text) else None
    for each in reversed(needed):
        if edit.at(each.path) == each.value and edit.is_new(each.path):
            edit.take(each.path)
    return before if not edit.values and not before.strip() else edit.text


def present(target: Target, text: str) -> bool:
    """Return whether anything of memd's is in *text*."""
    edit = Edit(text, target.format)
    for entry in target.entries:
        value = edit.at(entry.path)
        if isinstance(entry, Setting) and value is not None:
            return True
        if isinstance(entry, Item) and any(own(value)):
            return True
        if isinstance(entry, StatusLine) and is_status_line(texts.at(value, ("command",))):
            return True
    return False


def _add(edit: Edit, entry: Entry) -> None:
    match entry:
        case Setting(path, value):
            _set(edit, path, value)
        case Needed(path, value):
            if edit.at(path) is None:
                edit.put(path, value)
        case Item(path, value):
            _hang(edit, path, value)
        case StatusLine(path, command):
            _chain(edit, path, command)
        case NotedEntry():
            pass
        case _:
            assert_never(entry)


def _remove(edit: Edit, entry: Entry) -> None:
    match entry:
        case Setting(path) | NotedEntry(path):
            if edit.at(path) is not None:
                edit.take(path, alone=isinstance(entry, NotedEntry))
        case Item(path):
            for place in reversed(list(own(edit.at(path)))):
                edit.take((*path, *place))
        case StatusLine(path):
            _unchain(edit, path)
        case Needed():
            pass
        case _:
            assert_never(entry)


def _set(edit: Edit, path: Path, value: Any) -> None:
    there = edit.at(path)
    result = merged(there, value)
    if there is None or not isinstance(result, dict):
        if there != result:
            edit.put(path, result)
        return
    if result == there:
        return
    if edit.form is not json_text:
        edit.put(path, result)
        return
    for key in {**there, **result}:
        if key not in result:
            edit.take((*path, key))
        elif there.get(key) != result[key]:
            edit.put((*path, key), result[key])


def _hang(edit: Edit, path: Path, value: dict[str, Any]) -> None:
    there = edit.at(path)
    mine = list(own(there))
    if len(mine) == 1 and holds(texts.at(there, mine[0]), value):
        return
    for place in reversed(mine):
        edit.take((*path, *place))
    edit.append(path, value)


def _chain(edit: Edit, path: Path, command: str) -> None:
    there = edit.at(path)
    if there is None:
        edit.put(path, {"type": "command", "command": command})
        return
    earlier = there.get("command") if isinstance(there, dict) else None
    if not isinstance(earlier, str):
        raise UnreadableError(f"{path[-1]!r} is not a command")
    if is_status_line(earlier):
        words = program(earlier)
        rest = words[words.index("--") :] if "--" in words else []
        chain = f"{command} {shlex.join(rest)}" if rest else command
    else:
        chain = f"{command} -- {shlex.quote(earlier)}"  # one word is a shell's line
    if chain != earlier:
        edit.put((*path, "command"), chain)


def _unchain(edit: Edit, path: Path) -> None:
    there = edit.at(path)
    command = there.get("command") if isinstance(there, dict) else None
    if not is_status_line(command):
        return
    words = program(str(command))
    if "--" not in words:
        edit.take(path)
        return
    rest = words[words.index("--") + 1 :]
    edit.restore((*path, "command"), rest[0] if len(rest) == 1 else shlex.join(rest))


def _above(values: Any, path: Path) -> Any:
    """Return what holds the last key of *path*, made where it is missing."""
    for key in path[:-1]:
        if isinstance(key, str) and isinstance(values, dict) and values.get(key) is None:
            values[key] = {}
        values = texts.at(values, (key,))
        if not isinstance(values, dict):
            raise UnreadableError(f"{key!r} holds something else there")
    return values


def _form(name: str) -> ModuleType:
    if name == "yaml":
        from memd.assist.connect import yaml_text

        return yaml_text
    return {"json": json_text, "toml": toml_text}[name]


def _filled(values: Any) -> Any:
    """Return *values* without what is empty: an empty list and none are the same to all of them."""
    if isinstance(values, dict):
        inner = {key: _filled(value) for key, value in values.items()}
        return {key: value for key, value in inner.items() if value not in (None, {}, [])}
    if isinstance(values, list):
        return [_filled(value) for value in values]
    return values
