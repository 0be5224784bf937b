"""The kill switch in the settings, re-read when the file has changed (SPEC 16.2).

A night asks before every step, so the file is parsed only after a change; switching
off and on takes effect at once. Until the file changes, the settings of the start hold.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

from memd.base.errors import MemdError
from memd.base.settings import SUFFIXES, find, load
from memd.domain.settings.settings import Settings


class KillSwitch:
    """Callable that returns ``memory.consolidation.enabled``; unreadable, as at the start."""

    def __init__(self, settings: Settings, config_file: Path, environ: Mapping[str, str]) -> None:
        self._at_start = settings.memory.consolidation.enabled
        self._files = [config_file.with_suffix(suffix) for suffix in SUFFIXES]
        self._config_file = config_file
        self._environ = environ
        self._stamps = [_file_stamp(file) for file in self._files]
        self._enabled = self._at_start

    def __call__(self) -> bool:
        stamps = [_file_stamp(file) for file in self._files]
        if stamps != self._stamps:
            self._stamps, self._enabled = stamps, self._read()
        return self._enabled

    def _read(self) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # logged at the start
            try:
                settings = load(Settings, find(self._config_file), self._environ)
            except (MemdError, OSError):
                return self._at_start
        return settings.memory.consolidation.enabled


def _file_stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
