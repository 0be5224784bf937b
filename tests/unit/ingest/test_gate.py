"""SPEC 1.6, D4: the gate of importance judges streams, and names what it turns away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.words_embedder import WordsEmbedder, a_house

from memd.backends.rooms import Rooms
from memd.base.errors import UnavailableError
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, Origin
from memd.domain.ingest import IngestManyRequest, IngestRequest, Receipt
from memd.domain.memory import MemoryStoreRequest
from memd.domain.values import EventName
from memd.ingest import queue as queue_module

ADA = Caller(agent_id="ada")
PLAIN = "we went home by the old road"


def shaped(count: int) -> str:
    """Return *count* paragraphs of one shape: each shares nearly all of its words with the rest."""
    line = (
        "the {n} sensor in the cellar of the old mill was read by the miller this morning and "
        "the value that it showed was close to the value of the day before, which is what the "
        "miller had expected after such a long and dry and warm summer without much of a storm"
    )
    return "\n\n".join(line.format(n="x" * (n + 1)) for n in range(count))


async def tell(house: Rooms, text: str, **more: Any) -> Receipt:
    return await house.ingest.ingest(ADA, IngestRequest(text=text, **more))


async def streamed(house: Rooms, text: str, **more: Any) -> Receipt:
    return await tell(house, text, origin=Origin.ASSISTANT, project_id="mill", **more)


async def archived(house: Rooms) -> int:
    return await house.archive.count(ADA)


class StopsEmbedder(WordsEmbedder):
    """Embeds so many batches, then is gone."""

    def __init__(self, batches: int) -> None:
        super().__init__()
        self.batches = batches

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        if bulk and self.batches == 0:
            raise UnavailableError("planted")
        self.batches -= bulk
        return await super().embed(texts, bulk=bulk)


async def test_all_chunks_of_a_new_agents_first_text_are_new(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        receipt = await streamed(house, shaped(4))

        assert [item.importance for item in receipt.stored] == [pytest.approx(0.6)] * 4
        assert receipt.turned_away == ()


async def test_twelve_paragraphs_of_one_shape_stay_visible(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        assert len((await streamed(house, shaped(12))).pending) == 12

        await house.queue.drain()

        assert await house.recall.count(ADA, None) == 12
        assert await archived(house) == 0


async def test_a_restart_between_two_steps_makes_no_chunk_old_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_module, "SWEEP_ROWS", 4)
    async with a_house(tmp_path, embedder=StopsEmbedder(1)) as house:
        await streamed(house, shaped(12))
        with pytest.raises(UnavailableError):
            await house.queue.drain()
    async with a_house(tmp_path) as house:
        await house.queue.drain()

        assert await house.recall.count(ADA, None) == 12
        assert await archived(house) == 0


async def test_a_later_call_is_compared_with_the_one_before(tmp_path: Path) -> None:
    clock = HeldClock()
    async with a_house(tmp_path, clock=clock) as house:
        await streamed(house, shaped(12))
        await house.queue.drain()
        clock.advance(seconds=1)
        await streamed(house, shaped(12), session_id="again")
        await house.queue.drain()

        assert await archived(house) == 12


async def test_what_is_handed_over_on_purpose_is_never_turned_away(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        await streamed(house, PLAIN, session_id="one")

        meant: tuple[dict[str, Any], ...] = (
            {},
            {"speaker": "user"},
            {"speaker": "Ann", "origin": Origin.PERSON},
            {"origin": Origin.IMPORT},
            {"origin": Origin.TOOL, "deliberate": True},
        )
        for number, more in enumerate(meant):
            receipt = await tell(house, PLAIN, session_id=f"own {number}", **more)
            assert len(receipt.stored) == 1, more

        assert await archived(house) == 0


async def test_what_is_imported_in_bulk_is_never_turned_away_later(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        items = tuple(
            IngestRequest(text=PLAIN, source=f"notes#{n}", origin=origin, deliberate=True)
            for n, origin in enumerate((Origin.IMPORT, Origin.ASSISTANT, Origin.TOOL) * 4)
        )
        await house.ingest.ingest_many(ADA, IngestManyRequest(items=items))
        await house.queue.drain()

        assert await house.recall.count(ADA, None) == 12
        assert await archived(house) == 0


async def test_telling_on_purpose_what_was_turned_away_brings_it_back(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        await streamed(house, PLAIN, session_id="one")
        (item,) = (await streamed(house, PLAIN, session_id="two")).turned_away

        receipt = await tell(house, PLAIN, session_id="two")

        assert [merged.id for merged in receipt.merged] == [item.id]
        assert await archived(house) == 0
        entry = await house.recall.get(ADA, item.id)
        assert entry is not None
        assert entry.state == "active"


async def test_telling_on_purpose_what_is_still_to_be_judged_settles_it(tmp_path: Path) -> None:
    embedder, clock = WordsEmbedder(), HeldClock()
    async with a_house(tmp_path, embedder=embedder, clock=clock) as house:
        await streamed(house, PLAIN, session_id="one")
        clock.advance(seconds=1)
        embedder.installed = False
        await streamed(house, PLAIN, session_id="two")
        await tell(house, PLAIN, session_id="two")
        embedder.installed = True
        await house.queue.drain()

        assert await archived(house) == 0
        assert await house.recall.count(ADA, None) == 2


async def test_whoever_listens_hears_what_was_turned_away_at_once_and_later(tmp_path: Path) -> None:
    events: list[Mapping[str, Any]] = []
    embedder, clock = WordsEmbedder(), HeldClock()

    def hear(agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
        if name is EventName.TURNED_AWAY:
            events.append({"agent_id": agent_id, **body})

    async with a_house(tmp_path, embedder=embedder, clock=clock, hear=hear) as house:
        await streamed(house, PLAIN, session_id="one")
        (now,) = (await streamed(house, PLAIN, session_id="two")).turned_away
        clock.advance(seconds=1)
        embedder.installed = False
        (later,) = (await streamed(house, PLAIN, session_id="three")).pending
        embedder.installed = True
        await house.queue.drain()

    assert events == [
        {"agent_id": "ada", "ids": [now.id], "turned_away": 1},
        {"agent_id": "ada", "ids": [later.id], "turned_away": 1},
    ]


async def test_the_embedding_of_a_stored_text_turns_nothing_away(tmp_path: Path) -> None:
    embedder = WordsEmbedder()
    async with a_house(tmp_path, embedder=embedder) as house:
        await streamed(house, PLAIN)
        embedder.installed = False
        for _ in range(2):
            request = MemoryStoreRequest(category=MemoryCategory.EPISODIC, content=PLAIN)
            await house.ingest.store(ADA, request)
        embedder.installed = True
        await house.queue.drain()

        assert await house.recall.count(ADA, None) == 3
