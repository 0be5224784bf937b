"""What of the memories in a prompt its answer took up: counted, by an estimate (decision 0204).

A prompt of a session is remembered until the session's next turn of its assistant; that is looked
at beside the answer, which waits for nothing. Ids and counts are kept, no word of either. What
was asked is in the process alone, and goes with it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import MemdError
from memd.base.ids import Ids
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.occurrence import Note, Occurrence
from memd.store.file.database import Database
from memd.store.memory import uses

if TYPE_CHECKING:
    from memd.domain.ingest import IngestRequest
    from memd.domain.inject import PreparedPrompt, PrepareRequest

SESSIONS_MAX = 256
"""Whose last prompt waits for its answer."""
JUDGED_MAX = 32
"""Answers that are looked at at once; of more, none is."""

_Session = tuple[str, str]


class _Given(NamedTuple):
    question: str
    ids: tuple[str, ...]


class UptakeCounter:
    """Owns what waits for its answer, and the counts since the start."""

    def __init__(self, db: Database, clock: Clock, ids: Ids, work: Work, note: Note) -> None:
        self._db = db
        self._clock = clock
        self._ids = ids
        self._work = work
        self._note = note
        self._waiting: OrderedDict[_Session, _Given] = OrderedDict()
        self._judging: set[asyncio.Task[None]] = set()
        self.counts: Counter[str] = Counter(answers=0, given=0, tellable=0, taken_up=0)

    def hear(self, caller: Caller, params: Any, result: Any) -> None:
        """Look at what was asked and answered; returns at once and raises nothing."""
        session_id = getattr(params, "session_id", None)
        if session_id is None:
            return
        session = (caller.agent_id, session_id)
        kind = type(result).__name__  # by name: a start does without these models
        if kind == "PreparedPrompt":
            self._prepared(session, params, result)
        elif kind == "Receipt" and type(params).__name__ == "IngestParams":
            self._add(session, params)

    def _prepared(self, session: _Session, asked: PrepareRequest, prompt: PreparedPrompt) -> None:
        self._waiting.pop(session, None)
        if prompt.memories:
            ids = tuple(each.id for each in prompt.memories)
            self._waiting[session] = _Given(asked.query, ids)
            if len(self._waiting) > SESSIONS_MAX:
                self._waiting.popitem(last=False)

    def _add(self, session: _Session, turn: IngestRequest) -> None:
        from memd.ingest.draft import is_assistant  # its patterns are loaded by the first turn

        if turn.speaker is None or not is_assistant(turn.speaker) or turn.deliberate:
            return
        given = self._waiting.pop(session, None)
        if given is None or len(self._judging) >= JUDGED_MAX:
            return
        task = asyncio.create_task(self._judge(session, given, turn.text))
        self._judging.add(task)
        task.add_done_callback(self._judging.discard)

    async def settled(self) -> None:
        """Wait until all answers are looked at."""
        while self._judging:
            await asyncio.wait(list(self._judging))

    async def _judge(self, session: _Session, given: _Given, answer: str) -> None:
        from memd.text.uptake import uptake
        from memd.view.echo import spoken

        try:
            texts = await self._db.read(uses.texts_of, given.ids)
            used = await self._work.run(lambda: uptake(given.question, texts, spoken(answer)))
        except MemdError as error:
            log.warning("an answer was not looked at", kind=error.kind)
            return
        counts = {
            "given": len(texts),
            "tellable": len(used.tellable),
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
