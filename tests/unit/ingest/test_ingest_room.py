"""SPEC 1, D4, D5, D7 in process: the room, its queue and what stands in the file."""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.daemon import WAIT_S
from support.words_embedder import WordsEmbedder, a_house

from memd.backends.rooms import Rooms
from memd.base.errors import IngestionError, MemoryStoreError, SecretRefusedError
from memd.base.limits import WINDOW_TOKENS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, Origin
from memd.domain.ingest import IngestManyRequest, IngestRequest, Receipt
from memd.domain.memory import MemoryEntry, MemoryMetadata, MemoryStoreRequest, MemoryUpdate
from memd.domain.recall import RecallRequest
from memd.domain.settings.settings import Settings
from memd.domain.values import RESERVED_AGENT, EventName
from memd.store.file.connect import Reading

ADA = Caller(agent_id="ada")
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PLAIN = "we went home by the old road"


class PatientCounter:
    """Counts no text before the loop has turned once more: on the loop itself it never would."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.turns = 0

    def count(self, text: str) -> int:
        turned = threading.Event()
        self.loop.call_soon_threadsafe(turned.set)
        assert turned.wait(WAIT_S), "the loop waits for the counting"
        self.turns += 1
        return len(text) // 4


@pytest.fixture
def embedder() -> WordsEmbedder:
    return WordsEmbedder()


@pytest.fixture
async def house(tmp_path: Path, embedder: WordsEmbedder, clock: HeldClock) -> AsyncIterator[Rooms]:
    async with a_house(tmp_path, embedder=embedder, clock=clock) as house:
        yield house


async def ingest(house: Rooms, text: str, caller: Caller = ADA, **more: Any) -> Receipt:
    return await house.ingest.ingest(caller, IngestRequest(text=text, **more))


async def stream(house: Rooms, text: str, **more: Any) -> Receipt:
    """Let a text come that nobody tells on purpose: what the gate judges."""
    return await ingest(house, text, origin=Origin.ASSISTANT, project_id="mill", **more)


async def rows(house: Rooms, sql: str) -> list[tuple[Any, ...]]:
    def read(conn: Reading) -> list[tuple[Any, ...]]:
        return conn.execute(sql).fetchall()

    return await house.db.read(read)


async def preferred(house: Rooms) -> dict[str, str]:
    return {row.name: row.value for row in await house.recall.preferences(ADA)}


# Importance.


async def test_a_repetition_within_one_text_is_not_new_either(house: Rooms) -> None:
    paragraph = "we went home by the old road and it was long and dark and very cold indeed " * 3

    receipt = await ingest(house, f"{paragraph}\n\n{paragraph}")

    assert len(receipt.stored) == 1
    assert [item.id for item in receipt.merged] == [receipt.stored[0].id]


async def test_what_was_turned_away_does_not_move_what_is_new(house: Rooms) -> None:
    await stream(house, PLAIN, session_id="one")
    for number in range(5):
        await stream(house, PLAIN, session_id=f"again {number}")

    ((count,),) = await rows(house, "SELECT vectors FROM centroid")

    assert count == 1


async def test_the_speakers_name_alone_makes_nothing_old(house: Rooms) -> None:
    await ingest(house, "apples", speaker="Bartholomew")

    (item,) = (await ingest(house, "pears", speaker="Bartholomew")).stored

    assert item.importance == pytest.approx(0.6)


async def test_each_agent_has_a_novelty_of_its_own(house: Rooms) -> None:
    await ingest(house, PLAIN)

    (item,) = (await ingest(house, PLAIN, Caller(agent_id="bo"))).stored

    assert item.importance == pytest.approx(0.6)


@pytest.mark.parametrize(("more", "state"), [(0, "active"), (1, "pending")])
async def test_a_whole_text_is_embedded_at_once_up_to_eight_windows(
    house: Rooms, more: int, state: str
) -> None:
    text = "word " * 2_000
    text = text[: 4 * (8 * WINDOW_TOKENS_MAX + more)].ljust(4 * (8 * WINDOW_TOKENS_MAX + more), "x")
    request = MemoryStoreRequest(category=MemoryCategory.EPISODIC, content=text)

    entry = await house.recall.get(ADA, await house.ingest.store(ADA, request))

    assert entry is not None
    assert entry.state == state


async def test_an_event_names_a_hundred_memories_and_counts_all(tmp_path: Path) -> None:
    events: list[Any] = []
    many = IngestManyRequest(items=tuple(IngestRequest(text=f"word {n}") for n in range(101)))
    async with a_house(tmp_path, hear=lambda *event: events.append(event)) as house:
        await house.ingest.ingest_many(ADA, many)

    ((_, name, body),) = events
    assert name == EventName.STORED
    assert (len(body["ids"]), body["stored"]) == (100, 101)


async def test_without_a_model_everything_is_pending_and_nothing_is_lost(
    house: Rooms, embedder: WordsEmbedder
) -> None:
    embedder.installed = False
    (item,) = (await stream(house, PLAIN)).pending
    assert item.importance is None
    assert await house.queue.drain() == 0
    assert await house.recall.count(ADA, None) == 1

    embedder.installed = True
    assert await house.queue.drain() == 1

    entry = await house.recall.get(ADA, item.id)
    assert entry is not None
    assert entry.state == "active"
    assert entry.importance == pytest.approx(0.6)


async def test_a_model_that_fails_leaves_the_text_pending(
    house: Rooms, embedder: WordsEmbedder
) -> None:
    embedder.fails = True

    receipt = await ingest(house, PLAIN)

    assert len(receipt.pending) == 1
    assert receipt.stored == ()


async def test_what_was_pending_is_gated_when_its_vector_comes(
    house: Rooms, embedder: WordsEmbedder, clock: HeldClock
) -> None:
    await stream(house, PLAIN, session_id="one")
    clock.advance(seconds=1)
    embedder.installed = False
    (item,) = (await stream(house, PLAIN, session_id="two")).pending
    embedder.installed = True
    await house.queue.drain()

    entry = await house.recall.get(ADA, item.id)

    assert entry is not None
    assert entry.state == "archived"
    assert await rows(house, "SELECT reason FROM archive") == [("low_importance",)]


async def test_a_new_model_embeds_everything_anew_and_novelty_with_it(
    house: Rooms, embedder: WordsEmbedder
) -> None:
    await stream(house, PLAIN)
    embedder.name = "another"
    assert await house.queue.drain() == 1

    receipt = await stream(house, PLAIN, session_id="two")

    assert len(receipt.turned_away) == 1


# Preferences.


async def test_a_new_value_is_never_put_away(house: Rooms) -> None:
    """Its words are nearly those of the old one, so its importance is low."""
    await ingest(house, "my favourite thing to eat after work is plain rice")

    receipt = await ingest(house, "my favourite thing to eat after work is fried rice")

    assert len(receipt.stored) == 1
    assert "my favourite thing to eat after work is fried rice" in (await preferred(house)).values()


async def test_a_preference_told_again_moves_its_row_to_the_newest_memory(
    house: Rooms, clock: HeldClock
) -> None:
    await ingest(house, "i prefer tea", session_id="one")
    (before,) = await house.recall.preferences(ADA)
    clock.advance(hours=1)

    receipt = await ingest(house, "i prefer tea", session_id="two")

    (after,) = await house.recall.preferences(ADA)
    assert after.memory_id == receipt.stored[0].id
    assert after.updated_at == before.updated_at + timedelta(hours=1)


async def test_a_preference_told_again_without_a_model_is_not_lost_later(
    house: Rooms, embedder: WordsEmbedder
) -> None:
    await ingest(house, "i prefer tea", session_id="one")
    embedder.installed = False
    await ingest(house, "i prefer tea", session_id="two")
    embedder.installed = True

    await house.queue.drain()

    assert list((await preferred(house)).values()) == ["i prefer tea"]


async def test_a_first_preference_without_a_model_is_not_put_away_later(
    house: Rooms, embedder: WordsEmbedder
) -> None:
    await ingest(house, "i prefer prefer prefer tea i i i", category=MemoryCategory.EPISODIC)
    embedder.installed = False
    await ingest(house, "i prefer prefer prefer tea i i i")
    embedder.installed = True

    await house.queue.drain()

    assert len(await preferred(house)) == 1


# What is written beside the memory.


async def test_the_text_as_it_came_is_kept_when_cleaning_changed_it(house: Rooms) -> None:
    text = "  one line\r\n\r\n\r\nanother line  "
    await ingest(house, text)
    await ingest(house, "a clean line")

    sources = await rows(house, "SELECT zlib FROM source")

    assert [zlib.decompress(raw).decode() for (raw,) in sources] == [text]


async def test_session_counters_move(house: Rooms, clock: HeldClock) -> None:
    await ingest(house, PLAIN, session_id="s")
    clock.advance(minutes=5)
    await ingest(house, "something else entirely", session_id="s")
    await ingest(house, "no session at all")

    rows_found = await rows(
        house,
        "SELECT session_id, memory_count, token_count, last_activity_us - started_at_us"
        " FROM session",
    )

    tokens = len(PLAIN) // 4 + len("something else entirely") // 4
    assert rows_found == [("s", 2, tokens, 300_000_000)]


async def test_the_same_session_id_of_another_agent_is_another_session(house: Rooms) -> None:
    await ingest(house, PLAIN, session_id="s")
    await ingest(house, PLAIN, Caller(agent_id="bo"), session_id="s")

    assert await rows(house, "SELECT memory_count FROM session") == [(1,), (1,)]


async def test_texts_of_a_session_are_numbered_unless_they_say_their_place(house: Rooms) -> None:
    for order, text in [(None, "first"), (None, "second"), (7, "seventh"), (None, "eighth")]:
        await ingest(house, text, session_id="s", order=order)

    rows_found = await rows(house, "SELECT content, ordinal FROM memory ORDER BY memory_key")

    assert rows_found == [("first", 0), ("second", 1), ("seventh", 7), ("eighth", 8)]


# Refusals.


async def test_a_secret_can_be_refused_everywhere(tmp_path: Path) -> None:
    settings = Settings.model_validate({"daemon": {"secrets": "refuse"}})
    text = f"the key is {KEY}"
    async with a_house(tmp_path, settings=settings) as house:
        memory_id = await house.ingest.store(
            ADA, MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content="harmless")
        )
        before = await rows(house, "SELECT count(*) FROM change")
        refused = (
            (ingest(house, text), "text"),
            (ingest(house, "x", caption=text), "text"),
            (
                house.ingest.ingest_many(ADA, IngestManyRequest(items=(IngestRequest(text=text),))),
                "items.0.text",
            ),
            (
                house.ingest.store(
                    ADA, MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=text)
                ),
                "content",
            ),
            (house.ingest.update(ADA, memory_id, MemoryUpdate(content=text)), "content"),
            (house.preferences.set(ADA, "key", text), "value"),
        )
        for call, field in refused:
            with pytest.raises(SecretRefusedError) as caught:
                await call
            assert caught.value.field == field
            assert KEY not in caught.value.message
        assert await rows(house, "SELECT count(*) FROM change") == before


async def test_a_reserved_agent_stores_nothing(house: Rooms) -> None:
    with pytest.raises(MemoryStoreError):
        await ingest(house, PLAIN, Caller(agent_id=RESERVED_AGENT))


async def test_a_blank_text_in_process_is_an_ingestion_error(house: Rooms) -> None:
    blank = IngestRequest(text="x").model_copy(update={"text": "\n \n"})

    with pytest.raises(IngestionError):
        await house.ingest.ingest(ADA, blank)


async def test_an_update_keeps_the_text_as_it_is_and_drops_double_tags(house: Rooms) -> None:
    (item,) = (await ingest(house, PLAIN)).stored
    metadata = MemoryMetadata(tags=("a", "b"))

    entry = await house.ingest.update(
        ADA, item.id, MemoryUpdate(content="  as it is\r\n", metadata=metadata)
    )

    assert entry.content == "  as it is\r\n"
    assert entry.metadata.tags == ("a", "b")
    assert entry.state == "pending"
    await house.queue.drain()
    answer = await house.recall.recall(ADA, RecallRequest(query="as it is", search_mode="dense"))
    assert [memory.content for memory in answer.memories] == ["  as it is\r\n"]


EARLIER, LATER = datetime(2020, 5, 6, tzinfo=UTC), datetime(2040, 1, 2, tzinfo=UTC)
MADE_ANEW = {"metadata", "updated_at", "state", "token_count"}
"""Fields of an entry that a new text changes as well, or that are compared one by one."""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"metadata": {"tags": ["b"]}}, {"tags": ("b",)}),
        ({"metadata": {"tags": []}}, {"tags": ()}),
        ({"metadata": {"source": "road.md"}}, {"source": "road.md"}),
        ({"metadata": {"source": None}}, {"source": None}),
        ({"metadata": {"confidence": 0.9}}, {"confidence": 0.9}),
        ({"metadata": {}}, {}),
        ({"expires_at": LATER}, {"expires_at": LATER}),
        ({"content": "I prefer buses.", "origin": "person"}, {"content": "I prefer buses."}),
    ],
)
async def test_an_update_changes_what_it_names_and_nothing_else(
    house: Rooms, changes: dict[str, Any], expected: dict[str, Any]
) -> None:
    def fields(entry: MemoryEntry) -> dict[str, Any]:
        return {**entry.model_dump(exclude=MADE_ANEW), **entry.metadata.model_dump()}

    described: dict[str, Any] = {"source": "mill.md", "tags": ("a",), "confidence": 0.4}
    receipt = await ingest(house, "I prefer trains.", occurred_at=EARLIER, **described)
    (item,) = receipt.stored
    before = await house.recall.get(ADA, item.id)
    assert before is not None
    preferences = await preferred(house)

    entry = await house.ingest.update(ADA, item.id, MemoryUpdate.model_validate(changes))

    assert fields(entry) == {**fields(before), **expected}
    if "content" not in changes:
        assert (entry.state, entry.token_count) == (before.state, before.token_count)
        assert await preferred(house) == preferences != {}


# Stored once.


ONE = MemoryStoreRequest(
    category=MemoryCategory.SEMANTIC,
    content=PLAIN,
    metadata=MemoryMetadata(tags=("road", "home")),
    project_id="mill",
)


async def test_a_text_that_many_store_at_once_is_one_memory(house: Rooms) -> None:
    stores = (house.ingest.store(ADA, ONE, merge=True) for _ in range(8))
    assert len({*await asyncio.gather(*stores)}) == 1
    assert await rows(house, "SELECT count(*) FROM memory") == [(1,)]


async def test_only_what_is_filed_alike_is_merged(house: Rooms) -> None:
    first = await house.ingest.store(ADA, ONE)
    alike = ONE.model_copy(update={"metadata": MemoryMetadata(tags=("home",))})
    assert await house.ingest.store(ADA, alike, merge=True) == first
    other: list[dict[str, Any]] = [
        {"metadata": MemoryMetadata(tags=("home", "river"))},
        {"project_id": None},
        {"session_id": "one"},
        {"speaker": "Ann"},
        {"namespace": "else"},
        {"category": MemoryCategory.EPISODIC},
    ]
    requests = [ONE.model_copy(update=fields) for fields in other]
    ids = {await house.ingest.store(ADA, request, merge=True) for request in requests}
    assert len(ids - {first}) == len(other)
    await house.trash.delete(ADA, first)
    assert await house.ingest.store(ADA, ONE, merge=True) not in {first, *ids}


async def test_the_loop_goes_on_while_a_long_text_is_cut(house: Rooms) -> None:
    text = "word " * 100_000
    store = MemoryStoreRequest(category=MemoryCategory.EPISODIC, content=text)
    many = IngestManyRequest(items=tuple(IngestRequest(text=f"word {n}") for n in range(100)))
    counter = PatientCounter(asyncio.get_running_loop())
    room = replace(house.ingest, counter=counter)

    await room.ingest(ADA, IngestRequest(text=text))
    assert counter.turns > 100
    counter.turns = 0
    await room.store(ADA, store)
    assert counter.turns
    counter.turns = 0
    await room.ingest_many(ADA, many)
    assert counter.turns >= 100
