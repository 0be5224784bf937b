"""Find the notes in folders, and read files. Links in a folder are not followed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memd.base.errors import InvalidError
from memd.base.limits import NOTE_BYTES_MAX, NOTE_FILES_MAX
from memd.cli.transfer import opencode

MARKDOWN = frozenset({".md", ".markdown"})
LINES = frozenset({".jsonl", ".ndjson"})
NOTES = MARKDOWN | LINES | {".txt"}
"""Suffixes of the files that are imported from a folder."""
LICENCES = frozenset({"license", "licence", "unlicense", "copying", "notice"})
"""Names of licence files, up to a hyphen as in LICENSE-MIT.txt; they are skipped in folders."""


@dataclass(slots=True)
class FolderNotes:
    """The files to import, in order, the number of skipped ones by reason, and failures."""

    files: list[Path] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    failed: dict[Path, str] = field(default_factory=dict)


def absolute(path: Path) -> Path:
    """Return the absolute path that identifies a file. Links are not followed."""
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100  # resolve() follows links


def find(paths: Sequence[Path]) -> FolderNotes:
    """Return the files in *paths*, and the notes in the folders among them.

    Each is listed once, by its absolute path; an opencode storage folder counts as one file. In
    folders, hidden files, links and other file types are skipped; a file named directly is
    always included.
    """
    notes = FolderNotes()
    for path in paths:
        full_path = absolute(path)
        if opencode.is_folder(full_path):
            notes.files.append(full_path)
        elif full_path.is_dir():
            _walk(full_path, notes)
        elif not full_path.exists():
            notes.failed[full_path] = "does not exist"
        else:
            notes.files.append(full_path)
    notes.files = list(dict.fromkeys(notes.files))
    return notes


def read(path: Path) -> str:
    """Return the text of a note. Raises InvalidError with the problem of the file."""
    raw = read_bytes(path, NOTE_BYTES_MAX)
    if b"\0" in raw:
        raise InvalidError("not a text file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidError(f"not UTF-8 text (line {line})") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path, bytes_max: int) -> bytes:
    """Return the content of a file. Raises InvalidError if it is larger or cannot be read."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(bytes_max + 1)
    except OSError as error:
        raise InvalidError(f"cannot be read: {error.strerror}") from error
    if len(raw) > bytes_max:
        raise InvalidError(f"larger than {bytes_max // 1_048_576} MiB")
    return raw


def read_head(path: Path, size: int) -> bytes:
    """Return the beginning of a file; nothing on an error, which reading it later reports."""
    try:
        with path.open("rb") as stream:
            return stream.read(size)
    except OSError:
        return b""


def _walk(folder: Path, notes: FolderNotes) -> None:
    """Add the notes in *folder* and its subfolders, in order."""
    for place, names, files in os.walk(folder, onerror=lambda error: _record_failure(error, notes)):
        inner = Path(place)
        visible = []
        for name in sorted(names):
            if name.startswith("."):
                notes.skipped["hidden"] += 1
            elif (inner / name).is_symlink():
                notes.skipped["links"] += 1
            else:
                visible.append(name)
        names[:] = visible  # os.walk() visits what is left in its list
        for name in sorted(files):
            why = _skip_reason(inner / name)
            if why is not None:
                notes.skipped[why] += 1
                continue
            notes.files.append(inner / name)
            if len(notes.files) > NOTE_FILES_MAX:
                raise InvalidError(
                    f"there are more than {NOTE_FILES_MAX:,} notes to import at once",
                    hint="import the folders, or the folders in them, one by one",
                )


def _skip_reason(path: Path) -> str | None:
    """Return why a file in a folder is skipped, or None for a note."""
    if path.name.startswith("."):
        return "hidden"
    if path.is_symlink():
        return "links"
    if path.suffix.lower() not in NOTES or not path.is_file():
        return "other files"
    if path.stem.lower().partition("-")[0] in LICENCES:
        return "licences"
    return "binary" if b"\0" in read_head(path, 8_192) else None


def _record_failure(error: OSError, notes: FolderNotes) -> None:
    notes.failed[Path(str(error.filename))] = f"cannot be read: {error.strerror}"
