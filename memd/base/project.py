"""The project of a folder: the root of its git working tree (SPEC D1).

Hooks of assistants load this module too, so it imports nothing but ``os``.
"""

from __future__ import annotations

import os

_FOLDERS_MAX = 65


def project_of(cwd: str | None) -> str | None:
    """Return the project's id for the folder *cwd*, None outside of any.

    Nothing is read: a folder with a ``.git`` in it is a root.
    """
    folder = cwd or ""
    if "\0" in folder:
        return None
    if folder != "/":
        folder = folder.rstrip("/")
    for _ in range(_FOLDERS_MAX):
        if not folder.startswith("/"):
            return None
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        folder = "" if parent == folder else parent
    return None
