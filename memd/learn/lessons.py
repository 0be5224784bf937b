"""Lessons of failures: propose, compare, store, supersede, prune (SPEC 17).

Reporting a task never fails: errors are logged and returned as *why_not*. A lesson is a memory
like any other. Its content is the discovery tier; its source text has all tiers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import MemdError
from memd.base.ids import Ids
from memd.base.limits import LESSONS_READ_ITEMS_MAX
from memd.base.work import Work
from memd.domain.caller import OPERATOR, Caller
from memd.domain.enums import ArchiveReason, MemoryCategory, Origin
from memd.domain.inject import MEMORY_TOOLS
from memd.domain.learn import (
    FAILURE_SOURCE,
    SUCCESS_SOURCE,
    SUCCESS_TAG,
    DistillationOutcome,
    FailureAnalysisPayload,
    LessonOutcome,
    ProceduralMemoryProposal,
    TaskDistillation,
    TerminationReason,
)
from memd.domain.memory import MemoryEntry, MemoryFilter, MemoryMetadata, MemoryStoreRequest
from memd.domain.settings.consolidation import ProceduralMemoryConfig
from memd.domain.settings.retrieval import NON_INFERABLE_TAG
from memd.domain.sleep.consolidation import DISTILLATION_TAG
from memd.domain.trust import Screened, SecretsPolicy
from memd.guard.redaction import redact
from memd.guard.secrets import admit, refuse_kinds
from memd.guard.suspicion import is_doubtful, refuse_orders
from memd.learn.propose import as_lesson, propose
from memd.learn.tiers import (
    Supersession,
    Tiers,
    as_tiers,
    one_line,
    sanitise_error,
    select_stale,
    supersession,
    tiers_of,
)
from memd.llm.provider import Purpose
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.learn import learnings, playbook
from memd.store.learn.learnings import LessonRow
from memd.store.memory import removal
from memd.store.memory.filters import bind

if TYPE_CHECKING:
    from memd.ingest.ingest import Ingest
    from memd.learn.skills import Skills
    from memd.llm.llm import LanguageModel

QUALITY_MIN = 8.0
"""The lowest quality, ten times the confidence, of a success's lesson that is stored."""
NOTHING_LEARNT = "there is nothing to learn from it"


