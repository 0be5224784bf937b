"""Extract statements about things from memories, in the background.

Extraction starts after a write, when the daemon is idle. It proceeds in small transactions and
rests longer than it works, so that no recall or ingest waits for it. Progress is committed with
the statements: after a kill, no memory is skipped or read twice.

Hidden memories are read, too. Visibility is checked when the graph is walked, so a restored memory
needs no second extraction.
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
from memd.base.limits import LEARN_QUIET_MS, LEARN_ROWS
from memd.base.work import Work
from memd.domain.caller import ERASURES_SEEN, WORKING_FOR, Caller
from memd.domain.org.graph import STATEMENTS_VERSION, ExtractedStatement
from memd.domain.values import Emit, EventName
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.org import extraction, graph
from memd.store.org import statements as store
from memd.store.org.extraction import BacklogMark, BacklogRow

REST = 3
"""Length of the rest after a step, as a multiple of the step's."""
WAITS_MAX = 8
"""Waits for an idle daemon in a row, after which a step runs during other work."""
LOOK_SECONDS = 5.0
"""Time after which the backlog is checked without an event."""

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
    """Returns the seconds since memd was last used; extraction slows down while it is in use."""
    reader: RelationReader | None = None
    """A language model that reads in addition to the rules."""
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def wrap_emit(self, emit: Emit) -> Emit:
        """Return *emit*, extended to start the extraction when a memory was stored."""

        def emit_and_wake(agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
            if name is EventName.STORED:
                self._wake.set()
            emit(agent_id, name, body)

        return emit_and_wake

    async def run(self) -> None:
        """Extract until cancelled. A MemdError is logged, and the step is retried."""
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
        """Extract from all memories of the backlog; return how many there were.

        *gently*: rest after each step, and wait for an idle daemon.
        """
        done = 0
        while True:
            started_us = self.clock.monotonic_us()
            count = await self._step()
            if count is None:
                return done
            done += count
            if gently:
                await asyncio.sleep(REST * (self.clock.monotonic_us() - started_us) / 1e6)
                await self._wait_for_idle()

    async def _wait_for_idle(self) -> None:
        """Wait until memd is idle, or WAITS_MAX times: it may be in use all the time."""
        for _ in range(WAITS_MAX):
            if self.quiet_s() >= LEARN_QUIET_MS / 1_000:
                return
            await asyncio.sleep(LEARN_QUIET_MS / 1_000)

    async def read(self, caller: Caller, memory_id: str) -> tuple[str, ...]:
        """Extract from one memory now; return the ids of its statements."""
        row = await self.db.read(extraction.by_id, caller.agent_id, memory_id)
        if row is None:
            return ()
        extracted = await self._extract([row])

        def work(conn: Writing) -> tuple[str, ...]:
            unchanged = extraction.filter_unchanged(conn, [row])
            rows = graph.read_statements(conn, _write(conn, unchanged, extracted))
            return tuple(row.statement_id for row in rows.values())

        return await self.db.write(_CALLER, work)

    async def _step(self) -> int | None:
        """Extract from a few memories and commit; return how many, None if none was left."""
        ERASURES_SEEN.set(self.db.files.erasure_count)
        mark = await self.db.read(extraction.get_mark)
        if mark is None or mark.version != STATEMENTS_VERSION:
            mark = BacklogMark(STATEMENTS_VERSION, 0)
        new = await self.db.read(extraction.list_after, mark.memory_key, LEARN_ROWS)
        rewritten = await self.db.read(extraction.list_rewritten, LEARN_ROWS)
        keys = list(dict.fromkeys((*rewritten, *new)))
        if not keys:
            return None
        rows = await self.db.read(extraction.of_keys, keys)
        extracted = await self._extract(rows)
        upto = new[-1] if new else mark.memory_key

        def work(conn: Writing) -> None:
            unchanged = extraction.filter_unchanged(conn, rows)
            _write(conn, unchanged, extracted)
            changed = {row.memory_key for row in rows} - {row.memory_key for row in unchanged}
            for key in changed:  # to be read again
                extraction.requeue(conn, key)
            extraction.mark_read(conn, [key for key in rewritten if key not in changed])
            extraction.set_mark(conn, BacklogMark(STATEMENTS_VERSION, upto))

        await self.db.write(_CALLER, work)
        return len(keys)

    async def _extract(
        self, rows: Sequence[BacklogRow]
    ) -> dict[int, tuple[ExtractedStatement, ...]]:
        """Return the statements of each memory by its key: by rule, then those of the model."""
        by_rule = await self.work.run(_extract_by_rule, rows)
        if self.reader is None:
            return by_rule
        from_model: dict[int, tuple[ExtractedStatement, ...]] = {}
        for agent_id in dict.fromkeys(row.agent_id for row in rows):
            WORKING_FOR.set(agent_id)  # the model's costs are booked to the memories' agent
            texts = {row.memory_key: row.content for row in rows if row.agent_id == agent_id}
            from_model |= await self.reader.read(texts)
        return {key: (*statements, *from_model.get(key, ())) for key, statements in by_rule.items()}


def _extract_by_rule(rows: Sequence[BacklogRow]) -> dict[int, tuple[ExtractedStatement, ...]]:
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
    """Write the statements of the memories *rows*; return the keys of the statements."""
    return [
        key
        for row in rows
        for key in store.replace_statements(
            conn, row.memory_key, row.memory_id, extracted[row.memory_key], row.known_us
        )
    ]
