"""Context windows, naps, runs and their reports (SPEC 6, 16)."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from memd.domain.enums import MemoryState, RunKind, RunState
from memd.domain.sleep.consolidation import ArchivalIndexEntry, ArchivalModeAssignment
from memd.domain.values import Count, Name, ProjectId, Text, Time, Value


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
    """The result of a nap: *messages* is the shortened list, *summary_text* its list of facts."""

    run_id: Name
    session_id: Name | None
    messages: tuple[dict[str, Any], ...]
    summary_text: str
    stored: Count
    """The number of facts that became memories."""
    merged: Count
    """The number of facts that were known already."""
    quarantined: Count = 0
    """The number of facts that look like an attack."""
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
    """How many of the session's memories are in the trash; the import does not store them again."""
    forgotten: Count = 0
    """How many that this import stored before were forgotten; it does not store them again."""


class Window(Value):
    """An assistant's context window as last reported. None is unknown."""

    source: Name
    session_id: Name
    agent_id: Name
    used_tokens: Count | None = None
    window_tokens: Count | None = None
    compact_at_tokens: Count | None = None
    fill: float | None = None
    """The used share of the window; a nap starts at the setting ``usage.threshold_pct``."""
    model: str | None = None
    cwd: str | None = None
    transcript_path: str | None = None
    event: str | None = None
    armed: bool = True
    """Whether crossing the threshold starts a nap; False after one until the window has emptied."""
    seen_at: Time
    napping: bool = False
    """Whether a nap of this window is running or queued."""
    napped_at: Time | None = None
    nap_problem: str | None = None
    """Why the last due nap failed or could not read the transcript, and what to do; None once a
    nap has succeeded or the daemon was restarted."""
    consolidated: NapResult | None = None
    """The result of the nap that this report triggered, if the report asked for it."""

    def without_texts(self) -> Window:
        """Return the window without the texts of its nap, as it may be stored for a repetition."""
        if self.consolidated is None:
            return self
        result = self.consolidated.model_copy(update={"messages": (), "summary_text": ""})
        return self.model_copy(update={"consolidated": result})


class StepReport(Value):
    """One step of a night, and the number of rows it changed."""

    name: Name
    rows: Count
    steps: Count
    """The number of transactions."""


class RunChange(Value):
    """A memory that a run made or moved, and its state after the run."""

    id: Name
    agent_id: Name
    state: MemoryState
    text: Text | None = None
    """The beginning; None if it was quarantined before the run, or is damaged."""


class RunReport(Value):
    """A run: its kind, state and results."""

    run_id: Name
    kind: RunKind
    state: RunState
    agent_id: Name | None
    dry_run: bool = False
    session_id: Name | None = None
    """The session of a nap, unless it was forgotten."""
    project_id: ProjectId | None = None
    """The project of that session."""
    client: Name | None = None
    """The client of that session: the key of an assistant, or ``local``."""
    started_at: Time
    finished_at: Time | None = None
    again_at: Time | None = None
    """When a run that a disk error stopped is retried; ``detail`` has the error."""
    steps: tuple[StepReport, ...] = ()
    detail: dict[str, Any] = Field(default_factory=dict)
    """Fields that depend on the kind: for a nap those of :class:`NapDetail`."""
    removed_ids: tuple[Name, ...] = ()
    """The memories that it hid, at most 1,000; empty in a list of runs."""
    summary_ids: tuple[Name, ...] = ()
    """The summaries that it made of them."""
    mode_assignments: tuple[ArchivalModeAssignment, ...] = ()
    archival_index: tuple[ArchivalIndexEntry, ...] = ()
    """The archival ids of the removed memories that were archived."""
    changes: tuple[RunChange, ...] = ()
    """All memories whose state it changed, also those that were hidden before."""
    left_out: Count = 0
    """The number of further changes."""
    memories_after: Count | None = None
    """Where ``sleep.report`` continues with those, None if there are none."""


class SleepStatus(Value):
    """Whether nights are enabled, the current and last run, and the next one."""

    enabled: bool
    """Whether the settings enable nights."""
    paused: bool
    """Whether ``sleep.pause`` has paused them."""
    interval: Name
    running: RunReport | None = None
    last: RunReport | None = None
    """The last complete night (all steps, all agents); the next is scheduled relative to it."""
    next_at: Time | None = None
    waits_for: str | None = None
    """Why a due night has not begun: the computer is busy or on battery, or a run that a disk
    error stopped is retried first, at ``next_at``."""
