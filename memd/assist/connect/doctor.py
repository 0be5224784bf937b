"""What is wrong with how an assistant is connected: missing, out of date, untrusted or twice."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from memd.assist.connect import connect, files, json_text
from memd.assist.connect.clients import Assistant, Locations
from memd.assist.connect.entries import Item, Setting, Target, is_hook, is_server, own
from memd.assist.connect.text import Path as Keys
from memd.assist.connect.text import UnreadableError, at
from memd.assist.events import EVENTS
from memd.base.errors import InvalidStateError


class Finding(NamedTuple):
    """One thing that is wrong, and what helps."""

    assistant: str
    kind: str
    """``missing``, ``stale``, ``unreadable``, ``key``, ``untrusted`` or ``doubled``."""
    what: str
    help: str
    is_mended: bool = False
    """``memd doctor --fix`` does what helps."""


def findings(name: str, assistant: Assistant, place: Locations, here: Path) -> Iterator[Finding]:
    """Yield what is wrong with the files of an assistant that is connected; of others nothing.

    *here* is the folder in which somebody works: its own settings count as well.
    """
    if not connect.is_connected(assistant, place):
        return
    try:
        changes = connect.connecting(assistant, place)
    except InvalidStateError as error:
        yield Finding(name, "unreadable", error.message, error.hint or "mend the file")
        return
    for change in changes:
        kind = "missing" if change.before is None or change.backup is not None else "stale"
        what = "lacks what memd puts there" if kind == "missing" else "is out of date"
        yield Finding(name, kind, f"{change.file} {what}", "memd doctor --fix", is_mended=True)
    targets = [each for each in assistant.targets(place) if each.format != "own"]
    for target in targets:
        expected = _expected(target)
        yield from _doubled(name, target.file, [each for each in expected if each is not None])
    known = {target.file for target in targets}
    for file in assistant.also(place, here):
        if file not in known:
            yield from _doubled(name, file, [])
    yield from _untrusted(name, assistant, place, here)


def _expected(target: Target) -> list[Keys | None]:
    """Return where memd's own entries stand in a file."""
    values = _values(target.file)
    paths: list[Keys | None] = []
    for entry in target.entries:
        if isinstance(entry, Setting):
            paths.append(entry.path)
        elif isinstance(entry, Item):
            paths += [(*entry.path, *each) for each in own(at(values, entry.path))][:1]
    return paths


def _doubled(name: str, file: Path, expected: list[Keys]) -> Iterator[Finding]:
    for path in _traces(_values(file), ()):
        if not any(path[: len(each)] == each for each in expected):
            where = ".".join(map(str, path))
            yield Finding(
                name, "doubled", f"memd stands in {file} as well ({where})", "take it out there"
            )


def _traces(values: Any, path: Keys) -> Iterator[Keys]:
    """Yield where memd is started, as a server or as a hook."""
    if isinstance(values, dict):
        if is_server(values) or any(is_hook(values.get(key)) for key in ("command", "bash")):
            yield path
            return
        for key, value in values.items():
            yield from _traces(value, (*path, key))
    elif isinstance(values, list):
        for place, value in enumerate(values):
            yield from _traces(value, (*path, place))


def _untrusted(name: str, assistant: Assistant, place: Locations, here: Path) -> Iterator[Finding]:
    folder = assistant.folder(place)
    if name == "codex":
        state = at(_values(folder / "config.toml"), ("hooks", "state"))
        trusted = [str(key) for key in state or ()]
        prefixes = [f"{folder / 'hooks.json'}:{_snake(event)}:" for event in EVENTS["codex"]]
        if not all(any(key.startswith(each) for key in trusted) for each in prefixes):
            yield Finding(
                name, "untrusted", "Codex does not run hooks before you trust them", assistant.then
            )
    if name == "gemini":
        settings = _values(folder / "settings.json")
        if at(settings, ("security", "folderTrust", "enabled")) is False:
            return
        if not _is_trusted(_values(folder / "trustedFolders.json"), here):
            yield Finding(name, "untrusted", f"Gemini CLI does not trust {here}", assistant.then)


def _snake(event: str) -> str:
    """Return an event's name as Codex notes it.

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
    """Return what a file says, {} where that cannot be told."""
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
