"""Check connected assistants for missing, outdated, untrusted and duplicate entries."""

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
    """One problem and its remedy."""

    assistant: str
    """The assistant, or ``memd`` for a problem of memd itself."""
    kind: str
    """``missing``, ``stale``, ``unreadable``, ``key``, ``untrusted`` or ``doubled``.

    For memd itself it is ``missing`` (no daemon runs), ``settings``, ``key`` or ``degraded``.
    """
    what: str
    help: str
    is_fixable: bool = False
    """Whether ``memd doctor --fix`` fixes it."""


def findings(
    name: str, assistant: Assistant, locations: Locations, here: Path
) -> Iterator[Finding]:
    """Yield the problems of a connected assistant's files.

    None for one that is not connected, or to another profile only. *here* is the working folder,
    whose own settings are checked too.
    """
    if not connect.is_connected_to(assistant, locations):
        return
    try:
        changes = connect.plan_connect(assistant, locations)
    except InvalidStateError as error:
        yield Finding(name, "unreadable", error.message, error.hint or "fix the file")
        return
    for change in changes:
        # A plan has a backup only for a file without any entry of memd.
        kind = "missing" if change.before is None or change.backup is not None else "stale"
        what = "lacks memd's entries" if kind == "missing" else "is out of date"
        yield Finding(name, kind, f"{change.file} {what}", "memd doctor --fix", is_fixable=True)
    targets = [target for target in assistant.targets(locations) if target.format != "own"]
    for target in targets:
        yield from _find_duplicates(name, target.file, _expected_paths(target))
    checked = {target.file for target in targets}
    for file in assistant.other_files(locations, here):
        if file not in checked:
            yield from _find_duplicates(name, file, [])
    yield from _find_untrusted(name, assistant, locations, here)


def _expected_paths(target: Target) -> list[Keys]:
    """Return the paths where memd's entries belong in a file."""
    values = _values(target.file)
    paths: list[Keys] = []
    for entry in target.entries:
        if isinstance(entry, Setting):
            paths.append(entry.path)
        elif isinstance(entry, Item):
            # Only the first item is memd's; a second one is a duplicate.
            paths += [(*entry.path, *keys) for keys in own_paths(at(values, entry.path))][:1]
    return paths


def _find_duplicates(name: str, file: Path, expected: list[Keys]) -> Iterator[Finding]:
    """Yield a finding for each entry of memd in *file* that is at none of the *expected* paths."""
    for path in _find_entries(_values(file), ()):
        if not any(path[: len(keys)] == keys for keys in expected):
            where = ".".join(map(str, path))
            yield Finding(
                name, "doubled", f"memd is also configured in {file} ({where})", "remove it there"
            )


def _find_entries(values: Any, path: Keys) -> Iterator[Keys]:
    """Yield the paths of entries that start memd, as a server or as a hook."""
    if isinstance(values, dict):
        if is_server(values) or any(is_hook(values.get(key)) for key in ("command", "bash")):
            yield path
            return
        for key, value in values.items():
            yield from _find_entries(value, (*path, key))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from _find_entries(value, (*path, index))


def _find_untrusted(
    name: str, assistant: Assistant, locations: Locations, here: Path
) -> Iterator[Finding]:
    """Yield a finding if the assistant ignores memd until the user trusts its hooks or *here*."""
    folder = assistant.folder(locations)
    if name == "codex":
        # Codex records a trusted hook under a key such as /home/ada/.codex/hooks.json:stop:0:0.
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
    """Return an event's name in snake case, as Codex records it.

    >>> _snake("UserPromptSubmit")
    'user_prompt_submit'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _is_trusted(folders: Any, here: Path) -> bool:
    """Return whether *here* is in a trusted folder; *folders* is Gemini CLI's folder -> level."""
    for folder, level in folders.items() if isinstance(folders, dict) else ():
        trusted = Path(folder).parent if level == "TRUST_PARENT" else Path(folder)
        if level in ("TRUST_FOLDER", "TRUST_PARENT") and here.is_relative_to(trusted):
            return True
    return False


def _values(file: Path) -> Any:
    """Return the parsed content of a file, {} if it is missing or cannot be read or parsed."""
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