class _Comparison(NamedTuple):
    """How a new lesson relates to existing ones.

    *same* is the id of an equal lesson of the same task, *conflicts* are ids of lessons with the
    same condition and another action.
    """

    same: str | None
    superseded: tuple[LessonRow, ...]
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class Lessons:
    """Stores the lessons of failures and distillations of tasks."""

    db: Database
    clock: Clock
    ids: Ids
    ingest: Ingest
    skills: Skills
    config: ProceduralMemoryConfig = field(default_factory=ProceduralMemoryConfig)
    secrets: SecretsPolicy = "redact"
    llm: LanguageModel | None = None
    work: Work = field(default_factory=Work)

    async def learn_failure(self, caller: Caller, payload: FailureAnalysisPayload) -> LessonOutcome:
        """Store the lesson of *payload*, after COMMIT; an error is returned as *why_not*."""
        if not self.config.enabled:
            return LessonOutcome(why_not="memory.procedural.enabled is false")
        try:
            return await self._learn(caller, payload)
        except MemdError as error:
            log.warning("no lesson was kept", kind=error.kind)
            return LessonOutcome(why_not=f"{error.kind}: {error}")

    async def distil(self, caller: Caller, task: TaskDistillation) -> DistillationOutcome:
        """Store *task*'s outcome as an episodic memory, after COMMIT; *why_not* on an error."""
        try:
            text = await self.work.run(self._screen, caller, render_distillation(task))
            request = MemoryStoreRequest(
                category=MemoryCategory.EPISODIC,
                content=text,
                metadata=MemoryMetadata(source=DISTILLATION_TAG, tags=(DISTILLATION_TAG,)),
                origin=Origin.TOOL if task.error_message else Origin.ASSISTANT,
            )
            return DistillationOutcome(id=await self.ingest.store(caller, request))
        except MemdError as error:
            log.warning("no distillation was kept", kind=error.kind)
            return DistillationOutcome(why_not=f"{error.kind}: {error}")

    async def _learn(self, caller: Caller, payload: FailureAnalysisPayload) -> LessonOutcome:
        proposal = await self._propose(caller, payload)
        is_success = payload.termination_reason is TerminationReason.COMPLETED
        if proposal is None:
            return LessonOutcome(why_not=NOTHING_LEARNT)
        why_not = _refusal(proposal, self.config.min_confidence, is_success=is_success)
        if why_not is not None:
            return LessonOutcome(why_not=why_not)
        text = await self.work.run_sized(2_000, self._screen, caller, as_tiers(proposal))
        tiers = tiers_of(text)
        assert tiers is not None, "a secret is replaced by one word in its line"
        source = f"{SUCCESS_SOURCE if is_success else FAILURE_SOURCE}{payload.task_id}"
        compared = await self._compare(caller, tiers, proposal.confidence, source)
        common = {"proposal": proposal, "conflicts": compared.conflicts}
        if compared.same is not None:
            return LessonOutcome(id=compared.same, **common)
        tags = (NON_INFERABLE_TAG, *((SUCCESS_TAG,) if is_success else ()), *proposal.tags)
        request = MemoryStoreRequest(
            category=MemoryCategory.PROCEDURAL,
            content=tiers.discovery,
            metadata=MemoryMetadata(source=source, confidence=proposal.confidence, tags=tags),
            origin=Origin.TOOL if payload.error_message else Origin.ASSISTANT,
        )
        supersede = partial(self._supersede, rows=compared.superseded)
        memory_id = await self.ingest.store(caller, request, supersede, text)
        path = await self.skills.update_skill(caller, memory_id)
        return LessonOutcome(
            id=memory_id,
            is_new=True,
            skill_path=path,
            superseded=tuple(row.memory_id for row in compared.superseded),
            **common,
        )

    async def _propose(
        self, caller: Caller, payload: FailureAnalysisPayload
    ) -> ProceduralMemoryProposal | None:
        """Return the model's proposal, if the settings use one, else that of the rules."""
        if self.llm is not None and self.llm.serves(Purpose.LESSON):
            from memd.learn.ask import ask_model

            proposal = await ask_model(self.llm, self.config, payload, caller.agent_id)
            if proposal is not None:
                return proposal
        return propose(payload)

    def _screen(self, caller: Caller, text: str) -> Screened:
        """Return the screened text; raises SecretRefusedError, and QuarantinedError for orders."""
        if caller.client != OPERATOR and is_doubtful(text):
            refuse_orders(caller, lesson=text)
        admission = admit(text, self.secrets)
        refuse_kinds(admission.kinds, self.secrets, None)
        return admission.text

    async def _compare(
        self, caller: Caller, tiers: Tiers, confidence: float, source: str
    ) -> _Comparison:
        """Compare a new lesson with all of the caller's."""
        same, superseded = None, []
        conflicts: dict[Hashable, str] = {}
        for row in await self.list_lessons(caller):
            old = tiers_of(row.text)
            if old is None:
                continue
            if row.source == source and old == tiers:
                same = row.memory_id
                continue
            kind = supersession(tiers, confidence, old, row.confidence)
            if kind is Supersession.FULL:
                superseded.append(row)
            elif kind is Supersession.CONFLICT:
                conflicts.setdefault(_identity(row), row.memory_id)
        return _Comparison(same, tuple(superseded), tuple(conflicts.values()))

    def _supersede(self, conn: Writing, memory_id: str, *, rows: Sequence[LessonRow]) -> None:
        """Archive older lessons that a new one supersedes, in its transaction."""
        del memory_id
        keys = [row.memory_key for row in rows]
        now_us = self.clock.now_us()
        removal.archive(conn, keys, ArchiveReason.SUPERSEDED, now_us, new_id=self.ids.new)

    async def list_lessons(self, caller: Caller) -> list[LessonRow]:
        """Return all memories that are lessons of the caller, newest first."""
        return await self.db.read(list_memories, caller, self.config, self.clock.now_us())

    async def prune(self, caller: Caller, *, dry_run: bool) -> tuple[str, ...]:
        """Archive lessons that are too old or dominated (SPEC 17.6); return their ids."""
        now_us = self.clock.now_us()
        stale = select_stale(await self.list_lessons(caller), now_us)
        if stale and not dry_run:
            keys = [row.memory_key for row in stale]

            def work(conn: Writing) -> None:
                removal.archive(conn, keys, ArchiveReason.CAP, now_us, new_id=self.ids.new)

            await self.db.write(caller, work, reply=type(None))
            await self.skills.update()
        return tuple(row.memory_id for row in stale)

    async def with_tiers(self, caller: Caller, entry: MemoryEntry) -> MemoryEntry:
        """Return a lesson with all tiers as its content, any other memory unchanged (SPEC D24)."""
        if not is_lesson(entry):
            return entry
        row = await self.db.read(find_lesson, caller, entry.id, self.clock.now_us())
        return entry if row is None else entry.model_copy(update={"content": redact(row.text)})


