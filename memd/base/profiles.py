"""The profiles on this computer, and the files of each.

A profile is one tenant: one file, one socket, one daemon, keys of its own (SPEC D18). There
is no list of them: a profile exists if a file of its name exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from memd.base.paths import DEFAULT_PROFILE, Paths

_DATABASE = re.compile(r"memd(?:-([a-z0-9][a-z0-9_-]{0,31}))?\.db")
_CONFIG = re.compile(r"(?:config|memd-([a-z0-9][a-z0-9_-]{0,31}))\.(?:toml|yaml|yml)")


def list_profiles(anyone: Paths) -> list[str]:
    """Return the names of the profiles that have a database or settings, sorted.

    *anyone*: the paths of any profile; all profiles share the folders.
    """
    result: set[str] = set()
    for folder, pattern in ((anyone.data_dir, _DATABASE), (anyone.config_file.parent, _CONFIG)):
        names = (each.name for each in folder.iterdir()) if folder.is_dir() else ()
        for name in names:
            match = pattern.fullmatch(name)
            if match:
                result.add(match[1] or DEFAULT_PROFILE)
    return sorted(result)


def profile_files(paths: Paths) -> Iterator[Path]:
    """Yield every file and folder of one profile, but none of another or the shared models.

    Files begin with the profile's name and a dot, folders end with it, so ``memd-work`` does
    not match ``memd-work-2.db``.
    """
    stem = paths.database.stem
    suffix = stem.removeprefix("memd")
    folders = {paths.keys_dir.name, paths.usage_dir.name, paths.jobs_dir.name, f"wiki{suffix}"}
    # A leading dot marks a temporary file of a killed writer.
    copies = re.compile(rf"\.?{re.escape(stem)}(?:-\d[\dT]*\.backup)?\..*")
    settings = paths.config_file.stem
    for place in {paths.data_dir, paths.runtime_dir, paths.state_dir}:
        for each in sorted(place.iterdir()) if place.is_dir() else ():
            if copies.fullmatch(each.name) or (each.is_dir() and each.name in folders):
                yield each
    of_settings = rf"{re.escape(settings)}\.(?:toml|yaml|yml)"
    texts = re.compile(rf"{of_settings}(?:\.memd\.bak)?|\.{of_settings}(?:\.memd\.bak)?\..*\.memd")
    folder = paths.config_file.parent
    for each in sorted(folder.iterdir()) if folder.is_dir() else ():
        if texts.fullmatch(each.name):
            yield each
