"""Record outcomes of tasks and patterns that worked (SPEC 5a).

A finished task is reported with its tools and its last reply, from which its outcome is read
without a language model. Texts are screened for secrets before they are stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

from memd.base.clock import Clock, from_us
from memd.base.errors import NotFoundError
from memd.base.ids import Ids
from memd.base.limits import LEARNINGS_READ_ITEMS_MAX, PATTERNS_READ_ITEMS_MAX
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.enums import LearningOutcome, MemoryLevel
from memd.domain.learn import Learning, PlaybookEntry, PlaybookQuery, SuccessReport, TaskReport
from memd.domain.memory import MemoryFilter
from memd.domain.sleep.consolidation import LESSON_TAG
from memd.domain.trust import Screened, SecretsPolicy
from memd.guard.secrets import admit, refuse_kinds, screen_name
from memd.guard.suspicion import refuse_orders
from memd.learn.playbook import (
    FIX_TYPE,
    PROMOTABLE_SUCCESSES,
    approach_of,
    as_instruction,
    lesson_of,
    nearest,
    outcome_of,
    pattern_id,
    task_type_of,
)
from memd.store.access import agents, names
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.learn import learnings, playbook
from memd.store.learn.learnings import LearningRow, NewLearning, TrustedLessonRow
from memd.store.learn.playbook import FixRow, NewPattern, PatternRow
from memd.store.memory.filters import bind
from memd.text.lessons import parse_lesson
from memd.text.words import words_of

R = TypeVar("R")


@dataclass(frozen=True)
class Learn:
    """Stores and returns lessons of tasks and patterns of the playbook."""

    db: Database
    clock: Clock
    ids: Ids
    level: MemoryLevel = MemoryLevel.PERSISTENT
    """For agents without a level of their own."""
    secrets: SecretsPolicy = "redact"
    work: Work = field(default_factory=Work)

    async def record_outcome(self, caller: Caller, task: TaskReport) -> Learning:
        """Store the outcome of a task, and return it after COMMIT.

        Raises MemoryStoreError for an agent without a memory, SecretRefusedError, and
        QuarantinedError for a lesson that gives orders (PROMISES H46).
        """
        await self.db.read(agents.require_level, caller.agent_id, self.level)
        tools = tuple(map(screen_name, task.tools))
        task_type = screen_name(task.task_type) if task.task_type else task_type_of(tools)
        outcome = task.outcome or outcome_of(task.final_response or "")
        approach = approach_of(tools)
        text = task.lesson or lesson_of(task_type, approach, outcome)
        tool_names = " ".join((task_type, *approach))
        size = len(text) + len(tool_names)
        await self.work.run_sized(size, refuse_orders, caller, lesson=text, tools=tool_names)
        lesson = await self._screen_in_thread(text, "lesson")
        new = NewLearning(
            learning_id=self.ids.new(),
            task_type=task_type,
            approach=approach,
            outcome=outcome,
            lesson=lesson,
            salt=self.ids.salt(),
        )

        def work(conn: Writing) -> str:
            now_us = self.clock.now_us()
            learnings.put(conn, names.ensure_agent(conn, caller.agent_id, now_us), new, now_us)
            return new.learning_id

        # The reply kept for retries has the id only, so that a forgotten text is not in it.
        learning_id = await self.db.write(caller, work, reply=str)
        row = await self.db.read(_find_row, caller, learnings.find, learning_id)
        return _learning(row)

    async def record_success(self, caller: Caller, report: SuccessReport) -> PlaybookEntry:
        """Count a success of a pattern and return it after COMMIT (SPEC 5a.2).

        The newest description and template are kept. Raises what :meth:`record_outcome` does.
        """
        await self.db.read(agents.require_level, caller.agent_id, self.level)
        tools = tuple(map(screen_name, report.tools))
        task_type = screen_name(report.task_type) if report.task_type else task_type_of(tools)
        size = len(report.description) + len(report.prompt_template)
        await self.work.run_sized(
            size,
            refuse_orders,
            caller,
            description=report.description,
            prompt_template=report.prompt_template,
            tools=" ".join((task_type, *tools)),
        )
        new = NewPattern(
            pattern_id=pattern_id(task_type, tools),
            task_type=task_type,
            description=await self._screen_in_thread(report.description, "description"),
            tool_sequence=tools,
            prompt_template=await self._screen_in_thread(report.prompt_template, "prompt_template"),
            salt=self.ids.salt(),
        )

        def work(conn: Writing) -> str:
            now_us = self.clock.now_us()
            playbook.put(conn, names.ensure_agent(conn, caller.agent_id, now_us), new, now_us)
            return new.pattern_id

        pattern = await self.db.write(caller, work, reply=str)
        return _entry(await self.db.read(_find_row, caller, playbook.find, pattern))

    async def playbook(self, caller: Caller, query: PlaybookQuery) -> tuple[PlaybookEntry, ...]:
        """Return patterns of the agent, the most successful first (SPEC 5a.2).

        Includes fixes that naps saw, which never become skills. With a query, the patterns that
        share most words with it come first.
        """

        def work(conn: Reading) -> list[PlaybookEntry]:
            agent_key = names.agent_key(conn, caller.agent_id)
            rows_max, task_type = PATTERNS_READ_ITEMS_MAX, query.task_type
            if query.promotable:
                rows = playbook.list_patterns(
                    conn, agent_key, task_type, rows_max, PROMOTABLE_SUCCESSES
                )
                return list(map(_entry, rows))
            rows = playbook.list_patterns(conn, agent_key, task_type, rows_max)
            patterns = list(map(_entry, rows))
            if task_type in {None, FIX_TYPE}:
                visible = bind(agent_key, MemoryFilter(), self.clock.now_us(), active=caller)
                patterns += map(_entry_of_fix, playbook.list_fixes(conn, visible, rows_max))
            return patterns

        entries = await self.db.read(work)
        if query.query is None:
            return tuple(entries[: query.limit])
        return tuple(nearest(entries, words_of(query.query), query.limit))

    async def mark_promoted(self, caller: Caller, pattern: str) -> None:
        """Mark a pattern as promoted to a skill; raises KeyError for an unknown one."""

        def work(conn: Writing) -> bool:
            agent_key = names.agent_key(conn, caller.agent_id)
            return playbook.mark_promoted(conn, agent_key, pattern)

        if not await self.db.write(caller, work, reply=bool):
            raise KeyError(pattern)

    async def latest(
        self, caller: Caller, limit: int = LEARNINGS_READ_ITEMS_MAX
    ) -> tuple[Learning, ...]:
        """Return the agent's latest lessons, newest first.

        Includes the lessons of naps, which are memories with LESSON_TAG.
        """

        def work(conn: Reading) -> list[Learning]:
            agent_key = names.agent_key(conn, caller.agent_id)
            visible = bind(agent_key, MemoryFilter(), self.clock.now_us(), active=caller)
            reported = map(_learning, learnings.list_latest(conn, agent_key, limit))
            memories = learnings.list_trusted_lessons(conn, visible, LESSON_TAG, limit)
            return [*reported, *map(_learning_of_memory, memories)]

        lessons = await self.db.read(work)
        return tuple(sorted(lessons, key=attrgetter("timestamp"), reverse=True)[:limit])

    async def reported_patterns(self, caller: Caller, limit: int) -> tuple[PlaybookEntry, ...]:
        """Return the reported patterns, without the fixes of naps, which are memories."""

        def work(conn: Reading) -> list[PatternRow]:
            agent_key = names.agent_key(conn, caller.agent_id)
            return playbook.list_patterns(conn, agent_key, None, limit)

        return tuple(map(_entry, await self.db.read(work)))

    async def _screen_in_thread(self, text: str, field: str) -> Screened:
        return await self.work.run_sized(len(text), self._screen, text, field)

    def _screen(self, text: str, field: str) -> Screened:
        admission = admit(text, self.secrets)
        refuse_kinds(admission.kinds, self.secrets, field)
        return admission.text


def _find_row(
    conn: Reading, caller: Caller, find: Callable[[Reading, int, str], R | None], public_id: str
) -> R:
    """Return the agent's row; raises NotFoundError if it was forgotten after a first attempt."""
    row = find(conn, names.agent_key(conn, caller.agent_id), public_id)
    if row is None:
        raise NotFoundError("it was forgotten since", field="idempotency_key")
    return row


