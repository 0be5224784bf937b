"""What would change in an assistant's files, and the change itself.

A plan is made from what the files hold now and written only if they still do. The text that a
file had before memd is kept beside it, as long as memd is in it; whether memd made the file,
and what was in it, is told by that copy alone.
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

_PROFILE = re.compile(r"MEMD_PROFILE[\"'\\]*\s*[:=]\s*[\"'\\]*([\w-]+)")


class FileChange(NamedTuple):
    """A file, what it holds, and what it is to hold; None: there is no file."""

    file: Path
    before: str | None
    after: str | None
    backup: str | None = None
    """What to keep beside it."""
    is_own: bool = False
    drops_backup: bool = False


def connecting(assistant: Assistant, place: Locations) -> list[FileChange]:
    """Return what has to change for an assistant to be connected; nothing when it is.

    Raises InvalidStateError, naming file and line, for a file that memd cannot edit.
    """
    changes = (_with(target) for target in assistant.targets(place))
    return [change for change in changes if change.before != change.after]


def removing(assistant: Assistant, place: Locations) -> list[FileChange]:
    """Return what has to change so that nothing of memd is left in an assistant's files."""
    changes = (_without(target) for target in assistant.targets(place))
    return [change for change in changes if change.before != change.after]


def is_connected(assistant: Assistant, place: Locations) -> bool:
    """Return whether anything of memd's is in an assistant's files; unreadable ones have none."""
    for target in assistant.targets(place):
        with contextlib.suppress(InvalidStateError, UnreadableError):
            text = files.read(target.file)
            if text is not None and target.format != "own" and edits.present(target, text):
                return True
    return False


def profiles_of(assistant: Assistant, place: Locations) -> list[str]:
    """Return the profiles that an assistant's files name; the default one has no name in them.

    It stands there as ``MEMD_PROFILE``, in a table of variables or before a command.
    """
    names: dict[str, None] = {}
    for target in assistant.targets(place):
        with contextlib.suppress(InvalidStateError, UnreadableError):
            names.update(dict.fromkeys(_PROFILE.findall(files.read(target.file) or "")))
    return [*names]


def write(changes: Iterable[FileChange], stop: Path) -> None:
    """Make the changes, each file as a whole. Folders below *stop* that are empty then go.

    Raises InvalidStateError where a file has changed since the plan was made.
    """
    for change in changes:
        if files.read(change.file) != change.before:
            raise InvalidStateError(
                f"{change.file} has just been changed by somebody else", hint="say it again"
            )
        kept = files.backup_of(change.file)
        if change.backup is not None:
            files.write(kept, change.backup)
        if change.after is None:
            files.remove(change.file)
            if change.is_own:
                _prune(change.file.parent, stop)
        else:
            files.write(change.file, change.after)
        if change.drops_backup:
            files.remove(kept)


def _with(target: Target) -> FileChange:
    text = files.read(target.file)
    if target.format == "own":
        return FileChange(target.file, text, target.text, is_own=True)
    if text is None and not any(hasattr(entry, "value") for entry in target.entries):
        return FileChange(target.file, None, None)
    with _named(target.file):
        after = edits.added(target, text or "")
        clean = text is not None and not edits.present(target, text)
    return FileChange(target.file, text, after, backup=text if clean else None)


def _without(target: Target) -> FileChange:
    text = files.read(target.file)
    if text is None or target.format == "own":
        return FileChange(target.file, text, None, is_own=True)
    kept = files.read(files.backup_of(target.file))
    with _named(target.file):
        after = edits.removed(target, text, kept)
    return FileChange(target.file, text, after, drops_backup=kept is not None and kept == after)


@contextlib.contextmanager
def _named(file: Path) -> Iterator[None]:
    try:
        yield
    except UnreadableError as error:
        where = f"{file}, line {error.line}" if error.line else str(file)
        raise InvalidStateError(
            f"{where}: {error.message}; memd does not touch it",
            hint="mend the file, or add the entry by hand",
        ) from None


def _prune(folder: Path, stop: Path) -> None:
    while folder.is_relative_to(stop) and folder != stop:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
