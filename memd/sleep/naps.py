"""Naps, put together over one open file: by call, and by watching windows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memd.backends.assembly import Assembly
from memd.model.events import Emit, unheard
from memd.model.settings import Settings
from memd.signals.files import known_roots
from memd.sleep.consolidator import MemoryConsolidator
from memd.sleep.nap import Nap
from memd.sleep.watching import Watching


@dataclass(frozen=True)
class Naps:
    """What of naps the daemon starts and the socket shows."""

    nap: Nap
    watching: Watching


def napping(
    house: Assembly,
    settings: Settings,
    own: Path,
    *,
    environ: Mapping[str, str] = os.environ,
    emit: Emit = unheard,
) -> Naps:
    """Build naps over *house*. *own* is the folder of usage files where no setting names one."""
    said = settings.usage
    extra = [Path(root).expanduser() for root in said.transcript_roots]
    nap = Nap(
        db=house.db,
        ids=house.ids,
        clock=house.clock,
        work=house.work,
        counter=house.counter,
        queue=house.queue,
        level=settings.memory.level,
        rule=MemoryConsolidator(said.threshold_pct, said.max_tokens),
        roots=known_roots(environ, Path.home(), extra),
        emit=emit,
    )
    watching = Watching(
        db=house.db,
        clock=house.clock,
        nap=nap,
        sessions=house.sessions,
        rule=said,
        place=own if said.path is None else Path(said.path).expanduser(),
        own=own if said.path is None else None,
        emit=emit,
    )
    return Naps(nap, watching)
