"""What a reload of the settings takes over at once, and what waits for the next start. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from memd.base.settings import join_key
from memd.domain.settings.settings import Settings
from memd.domain.values import Value

AT_ONCE: Final = (
    "daemon.log_level",
    "daemon.log_file",
    "daemon.log_file_bytes",
    "daemon.log_files_kept",
    "memory.consolidation.enabled",
)
"""The logs are opened anew; whether to sleep is looked up whenever it is decided (SPEC 16.1)."""


class Reloaded(Value):
    """Which settings are others than those the daemon started with, by their dotted names."""

    taken: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """What takes effect when the daemon starts again."""


def compared(started: Settings, now: Settings) -> Reloaded:
    """Return what a daemon that *started* with other settings does with those of *now*."""
    before, after = (dict(_leaves(each.model_dump(mode="json"))) for each in (started, now))
    names = sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
    return Reloaded(
        taken=tuple(name for name in names if name in AT_ONCE),
        waiting=tuple(name for name in names if name not in AT_ONCE),
    )


def _leaves(tree: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        path = (*above, name)
        if isinstance(value, dict) and value:
            yield from _leaves(value, path)
        else:
            yield join_key(path), value