def is_lesson(entry: MemoryEntry) -> bool:
    """Return whether *entry* may be a lesson, by its category, first tag and source."""
    source = entry.metadata.source or ""
    return (
        entry.category is MemoryCategory.PROCEDURAL
        and entry.metadata.tags[:1] == (NON_INFERABLE_TAG,)
        and source.startswith((FAILURE_SOURCE, SUCCESS_SOURCE))
    )


def list_visible(
    conn: Reading, caller: Caller, config: ProceduralMemoryConfig, now_us: int
) -> list[LessonRow]:
    """Return the caller's visible lessons, newest first: reported ones and fixes of naps.

    The same failure with the same cure in several sessions is one lesson, the newest.
    """
    newest: dict[Hashable, LessonRow] = {}
    for row in list_memories(conn, caller, config, now_us):
        newest.setdefault(_identity(row), row)
    return list(newest.values())


def list_memories(
    conn: Reading, caller: Caller, config: ProceduralMemoryConfig, now_us: int
) -> list[LessonRow]:
    """Return each memory that is a visible lesson, newest first.

    Fixes that naps saw are lessons if *config* enables lessons and their confidence suffices.
    """
    agent_key = names.agent_key(conn, caller.agent_id)
    visible = bind(agent_key, MemoryFilter(), now_us, active=caller)
    lessons = learnings.list_lessons(conn, visible, LESSONS_READ_ITEMS_MAX)
    fixes = playbook.list_fixes(conn, visible, LESSONS_READ_ITEMS_MAX) if config.enabled else []
    for row in map(as_lesson, fixes):
        if row is None or row.confidence < config.min_confidence or is_doubtful(row.text):
            continue
        lessons.append(row)
    lessons.sort(key=lambda row: (row.created_at_us, row.memory_key), reverse=True)
    return lessons[:LESSONS_READ_ITEMS_MAX]


def _identity(row: LessonRow) -> Hashable:
    """Return a key equal for the same lesson: of a fix its condition and action, else its id."""
    tiers = tiers_of(row.text) if row.of_nap else None
    return row.memory_id if tiers is None else (tiers.condition, tiers.action)


def find_lesson(conn: Reading, caller: Caller, memory_id: str, now_us: int) -> LessonRow | None:
    """Return a visible lesson by its id, or None."""
    agent_key = names.agent_key(conn, caller.agent_id)
    visible = bind(agent_key, MemoryFilter(), now_us, active=caller)
    return next(iter(learnings.list_lessons(conn, visible, 1, memory_id)), None)


def _refusal(
    proposal: ProceduralMemoryProposal, confidence_min: float, *, is_success: bool
) -> str | None:
    """Return why *proposal* is not stored, None if it is; the bound itself passes (SPEC 17.3)."""
    if proposal.confidence < confidence_min:
        return f"a confidence of {proposal.confidence:.2f} is below {confidence_min:.2f}"
    if is_success and 10 * proposal.confidence < QUALITY_MIN:
        return f"a quality of {10 * proposal.confidence:.1f} is below {QUALITY_MIN:.1f}"
    return None


NO_TURNS = "no turns"


def render_distillation(task: TaskDistillation) -> str:
    """Return the distillation of *task*: four lines, none of them from its conversation.

    >>> print(render_distillation(TaskDistillation(task_id="T-1", turn_count=2, total_tokens=5300,
    ...     tool_calls_made=("Edit", "Bash", "Bash", "search_memory"))))
    Task: T-1
    Outcome: completed
    Trajectory: 2 turns, 5300 tokens, 4 calls of Bash, Edit, search_memory
    Memory tools: search_memory
    """
    used = [name for name in task.tool_calls_made if name in MEMORY_TOOLS]
    return "\n".join(
        (
            f"Task: {one_line(task.task_id, 240)}",
            f"Outcome: {_outcome(task)}",
            f"Trajectory: {_trajectory(task)}",
            f"Memory tools: {', '.join(used) or 'none'}",
        )
    )


def _outcome(task: TaskDistillation) -> str:
    reason = task.termination_reason
    if reason is TerminationReason.COMPLETED:
        return "completed"
    if reason is TerminationReason.ERROR:
        return f"failed: {sanitise_error(task.error_message)}"
    return f"terminated: {reason.value}"


def _trajectory(task: TaskDistillation) -> str:
    if not task.turn_count:
        return NO_TURNS
    turns = "1 turn" if task.turn_count == 1 else f"{task.turn_count} turns"
    names = sorted(set(task.tool_calls_made))
    calls = f"{len(task.tool_calls_made)} calls of {', '.join(names)}" if names else "no tools"
    return f"{turns}, {task.total_tokens} tokens, {calls}"
