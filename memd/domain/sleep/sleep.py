"""Context windows, naps, runs and their reports (SPEC 6, 16)."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from memd.domain.enums import RunKind, RunState
from memd.domain.sleep.consolidation import ArchivalIndexEntry, ArchivalModeAssignment
from memd.domain.values import Count, Name, ProjectId, Time, Value


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
    """The result of a nap. *messages* is the shorter list, *summary_text* only its bullets."""

    run_id: Name
    session_id: Name | None
    messages: tuple[dict[str, Any], ...]
    summary_text: str
    stored: Count
    """Facts that became memories; *merged* ones existed already."""
    merged: Count
    quarantined: Count = 0
    """Facts that look like an attack."""
    detail: NapDetail


class ImportedSession(Value):
    """The result of importing a recorded session, counted in memories.

    Until the last part has arrived, only *taken* is set.
    """

    taken: Count
    """The characters received so far: the offset of the next part."""
    format: str | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None
    started_at: Time | None = None
    """The time of its first message that has one."""
    messages: Count = 0
    new: Count = 0
    """With *dry_run*, an estimate of what would be new."""
    kept: Count = 0
    quarantined: Count = 0
    trashed: Count = 0
    """How many of the session's memories are in the trash, from where they are not made again."""


class Window(Value):
    """An assistant's context window as last reported. None is unknown."""

    source: Name
    session_id: Name
    agent_id: Name
    used_tokens: Count | None = None
    window_tokens: Count | None = None
    compact_at_tokens: Count | None = None
    fill: float | None = None
    """Used share of the window; 0.8 and above triggers a nap."""
    model: str | None = None
    cwd: str | None = None
    transcript_path: str | None = None
    event: str | None = None
    armed: bool = True
    """Whether the next crossing of the threshold naps; false until the window has emptied."""
    seen_at: Time
    napping: bool = False
    """Whether a nap over it runs or waits."""
    napped_at: Time | None = None
    nap_problem: str | None = None
    """Why the last nap that was due was not made, or not of the transcript, and what to do; kept
    until a nap succeeds or the daemon stops."""
    consolidated: NapResult | None = None
    """The nap's result, if the report triggered a nap and asked for it."""


class StepReport(Value):
    """One step of a night, and the number of rows it changed."""

    name: Name
    rows: Count
    steps: Count
    """The number of transactions."""


class RunReport(Value):
    """A run: its kind, state and results."""

    run_id: Name
    kind: RunKind
    state: RunState
    agent_id: Name | None
    dry_run: bool = False
    started_at: Time
    finished_at: Time | None = None
    again_at: Time | None = None
    """When a run that a disk error stopped is retried; ``detail`` has the error."""
    steps: tuple[StepReport, ...] = ()
    detail: dict[str, Any] = Field(default_factory=dict)
    """Fields of the kind: for a nap its :class:`NapDetail`, for an undo the run it undid."""
    removed_ids: tuple[Name, ...] = ()
    """The first thousand memories it hid; not in a list of runs."""
    summary_ids: tuple[Name, ...] = ()
    """The summaries it made of them."""
    mode_assignments: tuple[ArchivalModeAssignment, ...] = ()
    archival_index: tuple[ArchivalIndexEntry, ...] = ()
    """The archival ids of the removed memories that were archived."""
    left_out: Count = 0
    """Further removed or made memories; ``sleep.report`` continues after *memories_after*."""
    memories_after: Count | None = None


class SleepStatus(Value):
    """Whether nights are enabled, the current and last run, and the next one."""

    enabled: bool
    """By the settings."""
    paused: bool
    """By ``sleep.pause``."""
    interval: Name
    running: RunReport | None = None
    last: RunReport | None = None
    """The last complete night, of all steps and every agent, from which the next is scheduled."""
    next_at: Time | None = None
    waits_for: str | None = None
    """Why a due night has not begun: the machine is busy or on battery, or a disk error stopped
    a run, which is retried first, at ``next_at``."""
