"""Backups are complete or absent, and forgetting names every one of them."""

from __future__ import annotations

import asyncio
import fcntl
from pathlib import Path

import pytest
from support.daemon import until
from support.store import ADA, a_house, stored

from memd.backends.rooms import Rooms, UpkeepLoop
from memd.base.errors import DamagedError
from memd.domain.values import unheard
from memd.store.file import backup

WORD = "Xylophanes"  # occurs nowhere else


async def test_forgetting_names_the_backups_that_still_hold_it(house: Rooms) -> None:
    (secret,) = await stored(house, WORD)
    saved = await house.upkeep.backup(ADA)
    assert (await house.trash.forget(ADA, ids=[secret])).backups == (saved,)
    assert WORD.encode() in Path(saved).read_bytes()


async def test_forgetting_names_the_backups_elsewhere_until_they_are_removed(
    tmp_path: Path,
) -> None:
    (tmp_path / "home").mkdir()
    disk = tmp_path / "disk"
    async with a_house(tmp_path / "home" / "memd.db") as house:
        ids = await stored(house, WORD, "Ann keeps bees.", "Bob sails.", "Cid repairs clocks.")
        saved = [await house.upkeep.backup(ADA, str(disk / name)) for name in ("one.db", "two.db")]
        assert (await house.trash.forget(ADA, ids=ids[:1])).backups == tuple(saved)
        Path(saved[0]).unlink()
        assert (await house.trash.forget(ADA, ids=ids[1:2])).backups == (saved[1],)
        disk.rename(tmp_path / "unplugged")  # it may still be on a disk that is not there
        assert (await house.trash.forget(ADA, ids=ids[2:3])).backups == tuple(saved)
        (tmp_path / "unplugged").rename(disk)
        await house.upkeep.backup(ADA, str(disk / "three.db"))  # what is gone is not kept noted
        assert list(await house.db.read(backup.list_recorded)) == [
            disk / "two.db",
            disk / "three.db",
        ]


@pytest.mark.parametrize("place", ["home", "disk"])
async def test_what_a_killed_backup_left_is_named_and_removed_at_the_next_start(
    tmp_path: Path, place: str
) -> None:
    path = tmp_path / "home" / "memd.db"
    path.parent.mkdir()
    target = str(tmp_path / "disk" / "copy.db") if place == "disk" else None
    async with a_house(path) as house:
        ids = await stored(house, WORD, "Ann keeps bees.")
        saved = Path(await house.upkeep.backup(ADA, target))
        half = backup.partial_path(saved)
        saved.rename(half)  # as a kill leaves it
        assert (await house.trash.forget(ADA, ids=ids[:1])).backups == (str(half),)
    async with a_house(path) as house:
        rhythm = asyncio.create_task(UpkeepLoop(house.db, house.upkeep, house.due, unheard).run())
        await until(lambda: not half.exists(), "it is removed")
        rhythm.cancel()
        assert (await house.trash.forget(ADA, ids=ids[1:])).backups == ()


def test_a_backup_that_is_being_written_is_not_swept_away(tmp_path: Path) -> None:
    half = backup.partial_path(tmp_path / "copy.db")
    (tmp_path / f"{half.name}-journal").touch()  # SQLite keeps one beside it
    with half.open("wb") as writing:
        fcntl.flock(writing, fcntl.LOCK_EX)
        backup.sweep([tmp_path])
        assert half.exists()
    backup.sweep([tmp_path])
    assert list(tmp_path.iterdir()) == []


async def test_a_backup_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(_path: Path) -> None:
        raise DamagedError("the copy does not check")

    monkeypatch.setattr(backup, "_verify", damaged)
    async with a_house(tmp_path / "memd.db") as house:
        await stored(house, "keepsake")
        with pytest.raises(DamagedError):
            await house.upkeep.backup(ADA)
        assert not list(tmp_path.glob(".*"))


async def test_a_copy_beside_a_daemon_tells_how_far_it_is_and_stops_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_PROGRESS_STEPS", 20)
    shares_told: list[tuple[int, int]] = []
    target = tmp_path / "disk" / "copy.db"

    def interrupted(done: int, total: int) -> None:
        shares_told.append((done, total))
        if len(shares_told) == 3:
            raise KeyboardInterrupt

    async with a_house(tmp_path / "memd.db") as house:
        await stored(house, WORD, "Ann keeps bees.")
        with pytest.raises(KeyboardInterrupt):
            backup.make_from_outside(house.db.path, target, interrupted)
        assert list(target.parent.iterdir()) == []
        shares_told.clear()
        backup.make_from_outside(house.db.path, target, lambda *shares: shares_told.append(shares))
        assert shares_told
        assert {total for _, total in shares_told} == {shares_told[0][1]}
        await stored(house, "Written meanwhile and after.")
        assert WORD.encode() in target.read_bytes()
        assert target.stat().st_mode & 0o777 == 0o600
