"""Which changed settings apply at once after a reload, and which at the next start. Pure."""

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
"""Settings that apply at once: the log is reopened, and whether nights are enabled is read again
before each decision (SPEC 16.1)."""


class ReloadResult(Value):
    """The settings that differ from those of the daemon's start, by dotted key."""

    taken: tuple[str, ...] = ()
    """Those that apply now."""
    waiting: tuple[str, ...] = ()
    """Those that apply at the next start."""


def compare_settings(started: Settings, now: Settings) -> ReloadResult:
    """Compare the settings of the daemon's start with those of *now*."""
    before = dict(_flatten(started.model_dump(mode="json")))
    after = dict(_flatten(now.model_dump(mode="json")))
    names = sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
    return ReloadResult(
        taken=tuple(name for name in names if name in RELOADABLE),
        waiting=tuple(name for name in names if name not in RELOADABLE),
    )


def _flatten(tree: dict[str, Any], parents: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield the dotted key and value of each setting in *tree*."""
    for name, value in tree.items():
        path = (*parents, name)
        if isinstance(value, dict) and value:
            yield from _flatten(value, path)
        else:
            yield join_key(path), value
