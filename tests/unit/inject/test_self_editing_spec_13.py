"""SPEC 13, each number: an assistant that keeps its own memory."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import ValidationError
from support.entries import an_entry
from support.fake_sources import DOMAIN_FAILURE, ABackend, lines_in, lines_of

from memd.api import (
    DefaultTokenEstimator,
    MemoryInjectionStrategy,
    SelfEditingMemoryConfig,
    SelfEditingMemoryStrategy,
)
from memd.backends.inmemory import InMemoryBackend
from memd.domain.enums import MemoryCategory, Origin, Trust
from memd.domain.inject import MessageRole
from memd.domain.memory import MemoryMetadata, MemoryQuery, MemoryStoreRequest
from memd.inject.tools.self_editing import FAILED

CORE = MemoryMetadata(tags=("core",))
SIX = (
    "core_memory_read", "core_memory_write", "archival_memory_search", "archival_memory_write",
    "recall_memory_read", "recall_memory_write",
)  # fmt: skip


@pytest.fixture
async def backend() -> AsyncIterator[InMemoryBackend]:
    backend = InMemoryBackend()
    await backend.connect()
    yield backend
    await backend.disconnect()


def editing(backend: InMemoryBackend, **config: Any) -> SelfEditingMemoryStrategy:
    return SelfEditingMemoryStrategy(backend=backend, config=SelfEditingMemoryConfig(**config))


async def call(backend: InMemoryBackend, name: str, /, **arguments: Any) -> str:
    return await editing(backend).handle_tool_call(name, arguments, "ada")


def id_in(text: str) -> str:
    return text.partition("(id=")[2].partition(")")[0]


def a_core(*texts: str) -> ABackend:
    return ABackend([an_entry(text, content=text, metadata=CORE) for text in texts])


def test_spec_13_1_its_name_is_self_editing_and_it_needs_a_backend() -> None:
    strategy = SelfEditingMemoryStrategy(backend=InMemoryBackend())

    assert strategy.strategy_name == "self_editing"
    assert isinstance(strategy, MemoryInjectionStrategy)
    for wrong in (object(), None, "backend"):
        with pytest.raises(TypeError, match="MemoryBackend"):
            SelfEditingMemoryStrategy(backend=wrong)  # type: ignore[arg-type]  # the mistake


def test_spec_13_2_the_defaults_are_these() -> None:
    config = SelfEditingMemoryConfig()

    assert config.model_dump() == {
        "core_memory_token_budget": 1024,
        "core_memory_tag": "core",
        "allow_core_writes": True,
        "core_max_entries": 20,
        "archival_search_limit": 10,
        "archival_categories": {"episodic", "semantic", "procedural", "social"},
        "write_auto_tag": True,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"core_memory_token_budget": 255},
        {"core_memory_token_budget": 8193},
        {"core_max_entries": 0},
        {"core_max_entries": 201},
        {"archival_search_limit": 0},
        {"archival_search_limit": 51},
        {"archival_categories": frozenset()},
        {"archival_categories": frozenset({MemoryCategory.WORKING, MemoryCategory.SOCIAL})},
        {"core_memory_tag": " "},
        {"unknown": 1},
    ],
)
def test_spec_13_2_the_bounds_are_these(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SelfEditingMemoryConfig(**wrong)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("core_memory_token_budget", 256, 8192),
        ("core_max_entries", 1, 200),
        ("archival_search_limit", 1, 50),
    ],
)
def test_spec_13_2_the_bounds_are_within(name: str, low: int, high: int) -> None:
    for value in (low, high):
        assert SelfEditingMemoryConfig.model_validate({name: value}).model_dump()[name] == value


@pytest.mark.parametrize("bound", ["core", "caller"])
async def test_spec_13_2_the_smaller_of_both_budgets_counts(bound: str) -> None:
    backend = a_core(*(f"{n} " + "x" * 200 for n in range(20)))
    core, caller = (256, 8192) if bound == "core" else (8192, 256)
    strategy = editing(backend, core_memory_token_budget=core)

    messages = await strategy.prepare_messages("ada", "a question", caller)

    spent = sum(DefaultTokenEstimator().estimate_tokens(m.content) for m in messages)
    assert 128 < spent <= 256


async def test_spec_13_3_core_is_semantic_and_tagged_and_fetched_without_a_text() -> None:
    backend = a_core("The gate opens at nine.")

    directive, block = await editing(backend).prepare_messages("ada", "anything", 1000)

    (query,) = backend.asked
    assert (query.text, query.tags, query.limit) == (None, ("core",), 20)
    assert query.categories == frozenset({MemoryCategory.SEMANTIC})
    assert (directive.role, block.role) == (MessageRole.SYSTEM, MessageRole.SYSTEM)
    assert lines_of([block]) == ["[semantic | score: 1.00] The gate opens at nine."]


async def test_spec_13_2_tag_and_number_of_core_are_the_settings(backend: InMemoryBackend) -> None:
    empty = a_core()
    settings = {"core_memory_tag": "profile", "core_max_entries": 7}

    await editing(empty, **settings).prepare_messages("ada", "x", 1000)
    await editing(backend, **settings).handle_tool_call("core_memory_write", {"content": "x"}, "a")

    assert [(query.tags, query.limit) for query in empty.asked] == [(("profile",), 7)]
    assert [e.metadata.tags for e in await backend.retrieve("a", MemoryQuery())] == [("profile",)]


async def test_spec_13_3_without_core_or_with_a_failing_backend_there_is_nothing() -> None:
    for backend in (ABackend(), ABackend(fails=DOMAIN_FAILURE)):
        assert await editing(backend).prepare_messages("ada", "x", 1000) == ()
    assert await editing(a_core("x")).prepare_messages("ada", "x", 0) == ()


async def test_what_came_from_the_web_is_never_in_every_prompt() -> None:
    web = an_entry(content="obey", metadata=CORE, origin=Origin.WEB, trust=Trust.UNTRUSTED)

    assert await editing(ABackend([web])).prepare_messages("ada", "x", 1000) == ()


def test_spec_13_4_the_six_tools_are_there_and_two_to_make_room() -> None:
    strategy = editing(InMemoryBackend())
    names = [tool.name for tool in strategy.get_tool_definitions()]

    assert set(names) == {*SIX, "core_memory_replace", "core_memory_delete"}
    before = copy.deepcopy(strategy.get_tool_definitions())
    strategy.get_tool_definitions()[1].parameters_schema["properties"].clear()
    assert strategy.get_tool_definitions() == before


@pytest.mark.parametrize(
    ("name", "needed", "optional"),
    [
        ("core_memory_read", [], []),
        ("core_memory_write", ["content"], []),
        ("archival_memory_search", ["query"], ["category", "limit"]),
        ("archival_memory_write", ["content", "category"], []),
        ("recall_memory_read", ["memory_id"], []),
        ("recall_memory_write", ["content"], []),
    ],
)
def test_spec_13_4_each_tool_takes_what_the_table_says(
    name: str, needed: list[str], optional: list[str]
) -> None:
    tools = {tool.name: tool for tool in editing(InMemoryBackend()).get_tool_definitions()}
    schema = tools[name].parameters_schema

    assert sorted(schema["properties"]) == sorted([*needed, *optional])
    assert schema.get("required", []) == needed


def test_spec_13_4_a_search_is_told_to_give_ten_and_fifty_at_most() -> None:
    tools = {tool.name: tool for tool in editing(InMemoryBackend()).get_tool_definitions()}
    limit = tools["archival_memory_search"].parameters_schema["properties"]["limit"]

    assert (limit["default"], limit["minimum"], limit["maximum"]) == (10, 1, 50)


async def test_spec_13_4_each_write_is_an_ordinary_memory(backend: InMemoryBackend) -> None:
    core = id_in(await call(backend, "core_memory_write", content="one"))
    archived = id_in(
        await call(backend, "archival_memory_write", content="two", category="procedural")
    )
    recalled = id_in(await call(backend, "recall_memory_write", content="three"))

    kept = {entry.id: entry for entry in await backend.retrieve("ada", MemoryQuery())}
    assert {memory_id: (e.category, e.metadata.tags) for memory_id, e in kept.items()} == {
        core: (MemoryCategory.SEMANTIC, ("core",)),
        archived: (MemoryCategory.PROCEDURAL, ("self_edited",)),
        recalled: (MemoryCategory.EPISODIC, ("self_edited",)),
    }


async def test_spec_13_4_without_the_automatic_tag_a_write_has_none(
    backend: InMemoryBackend,
) -> None:
    strategy = editing(backend, write_auto_tag=False)

    await strategy.handle_tool_call("recall_memory_write", {"content": "x"}, "ada")

    (entry,) = await backend.retrieve("ada", MemoryQuery())
    assert entry.metadata.tags == ()


@pytest.mark.parametrize("name", ["", "search_memory", "core_memory", "CORE_MEMORY_READ"])
async def test_spec_13_5_an_unknown_tool_is_a_text(backend: InMemoryBackend, name: str) -> None:
    assert (await call(backend, name, content="x")).startswith("Error: no tool")


@pytest.mark.parametrize("failure", [DOMAIN_FAILURE, RuntimeError("sqlite says: secret")])
@pytest.mark.parametrize("name", SIX)
async def test_spec_13_5_a_failure_is_one_text_without_details(
    failure: Exception, name: str
) -> None:
    arguments = {"content": "x", "query": "x", "memory_id": "x", "category": "semantic"}
    text = await call(_Failing(failure), name, **arguments)

    assert text == FAILED
    assert text.startswith("Error:")


async def test_spec_13_6_a_core_write_is_checked_in_this_order(backend: InMemoryBackend) -> None:
    one = editing(backend, core_max_entries=1)
    closed = editing(backend, core_max_entries=1, allow_core_writes=False)

    async def write(strategy: SelfEditingMemoryStrategy, content: Any) -> str:
        return await strategy.handle_tool_call("core_memory_write", {"content": content}, "ada")

    assert "read-only" in await write(closed, " ")
    assert "not blank" in await write(one, " ")
    assert "50000 characters" in await write(one, "x" * 50_001)
    assert not (await write(one, "x" * 50_000)).startswith("Error:")
    assert "not blank" in await write(one, " ")
    assert "50000 characters" in await write(one, "x" * 50_001)
    assert "full" in await write(one, "another")


async def test_spec_13_7_what_the_full_message_says_can_be_done(backend: InMemoryBackend) -> None:
    strategy = editing(backend, core_max_entries=1)

    async def tool(name: str, **arguments: Any) -> str:
        return await strategy.handle_tool_call(name, arguments, "ada")

    first = id_in(await tool("core_memory_write", content="wrong"))
    assert "replace or delete" in await tool("core_memory_write", content="more")
    second = id_in(await tool("core_memory_replace", memory_id=first, content="right"))
    assert lines_in(await tool("core_memory_read")) == [f"[semantic] (id={second}) right"]
    assert not (await tool("core_memory_delete", memory_id=second)).startswith("Error:")
    assert await tool("core_memory_read") == "No memories found."


@pytest.mark.parametrize("name", ["core_memory_replace", "core_memory_delete"])
async def test_spec_13_7_only_core_can_be_replaced_or_deleted(
    backend: InMemoryBackend, name: str
) -> None:
    for category, tags in (("semantic", ()), ("episodic", ("core",))):
        request = MemoryStoreRequest(
            category=category, content="kept", metadata=MemoryMetadata(tags=tags)
        )
        memory_id = await backend.store("ada", request)
        text = await call(backend, name, memory_id=memory_id, content="x")
        assert text.startswith("Error: no core memory")
    assert await backend.count("ada") == 2


@pytest.mark.parametrize("category", [None, *MemoryCategory])
async def test_spec_13_8_a_search_takes_any_category_and_finds_core_too(
    category: MemoryCategory | None,
) -> None:
    backend = a_core("The gate opens at nine.")

    text = await call(backend, "archival_memory_search", query="gate", category=category)

    assert backend.asked[0].categories == (None if category is None else frozenset({category}))
    assert len(lines_in(text)) == 1


@pytest.mark.parametrize(("limit", "asked"), [(1, 1), (99, 10), (0, 1), ("x", 10), (3.7, 3)])
async def test_spec_13_8_a_search_has_a_limit(limit: Any, asked: int) -> None:
    backend = a_core()

    await call(backend, "archival_memory_search", query="gate", limit=limit)

    assert backend.asked[0].limit == asked


@pytest.mark.parametrize(("more", "asked"), [({}, 10), ({"limit": 50}, 50), ({"limit": 51}, 50)])
async def test_spec_13_4_a_search_is_for_ten_unless_said_and_never_for_more_than_fifty(
    more: dict[str, Any], asked: int
) -> None:
    backend = a_core()
    arguments = {"query": "gate", **more}

    strategy = editing(backend, archival_search_limit=50)
    await strategy.handle_tool_call("archival_memory_search", arguments, "ada")

    assert backend.asked[0].limit == asked


@pytest.mark.parametrize("category", ["working", "gossip", None, 7, ["semantic"]])
async def test_spec_13_8_only_lasting_categories_are_archived(
    backend: InMemoryBackend, category: Any
) -> None:
    text = await call(backend, "archival_memory_write", content="x", category=category)

    assert text.startswith("Error: category must be one of episodic, procedural, semantic, social")
    assert await backend.count("ada") == 0


@pytest.mark.parametrize("category", list(MemoryCategory))
async def test_spec_13_9_recall_reads_any_category(category: MemoryCategory) -> None:
    backend = ABackend([an_entry("m1", category=category)])

    text = await call(backend, "recall_memory_read", memory_id="m1")

    assert lines_in(text) == [f"[{category}] (id=m1) content of m1"]


@pytest.mark.parametrize("memory_id", ["x" * 257, "", None, 7, "unknown"])
async def test_spec_13_9_recall_reads_no_id_that_is_none(memory_id: Any) -> None:
    backend = ABackend([an_entry("m1")])

    assert (await call(backend, "recall_memory_read", memory_id=memory_id)).startswith("Error:")


@pytest.mark.parametrize("name", ["recall_memory_read", "core_memory_delete"])
async def test_spec_13_9_an_id_has_256_characters_at_most(
    backend: InMemoryBackend, name: str
) -> None:
    assert "no " in await call(backend, name, memory_id="x" * 256)
    assert "more than 256 characters" in await call(backend, name, memory_id="x" * 257)


async def test_spec_13_10_nothing_found_is_said(backend: InMemoryBackend) -> None:
    for name in ("core_memory_read", "archival_memory_search"):
        assert await call(backend, name, query="x") == "No memories found."


async def test_spec_13_10_a_write_gives_the_new_id(backend: InMemoryBackend) -> None:
    text = await call(backend, "recall_memory_write", content="x")

    assert await backend.get("ada", id_in(text)) is not None


class _Failing(ABackend):
    """Fails whatever is asked."""

    def __init__(self, failure: Exception) -> None:
        super().__init__(fails=failure)
        self._failure = failure

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        raise self._failure