def _entry(row: PatternRow) -> PlaybookEntry:
    return PlaybookEntry(
        pattern_id=row.pattern_id,
        task_type=row.task_type,
        description=row.description,
        tool_sequence=tuple(json.loads(row.tool_sequence)),
        prompt_template=row.prompt_template,
        success_count=row.success_count,
        created_at=from_us(row.created_at_us),
        updated_at=from_us(row.updated_at_us),
        promoted=bool(row.promoted),
    )


def _entry_of_fix(row: FixRow) -> PlaybookEntry:
    """Return a fix that a nap saw as a pattern that worked once."""
    at = from_us(row.created_at_us)
    return PlaybookEntry(
        pattern_id=row.memory_id,
        task_type=FIX_TYPE,
        description=as_instruction(row.content),
        tool_sequence=(),
        created_at=at,
        updated_at=at,
        memory_id=row.memory_id,
    )


def _learning_of_memory(row: TrustedLessonRow) -> Learning:
    """Return a memory as a lesson without a task."""
    return Learning(
        id=row.memory_id,
        task_type=task_type_of(()),
        approach=approach_of(()),
        outcome=outcome_of(""),
        lesson=parse_lesson(row.content) or row.content,
        timestamp=from_us(row.created_at_us),
    )


def _learning(row: LearningRow) -> Learning:
    return Learning(
        id=row.learning_id,
        task_type=row.task_type,
        approach=tuple(json.loads(row.approach)),
        outcome=LearningOutcome(row.outcome),
        lesson=row.lesson,
        timestamp=from_us(row.at_us),
    )
