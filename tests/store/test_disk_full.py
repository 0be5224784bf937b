"""A full or read-only disk: recall goes on, writes are refused, forgetting works (P5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from support.limited_disks import fill, limit_files, read_only, small_disk
from support.org import contents, wrote
from support.store import ADA, a_house, stored, visible

from memd.backends.rooms import Rooms
from memd.base.errors import DiskFullError, ReadOnlyError, StorageError
from memd.domain.memory import MemoryQuery
from memd.store.file import open_files
from memd.store.file.connect import Writing
from memd.store.org import org_facts
from memd.store.search import caches

TEXT = (
    "Note {}: the lighthouse keeper of Skagen writes every storm into his blue book." + " So" * 99
)
RULE = "Rule {}: the lighthouse keeper writes every storm into the blue book." + " So" * 199


pytestmark = pytest.mark.usefixtures("whole_ballast")

Disk = tuple[Path, Callable[[], Callable[[], None]]]


@pytest.fixture(params=["a full disk", "a limit of size"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """Yield a folder and what fills its disk, which returns what makes room again."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if request.param == "a full disk":
        with small_disk(folder):
            yield folder, lambda: fill(folder)
        return
    lifts: list[Callable[[], None]] = []

    def limit() -> Callable[[], None]:
        lifts.append(limit_files(folder.joinpath("memd.db-wal").stat().st_size + 50_000))
        return lifts[-1]

    yield folder, limit
    for lift in lifts:
        lift()


async def fill_up(house: Rooms, kept: set[str], text: str = TEXT) -> None:
    """Tell until the disk is full; what was acknowledged is added to *kept*."""
    for number in range(2_000):
        try:
            kept.update(await stored(house, f"{number} {text}"))
        except DiskFullError:
            return
    pytest.fail("the disk was never full")


async def test_a_full_disk_loses_nothing_and_stops_nothing_but_writing(disk: Disk) -> None:
    folder, fill_disk = disk
    path = folder / "memd.db"
    async with a_house(path) as house:
        kept = set(await stored(house, *(TEXT.format(number) for number in range(20))))
        make_room = fill_disk()
        await fill_up(house, kept)
        assert await visible(house) == kept
        assert await house.recall.retrieve(ADA, MemoryQuery(text="the keeper of Skagen"))
        with pytest.raises(StorageError):
            await stored(house, TEXT.format("refused"))
        make_room()
        assert await house.db.recover()
        kept.update(await stored(house, TEXT.format("after")))
        assert await visible(house) == kept
        assert (await house.upkeep.check(ADA)).ok
    async with a_house(path) as house:
        assert await visible(house) == kept


async def test_a_full_disk_loses_no_fact_that_was_acknowledged(own_disk: Path) -> None:
    path = own_disk / "memd.db"
    async with a_house(path) as house:
        ids = await wrote(house, RULE.format(1), RULE.format(2))
        make_room = fill(own_disk)
        for number in range(5_000):
            try:
                ids += await wrote(house, RULE.format(f"x{number}"))
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
        assert (await house.upkeep.check(ADA)).ok


async def test_a_full_disk_can_still_be_told_to_forget(own_disk: Path) -> None:
    path = own_disk / "memd.db"
    async with a_house(path) as house:
        kept = set(await stored(house, *(TEXT.format(number) for number in range(20))))
        (secret,) = await stored(house, "The password of the safe is Xylophanes.")
        make_room = fill(own_disk)
        await fill_up(house, kept)
        assert (await house.trash.forget(ADA, ids=[secret])).count == 1
        assert not open_files.ballast_path(path).exists()
        assert await visible(house) == kept
        make_room()
        await house.db.recover()
        assert open_files.ballast_path(path).exists()
    assert b"Xylophanes" not in b"".join(p.read_bytes() for p in own_disk.iterdir())


async def test_a_full_disk_is_told_by_status_after_a_write_that_needed_no_room(
    own_disk: Path,
) -> None:
    async with a_house(own_disk / "memd.db") as house:
        await stored(house, *(TEXT.format(number) for number in range(20)))
        assert await house.db.checkpoint()  # from here the log is written over
        make_room = fill(own_disk)
        await fill_up(house, set(), "The door is red. " * 4_000)
        await house.db.write(ADA, lambda conn: conn.execute("DELETE FROM memory WHERE 0"))
        (why,) = house.upkeep.why_degraded()
        assert why.startswith("the last write was refused: ")
        make_room()
        await stored(house, "The roof is grey.")
        assert house.upkeep.why_degraded() == []


async def test_a_full_disk_on_which_no_writer_can_be_opened_is_told_and_takes_writes_again(
    own_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_house(own_disk / "memd.db") as house:
        make_room = fill(own_disk)
        with monkeypatch.context() as patch:
            patch.setattr(caches, "ensure", no_room)  # as where a cache was not yet whole
            await fill_up(house, set(), "The door is red. " * 4_000)
            (why,) = house.upkeep.why_degraded()
            assert why.startswith("the last write was refused: the disk is full")
        make_room()
        await stored(house, "The roof is grey.")
        assert house.upkeep.why_degraded() == []


def no_room(_conn: Writing) -> None:
    raise apsw.FullError


async def test_eight_mebibytes_are_set_aside_for_the_day_on_which_the_disk_is_full(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path / "memd.db"):
        assert open_files.ballast_path(tmp_path / "memd.db").stat().st_size == 8 * 1_048_576


@pytest.mark.parametrize("size", [1, 16_384, 3_000_000])
def test_what_is_set_aside_is_as_large_as_it_should_be_and_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(open_files, "BALLAST_BYTES", size)
    path = open_files.ballast_path(tmp_path / "memd.db")
    for _ in range(2):
        assert open_files.reserve_ballast(tmp_path / "memd.db")
        assert path.stat().st_size == size
    assert open_files.release_ballast(tmp_path / "memd.db")
    assert not path.exists()
    assert not open_files.release_ballast(tmp_path / "memd.db")


async def test_a_store_in_a_read_only_folder_is_read_and_refuses_writes(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    async with a_house(folder / "memd.db") as house:
        kept = set(await stored(house, *(TEXT.format(number) for number in range(5))))
    with read_only(folder):
        async with a_house(folder / "memd.db") as house:
            assert house.db.read_only
            assert await visible(house) == kept
            assert await house.recall.retrieve(ADA, MemoryQuery(text="the keeper of Skagen"))
            with pytest.raises(ReadOnlyError):
                await stored(house, "no")
            assert not await house.db.recover()
            with pytest.raises(ReadOnlyError):
                await house.trash.forget(ADA, ids=list(kept))
    async with a_house(folder / "memd.db") as house:
        assert not house.db.read_only
        await stored(house, TEXT.format("again"))


async def test_a_read_only_file_that_is_empty_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    (folder / "memd.db").touch(0o600)
    with read_only(folder), pytest.raises(ReadOnlyError):
        async with a_house(folder / "memd.db"):
            pass
