"""Estimate how many of a prompt's memories the answer used (decision 0204).

A session's last prompt stays in memory until the assistant's next turn, which is examined in the
background. Only ids and counts are stored, no texts.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import MemdError
from memd.base.ids import Ids
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.enums import Origin
from memd.domain.occurrence import Note, Occurrence
from memd.store.file.database import Database
from memd.store.session import injections

if TYPE_CHECKING:
    from memd.domain.ingest import IngestRequest
    from memd.domain.inject import PreparedPrompt, PrepareRequest

SESSIONS_MAX = 256
"""The sessions whose last prompt is kept; the oldest is dropped first."""
TASKS_MAX = 32
"""The answers examined at once; further ones are skipped."""

_Session = tuple[str, str]


class _PendingPrompt(NamedTuple):
    question: str
    ids: tuple[str, ...]


class UptakeCounter:
    """Owns the prompts that wait for an answer, and the counts since the start."""

    def __init__(self, db: Database, clock: Clock, ids: Ids, work: Work, note: Note) -> None:
        self._db = db
        self._clock = clock
        self._ids = ids
        self._work = work
        self._note = note
        self._waiting: OrderedDict[_Session, _PendingPrompt] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self.counts: Counter[str] = Counter(answers=0, given=0, tellable=0, taken_up=0)

    def note_prompt(self, caller: Caller, request: PrepareRequest, prompt: PreparedPrompt) -> None:
        """Keep the memories of a session's *prompt* until its answer comes."""
        if request.session_id is None:
            return
        session = (caller.agent_id, request.session_id)
        self._waiting.pop(session, None)
        if prompt.memories:
            ids = tuple(memory.id for memory in prompt.memories)
            self._waiting[session] = _PendingPrompt(request.query, ids)
            if len(self._waiting) > SESSIONS_MAX:
                self._waiting.popitem(last=False)

    def note_turn(self, caller: Caller, turn: IngestRequest) -> None:
        """Examine an assistant's *turn* as the answer to its session's last prompt, if any."""
        from memd.ingest.draft import turn_of  # imported late for its patterns

        if turn.session_id is None or turn_of(turn) is not Origin.ASSISTANT:
            return
        session = (caller.agent_id, turn.session_id)
        pending = self._waiting.pop(session, None)
        if pending is None or len(self._tasks) >= TASKS_MAX:
            return
        task = asyncio.create_task(self._count(session, pending, turn.text))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self) -> None:
        """Wait until all answers are examined."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def _count(self, session: _Session, pending: _PendingPrompt, answer: str) -> None:
        from memd.learn.measured_uptake import measure_uptake
        from memd.view.labels import strip_injected

        try:
            texts = await self._db.read(injections.texts_of, pending.ids)
            used = await self._work.run(
                lambda: measure_uptake(pending.question, texts, strip_injected(answer))
            )
        except MemdError as error:
            log.warning("an answer was not examined", kind=error.kind)
            return
        counts = {
            "given": len(texts),
            "tellable": len(used.recognisable),
            "taken_up": len(used.taken_up),
        }
        self.counts.update(answers=1, **counts)
        agent_id, session_id = session
        self._note(
            Occurrence(
                self._ids.new(),
                agent_id,
                "prompt_answered",
                self._clock.now_us(),
                {"session_id": session_id, **counts},
                used=tuple(sorted(used.taken_up)),
            )
        )
