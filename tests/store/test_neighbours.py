"""Finding a turn's neighbours does not depend on the length of a session or its hidden memories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.store import ADA, a_house, a_writer

from memd.domain.enums import ArchiveReason
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.store.file.connect import Writing
from memd.store.memory import removal
from memd.store.search import contexts


async def a_session(path: Path, turns: int, hidden: range) -> list[int]:
    """Fill one session and put its turns *hidden* away; returns the keys in order."""
    async with a_house(path) as house:
        items = tuple(IngestRequest(text=f"Lamp {n} hangs.", session_id="s") for n in range(turns))
        await house.ingest.ingest_many(ADA, IngestManyRequest(items=items))
        keys = await house.db.read(
            lambda conn: sorted(key for (key,) in conn.execute("SELECT memory_key FROM memory"))
        )
        away = [keys[place] for place in hidden]

        def move_to_archive(conn: Writing) -> None:
            removal.archive(conn, away, ArchiveReason.CAP, 1, new_id=house.ingest.ids.new)

        await house.db.write(ADA, move_to_archive)
    return keys


def steps(conn: Writing, work: Callable[[], object]) -> int:
    """Return how many instructions of SQLite's machine *work* takes."""
    ticks = 0

    def tick() -> bool:
        nonlocal ticks
        ticks += 1
        return False

    conn.set_progress_handler(tick, 1)
    try:
        work()
    finally:
        conn.set_progress_handler(None)
    return ticks


@pytest.mark.parametrize("turns", [12, 240])
async def test_who_quotes_a_turn_is_found_without_walking_its_session(
    tmp_path: Path, turns: int
) -> None:
    keys = await a_session(tmp_path / "memd.db", turns, range(0))
    with a_writer(tmp_path / "memd.db") as conn:
        assert contexts.find_quoting(conn, keys[5:7]) == [keys[4], keys[7]]
        assert steps(conn, lambda: contexts.find_quoting(conn, keys[5:7])) < 200


@pytest.mark.parametrize("hidden", [10, 238])
async def test_a_neighbour_is_found_past_any_number_of_hidden_turns(
    tmp_path: Path, hidden: int
) -> None:
    keys = await a_session(tmp_path / "memd.db", 240, range(1, 1 + hidden))
    with a_writer(tmp_path / "memd.db") as conn:
        assert contexts.adjacent(conn, keys[0]) == (None, keys[1 + hidden])
        assert contexts.adjacent(conn, keys[1 + hidden])[0] == keys[0]
        assert steps(conn, lambda: contexts.adjacent(conn, keys[0])) < 200
