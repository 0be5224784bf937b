"""The life of memories: whatever happens in whatever order, the rooms agree with a dict."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
)
from support.clocks import HeldClock
from support.gate import drawn
from support.store import ADA, BOB, a_house, stored, visible

from memd.backends.rooms import Rooms
from memd.base.errors import MemoryNotFoundError
from memd.domain.enums import ArchiveReason, Origin
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryQuery, MemoryUpdate
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.memory import memories, removal

UNDO = timedelta(days=7)
WORDS = ("bees", "lamp", "Faro", "seven", "clock", "Ann", "sails", "paints", "42", "tea")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
TURNS = TEXTS | TEXTS.map("where is {}?".format)


@dataclass
class Life:
    """What the dict knows of one memory. *place* is visible, archive, trash or gone."""

    content: str
    expires: datetime | None
    place: str = "visible"
    before: str = "visible"
    erase_at: datetime | None = None
    is_passing: bool = False


class Lives(RuleBasedStateMachine):
    """Drives the rooms over a real file, with a clock that is moved by hand."""

    ids: Bundle[str] = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "memd.db"
        self.runner = asyncio.Runner()
        self.clock = HeldClock()
        self.lives: dict[str, Life] = {}
        self.stack = AsyncExitStack()
        self.house = self.run(self._opened())

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    async def _opened(self) -> Rooms:
        self.stack = AsyncExitStack()
        return await self.stack.enter_async_context(a_house(self.path, self.clock))

    def teardown(self) -> None:
        try:
            self.run(self.house.queue.drain())
            assert self.run(self.house.upkeep.check(ADA)).problems == ()
        finally:
            self.run(self.stack.aclose())
            self.runner.close()
            self.folder.cleanup()

    def expired(self, life: Life) -> bool:
        return life.expires is not None and life.expires <= self.clock.now

    def seen(self, place: str) -> set[str]:
        """Return the ids in *place*, as far as they can be seen there."""
        return {
            memory_id
            for memory_id, life in self.lives.items()
            if life.place == place and (place == "trash" or not self.expired(life))
        }

    # What can happen.

    @rule(target=ids, text=TEXTS, session=st.sampled_from([None, "s"]), hours=st.integers(0, 300))
    def store(self, text: str, session: str | None, hours: int) -> str:
        expires = self.clock.now + timedelta(hours=hours) if hours % 3 == 1 else None
        (memory_id,) = self.run(stored(self.house, text, session_id=session, expires_at=expires))
        assert memory_id not in self.lives
        self.lives[memory_id] = Life(text, expires)
        return str(memory_id)

    @rule(target=ids, text=TURNS, session=st.sampled_from([None, "s"]), streams=st.booleans())
    def ingest(self, text: str, session: str | None, streams: bool) -> Any:
        origin = Origin.ASSISTANT if streams else None
        request = IngestRequest(text=text, session_id=session, origin=origin)
        receipt = self.run(self.house.ingest.ingest(ADA, request))
        assert streams or not receipt.turned_away
        for item in receipt.merged:
            assert self.lives[item.id].place in {"visible", "archive"}
            if not streams:  # told on purpose, it comes back
                self.lives[item.id].place = "visible"
            assert not self.expired(self.lives[item.id])
            self.lives[item.id].is_passing = item.passing is not None
            self.lives[item.id].expires = None  # what was told again without an end has none
        for item in (*receipt.stored, *receipt.pending):
            self.lives[item.id] = Life(text, None, is_passing=item.passing is not None)
        for item in receipt.turned_away:
            self.lives[item.id] = Life(text, None, "archive")
        new = (*receipt.stored, *receipt.pending, *receipt.turned_away)
        return multiple(*(item.id for item in new))

    @rule(text=TEXTS)
    def somebody_else_stores(self, text: str) -> None:
        self.run(stored(self.house, text, caller=BOB))

    @rule(memory_id=ids, text=TEXTS)
    def update(self, memory_id: str, text: str) -> None:
        change = MemoryUpdate(content=text)
        if memory_id in self.seen("visible"):
            self.run(self.house.ingest.update(ADA, memory_id, change))
            self.lives[memory_id].content = text
            self.lives[memory_id].is_passing = False
        else:
            with pytest.raises(MemoryNotFoundError):
                self.run(self.house.ingest.update(ADA, memory_id, change))

    @rule(memory_id=ids)
    def delete(self, memory_id: str) -> None:
        deletable = memory_id in self.seen("visible") | self.seen("archive")
        assert self.run(self.house.trash.delete(ADA, memory_id)) is deletable
        if deletable:
            self._bin(self.lives[memory_id])

    @rule(memory_id=ids)
    def restore_from_trash(self, memory_id: str) -> None:
        life = self.lives[memory_id]
        there = life.place == "trash"
        assert self.run(self.house.trash.restore(ADA, memory_id)) is there
        if there:
            life.place = life.before
            life.expires = None if self.expired(life) else life.expires

    @rule(memory_id=ids)
    def move_to_archive(self, memory_id: str) -> None:
        life = self.lives[memory_id]
        self.run(self.house.db.write(ADA, lambda conn: self._archive(conn, memory_id)))
        if life.place == "visible":
            life.place = "archive"

    @rule(memory_id=ids)
    def restore_from_archive(self, memory_id: str) -> None:
        life = self.lives[memory_id]
        kept_apart = life.is_passing and memory_id in self.seen("visible")
        if kept_apart or memory_id in self.seen("archive"):
            entry = self.run(self.house.archive.restore_to_hot(ADA, memory_id))
            assert (entry.content, entry.passing) == (life.content, None)
            life.place, life.is_passing = "visible", False
        else:
            with pytest.raises(MemoryNotFoundError):
                self.run(self.house.archive.restore_to_hot(ADA, memory_id))

    @rule(memory_id=consumes(ids))
    def forget(self, memory_id: str) -> None:
        there = self.lives[memory_id].place != "gone"
        assert self.run(self.house.trash.forget(ADA, ids=[memory_id])).count == there
        self.lives[memory_id].place = "gone"

    @rule(hours=st.sampled_from([1, 5, 24, 100, 24 * 8]))
    def time_passes(self, hours: int) -> None:
        self.clock.advance(hours=hours)

    @rule()
    def purge(self) -> None:
        self.run(self.house.trash.purge())
        for life in self.lives.values():
            if life.place in {"visible", "archive"} and self.expired(life):
                self._bin(life)
        for life in self.lives.values():
            if life.place == "trash" and life.erase_at is not None:
                life.place = "gone" if life.erase_at <= self.clock.now else "trash"

    @rule()
    def embed(self) -> None:
        self.run(self.house.queue.drain())

    @precondition(lambda self: self.lives)
    @rule()
    def rebuild(self) -> None:
        self.run(self.house.upkeep.rebuild(ADA))

    @precondition(lambda self: self.lives)  # of a store without memories it shows nothing
    @rule()
    def restart(self) -> None:
        self.run(self.stack.aclose())
        self.house = self.run(self._opened())

    def _bin(self, life: Life) -> None:
        life.before, life.place = life.place, "trash"
        life.erase_at = self.clock.now + UNDO

    def _archive(self, conn: Writing, memory_id: str) -> None:
        agent_key = names.find_agent(conn, ADA.agent_id)
        row = None if agent_key is None else memories.by_id(conn, agent_key, memory_id)
        keys = [] if row is None else [row.memory_key]
        now_us, new_id = self.clock.now_us(), self.house.ingest.ids.new
        removal.archive(conn, keys, ArchiveReason.CAP, now_us, new_id=new_id)

    # What always holds.

    @invariant()
    def the_rooms_agree_with_the_dict(self) -> None:
        assert self.run(visible(self.house)) == self.seen("visible")
        assert self.run(self.house.recall.count(ADA, None)) == len(self.seen("visible"))
        assert self.run(self.house.archive.count(ADA)) == len(self.seen("archive"))
        binned, _ = self.run(self.house.trash.list(ADA, None, 1000))
        assert {item.id for item in binned} == self.seen("trash")

    @invariant()
    def every_text_is_as_it_was_told(self) -> None:
        query = MemoryQuery(include_compressed=True, limit=1000)
        entries = self.run(self.house.recall.retrieve(ADA, query))
        readable = self.seen("visible") | self.seen("archive")
        assert {entry.id: entry.content for entry in entries} == {
            memory_id: self.lives[memory_id].content for memory_id in readable
        }

    @rule(text=TEXTS, passing=st.booleans())
    def search(self, text: str, passing: bool) -> None:
        query = MemoryQuery(text=text, limit=1000, include_passing=passing)
        entries = self.run(self.house.recall.retrieve(ADA, query))
        visible = self.seen("visible")
        assert {entry.id for entry in entries} == {
            memory_id for memory_id in visible if passing or not self.lives[memory_id].is_passing
        }


# Shrinking restarts the rooms thousands of times; the steps that failed are printed as they were.
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
Lives.TestCase.settings = settings(drawn(gate=8, long=25), stateful_step_count=30, phases=UNSHRUNK)
TestLives = Lives.TestCase


class LongLives(Lives):
    """The same, for longer."""


LongLives.TestCase.settings = settings(max_examples=500, stateful_step_count=60, phases=UNSHRUNK)
TestLongLives = pytest.mark.long(LongLives.TestCase)
