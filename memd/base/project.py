"""The project of a folder: the root of its git working tree, or the folder itself (SPEC D1).

Hooks of assistants load this module too, so it imports nothing but ``os``.
"""

from __future__ import annotations

import os

_FOLDERS_MAX = 65
_PATH_CHARS_MAX = 4_096
_LINK = "gitdir:"
_HIDING = ("/.git", "/.bare")
_MODULES = "/.git/modules/"


def project_of(cwd: str | None, start: str | None = None) -> str | None:
    """Return the project's id for the folder *cwd* of an assistant, None outside of any.

    *start* is the folder in which the assistant was started, where it tells: it moves about. Below
    the person's home a folder that is in no working tree is a project of its own; the home
    itself is none.
    """
    return working_tree(cwd) or (project_of(start) if start else None) or _plain_folder(cwd)


def working_tree(cwd: str | None) -> str | None:
    """Return the root of the git working tree around *cwd*: the folder with a ``.git`` in it.

    A linked working tree (``git worktree``) belongs to the project of the main one: what
    assistants learn in one of them holds for the others.
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


def _plain_folder(cwd: str | None) -> str | None:
    folder, home = os.path.normpath(cwd or "."), os.path.expanduser("~")
    is_below = home != "/" and folder.startswith(f"{home.rstrip('/')}/")
    is_project = is_below and len(folder) <= _PATH_CHARS_MAX and "\0" not in folder
    return folder if is_project and os.path.isdir(folder) else None


def _main_tree(git: str) -> str | None:
    """Return the root of the main working tree of the linked one whose ``.git`` is the file *git*.

    The repository has to name *git* in turn: an unpacked archive may hold any file. Without a
    main working tree it is the bare repository, or the folder that hides it (``.bare``). None for
    a root, a submodule, and what cannot be read.
    """
    link, tree = _read_line(git), os.path.dirname(git)
    own = os.path.normpath(os.path.join(tree, link.removeprefix(_LINK).strip()))
    repository, trees = os.path.split(os.path.dirname(own))
    if not link.startswith(_LINK) or trees != "worktrees" or _MODULES in repository:
        return None
    back = os.path.join(own, _read_line(os.path.join(own, "gitdir")))
    if not _is_named(back, tree):
        return None
    return os.path.dirname(repository) if repository.endswith(_HIDING) else repository


def _is_named(back: str, tree: str) -> bool:
    """Return whether *back*, which a repository says, is the ``.git`` in the folder *tree*."""
    try:
        return os.path.basename(back) == ".git" and os.path.samefile(os.path.dirname(back), tree)
    except (OSError, ValueError):
        return False


def _read_line(path: str) -> str:
    """Return what the small file *path* says, "" for a folder and what cannot be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read(_PATH_CHARS_MAX).strip()
    except (OSError, ValueError):
        return ""
