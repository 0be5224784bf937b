"""A locked, full or read-only file: facts can be read, and no write is acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from support.disks import fill, read_only
from support.org import CALLER, HUMAN, a_request, contents, wrote
from support.store import a_house, locked

from memd.backends.rooms import Rooms
from memd.base.errors import BusyError, DiskFullError, MemdError, ReadOnlyError
from memd.domain.org.org import OrgMemoryQuery
from memd.store.check.row_checks import check_facts
from memd.store.org import org_facts

TEXT = "Rule {}: the lighthouse keeper writes every storm into the blue book." + " So" * 199

pytestmark = pytest.mark.usefixtures("whole_ballast")

Try = Callable[[Rooms, list[str]], Coroutine[Any, Any, object]]

WRITES: dict[str, Try] = {
    "write": lambda house, _: house.org.write(CALLER, a_request("no"), author=HUMAN),
    "write a version": lambda house, ids: house.org.write(
        CALLER, a_request("no", fact_id=ids[0]), author=HUMAN
    ),
    "retract": lambda house, ids: house.org.retract(CALLER, ids[0], author=HUMAN),
    "rebuild": lambda house, _: house.upkeep.rebuild(CALLER),
}
READS: dict[str, Try] = {
    "get": lambda house, ids: house.org.get(CALLER, ids[0]),
    "query": lambda house, _: house.org.query(CALLER, OrgMemoryQuery(context="the lighthouse")),
    "newest": lambda house, _: house.org.query(CALLER, OrgMemoryQuery()),
    "history": lambda house, ids: house.org.history(CALLER, ids[0]),
    "list_policies": lambda house, _: house.org.list_policies(CALLER),
    "count_policies": lambda house, _: house.org.count_policies(CALLER),
    "check": lambda house, _: house.db.read(lambda conn: list(check_facts(conn))),
}


async def refused(house: Rooms, ids: list[str], kind: type[MemdError]) -> None:
    """Try every write; each must be refused with *kind* and leave everything as it was."""
    before = [await read(house, ids) for read in READS.values()]
    for name, attempt in WRITES.items():
        try:
            await attempt(house, ids)
        except kind:
            continue
        pytest.fail(f"{name} was acknowledged")
    assert [await read(house, ids) for read in READS.values()] == before


@pytest.mark.usefixtures("impatient")
async def test_a_write_into_a_locked_file_is_busy_and_reading_goes_on(house: Rooms) -> None:
    ids = await wrote(house, TEXT.format(1), TEXT.format(2))
    with locked(house.db.path):
        await refused(house, ids, BusyError)
    for attempt in WRITES.values():
        await attempt(house, ids)
    assert (await house.upkeep.check(CALLER)).ok


async def test_a_full_disk_loses_no_fact_that_was_acknowledged(own_disk: Path) -> None:
    path = own_disk / "memd.db"
    async with a_house(path) as house:
        ids = await wrote(house, TEXT.format(1), TEXT.format(2))
        make_room = fill(own_disk)
        for number in range(5_000):
            try:
                ids += await wrote(house, TEXT.format(f"x{number}"))
            except DiskFullError:
                break
        else:
            pytest.fail("the disk was never full")
        assert await house.db.read(org_facts.count) == len(ids)
        assert await contents(house, "lighthouse")
        make_room()
        assert await house.db.recover()
        ids += await wrote(house, "after")
    async with a_house(path) as house:
        assert await house.db.read(org_facts.count) == len(ids)
        assert (await house.upkeep.check(CALLER)).ok


async def test_a_read_only_store_answers_and_refuses_writes(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    async with a_house(folder / "memd.db") as house:
        ids = await wrote(house, TEXT.format(1), TEXT.format(2))
    with read_only(folder):
        async with a_house(folder / "memd.db") as house:
            assert house.db.read_only
            await refused(house, ids, ReadOnlyError)
