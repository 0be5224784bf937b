"""The rooms over a new store, for a test that opens no other, and what they are opened with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.fakes import HashEmbedder
from support.gated_rooms import Desk, a_desk
from support.limited_disks import small_disk
from support.nights import Bed, a_bed
from support.sample_records import some_records
from support.store import a_house

from memd.backends.rooms import Rooms
from memd.records.records import Records
from memd.store.file import connect, database


@pytest.fixture
def embedder() -> HashEmbedder:
    """Return the model of the rooms."""
    return HashEmbedder()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the file of a store lies."""
    return tmp_path / "memd.db"


@pytest.fixture
def own_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder that is a disk of its own, of 24 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder):
        yield folder


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a write wait for the lock of another program for a moment only."""
    monkeypatch.setattr(connect, "BUSY_MS_MAX", 30)
    monkeypatch.setattr(database, "BUSY_MS_MAX", 30)


@pytest.fixture
async def house(path: Path, clock: HeldClock, embedder: HashEmbedder) -> AsyncIterator[Rooms]:
    """Yield the rooms over a new file."""
    async with a_house(path, clock, embedder) as house:
        yield house


@pytest.fixture
async def bed(tmp_path: Path, clock: HeldClock, embedder: HashEmbedder) -> AsyncIterator[Bed]:
    """Yield rooms with nights that the test begins."""
    async with a_bed(tmp_path, clock, embedder) as bed:
        yield bed


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Yield rooms that answer requests."""
    async with a_desk(tmp_path) as desk:
        yield desk


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[Records]:
    """Yield the records of a new file."""
    async with some_records(tmp_path) as records:
        yield records
