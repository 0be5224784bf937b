"""Rooms with nights over a real store, stores of every kind, and the content of a file."""

from __future__ import annotations

import random
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from support.clocks import HeldClock
from support.fakes import HashEmbedder
from support.words_embedder import a_house

from memd.backends.rooms import Rooms
from memd.base.settings import SettingsWarning
from memd.domain.backend import CompletionProvider
from memd.domain.caller import Caller
from memd.domain.enums import ArchiveReason, MemoryCategory, MemoryLevel, Origin
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryMetadata, MemoryQuery, MemoryStoreRequest, MemoryUpdate
from memd.domain.settings.settings import Settings
from memd.domain.sleep.sleep import NapResult
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.source import NapRequest
from memd.sleep.night.night import Night
from memd.sleep.sleep import NightProviders, build_sleep
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import memories, removal

ADA = Caller(agent_id="ada", method="test")
BOB = Caller(agent_id="bob", method="test")
EPISODIC = MemoryCategory.EPISODIC
TURNS = tuple(f"Lamp {number} hangs in the hall." for number in range(6))

# What an undone run leaves as it was, and the order in which each is read.
TABLES = {
    "memory": "memory_key", "memory_tag": "tag, memory_key", "memory_context": "memory_key",
    "memory_use": "memory_key", "memory_version": "memory_key, version", "passing": "memory_key",
    "derived": "from_key, to_key", "archive": "memory_key", "trash": "memory_key",
    "forgotten": "memory_id", "forgotten_text": "agent_key, mark",
    "deletion": "agent_key, mark", "embedding": "embedding_key", "centroid": "agent_key, model_key",
    "preference": "preference_key", "session": "session_key", "source": "source_key",
    "speaker": "agent_key, name", "project": "project_key", "agent": "agent_key",
    "session_message": "session_key, ordinal", "nap_slot": "slot_key", "entity": "entity_key",
    "statement": "statement_key", "shared": "memory_key", "flagged": "memory_key",
    "memory_file": "agent_key, path", "learning": "learning_key",
    "playbook": "agent_key, pattern_id", "org_operation": "operation_key", "org_fact": "fact_key",
    "org_rules": "rules_key", "org_proposal": "proposal_key", "owner_key": "owner_key",
}  # fmt: skip
Tables = dict[str, list[tuple[Any, ...]]]


