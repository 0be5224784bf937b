"""Memories are read for what they say about things, in the background.

It begins when something was stored and things are quiet, goes on in small
transactions, and rests longer than it works, so that neither a recall nor an
ingest waits for it: the embedding queue comes first. The mark of how far it is
stands in the same transaction as what was learnt, so a kill loses nothing and
repeats nothing.

Text is read whatever state its memory is in; what may be seen is asked when the
graph is walked, so that what comes back from the trash or from behind a summary
needs no second reading.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import MemdError
from memd.base.limits import LEARN_QUIET_MS, LEARN_ROWS, STATEMENTS_CHARS_MAX
from memd.base.work import Work
from memd.domain.caller import ERASURES_SEEN, WORKING_FOR, Caller
from memd.domain.org.graph import STATEMENTS_VERSION, ExtractedStatement
from memd.domain.values import Emit, EventName
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.org import graph, unread
from memd.store.org import statements as store
from memd.store.org.unread import Mark, Unread

REST = 3  # times as long as the work took
GIVEN_WAY_MAX = 8  # times in a row: then a step is made beside other work
LOOK_SECONDS = 5.0  # how often it is looked for what nobody announced

_CALLER = Caller(client="memd", method="learn")


class ReadsRelations(Protocol):
    """Reads texts for what they say about things."""

    async def read(self, texts: Mapping[int, str]) -> Mapping[int, tuple[ExtractedStatement, ...]]:
        """Return what is said in each of *texts*; never raises for what it cannot read."""
        ...


@dataclass
class RelationExtractor:
    """Reads memories for their statements."""

    db: Database
    clock: Clock
    work: Work
    quiet_s: Callable[[], float] = lambda: math.inf
    """For how long nobody has used the memory: while somebody does, reading hardly goes on."""
    reader: ReadsRelations | None = None
    """A language model that reads beside the rules."""
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def hearing(self, emit: Emit) -> Emit:
        """Return *emit* such that learning begins when something was stored."""

        def heard(agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
            if name is EventName.STORED:
                self._wake.set()
            emit(agent_id, name, body)

        return heard

    async def run(self) -> None:
        """Work for ever. A fault of the file is logged and tried again."""
        while True:
            try:
                if not self.db.read_only and await self.db.read(unread.is_any):
                    await asyncio.sleep(LEARN_QUIET_MS / 1_000)
                    await self.drain(gently=True)
            except MemdError as error:
                log.error("learning failed", kind=error.kind)
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wake.wait()

    async def drain(self, *, gently: bool = False) -> int:
        """Read everything that is still to be read; returns how many memories that were."""
        done = 0
        while True:
            began_us = self.clock.monotonic_us()
            rows = await self._step()
            if rows is None:
                return done
            done += rows
            if gently:
                await asyncio.sleep(REST * (self.clock.monotonic_us() - began_us) / 1e6)
                await self._give_way()

    async def _give_way(self) -> None:
        """Wait until nobody uses the memory, but not for ever: somebody may always do."""
        for _ in range(GIVEN_WAY_MAX):
            if self.quiet_s() >= LEARN_QUIET_MS / 1_000:
                return
            await asyncio.sleep(LEARN_QUIET_MS / 1_000)

    async def read(self, caller: Caller, memory_id: str) -> tuple[str, ...]:
        """Read one memory now; returns the ids of its statements."""
        row = await self.db.read(unread.by_id, caller.agent_id, memory_id, STATEMENTS_CHARS_MAX)
        if row is None:
            return ()
        extracted = await self._statements([row])

        def work(conn: Writing) -> tuple[str, ...]:
            rows = graph.with_texts(conn, _write(conn, [row], extracted))
            return tuple(row.statement_id for row in rows.values())

        return await self.db.write(_CALLER, work)

    async def _step(self) -> int | None:
        """Read a few memories and commit what they say; None when none is left."""
        ERASURES_SEEN.set(self.db.files.erasure_count)
        mark = await self.db.read(unread.mark)
        if mark is None or mark.version != STATEMENTS_VERSION:
            mark = Mark(STATEMENTS_VERSION, 0)
        fresh = await self.db.read(unread.after, mark.memory_key, LEARN_ROWS, STATEMENTS_CHARS_MAX)
        again = await self.db.read(unread.rewritten, LEARN_ROWS, STATEMENTS_CHARS_MAX)
        rows = {row.memory_key: row for row in (*again, *fresh)}
        if not rows:
            return None
        extracted = await self._statements(list(rows.values()))
        upto = max((row.memory_key for row in fresh), default=mark.memory_key)

        def work(conn: Writing) -> None:
            _write(conn, list(rows.values()), extracted)
            unread.read(conn, [row.memory_key for row in again])
            unread.set_mark(conn, Mark(STATEMENTS_VERSION, upto))

        await self.db.write(_CALLER, work)
        return len(rows)

    async def _statements(
        self, rows: Sequence[Unread]
    ) -> dict[int, tuple[ExtractedStatement, ...]]:
        results = await self.work.run(_read, rows)
        if self.reader is None:
            return results
        more: dict[int, tuple[ExtractedStatement, ...]] = {}
        for agent_id in dict.fromkeys(row.agent_id for row in rows):
            WORKING_FOR.set(agent_id)  # what is asked is put down to whose memories they are
            texts = {row.memory_key: row.content for row in rows if row.agent_id == agent_id}
            more |= await self.reader.read(texts)
        return {key: (*triples, *more.get(key, ())) for key, triples in results.items()}


def _read(rows: Sequence[Unread]) -> dict[int, tuple[ExtractedStatement, ...]]:
    from memd.extract.statements import statements

    return {
        row.memory_key: statements(row.content, row.said_at_us, speaker=row.speaker) for row in rows
    }


def _write(
    conn: Writing, rows: Sequence[Unread], extracted: Mapping[int, tuple[ExtractedStatement, ...]]
) -> list[int]:
    """Write what memories say that are still as they were read; returns the statements' keys."""
    return [
        key
        for row in unread.unchanged(conn, rows)
        for key in store.say(
            conn, row.memory_key, row.memory_id, extracted[row.memory_key], row.known_us
        )
    ]
