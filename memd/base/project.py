"""The project of a folder: the root of its git working tree (SPEC D1).

Hooks of assistants load this module too, so it imports nothing but ``os``.
"""

from __future__ import annotations

import os

_FOLDERS_MAX = 65
_LINK_BYTES_MAX = 4_096
_LINK = "gitdir:"


def project_of(cwd: str | None) -> str | None:
    """Return the project's id for the folder *cwd*, None outside of any.

    A folder with a ``.git`` in it is a root. A linked working tree (``git worktree``) belongs to
    the project of the main one: what assistants learn in one of them holds for the others.
    """
    folder = cwd or ""
    if "\0" in folder:
        return None
    if folder != "/":
        folder = folder.rstrip("/")
    for _ in range(_FOLDERS_MAX):
        if not folder.startswith("/"):
            return None
        git = os.path.join(folder, ".git")
        if os.path.exists(git):
            return _main_tree(git) or folder
        parent = os.path.dirname(folder)
        folder = "" if parent == folder else parent
    return None


def _main_tree(git: str) -> str | None:
    """Return the root of the main working tree of the linked one whose ``.git`` is the file *git*.

    The repository has to name *git* in turn: an unpacked archive may hold any file. Without a
    main working tree it is the bare repository, or the folder that hides it (``.bare``). None for
    a root, a submodule, and what cannot be read.
    """
    link = _read_line(git)
    if not link.startswith(_LINK):
        return None
    own = os.path.normpath(os.path.join(os.path.dirname(git), link[len(_LINK) :].strip()))
    trees = os.path.dirname(own)
    back = _read_line(os.path.join(own, "gitdir"))
    if os.path.basename(trees) != "worktrees" or not back:
        return None
    try:
        if not os.path.samefile(os.path.join(own, back), git):
            return None
    except OSError:
        return None
    repository = os.path.dirname(trees)
    is_hidden = os.path.basename(repository).startswith(".")
    return os.path.dirname(repository) if is_hidden else repository


def _read_line(path: str) -> str:
    """Return what the small file *path* says, "" for a folder and what cannot be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read(_LINK_BYTES_MAX).strip()
    except (OSError, ValueError):
        return ""
