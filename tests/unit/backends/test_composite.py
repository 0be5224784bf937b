"""SPEC 10.2: several backends behind one."""

from __future__ import annotations

import logging

import pytest
from support.entries import a_request

from memd.backends.composite import CompositeBackend
from memd.backends.inmemory import InMemoryBackend
from memd.base.errors import (
    MemoryCapabilityError,
    MemoryConfigError,
    MemoryConnectionError,
    MemoryRetrievalError,
)
from memd.domain.backend import MemoryBackend, MemoryCapabilities
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest
from memd.domain.settings.settings import (
    CompanyMemoryConfig,
    CompositeBackendConfig,
    MemoryOptionsConfig,
)


class ScoredBackend(InMemoryBackend):
    """Gives every memory it finds the same *score*."""

    def __init__(self, score: float) -> None:
        super().__init__()
        self._score = score

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        entries = await super().retrieve(agent_id, query)
        return tuple(entry.model_copy(update={"relevance_score": self._score}) for entry in entries)


class FailingBackend(InMemoryBackend):
    """Connects, but cannot retrieve."""

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        raise MemoryRetrievalError("the disk of this child is gone")


class UnreachableBackend(InMemoryBackend):
    """Cannot be connected."""

    async def connect(self) -> None:
        raise MemoryConnectionError("nobody answers")


ROUTES = CompositeBackendConfig(routes={"memories": "durable"}, default="scratch")


class _Plain:
    """A backend that says nothing about itself and shares nothing."""

    def __init__(self) -> None:
        self._inner = InMemoryBackend()
        self.backend_name = "plain"

    @property
    def is_connected(self) -> bool:
        return self._inner.is_connected

    async def connect(self) -> None:
        await self._inner.connect()

    async def disconnect(self) -> None:
        await self._inner.disconnect()

    async def health_check(self) -> bool:
        return await self._inner.health_check()

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        return await self._inner.store(agent_id, request)

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        return await self._inner.retrieve(agent_id, query)

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        return await self._inner.get(agent_id, memory_id)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        return await self._inner.delete(agent_id, memory_id)

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        return await self._inner.count(agent_id, category=category)


async def _connected(
    durable: MemoryBackend | None = None, scratch: MemoryBackend | None = None
) -> CompositeBackend:
    children = {"durable": durable or InMemoryBackend(), "scratch": scratch or InMemoryBackend()}
    composite = CompositeBackend(children, ROUTES)
    await composite.connect()
    return composite


def _in(namespace: str) -> MemoryStoreRequest:
    return a_request(namespace=namespace)


@pytest.mark.parametrize(
    "config",
    [CompositeBackendConfig(routes={"a": "nowhere"}), CompositeBackendConfig(default="nowhere")],
)
def test_an_unknown_child_is_refused_when_it_is_built(config: CompositeBackendConfig) -> None:
    with pytest.raises(MemoryConfigError, match="nowhere"):
        CompositeBackend({"inmemory": InMemoryBackend()}, config)


def test_a_childs_name_has_no_colon() -> None:
    with pytest.raises(MemoryConfigError, match="colon"):
        CompositeBackend({"a:b": InMemoryBackend()}, CompositeBackendConfig(default="a:b"))


async def test_the_namespace_decides_where_a_memory_lives_and_its_id_says_so() -> None:
    composite = await _connected()

    assert (await composite.store("ada", _in("memories"))).startswith("durable:")
    assert (await composite.store("ada", _in("elsewhere"))).startswith("scratch:")


async def test_one_category_may_live_in_several_children() -> None:
    durable, scratch = InMemoryBackend(), InMemoryBackend()
    composite = await _connected(durable, scratch)

    await composite.store("ada", _in("memories"))
    await composite.store("ada", _in("working"))

    assert await durable.count("ada", category=MemoryCategory.EPISODIC) == 1
    assert await scratch.count("ada", category=MemoryCategory.EPISODIC) == 1
    assert await composite.count("ada", category=MemoryCategory.EPISODIC) == 2
    assert await composite.count("ada", category=MemoryCategory.SOCIAL) == 0


async def test_get_and_delete_follow_the_id_up_to_its_first_colon() -> None:
    composite = await _connected()
    kept = await composite.store("ada", _in("memories"))

    entry = await composite.get("ada", kept)
    assert entry is not None
    assert entry.id == kept
    assert await composite.get("ada", "durable:a:b:c") is None
    assert await composite.delete("ada", kept)
    assert not await composite.delete("ada", kept)