@dataclass
class Bed:
    """A house whose nights come when the test says so."""

    house: Rooms
    clock: HeldClock
    embedder: HashEmbedder
    night: Night

    def other_night(self, settings: Settings) -> Night:
        """Return a night over the same rooms with other settings."""
        return build_sleep(self.house, settings).night

    async def tell(self, *texts: str, caller: Caller = ADA, **fields: Any) -> list[str]:
        """Store *texts*, one a minute, as episodic memories of session ``s``; returns their ids."""
        given = {"category": EPISODIC, "session_id": "s"} | fields
        ids = []
        for text in texts:
            self.clock.advance(minutes=1)
            request = MemoryStoreRequest.model_validate({"content": text} | given)
            ids.append(await self.house.ingest.store(caller, request))
        return ids

    async def tell_sessions(self, words: str = "") -> None:
        """Store TURNS, each with *words* at its end, in two sessions, and let two days pass."""
        for session in ("a", "b"):
            texts = (f"{session}: {turn}{words}" for turn in TURNS)
            await self.tell(*texts, session_id=session)
        self.clock.advance(days=2)

    async def states(self) -> dict[str, str]:
        """Return the state of every memory that is no summary, by its text."""
        rows = await self.rows("SELECT content, state FROM memory WHERE NOT is_summary")
        return {str(content): str(state) for content, state in rows}

    async def contents(self) -> set[str]:
        """Return the texts of what the agent finds."""
        entries = await self.house.recall.retrieve(ADA, MemoryQuery(limit=100))
        return {entry.content for entry in entries}

    async def summaries(self) -> list[str]:
        """Return the texts of the visible summaries, in order of making."""
        rows = await self.rows(
            "SELECT content FROM memory WHERE is_summary AND state IN ('active', 'pending')"
            " ORDER BY memory_key"
        )
        return [str(content) for (content,) in rows]

    async def rows(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        return await self.house.db.read(lambda conn: conn.execute(sql, given).fetchall())

    async def tables(self) -> Tables:
        """Return every row of every table that holds what memd was told."""
        return await self.house.db.read(_tables)

    async def is_sound(self) -> bool:
        report = await self.house.upkeep.check(ADA)
        assert report.problems == (), report.problems
        return report.ok


def _tables(conn: Reading) -> Tables:
    return {
        table: conn.execute(f"SELECT * FROM {table} ORDER BY {order}").fetchall()
        for table, order in TABLES.items()
    }


def differing(one: Tables, other: Tables) -> list[str]:
    """Return the names of the tables that are not the same.

    What is hidden quotes neighbours as they were when it was hidden; an undoing makes its
    context anew, of the same neighbours as they are now.
    """
    ours, theirs = _compared(one), _compared(other)
    return [table for table in one if ours[table] != theirs[table]]


def _compared(tables: Tables) -> Tables:
    hidden = {row[0] for row in tables["memory"] if {"archived", "compressed"}.intersection(row)}
    quoted = [row[:3] if row[0] in hidden else row for row in tables["memory_context"]]
    return tables | {"memory_context": quoted}


def settled(**consolidation: Any) -> Settings:
    """Return the settings with *consolidation* in place of its defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SettingsWarning)  # what waits for a language model
        return Settings.model_validate({"memory": {"consolidation": consolidation}})


@asynccontextmanager
async def a_bed(
    folder: Path,
    clock: HeldClock | None = None,
    embedder: HashEmbedder | None = None,
    *,
    settings: Settings | None = None,
    provider: CompletionProvider | None = None,
) -> AsyncIterator[Bed]:
    """Open the rooms over the file in *folder*, with a night."""
    model = None if provider is None else "stub"
    clock, settings = clock or HeldClock(), settings or Settings()
    embedder = embedder or HashEmbedder()
    async with a_house(folder, clock=clock, embedder=embedder, settings=settings) as house:
        providers = NightProviders(provider, provider, model)
        yield Bed(house, clock, embedder, build_sleep(house, settings, providers=providers).night)


# Stores of every kind.

TAGS = ("core", "distillation", "detailed_experience", "red", "green")


async def fill(bed: Bed, chance: random.Random) -> None:
    """Fill the store with everything that a night may meet, over many days."""
    lives = len(await bed.rows("SELECT 1 FROM session"))
    for agent_id in ("ada", "bob")[: chance.choice([1, 2, 2])]:
        caller = Caller(agent_id=agent_id, method="test")
        for number in range(chance.randint(1, 5)):
            session = chance.choice([None, *(f"s{lives + number}" for _ in range(3)), f"s{number}"])
            bed.embedder.present = chance.random() < 0.8
            await _session(bed, chance, caller, session, chance.choice([0, 1, 3, 6, 12, 40]))
            bed.clock.advance(hours=chance.choice([1, 10, 50, 500]))
        await _lived(bed, chance, caller)


async def _session(
    bed: Bed, chance: random.Random, caller: Caller, session: str | None, turns: int
) -> None:
    if turns and chance.random() < 0.3:
        text = "hm, well, so it is"  # is turned away
        request = IngestRequest(text=text, session_id=session, origin=Origin.ASSISTANT)
        await bed.house.ingest.ingest(caller, request)
    places = [_place(chance) for _ in range(chance.choice([1, 1, 2]))]
    for turn in range(turns):
        text = f"{session} {turn} {chance.random()} " + "word " * chance.choice([1, 5, 40])
        expires = timedelta(hours=chance.choice([1, 2000])) if chance.random() < 0.1 else None
        await bed.tell(
            text,
            caller=caller,
            session_id=session,
            speaker=chance.choice([None, "Ann", "Bob"]),
            expires_at=None if expires is None else bed.clock.now + expires,
            metadata=MemoryMetadata(tags=tuple(t for t in TAGS if chance.random() < 0.06)),
            **chance.choice(places),
        )


def _place(chance: random.Random) -> Mapping[str, Any]:
    return {
        "category": chance.choice([EPISODIC, EPISODIC, *MemoryCategory]),
        "namespace": chance.choice(["default", "default", "work"]),
        "project_id": chance.choice([None, None, "p1"]),
        "level": chance.choice([None, None, None, *list(MemoryLevel)[:3]]),
    }


async def _lived(bed: Bed, chance: random.Random, caller: Caller) -> None:
    """Let things happen to some of the agent's memories."""
    rows = await bed.rows(
        "SELECT memory_id FROM memory JOIN agent USING (agent_key) WHERE agent_id = ?"
        " AND state IN ('active', 'pending') AND expires_at_us IS NULL AND NOT is_summary"
        " ORDER BY memory_key",
        caller.agent_id,
    )
    for (memory_id,) in rows:
        fate = chance.random()
        if fate < 0.04:
            await bed.house.ingest.update(caller, memory_id, MemoryUpdate(content=f"new {fate}"))
        elif fate < 0.08:
            await bed.house.trash.delete(caller, memory_id)
        elif fate < 0.12:
            await move_to_archive(bed, caller, memory_id, ArchiveReason.CAP)
        elif fate < 0.14:
            await bed.house.trash.forget(caller, ids=[memory_id])
        elif fate < 0.18:
            await bed.house.db.write(caller, partial(_used, memory_id=memory_id))
    if rows and chance.random() < 0.5:
        await bed.house.preferences.set(caller, "tea", "green")


def _used(conn: Writing, memory_id: str) -> None:
    conn.execute(
        "INSERT OR REPLACE INTO memory_use SELECT memory_key, 3, 7 FROM memory WHERE memory_id = ?",
        (memory_id,),
    )


async def move_to_archive(bed: Bed, caller: Caller, memory_id: str, reason: ArchiveReason) -> None:
    """Put a memory into the archive, for whatever reason."""

    def work(conn: Writing) -> None:
        agent_key = names.find_agent(conn, caller.agent_id)
        row = None if agent_key is None else memories.by_id(conn, agent_key, memory_id)
        assert row is not None
        now_us, new_id = bed.clock.now_us(), bed.house.ids.new
        removal.archive(conn, [row.memory_key], reason, now_us, new_id=new_id)

    await bed.house.db.write(caller, work)


def some_settings(chance: random.Random) -> Settings:
    """Return settings of a night that has something to do."""
    retention = {
        "default_retention_days": chance.choice([None, None, None, None, 100, 10]),
        "rules": [
            {"category": str(category), "retention_days": chance.choice([1, 10, 100])}
            for category in MemoryCategory
            if chance.random() < 0.08
        ],
    }
    return settled(
        retention=retention,
        strategy=chance.choice(["simple", "dual_mode", "llm"]),
        group_threshold=chance.choice([2, 3, 5]),
        compression_threshold=chance.choice([1, 2, 10]),
        compression_sessions=chance.choice([None, 1, 3]),
        max_memories_per_agent=chance.choice([10_000, 10_000, 20, 3, 1]),
        archival={"age_threshold_days": chance.choice([1, 5, 90])},
    )


async def nap_over(
    house: Rooms,
    messages: Sequence[dict[str, Any]] | None,
    session_id: str | None = "s",
    caller: Caller = ADA,
    **more: Any,
) -> NapResult:
    """Nap over *messages* of a session, else its memories; *more* is what the request says too."""
    request = NapRequest(messages=messages, session_id=session_id, **more)
    return await Naps(house, Settings(), Path("nowhere"), environ={}).nap.nap(caller, request)
