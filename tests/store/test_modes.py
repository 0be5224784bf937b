"""Store files whose modes exclude their owner: read, repaired, or refused with a message."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.limited_disks import kept_out, read_only
from support.store import a_house, stored, visible

from memd.base.errors import ReadOnlyError

TEXT = "Note {}: the lighthouse keeper of Skagen writes every storm into his blue book."


@pytest.fixture(autouse=True)
def as_anybody() -> Iterator[None]:
    with kept_out():
        yield


@pytest.fixture(params=["closed", "killed"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, set[str]]:
    """Return a folder with a store that was closed, or whose daemon was killed, and its texts."""
    first = tmp_path / "first"
    first.mkdir()
    async with a_house(first / "memd.db") as house:
        await stored(house, TEXT.format(0))
        if request.param == "killed":
            await stored(house, TEXT.format(1))
            kept = await visible(house)
            shutil.copytree(first, tmp_path / "store")
        else:
            kept = await visible(house)
    if request.param == "closed":
        shutil.copytree(first, tmp_path / "store")
    names = {path.name for path in (tmp_path / "store").iterdir()}
    assert ("memd.db-wal" in names) is (request.param == "killed")
    return tmp_path / "store", kept


def mode(folder: Path, number: int, *endings: str) -> None:
    for ending in endings:
        path = folder / f"memd.db{ending}"
        if ending == "-shm" and not path.exists():
            path.touch()
        if path.exists():
            path.chmod(number)


async def reads_only(folder: Path, kept: set[str]) -> None:
    async with a_house(folder / "memd.db") as house:
        assert house.db.read_only
        assert await visible(house) == kept
        with pytest.raises(ReadOnlyError):
            await stored(house, TEXT.format("no"))


async def writes(folder: Path, kept: set[str]) -> None:
    async with a_house(folder / "memd.db") as house:
        assert not house.db.read_only
        more = await stored(house, TEXT.format("again"))
        assert await visible(house) == {*kept, *more}


async def test_a_file_that_may_only_be_read_is_served_and_later_written_again(
    store: tuple[Path, set[str]],
) -> None:
    folder, kept = store
    mode(folder, 0o400, "")
    for _ in range(2):
        await reads_only(folder, kept)
    mode(folder, 0o600, "")
    await writes(folder, kept)


@pytest.mark.parametrize("endings", [("-shm",), ("-wal",), ("-shm", "-wal")])
async def test_what_lies_beside_a_file_of_ours_gets_its_mode_back(
    store: tuple[Path, set[str]], endings: tuple[str, ...]
) -> None:
    folder, kept = store
    mode(folder, 0o400, *endings)
    await writes(folder, kept)


async def test_a_file_and_what_lies_beside_it_that_may_only_be_read_are_served(
    store: tuple[Path, set[str]],
) -> None:
    folder, kept = store
    mode(folder, 0o400, "", "-shm", "-wal")
    await reads_only(folder, kept)
    mode(folder, 0o600, "")
    await writes(folder, kept)


async def test_a_folder_that_may_only_be_read_is_served(store: tuple[Path, set[str]]) -> None:
    folder, kept = store
    mode(folder, 0o400, *(path.name.removeprefix("memd.db") for path in folder.glob("memd.db*")))
    folder.chmod(0o500)
    try:
        await reads_only(folder, kept)
    finally:
        folder.chmod(0o700)


async def test_a_disk_that_may_only_be_read_is_served(store: tuple[Path, set[str]]) -> None:
    folder, kept = store
    with read_only(folder):
        await reads_only(folder, kept)
    await writes(folder, kept)


async def test_a_log_that_nobody_can_read_without_its_index_is_refused_in_words(
    store: tuple[Path, set[str]],
) -> None:
    """Nothing that was acknowledged is passed over."""
    folder, kept = store
    if not (folder / "memd.db-wal").exists():
        pytest.skip("a store that was closed has no log")
    (folder / "memd.db-shm").unlink()
    with read_only(folder), pytest.raises(ReadOnlyError, match=r"was not closed, and .*memd\.db "):
        await reads_only(folder, kept)
    await writes(folder, kept)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("ending", ["-shm", "-wal"])
async def test_a_file_of_somebody_else_s_beside_it_is_named(
    store: tuple[Path, set[str]], ending: str
) -> None:
    """It is not taken away: its owner may be at work."""
    folder, _ = store
    path = folder / f"memd.db{ending}"
    path.touch()
    path.chmod(0o600)
    os.chown(path, 65534, 65534)
    with pytest.raises(ReadOnlyError, match=f"memd.db{ending}"):
        async with a_house(folder / "memd.db") as house:
            await stored(house, TEXT.format("no"))
    assert path.exists()
