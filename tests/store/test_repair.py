"""A damaged file is repaired as far as it can be read, and is kept (PROMISES 2)."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.damage import a_full_file, chance, has_sums, readable, repaired, texts
from support.recording import a_record
from support.store import ADA, EVERYTHING, a_house, tell

from memd.base.errors import DamagedError
from memd.domain.recall import RecallRequest
from memd.records.entities import ENTITIES
from memd.records.records import Records
from memd.store.file.connect import PAGE_BYTES


async def test_a_sound_file_is_the_same_after_a_repair(path: Path) -> None:
    stored_texts = await a_full_file(path)
    done = repaired(path)
    assert texts(path) == stored_texts
    assert (done.lost, done.remaining) == ((), ())
    assert texts(Path(done.damaged)) == stored_texts
    assert has_sums(path)
    async with a_house(path) as house:
        assert (await house.upkeep.check(ADA)).problems == ()
        answer = await house.recall.recall(ADA, RecallRequest(query="Who sails to Faro?", top_k=3))
        assert "Bob sails to Faro on Sunday." in {item.content for item in answer.memories}


async def test_operational_records_come_along(path: Path) -> None:
    await a_full_file(path)
    async with a_house(path) as house:
        records = Records(house.db, house.ids)
        kept = {
            name: [record for record in [a_record(name)] if await records.save(ADA, entity, record)]
            for name, entity in ENTITIES.items()
        }
    whole = path.read_bytes()
    at = whole.index(b"Bob sails") // PAGE_BYTES * PAGE_BYTES
    path.write_bytes(whole[:at] + bytes(PAGE_BYTES) + whole[at + PAGE_BYTES :])
    done = repaired(path)
    assert done.remaining == ()
    async with a_house(path) as house:
        records = Records(house.db, house.ids)
        for name, entity in ENTITIES.items():
            assert list(await records.list(ADA, entity, {})) == kept[name], name


@pytest.mark.parametrize("seed", range(5))
async def test_every_readable_text_of_a_truncated_file_is_back(path: Path, seed: int) -> None:
    stored_texts = await a_full_file(path)
    whole = path.read_bytes()
    cut = chance(seed).randrange(len(whole) // 2, len(whole))
    path.write_bytes(whole[:cut])
    whole_texts = readable(whole, cut, stored_texts)
    done = repaired(path)
    assert whole_texts <= set(texts(path))
    assert done.remaining == ()
    assert Path(done.damaged).read_bytes() == whole[:cut]
    async with a_house(path) as house:  # and it is a store like any other
        assert (await house.upkeep.check(ADA)).problems == ()
        await tell(house, "Dora paints boats.")
        await house.queue.drain()
        assert (await house.upkeep.check(ADA)).problems == ()


async def test_what_a_damaged_page_held_is_listed_and_the_rest_is_back(path: Path) -> None:
    stored_texts = await a_full_file(path)
    whole = path.read_bytes()
    (bob,) = (one for one, text in stored_texts.items() if text.startswith("Bob sails"))
    at = whole.index(b"Bob sails") // PAGE_BYTES * PAGE_BYTES
    path.write_bytes(whole[:at] + bytes(PAGE_BYTES) + whole[at + PAGE_BYTES :])
    done = repaired(path)
    assert bob not in texts(path)
    assert any("memory" in one for one in done.lost)
    assert set(texts(path).items()) <= set(stored_texts.items())


async def test_a_flipped_text_is_named_and_not_brought_over(path: Path) -> None:
    stored_texts = await a_full_file(path)
    (bob,) = (one for one, text in stored_texts.items() if text.startswith("Bob sails"))
    path.write_bytes(path.read_bytes().replace(b"Bob sails to", b"Bob sails by"))
    done = repaired(path)
    assert any(bob in one for one in done.lost)
    assert set(texts(path)) == set(stored_texts) - {bob}


async def test_what_a_log_holds_comes_along_and_what_was_forgotten_does_not(
    path: Path,
    tmp_path: Path,
) -> None:
    stored_texts = await a_full_file(path)
    gone = next(iter(stored_texts))
    kept = tmp_path / "copy"
    async with a_house(path) as house:
        await house.trash.forget(ADA, [gone])
        await tell(house, "Eve rides to Riga.")
        kept.mkdir()
        for ending in ("", "-wal"):  # as a kill leaves it
            (kept / f"memd.db{ending}").write_bytes((tmp_path / f"memd.db{ending}").read_bytes())
    repaired(kept / "memd.db")
    assert "Eve rides to Riga." in texts(kept / "memd.db").values()
    assert gone not in texts(kept / "memd.db")


async def test_vectors_that_are_lost_are_made_anew(path: Path) -> None:
    await a_full_file(path)
    whole = path.read_bytes()
    async with a_house(path) as house:
        vector = await house.db.read(
            lambda conn: conn.execute("SELECT vector FROM embedding WHERE embedding_key = 9").get
        )
    assert isinstance(vector, bytes)
    path.write_bytes(whole.replace(vector[:64], bytes(64)))
    repaired(path)
    async with a_house(path) as house:
        await house.queue.drain()
        assert (await house.upkeep.check(ADA)).problems == ()
        items, _ = await house.recall.list(ADA, EVERYTHING, None, 200)
        assert {item.state.value for item in items} == {"active"}


async def test_a_file_without_a_header_is_salvaged_by_the_shape_of_its_pages(path: Path) -> None:
    stored_texts = await a_full_file(path)
    whole = path.read_bytes()
    path.write_bytes(bytes(PAGE_BYTES) + whole[PAGE_BYTES:])
    repaired(path)
    assert readable(whole, len(whole), stored_texts) <= set(texts(path))


async def test_a_file_of_nothing_is_left_as_it_is(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"\x07" * 5 * PAGE_BYTES)
    with pytest.raises(DamagedError):
        repaired(path)
    assert path.read_bytes() == b"\x07" * 5 * PAGE_BYTES
    assert [one.name for one in tmp_path.iterdir()] == ["memd.db"]
