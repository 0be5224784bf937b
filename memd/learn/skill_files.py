"""SKILL.md files of memd among those of others: written whole, removed when they are stale.

Only folders that are real folders and files that bear memd's mark and owner are touched; what
stands there otherwise is left alone and named.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from memd.base.errors import InvalidStateError, UnsafePathError
from memd.sleep.wiki import wiki_files
from memd.sleep.wiki.wiki_files import MARK

FILE = "SKILL.md"
_HEAD_BYTES = 16_384


class Written(NamedTuple):
    """What an update did; *failed* are the names under which something else is."""

    written: int
    removed: int
    failed: tuple[str, ...]


def update(root: Path, files: Mapping[str, str], owners: frozenset[str]) -> Written:
    """Make ``<root>/<name>/SKILL.md`` hold *files*, text by name, and remove the *owners'* others.

    Raises DiskFullError and ReadOnlyError.
    """
    written, failed = 0, []
    for name, text in files.items():
        if _is_foreign(root / name):
            failed.append(name)
            continue
        try:
            written += wiki_files.update(root, (name,), {FILE: text})
        except (InvalidStateError, UnsafePathError):
            failed.append(name)
    return Written(written, _pruned(root, frozenset(files), owners), tuple(failed))


def _is_foreign(folder: Path) -> bool:
    """Return whether something is there that memd did not make: nothing of it is changed."""
    if not os.path.lexists(folder):
        return False
    return folder.is_symlink() or not folder.is_dir() or not _owner_of(folder)


def _pruned(root: Path, keep: frozenset[str], owners: frozenset[str]) -> int:
    removed = 0
    try:
        names = sorted(
            entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)
        )
    except OSError:
        return 0
    for name in names:
        folder = root / name
        if name in keep or _owner_of(folder) not in owners:
            continue
        try:
            (folder / FILE).unlink()
            removed += 1
            folder.rmdir()  # unless something else lies there
        except OSError:
            continue
    return removed


def _owner_of(folder: Path) -> str:
    """Return the owner of memd's file in *folder*, "" where there is none of memd's."""
    path = folder / FILE
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    front = head.partition("\n---\n")[0]
    if f'\n  made-by: "{MARK}"\n' not in front:
        return ""
    return front.partition('\n  owner: "')[2].partition('"')[0]
