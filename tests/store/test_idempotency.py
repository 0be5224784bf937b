"""A write that is sent twice happens once (SPEC D7)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.limited_disks import read_only
from support.store import ADA, BOB, a_house, bytes_of, locked

from memd.backends.rooms import Rooms
from memd.base.errors import ConflictError
from memd.base.limits import REPLY_KEPT_DAYS
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.memory import MemoryStoreRequest, MemoryUpdate
from memd.store.access.replies import Answers

KEY = "note: the short text"  # some clients make their keys of words
KEYED = replace(ADA, idempotency_key=KEY, request_hash=b"one")
NOTE = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content="Ann keeps bees.")
TEXT = IngestRequest(text="Bob sails to Faro on Sunday.")


async def replies(house: Rooms) -> int:
    count = await house.db.read(lambda conn: conn.execute("SELECT count(*) FROM reply").get)
    assert isinstance(count, int)
    return count


async def test_every_kind_of_write_keeps_its_reply(tmp_path: Path) -> None:
    def keyed(name: str) -> Caller:
        return replace(ADA, idempotency_key=name, request_hash=name.encode())

    async with a_house(tmp_path / "memd.db") as house:
        receipt = await house.ingest.ingest(keyed("ingest"), TEXT)
        assert await house.ingest.ingest(keyed("ingest"), TEXT) == receipt
        many = IngestManyRequest(items=(IngestRequest(text="Cid repairs clocks in Faro."),))
        receipts = await house.ingest.ingest_many(keyed("many"), many)
        assert await house.ingest.ingest_many(keyed("many"), many) == receipts
        memory_id = await house.ingest.store(keyed("store"), NOTE)
        update = MemoryUpdate(content="Ann keeps wasps.")
        await house.ingest.update(keyed("update"), memory_id, update)
        await house.ingest.update(keyed("update"), memory_id, update)
        versions = "SELECT count(*) FROM memory_version"
        assert await house.db.read(lambda conn: conn.execute(versions).get) == 1
        assert await house.trash.delete(keyed("delete"), memory_id)
        assert await house.trash.delete(keyed("delete"), memory_id)  # though it is gone by now
        assert await house.trash.restore(keyed("undo"), memory_id)
        assert await house.trash.restore(keyed("undo"), memory_id)
        first = await house.trash.forget(keyed("forget"), ids=[memory_id])
        assert await house.trash.forget(keyed("forget"), ids=[memory_id]) == first
        assert first.count == 1


async def test_a_key_belongs_to_its_client(house: Rooms) -> None:
    first = await house.ingest.store(KEYED, NOTE)
    other = replace(KEYED, client="another", agent_id=BOB.agent_id)
    assert await house.ingest.store(other, NOTE) != first


async def test_a_write_that_failed_keeps_no_reply(house: Rooms) -> None:

    def fails(_conn: object) -> str:
        raise RuntimeError("planted")

    with pytest.raises(RuntimeError):
        await house.db.write(KEYED, fails, reply=str)
    assert await replies(house) == 0
    assert await house.ingest.store(KEYED, NOTE)


async def test_the_reply_outlives_a_restart_and_is_forgotten_after_its_days(path: Path) -> None:
    clock = HeldClock()
    async with a_house(path, clock) as house:
        first = await house.ingest.store(KEYED, NOTE)
    async with a_house(path, clock) as house:
        assert await house.ingest.store(KEYED, NOTE) == first
        clock.advance(days=REPLY_KEPT_DAYS)
        await house.upkeep.tidy()
        assert await house.ingest.store(KEYED, NOTE) == first
        clock.advance(microseconds=1)
        await house.upkeep.tidy()
        assert await replies(house) == 0
        assert await house.ingest.store(KEYED, NOTE) != first


async def sealed(house: Rooms) -> bytes:
    request_hash = await house.db.read(
        lambda conn: conn.execute("SELECT request_hash FROM reply").get
    )
    assert isinstance(request_hash, bytes)
    return request_hash


async def test_what_is_kept_of_a_request_proves_nothing_without_the_files_secret(
    tmp_path: Path,
) -> None:
    request_hash = sha256(b"the short text").digest()
    caller = replace(KEYED, request_hash=request_hash)
    kept = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        async with a_house(tmp_path / name / "memd.db") as house:
            first = await house.ingest.store(caller, NOTE)
            kept.append(await sealed(house))
        async with a_house(tmp_path / name / "memd.db") as house:
            assert await house.ingest.store(caller, NOTE) == first
        assert KEY.encode() not in bytes_of(tmp_path / name)
    assert request_hash not in kept
    assert kept[0] != kept[1]


async def test_a_reply_holds_no_text_of_a_memory(house: Rooms) -> None:
    await house.ingest.ingest(KEYED, TEXT)
    kept = await house.db.read(lambda conn: conn.execute("SELECT reply FROM reply").get)
    assert isinstance(kept, str)
    assert not [word for word in ("Bob", "sails", "Faro", "Sunday") if word in kept]


class LongWork:
    """What takes many transactions; waits at *gate*, and counts how often it was done."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.keys: list[str | None] = []

    async def __call__(self, caller: Caller) -> dict[str, int]:
        self.keys.append(caller.idempotency_key)
        await self.gate.wait()
        return {"done": len(self.keys)}


async def test_long_work_is_done_once_for_a_key_and_repeats_its_answer(house: Rooms) -> None:
    work = LongWork()
    answers = Answers(house.db)
    first, second = (asyncio.create_task(answers.run_once(KEYED, work)) for _ in range(2))
    await asyncio.sleep(0)
    work.gate.set()
    assert (await first, await second) == ({"done": 1}, {"done": 1})
    assert await Answers(house.db).run_once(KEYED, work) == {"done": 1}  # of another daemon, too
    assert work.keys == [None]  # or each transaction within would take the key for its own
    with pytest.raises(ConflictError):
        await answers.run_once(replace(KEYED, request_hash=b"two"), work)
    assert await answers.run_once(ADA, work) == {"done": 2}


async def test_long_work_that_failed_is_done_again(tmp_path: Path) -> None:
    async def fails(_: Caller) -> None:
        raise ConflictError("no")

    work = LongWork()
    work.gate.set()
    async with a_house(tmp_path / "memd.db") as house:
        answers = Answers(house.db)
        with pytest.raises(ConflictError):
            await answers.run_once(KEYED, fails)
        assert await answers.run_once(KEYED, work) == {"done": 1}


async def test_long_work_that_is_done_is_told_though_its_answer_cannot_be_kept(
    tmp_path: Path,
) -> None:
    work = LongWork()
    work.gate.set()
    async with a_house(tmp_path / "memd.db"):
        pass
    with read_only(tmp_path):
        async with a_house(tmp_path / "memd.db") as house:
            assert await Answers(house.db).run_once(KEYED, work) == {"done": 1}


@pytest.mark.usefixtures("impatient")
async def test_long_work_that_is_done_is_told_though_another_program_holds_the_file(
    house: Rooms,
) -> None:
    work = LongWork()
    work.gate.set()
    with locked(house.db.path):
        assert await Answers(house.db).run_once(KEYED, work) == {"done": 1}
