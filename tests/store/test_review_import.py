"""An import stores each memory once, and nothing that was forgotten."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from support.clocks import HeldClock
from support.store import ADA, a_house, visible

from memd.backends.assembly import Assembly
from memd.domain.memory import MemoryEntry
from memd.serve.route import Context
from memd.serve.routes.store import ImportParams, import_


def _context(house: Assembly) -> Context:
    rooms: Any = SimpleNamespace(ingest=house.ingest, recall=house.recall, upkeep=house.upkeep)
    nothing: Any = None
    return Context(rooms, nothing, ADA)


async def test_a_file_imported_again_much_later_doubles_nothing(tmp_path: Path) -> None:
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock) as house:
        context = _context(house)

        def entry(agent: str, text: str) -> MemoryEntry:
            said = {"id": "old-1", "agent_id": agent, "category": "semantic", "content": text}
            return MemoryEntry.model_validate({**said, "created_at": made})

        made = clock.now
        for agent, text in (("ada", "first"), ("ada", "second"), ("bob", "first")):
            told = await import_(context, ImportParams(items=(entry(agent, text),)))
            assert (told.stored, told.known, told.skipped) == (1, 0, 0)
        clock.advance(days=8)
        await house.upkeep.tidy()
        told = await import_(context, ImportParams(items=(entry("ada", "first"),)))
        assert (told.stored, told.known, told.skipped) == (0, 1, 0)
        assert len(await visible(house)) == 2


async def test_what_was_forgotten_does_not_come_back_by_an_import(tmp_path: Path) -> None:
    async with a_house(tmp_path / "memd.db") as house:
        context = _context(house)
        said = {"agent_id": "ada", "category": "semantic", "content": "gone"}
        made = {**said, "id": "old-2", "created_at": HeldClock().now}
        await import_(context, ImportParams(items=(MemoryEntry.model_validate(made),)))
        (new,) = await visible(house)
        kept = await house.recall.get(ADA, new)
        assert kept is not None
        await house.archive.forget(ADA, ids=[new])
        told = await import_(context, ImportParams(items=(kept,)))
        assert (told.stored, told.skipped) == (0, 1)
        assert await visible(house) == set()
