"""Checks of connected assistants: entries missing, out of date, untrusted or duplicated."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from memd.assist.connect import connect, files, json_text
from memd.assist.connect.clients import Assistant, Locations
from memd.assist.connect.entries import Item, Setting, Target, is_hook, is_server, own_paths
from memd.assist.connect.text import Path as Keys
from memd.assist.connect.text import UnreadableError, at
from memd.assist.events import EVENTS
from memd.base.errors import InvalidStateError


class Finding(NamedTuple):
    """One problem, and what helps."""

    assistant: str
    kind: str
    """``missing``, ``stale``, ``unreadable``, ``key``, ``untrusted`` or ``doubled``; of memd itself
    ``settings`` or ``degraded``, too."""
    what: str
    help: str
    is_fixable: bool = False
    """``memd doctor --fix`` fixes it."""


def findings(
    name: str, assistant: Assistant, locations: Locations, here: Path
) -> Iterator[Finding]:
    """Yield the problems of a connected assistant's files; none for an unconnected one.

    *here* is the working folder, whose own settings are checked too.
    """
    if not connect.is_connected(assistant, locations):
        return
    try:
        changes = connect.plan_connect(assistant, locations)
    except InvalidStateError as error:
        yield Finding(name, "unreadable", error.message, error.hint or "fix the file")
        return
    for change in changes:
        kind = "missing" if change.before is None or change.backup is not None else "stale"
        what = "lacks memd's entries" if kind == "missing" else "is out of date"
        yield Finding(name, kind, f"{change.file} {what}", "memd doctor --fix", is_fixable=True)
    targets = [target for target in assistant.targets(locations) if target.format != "own"]
    for target in targets:
        expected = _own_paths(target)
        yield from _find_duplicates(
            name, target.file, [keys for keys in expected if keys is not None]
        )
    checked = {target.file for target in targets}
    for file in assistant.other_files(locations, here):
        if file not in checked:
            yield from _find_duplicates(name, file, [])
    yield from _find_untrusted(name, assistant, locations, here)


def _own_paths(target: Target) -> list[Keys | None]:
    """Return the paths of memd's own entries in a file."""
    values = _values(target.file)
    paths: list[Keys | None] = []
    for entry in target.entries:
        if isinstance(entry, Setting):
            paths.append(entry.path)
        elif isinstance(entry, Item):
            paths += [(*entry.path, *keys) for keys in own_paths(at(values, entry.path))][:1]
    return paths


def _find_duplicates(name: str, file: Path, expected: list[Keys]) -> Iterator[Finding]:
    for path in _find_starts(_values(file), ()):
        if not any(path[: len(keys)] == keys for keys in expected):
            where = ".".join(map(str, path))
            yield Finding(
                name, "doubled", f"memd is also configured in {file} ({where})", "remove it there"
            )


def _find_starts(values: Any, path: Keys) -> Iterator[Keys]:
    """Yield the paths of entries that start memd, as a server or as a hook."""
    if isinstance(values, dict):
        if is_server(values) or any(is_hook(values.get(key)) for key in ("command", "bash")):
            yield path
            return
        for key, value in values.items():
            yield from _find_starts(value, (*path, key))
    elif isinstance(values, list):
        for locations, value in enumerate(values):
            yield from _find_starts(value, (*path, locations))


def _find_untrusted(
    name: str, assistant: Assistant, locations: Locations, here: Path
) -> Iterator[Finding]:
    folder = assistant.folder(locations)
    if name == "codex":
        state = at(_values(folder / "config.toml"), ("hooks", "state"))
        trusted = [str(key) for key in state or ()]
        prefixes = [f"{folder / 'hooks.json'}:{_snake(event)}:" for event in EVENTS["codex"]]
        if not all(any(key.startswith(prefix) for key in trusted) for prefix in prefixes):
            yield Finding(
                name,
                "untrusted",
                "Codex does not run hooks before you trust them",
                assistant.next_step,
            )
    if name == "gemini":
        settings = _values(folder / "settings.json")
        if at(settings, ("security", "folderTrust", "enabled")) is False:
            return
        if not _is_trusted(_values(folder / "trustedFolders.json"), here):
            yield Finding(
                name, "untrusted", f"Gemini CLI does not trust {here}", assistant.next_step
            )


def _snake(event: str) -> str:
    """Return an event's name as Codex records it.

    >>> _snake("UserPromptSubmit")
    'user_prompt_submit'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _is_trusted(folders: Any, here: Path) -> bool:
    for folder, level in folders.items() if isinstance(folders, dict) else ():
        trusted = Path(folder).parent if level == "TRUST_PARENT" else Path(folder)
        if level in ("TRUST_FOLDER", "TRUST_PARENT") and here.is_relative_to(trusted):
            return True
    return False


def _values(file: Path) -> Any:
    """Return the values of a file, {} if it cannot be read."""
    try:
        text = files.read(file)
        if text is None:
            return {}
        if file.suffix == ".yaml":
            from memd.assist.connect import yaml_text

            return yaml_text.values(text)
        return tomllib.loads(text) if file.suffix == ".toml" else json_text.values(text)
    except (InvalidStateError, UnreadableError, tomllib.TOMLDecodeError, OSError):
        return {}
