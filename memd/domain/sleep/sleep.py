"""What the sleep room says: windows, naps, runs, reports (SPEC 6, 16)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from memd.domain.enums import RunKind, RunState
from memd.domain.sleep.consolidation import ArchivalIndexEntry, ArchivalModeAssignment
from memd.domain.values import Name, ProjectId, Time, Value

Count = Annotated[int, Field(ge=0)]


class NapDetail(Value):
    """The documents' audit event of a consolidation (SPEC 6.17)."""

    messages_before: Count
    messages_after: Count
    messages_removed: Count
    facts: Count
    summary_chars: Count
    tokens_before: Count
    tokens_after: Count


class NapResult(Value):
    """What a nap did. *messages* is the shorter list, *summary_text* the bullets alone."""

    run_id: Name
    session_id: Name | None
    messages: tuple[dict[str, Any], ...]
    summary_text: str
    stored: Count
    """Facts that became memories now; *merged* were known already."""
    merged: Count
    quarantined: Count = 0
    """What looks like an attack: kept, out of sight."""
    detail: NapDetail


class ImportedSession(Value):
    """What became of a recorded session that was handed over, counted in memories.

    While parts of it are still to come only *taken* says something.
    """

    taken: Count
    """How many characters were handed over: where the next part begins."""
    format: str | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None
    messages: Count = 0
    new: Count = 0
    """With *dry_run* what would be new, as far as that can be told before it is stored."""
    kept: Count = 0
    quarantined: Count = 0


class Window(Value):
    """An assistant's context window as it last said. None is unknown."""

    source: Name
    session_id: Name
    agent_id: Name
    used_tokens: Count | None = None
    window_tokens: Count | None = None
    compact_at_tokens: Count | None = None
    fill: float | None = None
    """Used, as a share of what triggers a nap: 0.8 and above does."""
    model: str | None = None
    cwd: str | None = None
    transcript_path: str | None = None
    event: str | None = None
    armed: bool = True
    """Whether the next crossing naps; not again before the window has emptied."""
    seen_at: Time
    napped_at: Time | None = None
    consolidated: NapResult | None = None
    """The list to swap in, where a report asked for it and called for a nap."""


class StepReport(Value):
    """One step of a night: what it was and how many rows it changed."""

    name: Name
    rows: Count
    steps: Count
    """In how many transactions."""


class RunReport(Value):
    """What a run was asked for, how far it is, what it did and why."""

    run_id: Name
    kind: RunKind
    state: RunState
    agent_id: Name | None
    dry_run: bool = False
    started_at: Time
    finished_at: Time | None = None
    again_at: Time | None = None
    """When a run that the disk ended is gone on with; ``detail`` says what the disk said."""
    steps: tuple[StepReport, ...] = ()
    detail: dict[str, Any] = Field(default_factory=dict)
    """What the kind of run adds: a nap its :class:`NapDetail`, an undo the run it undid."""
    removed_ids: tuple[Name, ...] = ()
    """What it took out of sight, the first thousand of what it did: not in a list of runs."""
    summary_ids: tuple[Name, ...] = ()
    """What it put in their place."""
    mode_assignments: tuple[ArchivalModeAssignment, ...] = ()
    archival_index: tuple[ArchivalIndexEntry, ...] = ()
    """Under which id those that it did not throw away are in the archive."""
    left_out: Count = 0
    """How many more it removed or made; ``sleep.report`` goes on behind *memories_after*."""
    memories_after: Count | None = None


class SleepStatus(Value):
    """Whether memd may sleep, whether it does, and when it will."""

    enabled: bool
    """The settings' kill switch."""
    paused: bool
    """The kill switch at run time (``sleep.pause``)."""
    interval: Name
    running: RunReport | None = None
    last: RunReport | None = None
    """The last whole night, of all steps and every agent: the next one is counted from it."""
    next_at: Time | None = None
    waits_for: str | None = None
    """Why a night that is due has not begun: the machine is busy, on battery, or the disk
    ended a run, which is gone on with first, at ``next_at``."""