@pytest.mark.parametrize("memory_id", ["x", "nowhere:x", ":x"])
async def test_an_id_of_no_child_is_an_unknown_id(memory_id: str) -> None:
    """SPEC 7.6: get is None, delete is False."""
    composite = await _connected()

    assert await composite.get("ada", memory_id) is None
    assert await composite.delete("ada", memory_id) is False
    assert await composite.move_to_archive("ada", memory_id) is None
    assert await composite.retract("ada", memory_id) is False


async def test_the_children_of_the_namespaces_are_asked_or_all() -> None:
    composite = await _connected(scratch=FailingBackend())
    kept = await composite.store("ada", _in("memories"))

    only = await composite.retrieve("ada", MemoryQuery(namespaces=frozenset({"memories"})))

    assert [entry.id for entry in only] == [kept]


async def test_what_has_no_score_comes_last_and_the_limit_is_kept() -> None:
    composite = await _connected(InMemoryBackend(), ScoredBackend(0.2))
    await composite.store("ada", _in("memories"))
    scored = await composite.store("ada", _in("scratch"))

    everything = await composite.retrieve("ada", MemoryQuery())
    best = await composite.retrieve("ada", MemoryQuery(limit=1))

    assert [entry.id.partition(":")[0] for entry in everything] == ["scratch", "durable"]
    assert [entry.id for entry in best] == [scored]


async def test_when_one_child_fails_the_others_answer(caplog: pytest.LogCaptureFixture) -> None:
    composite = await _connected(scratch=FailingBackend())
    kept = await composite.store("ada", _in("memories"))

    with caplog.at_level(logging.WARNING):
        entries = await composite.retrieve("ada", MemoryQuery())

    assert [entry.id for entry in entries] == [kept]
    assert "scratch failed" in caplog.text


async def test_when_all_children_fail_there_is_no_answer() -> None:
    composite = await _connected(FailingBackend(), FailingBackend())

    with pytest.raises(MemoryRetrievalError, match="durable, scratch"):
        await composite.retrieve("ada", MemoryQuery())


async def test_the_error_of_the_only_child_asked_is_the_answer() -> None:
    composite = await _connected(FailingBackend())

    with pytest.raises(MemoryRetrievalError, match="the disk of this child is gone"):
        await composite.retrieve("ada", MemoryQuery(namespaces=frozenset({"memories"})))


async def test_children_are_connected_together_or_not_at_all() -> None:
    durable = InMemoryBackend()
    composite = CompositeBackend({"durable": durable, "scratch": UnreachableBackend()}, ROUTES)

    with pytest.raises(MemoryConnectionError, match="nobody answers"):
        await composite.connect()

    assert not durable.is_connected
    assert not composite.is_connected
    assert not await composite.health_check()
    with pytest.raises(MemoryConnectionError):
        await composite.count("ada")


async def test_disconnect_reaches_every_child_and_is_safe_twice() -> None:
    durable, scratch = InMemoryBackend(), InMemoryBackend()
    composite = await _connected(durable, scratch)
    assert await composite.health_check()

    await composite.disconnect()
    await composite.disconnect()

    assert not durable.is_connected
    assert not scratch.is_connected


async def test_its_capabilities_are_those_of_its_children() -> None:
    options = MemoryOptionsConfig(max_memories_per_agent=5)
    small = InMemoryBackend(CompanyMemoryConfig(backend="inmemory", options=options))
    composite = await _connected(small)

    assert isinstance(composite, MemoryBackend)
    assert isinstance(composite, MemoryCapabilities)
    assert composite.backend_name == "composite"
    assert composite.max_memories_per_agent == 5
    assert composite.supports_shared_access
    assert not composite.supports_vector_search
    assert not composite.supports_graph
    assert not composite.supports_temporal


async def test_a_child_that_says_nothing_is_taken_at_its_best() -> None:
    composite = CompositeBackend({"plain": _Plain()}, CompositeBackendConfig(default="plain"))

    assert composite.supported_categories == frozenset(MemoryCategory)
    assert composite.supports_temporal
    assert composite.max_memories_per_agent is None
    assert not composite.supports_shared_access


async def test_sharing_goes_to_the_children_that_can() -> None:
    composite = await _connected(scratch=_Plain())
    shared = await composite.publish("ada", _in("memories"))

    assert shared.startswith("durable:")
    entries = await composite.search_shared(MemoryQuery(), exclude_agent="bob")
    assert [entry.id for entry in entries] == [shared]
    assert await composite.search_shared(MemoryQuery(), exclude_agent="ada") == ()
    with pytest.raises(MemoryCapabilityError, match="scratch cannot share"):
        await composite.publish("ada", _in("scratch"))
    assert await composite.retract("ada", shared)
    assert not await composite.retract("ada", shared)
