"""A summary is a memory that can be rewritten; sessions know whether they have one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.nights import ADA, Bed, a_bed, settled
from support.rows import a_row, an_id_source, inserted
from support.store import a_writer, bytes_of

from memd.base.errors import ConflictError
from memd.domain.enums import RunKind
from memd.domain.memory import MemoryUpdate
from memd.store.access import names
from memd.store.memory import removal

TURNS = [f"Lamp number {number} hangs in the hall." for number in range(6)]


async def slept(bed: Bed) -> None:
    await bed.tell(*TURNS)
    bed.clock.advance(days=2)
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))


async def id_of_summary(bed: Bed) -> str:
    ((memory_id,),) = await bed.rows("SELECT memory_id FROM memory WHERE is_summary")
    return str(memory_id)


async def compressed(bed: Bed) -> int:
    ((flag,),) = await bed.rows("SELECT compressed FROM session")
    return int(flag)


async def test_a_rewritten_summary_stays_in_front_of_its_sources(bed: Bed) -> None:
    await slept(bed)
    before = await bed.states()
    change = MemoryUpdate(content="The hall has six lamps.")
    await bed.house.ingest.update(ADA, await id_of_summary(bed), change)
    assert await bed.summaries() == ["The hall has six lamps."]
    assert await bed.states() == before
    assert await bed.is_sound()


async def test_a_session_is_compressed_as_long_as_a_compression_stands_in_it(
    tmp_path: Path,
) -> None:
    async with a_bed(tmp_path, settings=settled(compression_threshold=1)) as bed:
        ids = await bed.tell(*TURNS)
        bed.clock.advance(hours=7)
        run = await bed.night.compress(ADA, force=True)
        assert run.kind is RunKind.COMPRESS
        assert await compressed(bed) == 1
        assert await bed.house.trash.delete(ADA, ids[0])
        assert set((await bed.states()).values()) == {"active", "trashed"}
        assert await compressed(bed) == 0  # the summary went, and the others came back
        await bed.house.trash.forget(ADA, ids=ids)
        assert await compressed(bed) == 0


async def test_forgetting_all_of_a_compressed_session_leaves_it_uncompressed(bed: Bed) -> None:
    ids = await bed.tell(*TURNS)
    bed.clock.advance(hours=7)
    await bed.night.compress(ADA, force=True)
    await bed.house.trash.forget(ADA, ids=ids)
    assert await compressed(bed) == 0


async def test_what_is_forgotten_leaves_no_hash_of_itself_in_the_ledger_of_runs(
    bed: Bed, tmp_path: Path
) -> None:
    ids = await bed.tell(*TURNS)
    bed.clock.advance(days=2)
    run = await bed.night.run(ADA, steps=frozenset({"consolidation"}))
    rows = await bed.rows(
        "SELECT hex(row_hash) FROM memory WHERE memory_id = ? OR is_summary", ids[0]
    )
    hashes = [str(digest).encode() for (digest,) in rows]
    assert all(digest in bytes_of(tmp_path) for digest in hashes)
    await bed.house.trash.forget(ADA, ids=ids[:1])
    assert not any(digest in bytes_of(tmp_path) for digest in hashes)
    assert not any(bytes.fromhex(digest.decode()) in bytes_of(tmp_path) for digest in hashes)
    with pytest.raises(ConflictError):
        await bed.night.undo(ADA, run.run_id)


async def test_bringing_everything_back_by_hand_leaves_a_session_uncompressed(bed: Bed) -> None:
    ids = await bed.tell(*TURNS[:2])
    bed.clock.advance(hours=7)
    await bed.night.compress(ADA, force=True)
    for memory_id in ids:
        await bed.house.archive.restore_to_hot(ADA, memory_id)
    assert await compressed(bed) == 0


def test_a_summary_is_counted_neither_when_it_comes_nor_when_it_goes(tmp_path: Path) -> None:
    ids = an_id_source()
    with a_writer(tmp_path / "memd.db") as conn:
        agent_key = names.ensure_agent(conn, "ada", 1)
        session_key = names.ensure_session(
            conn, "s", agent_key=agent_key, client_key=None, project_key=None, now_us=1
        )
        turn = a_row(ids, session_key=session_key, ordinal=0, speaker="Eve")
        summary = turn._replace(memory_id=ids.new(), ordinal=1, is_summary=True)
        counted = "SELECT turns, memory_count FROM speaker, session"

        _, made = inserted(conn, [turn, summary], 1)
        assert conn.execute(counted).fetchall() == [(1, 1)]
        removal.erase(conn, [made], 2)
        assert conn.execute(counted).fetchall() == [(1, 1)]
