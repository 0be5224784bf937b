"""The effect of reloading the settings: what applies at once, and what at the next start. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from memd.base.settings import join_key
from memd.domain.settings.settings import Settings
from memd.domain.values import Value

RELOADABLE: Final = (
    "daemon.log_level",
    "daemon.log_file",
    "daemon.log_file_bytes",
    "daemon.log_files_kept",
    "memory.consolidation.enabled",
)
"""The log is reopened; whether nights are enabled is read at each decision (SPEC 16.1)."""


class ReloadResult(Value):
    """The settings that differ from those of the daemon's start, by dotted key."""

    taken: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """Those that take effect at the next start."""


def compare_settings(started: Settings, now: Settings) -> ReloadResult:
    """Compare the settings of the daemon's start with those of *now*."""
    before = dict(_leaves(started.model_dump(mode="json")))
    after = dict(_leaves(now.model_dump(mode="json")))
    names = sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
    return ReloadResult(
        taken=tuple(name for name in names if name in RELOADABLE),
        waiting=tuple(name for name in names if name not in RELOADABLE),
    )


def _leaves(tree: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        path = (*above, name)
        if isinstance(value, dict) and value:
            yield from _leaves(value, path)
        else:
            yield join_key(path), value
