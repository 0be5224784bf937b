"""Plan the changes to an assistant's files, and write them.

A plan is made from the current files and written only if they are unchanged. While memd has
entries in a file, a backup next to it has the text from before. The backup decides what removal
restores: without one, memd created the file.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from memd.assist.connect import edits, files
from memd.assist.connect.clients import Assistant, Locations
from memd.assist.connect.entries import Target
from memd.assist.connect.text import UnreadableError
from memd.base.errors import InvalidStateError
from memd.base.paths import DEFAULT_PROFILE

_PROFILE = re.compile(r"MEMD_PROFILE[\"'\\]*\s*[:=]\s*[\"'\\]*([\w-]+)")
"""``MEMD_PROFILE=work`` in a command, ``"MEMD_PROFILE": "work"`` in JSON, quotes escaped or not."""


class FileChange(NamedTuple):
    """A change of one file: its text before and after, None if the file does not exist."""

    file: Path
    before: str | None
    after: str | None
    backup: str | None = None
    """The text to write to the backup; None leaves the backup as it is."""
    drops_backup: bool = False
    """Whether to delete the backup afterwards."""


def plan_connect(assistant: Assistant, place: Locations) -> list[FileChange]:
    """Return the changes that connect an assistant, [] if it is connected.

    Raises InvalidStateError, naming file and line, for a file that memd cannot edit.
    """
    changes = (_plan_addition(target) for target in assistant.targets(place))
    return [change for change in changes if change.before != change.after]


def plan_removal(assistant: Assistant, place: Locations) -> list[FileChange]:
    """Return the changes that remove memd from an assistant's files, [] if it is in none.

    Raises InvalidStateError like :func:`plan_connect`.
    """
    changes = (_plan_target_removal(target) for target in assistant.targets(place))
    return [change for change in changes if change.before != change.after]


def is_connected(assistant: Assistant, place: Locations) -> bool:
    """Return whether memd is in any readable file of an assistant."""
    return any(True for _ in _entries_texts(assistant, place))


def is_connected_to(assistant: Assistant, place: Locations) -> bool:
    """Return whether an assistant is connected to the profile of *place*.

    It is if any of its files has entries for that profile.
    """
    profile = place.variables.get("MEMD_PROFILE", DEFAULT_PROFILE)
    return any(
        profile in (_PROFILE.findall(text) or [DEFAULT_PROFILE])
        for text in _entries_texts(assistant, place)
    )


def _entries_texts(assistant: Assistant, place: Locations) -> Iterator[str]:
    """Yield the texts of an assistant's readable files that have memd's entries."""
    for target in assistant.targets(place):
        with contextlib.suppress(InvalidStateError, UnreadableError):
            text = files.read(target.file)
            if text is not None and target.format != "own" and edits.present(target, text):
                yield text


def profiles_of(assistant: Assistant, place: Locations) -> list[str]:
    """Return the profiles in an assistant's files: the values of ``MEMD_PROFILE``.

    The default profile is not among them, because entries for it do not set the variable.
    """
    names: dict[str, None] = {}
    for target in assistant.targets(place):
        with contextlib.suppress(InvalidStateError, UnreadableError):
            names.update(dict.fromkeys(_PROFILE.findall(files.read(target.file) or "")))
    return [*names]


def write(changes: Iterable[FileChange], where: Locations) -> None:
    """Write the changes, each file atomically, and remove empty folders that memd made.

    Raises InvalidStateError if a file has changed since the plan was made.
    """
    folders = _Folders(where.data)
    for change in changes:
        if files.read(change.file) != change.before:
            raise InvalidStateError(
                f"{change.file} was changed meanwhile by another program", hint="try again"
            )
        backup = files.backup_of(change.file)
        if change.backup is not None:
            files.write(backup, change.backup)
        if change.after is None:
            files.remove(change.file)
            folders.prune(change.file.parent)
        else:
            folders.record(change.file.parent)
            files.write(change.file, change.after)
        if change.drops_backup:
            files.remove(backup)


def _plan_addition(target: Target) -> FileChange:
    text = files.read(target.file)
    if target.format == "own":
        if _is_foreign(target, text):
            raise InvalidStateError(
                f"{target.file} is not memd's; memd leaves the file unchanged",
                hint="rename or move it, then connect again",
            )
        return FileChange(target.file, text, target.text)
    # Without an entry that sets a value (only NotedEntry), memd does not create the file.
    if text is None and not any(hasattr(entry, "value") for entry in target.entries):
        return FileChange(target.file, None, None)
    with _name_file_in_errors(target.file):
        after = edits.add_entries(target, text or "")
        is_without_memd = text is not None and not edits.present(target, text)
    return FileChange(target.file, text, after, backup=text if is_without_memd else None)


def _plan_target_removal(target: Target) -> FileChange:
    text = files.read(target.file)
    if text is None or target.format == "own":
        return FileChange(target.file, text, text if _is_foreign(target, text) else None)
    backup = files.read(files.backup_of(target.file))
    with _name_file_in_errors(target.file):
        after = edits.remove_entries(target, text, backup)
    return FileChange(target.file, text, after, drops_backup=backup is not None and backup == after)


def _is_foreign(target: Target, text: str | None) -> bool:
    """Return whether a file that memd would own has *text* from somebody else."""
    return text is not None and target.sign not in text


@contextlib.contextmanager
def _name_file_in_errors(file: Path) -> Iterator[None]:
    """Convert UnreadableError into an InvalidStateError that names file and line."""
    try:
        yield
    except UnreadableError as error:
        where = f"{file}, line {error.line}" if error.line else str(file)
        raise InvalidStateError(
            f"{where}: {error.message}; memd leaves the file unchanged",
            hint="change the file and try again, or add the entry by hand",
        ) from None


class _Folders:
    """The folders that memd made for files of assistants, by the record in memd's data folder.

    Those within the data folder are memd's without a record.
    """

    def __init__(self, data: Path) -> None:
        self._data, self._file = data, data / "assistant-folders"
        self._own = set(map(Path, (files.read(self._file) or "").splitlines()))

    def record(self, folder: Path) -> None:
        """Record *folder* and its parents as memd's, as far as they do not exist."""
        missing = {each for each in (folder, *folder.parents) if not each.exists()}
        if missing and not folder.is_relative_to(self._data):
            self._store(self._own | missing)

    def prune(self, folder: Path) -> None:
        """Remove *folder* and its parents while they are empty and memd's."""
        while folder in self._own or self._data in folder.parents:
            try:
                folder.rmdir()
            except OSError:  # not empty
                break
            folder = folder.parent
        self._store({each for each in self._own if each.exists()})

    def _store(self, folders: set[Path]) -> None:
        if folders and folders != self._own:
            files.write(self._file, "".join(f"{each}\n" for each in sorted(folders)))
        elif not folders:
            files.remove(self._file)
        self._own = folders
