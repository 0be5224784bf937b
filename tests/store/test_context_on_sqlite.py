"""SPEC 8.4.9, 9: the documented strategy over the documented backend, on a real file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from support.fakes import HashEmbedder
from support.store import ADA

from memd.api import (
    CompanyMemoryConfig,
    ContextInjectionStrategy,
    MemoryBackend,
    MemoryCategory,
    MemoryConnectionError,
    MemoryQuery,
    MemoryRetrievalConfig,
    MemoryStorageConfig,
    MemoryStoreRequest,
    retrieve_sparse,
)
from memd.backends.rooms import Rooms
from memd.backends.sqlite import SqliteBackend, create
from memd.domain.memory import MemoryUpdate
from memd.inject.own_memories import MemoryRooms, OwnMemories

TEXTS = ("The nginx port is 8080.", "The port of the harbour is deep.", "Ada likes green tea.")


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    storage = MemoryStorageConfig(data_dir=str(tmp_path / "memories"))
    backend = create(
        CompanyMemoryConfig(level="persistent", storage=storage), embedder=HashEmbedder()
    )
    await backend.connect()
    for text in TEXTS:
        await backend.store("ada", a_semantic(text))
    yield backend
    await backend.disconnect()


def a_semantic(content: str) -> MemoryStoreRequest:
    return MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=content)


async def test_a_sparse_search_finds_what_holds_the_words_and_nothing_else(
    backend: SqliteBackend,
) -> None:
    entries = await retrieve_sparse(backend, "ada", MemoryQuery(text="nginx port"))

    assert [entry.content for entry in entries] == list(TEXTS[:2])
    assert all(0 < (entry.relevance_score or 0) <= 1 for entry in entries)
    for nothing in (
        MemoryQuery(text="cello"),
        MemoryQuery(),
        MemoryQuery(text="nginx", categories=frozenset({MemoryCategory.SOCIAL})),
    ):
        assert await backend.retrieve_sparse("ada", nothing) == ()
    assert await backend.retrieve_sparse("bob", MemoryQuery(text="nginx")) == ()
    assert len(await backend.retrieve_sparse("ada", MemoryQuery(text="port", limit=1))) == 1


async def test_a_sparse_search_needs_a_connection(backend: SqliteBackend) -> None:
    await backend.disconnect()

    with pytest.raises(MemoryConnectionError):
        await backend.retrieve_sparse("ada", MemoryQuery(text="nginx"))


@pytest.mark.parametrize("fusion", ["linear", "rrf"])
async def test_both_pipelines_put_own_and_shared_memories_into_messages(
    backend: SqliteBackend, fusion: str
) -> None:
    await backend.publish("bob", a_semantic("The nginx port of the mirror is 81."))
    await backend.publish("ada", a_semantic("The nginx port is everybody's."))
    strategy = ContextInjectionStrategy(
        backend=backend,
        # What only one list holds is far down in a fused one, so there the bound is open.
        config=MemoryRetrievalConfig.model_validate(
            {"fusion_strategy": fusion, "min_relevance": 0.0}
        ),
        shared_store=backend,
    )

    directive, memories = await strategy.prepare_messages("ada", "the nginx port", 2000)

    assert "<memory-entry>" in directive.content
    assert "] The nginx port is 8080." in memories.content
    assert "[shared] [semantic | score: " in memories.content
    assert "of the mirror" in memories.content
    assert "everybody's" not in memories.content


async def test_a_backend_that_is_not_connected_gives_no_messages(backend: SqliteBackend) -> None:
    strategy = ContextInjectionStrategy(backend=backend, config=MemoryRetrievalConfig())
    await backend.disconnect()

    assert await strategy.prepare_messages("ada", "the nginx port", 2000) == ()


async def test_what_a_session_did_is_noted_when_the_backend_closes(
    backend: SqliteBackend, tmp_path: Path
) -> None:
    await backend.rooms.sessions.start(ADA, "s")
    await backend.rooms.sessions.end(ADA, "s")
    await backend.disconnect()
    with closing(apsw.Connection(str(next(tmp_path.rglob("memd*.db"))))) as conn:
        rows = conn.execute("SELECT event_type FROM record_lifecycle_events").fetchall()
    assert {event for (event,) in rows} == {"session_started", "session_ended"}


async def test_own_memories_are_a_documented_backend(house: Rooms) -> None:
    own = OwnMemories(MemoryRooms(house.recall, house.ingest, house.trash), ADA)
    assert isinstance(own, MemoryBackend)
    await own.connect()

    request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content="The port is 1.")
    memory_id = await own.store("ada", request)
    await own.update("ada", memory_id, MemoryUpdate(content="The port is 2."))

    assert own.is_connected
    assert await own.health_check()
    assert own.backend_name == "sqlite"
    assert await own.count("ada") == 1
    assert await own.get("bob", memory_id) is None
    assert [e.content for e in await own.retrieve("ada", MemoryQuery(text="port"))] == [
        "The port is 2."
    ]
    assert await own.delete("ada", memory_id)
    await own.disconnect()
