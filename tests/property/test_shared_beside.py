"""What is shared stands beside one's own memories and changes nothing among them (SPEC 10.1)."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from support.gate import drawn
from support.store import ADA, BOB, a_house, stored

from memd.domain.memory import MemoryQuery, MemoryStoreRequest
from memd.domain.recall import RecallRequest, RecallResult

TEXTS = st.lists(
    st.lists(
        st.sampled_from(["bees", "wasps", "honey", "garden", "winter", "night"]),
        min_size=1,
        max_size=5,
    ).map(" ".join),
    max_size=6,
)


async def _recalls(
    own: list[str], mine: list[str], others: list[str], query: str
) -> tuple[RecallResult, RecallResult]:
    """Return what Bob is told without and with what is shared."""
    with tempfile.TemporaryDirectory() as folder:
        async with a_house(Path(folder) / "memd.db") as house:
            await stored(house, *own, caller=BOB)
            for caller, texts in ((BOB, mine), (ADA, others)):
                for text in texts:
                    request = MemoryStoreRequest(category="semantic", content=text)
                    await house.sharing.publish(caller, request)
            alone, beside = [
                await house.recall.recall(
                    BOB, RecallRequest(query=query, top_k=50, include_shared=shared, why=True)
                )
                for shared in (False, True)
            ]
            listed = await house.recall.retrieve(BOB, MemoryQuery(limit=100, include_shared=True))
            assert len(listed) == len(own) + len(others)
            return alone, beside


@drawn(gate=8, long=25)
@given(own=TEXTS)
def test_copies_of_ones_own_memories_change_no_answer(own: list[str]) -> None:
    alone, beside = asyncio.run(_recalls(own, own, [], "where are the bees in winter"))
    assert beside == alone


@drawn(gate=8, long=25)
@given(own=TEXTS, others=TEXTS)
@example(own=["bees", "garden winter", "bees bees honey"], others=["bees", "bees winter"])
def test_ones_own_memories_keep_their_order_among_what_others_share(
    own: list[str], others: list[str]
) -> None:
    alone, beside = asyncio.run(_recalls(own, [], others, "where are the bees in winter"))
    mine = [memory.id for memory in beside.memories if not memory.is_shared]
    if alone.memories and beside.memories:
        assert mine == [memory.id for memory in alone.memories]
