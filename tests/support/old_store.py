"""A store with many old memories, for a daemon that starts today."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from support.clocks import HeldClock
from support.fakes import HashEmbedder
from support.words_embedder import a_house

from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryStoreRequest

ROOMS = ("cellar", "kitchen", "attic", "garden", "workshop", "garage")


async def fill(paths: Paths, *, sessions: int = 3, each: int = 6, days: float = 120.0) -> None:
    """Store *each* memories in each of *sessions*, *days* ago, under agent ``default``."""
    paths.database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    assert paths.database.name == "memd.db"
    clock = HeldClock(datetime.now(UTC) - timedelta(days=days))
    async with a_house(paths.database.parent, embedder=HashEmbedder(), clock=clock) as house:
        for session in range(sessions):
            for number in range(each):
                clock.advance(minutes=1)
                what = f"On day {session} the {ROOMS[number % 6]} got lamp number {number}."
                request = MemoryStoreRequest(
                    category=MemoryCategory.EPISODIC, content=what, session_id=f"s{session}"
                )
                await house.ingest.store(Caller(method="test"), request)
        await house.queue.drain()
