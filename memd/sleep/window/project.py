"""Which project an assistant works on: the root of the git working tree that it stands in (D1)."""

from __future__ import annotations

from pathlib import Path

from memd.base.limits import PROJECT_CHARS_MAX

_STEPS_MAX = 64


def project_of(cwd: str | None) -> str | None:
    """Return the project's id for the folder *cwd*, None outside of any.

    Nothing is read: a folder with a ``.git`` in it is a root.
    """
    if cwd is None or not cwd.startswith("/") or "\0" in cwd:
        return None
    here = Path(cwd)
    for folder in (here, *list(here.parents)[:_STEPS_MAX]):
        try:
            found = (folder / ".git").exists()
        except OSError:
            return None
        if found:
            return str(folder) if len(str(folder)) <= PROJECT_CHARS_MAX else None
    return None
