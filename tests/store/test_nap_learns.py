"""A nap stores only new facts, with the time they were said, and loads the model only for those."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.fakes import HashEmbedder
from support.store import ADA, a_house

from memd.backends.assembly import Assembly
from memd.base.clock import to_us
from memd.domain.settings.settings import Settings
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.transaction import NapRequest

TALK: list[dict[str, Any]] = [
    {"role": "assistant", "content": f"And so we go on, at some length, with number {n} of many."}
    for n in range(9)
]
FACT = {"role": "user", "content": "use tabs"}


class Cold(HashEmbedder):
    """A model that no text has loaded yet."""

    @property
    def loaded(self) -> bool:
        return bool(self.texts)


async def napped(house: Assembly, folder: Path, *messages: dict[str, Any]) -> tuple[int, int]:
    nap = Naps(house, Settings(), folder).nap
    made = await nap.nap(ADA, NapRequest(messages=[*messages, *TALK], session_id="s"))
    return made.stored, made.merged


async def test_a_nap_that_learns_nothing_loads_no_model(tmp_path: Path) -> None:
    embedder = Cold()
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        working = asyncio.create_task(house.queue.run())
        await house.queue.settle()

        assert await napped(house, tmp_path) == (0, 0)
        await house.queue.settle()
        assert embedder.texts == []

        assert await napped(house, tmp_path, FACT) == (1, 0)
        await house.queue.settle()
        assert embedder.loaded
        embedder.texts.clear()

        assert await napped(house, tmp_path, FACT) == (0, 1)
        await house.queue.settle()
        assert embedder.texts == []
        working.cancel()


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("2026-03-16T08:00:00+01:00", datetime(2026, 3, 16, 7, tzinfo=UTC)),
        ("2026-03-18T11:00:00Z", datetime(2026, 3, 18, 11, tzinfo=UTC)),  # its clock is ahead
        ("2026-03-18T13:00:00Z", None),
        ("2031-01-01T00:00:00Z", None),
        ("2026-03-16T08:00:00", None),
        ("yesterday", None),
    ],
)
async def test_a_fact_has_the_time_at_which_it_was_said_if_that_can_be(
    tmp_path: Path, said: str, stored: datetime | None
) -> None:
    async with a_house(tmp_path / "memd.db", HeldClock()) as house:
        await napped(house, tmp_path, {**FACT, "timestamp": said})
        at_us = await house.db.read(
            lambda conn: conn.execute("SELECT occurred_at_us FROM memory").get
        )
        assert at_us == (None if stored is None else to_us(stored))
