"""The rooms over a new store, for a test that opens no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.nights import Bed, a_bed
from support.rooms import Desk, a_desk
from support.store import a_house

from memd.backends.rooms import Rooms


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Rooms]:
    """Yield the rooms over a new file."""
    async with a_house(tmp_path / "memd.db") as house:
        yield house


@pytest.fixture
async def bed(tmp_path: Path) -> AsyncIterator[Bed]:
    """Yield rooms with a clock that the test moves and nights that it begins."""
    async with a_bed(tmp_path) as bed:
        yield bed


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Yield rooms that answer requests."""
    async with a_desk(tmp_path) as desk:
        yield desk
