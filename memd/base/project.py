"""The project of a folder: the root of its git working tree, or the folder itself (SPEC D1).

Hooks of assistants, which must start fast, load this module: it imports nothing but ``os``.
"""

from __future__ import annotations

import os

_FOLDERS_MAX = 65  # the folder itself and at most 64 parents are searched for .git
_PATH_CHARS_MAX = 4_096
_GITDIR = "gitdir:"  # begins the file .git of a linked working tree or a submodule
_REPOSITORY_ENDS = ("/.git", "/.bare")  # a repository's folder within the project's folder
_MODULES = "/.git/modules/"  # repositories of submodules


def project_of(cwd: str | None, start: str | None = None) -> str | None:
    """Return the id of the project of the folder *cwd*, None if it belongs to no project.

    *cwd* is the current directory of an assistant and *start* the one in which it was started,
    if known. *start* decides if *cwd* is in no working tree. A folder in no working tree is a
    project of its own if it is below the person's home; the home itself is none.
    """
    return working_tree(cwd) or (project_of(start) if start else None) or _plain_folder(cwd)


def working_tree(cwd: str | None) -> str | None:
    """Return the root of the git working tree around *cwd*: the folder that contains ``.git``.

    For a linked working tree (``git worktree``) this is the root of the main one: what
    assistants learn in one of them applies to the others.
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
    """Return *cwd* if it is a folder below the person's home, else None."""
    folder = os.path.normpath(cwd or ".")
    is_project = below_home(folder) and len(folder) <= _PATH_CHARS_MAX and "\0" not in folder
    return folder if is_project and os.path.isdir(folder) else None


def below_home(path: str) -> str | None:
    """Return *path* relative to the person's home, None if it is not below it."""
    home = os.path.expanduser("~").rstrip("/")
    return path[len(home) + 1 :] if home and path.startswith(f"{home}/") else None


def _main_tree(git: str) -> str | None:
    """Return the root of the main working tree if *git* is the file of a linked one, else None.

    In a linked working tree ``/home/ada/shop-fix`` the file ``.git`` contains
    ``gitdir: /home/ada/shop/.git/worktrees/shop-fix``. That folder has a file ``gitdir`` with
    the path ``/home/ada/shop-fix/.git``; it is checked, because an unpacked archive may contain
    any file ``.git``. The result is ``/home/ada/shop``.

    The main tree of a bare repository is the repository itself, or for ``shop/.bare`` the
    folder ``shop``. A submodule and files that cannot be read give None.
    """
    link, tree = _read_text(git), os.path.dirname(git)
    git_dir = os.path.normpath(os.path.join(tree, link.removeprefix(_GITDIR).strip()))
    repository, kind = os.path.split(os.path.dirname(git_dir))
    if not link.startswith(_GITDIR) or kind != "worktrees" or _MODULES in repository:
        return None
    back_link = os.path.join(git_dir, _read_text(os.path.join(git_dir, "gitdir")))
    if not _is_git_of(back_link, tree):
        return None
    return os.path.dirname(repository) if repository.endswith(_REPOSITORY_ENDS) else repository


def _is_git_of(path: str, tree: str) -> bool:
    """Return whether *path* is the ``.git`` in the folder *tree*."""
    try:
        return os.path.basename(path) == ".git" and os.path.samefile(os.path.dirname(path), tree)
    except (OSError, ValueError):
        return False


def _read_text(path: str) -> str:
    """Return the text of the small file *path*, "" if it is a folder or cannot be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read(_PATH_CHARS_MAX).strip()
    except (OSError, ValueError):
        return ""
