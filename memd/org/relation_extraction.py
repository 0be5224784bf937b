"""Extract statements about things from memories, in the background.

Extraction starts after a write, when the daemon is quiet, proceeds in small transactions and
rests longer than it works, so that no recall or ingest waits for it; the embedding queue comes
first. Progress is committed with the statements, so a kill loses and repeats nothing.

A memory's text is read regardless of its state. Visibility is checked when the graph is walked,
so a restored memory needs no second extraction.
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
from memd.store.org import extraction, graph
from memd.store.org import statements as store
from memd.store.org.extraction import BacklogMark, BacklogRow

REST = 3  # times as long as the last step
WAITS_MAX = 8  # in a row for quiet; then a step is made alongside other work
LOOK_SECONDS = 5.0  # how often to look for memories without an event

_CALLER = Caller(client="memd", method="learn")


class RelationReader(Protocol):
    """Extracts statements from texts."""

    async def read(self, texts: Mapping[int, str]) -> Mapping[int, tuple[ExtractedStatement, ...]]:
        """Return the statements of each of *texts*, none for a text that cannot be read."""
        ...


@dataclass
class RelationExtractor:
    """Extracts statements from memories, by rule and optionally by a language model."""

    db: Database
    clock: Clock
    work: Work
    quiet_s: Callable[[], float] = lambda: math.inf
    """For how long nobody has used memd; while somebody does, extraction slows down."""
    reader: RelationReader | None = None
    """A language model that reads in addition to the rules."""
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def wrap_emit(self, emit: Emit) -> Emit:
        """Wrap *emit* so that a stored memory starts the extraction."""

        def emit_and_wake(agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
            if name is EventName.STORED:
                self._wake.set()
            emit(agent_id, name, body)

        return emit_and_wake

    async def run(self) -> None:
        """Extract for ever. A fault of the file is logged and the step retried."""
        while True:
            try:
                if not self.db.read_only and await self.db.read(extraction.has_backlog):
                    await asyncio.sleep(LEARN_QUIET_MS / 1_000)
                    await self.drain(gently=True)
            except MemdError as error:
                log.error("relation extraction failed", kind=error.kind)
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wake.wait()

    async def drain(self, *, gently: bool = False) -> int:
        """Extract from all pending memories; return how many there were."""
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
        """Wait until nobody uses memd, but not for ever: somebody may always do."""
        for _ in range(WAITS_MAX):
            if self.quiet_s() >= LEARN_QUIET_MS / 1_000:
                return
            await asyncio.sleep(LEARN_QUIET_MS / 1_000)

    async def read(self, caller: Caller, memory_id: str) -> tuple[str, ...]:
        """Extract from one memory now; return the ids of its statements."""
        row = await self.db.read(extraction.by_id, caller.agent_id, memory_id, STATEMENTS_CHARS_MAX)
        if row is None:
            return ()
        extracted = await self._statements([row])

        def work(conn: Writing) -> tuple[str, ...]:
            rows = graph.read_statements(conn, _write(conn, [row], extracted))
            return tuple(row.statement_id for row in rows.values())

        return await self.db.write(_CALLER, work)

    async def _step(self) -> int | None:
        """Extract from a few memories and commit; return how many, None when none is left."""
        ERASURES_SEEN.set(self.db.files.erasure_count)
        mark = await self.db.read(extraction.get_mark)
        if mark is None or mark.version != STATEMENTS_VERSION:
            mark = BacklogMark(STATEMENTS_VERSION, 0)
        fresh = await self.db.read(
            extraction.list_after, mark.memory_key, LEARN_ROWS, STATEMENTS_CHARS_MAX
        )
        rewritten = await self.db.read(extraction.list_rewritten, LEARN_ROWS, STATEMENTS_CHARS_MAX)
        rows = {row.memory_key: row for row in (*rewritten, *fresh)}
        if not rows:
            return None
        extracted = await self._statements(list(rows.values()))
        upto = max((row.memory_key for row in fresh), default=mark.memory_key)

        def work(conn: Writing) -> None:
            _write(conn, list(rows.values()), extracted)
            extraction.mark_read(conn, [row.memory_key for row in rewritten])
            extraction.set_mark(conn, BacklogMark(STATEMENTS_VERSION, upto))

        await self.db.write(_CALLER, work)
        return len(rows)

    async def _statements(
        self, rows: Sequence[BacklogRow]
    ) -> dict[int, tuple[ExtractedStatement, ...]]:
        results = await self.work.run(_read, rows)
        if self.reader is None:
            return results
        from_model: dict[int, tuple[ExtractedStatement, ...]] = {}
        for agent_id in dict.fromkeys(row.agent_id for row in rows):
            WORKING_FOR.set(agent_id)  # the model's costs are booked to the memories' agent
            texts = {row.memory_key: row.content for row in rows if row.agent_id == agent_id}
            from_model |= await self.reader.read(texts)
        return {key: (*triples, *from_model.get(key, ())) for key, triples in results.items()}


def _read(rows: Sequence[BacklogRow]) -> dict[int, tuple[ExtractedStatement, ...]]:
    from memd.extract.statements import extract_statements

    return {
        row.memory_key: extract_statements(row.content, row.said_at_us, speaker=row.speaker)
        for row in rows
    }


def _write(
    conn: Writing,
    rows: Sequence[BacklogRow],
    extracted: Mapping[int, tuple[ExtractedStatement, ...]],
) -> list[int]:
    """Write the statements of memories that have not changed since; return the keys."""
    return [
        key
        for row in extraction.filter_unchanged(conn, rows)
        for key in store.replace_statements(
            conn, row.memory_key, row.memory_id, extracted[row.memory_key], row.known_us
        )
    ]
