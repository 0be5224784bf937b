"""SPEC 12.12: the memory tools in a registry of tools."""

from __future__ import annotations

import io

import pytest
from support.entries import an_entry
from support.fake_sources import ABackend, Source, a_strategy, lines_in

from memd.api import (
    MemoryRetrievalConfig,
    RecallMemoryTool,
    SearchMemoryTool,
    SelfEditingMemoryStrategy,
    ToolBasedInjectionStrategy,
    ToolDefinition,
    ToolRegistry,
    registry_with_memory_tools,
)
from memd.domain.inject import ToolCategory


class AHammer:
    name = "hammer"


def searching(backend: ABackend | None = None) -> ToolBasedInjectionStrategy:
    return ToolBasedInjectionStrategy(
        backend=backend or ABackend(), config=MemoryRetrievalConfig(strategy="tool_based")
    )


def names(registry: ToolRegistry) -> list[str]:
    return [tool.name for tool in registry]


def test_context_and_none_leave_the_registry_as_it_is() -> None:
    registry = ToolRegistry([AHammer()])

    assert registry_with_memory_tools(registry, None, "ada") is registry
    assert registry_with_memory_tools(registry, a_strategy(Source()), "ada") is registry


def test_tool_based_adds_two() -> None:
    registry = registry_with_memory_tools(ToolRegistry([AHammer()]), searching(), "ada")

    assert names(registry) == ["hammer", "search_memory", "recall_memory"]
    assert isinstance(registry.get("search_memory"), SearchMemoryTool)
    assert isinstance(registry.get("recall_memory"), RecallMemoryTool)


def test_self_editing_adds_its_tools() -> None:
    strategy = SelfEditingMemoryStrategy(backend=ABackend())

    registry = registry_with_memory_tools(ToolRegistry([AHammer()]), strategy, "ada")

    assert len(registry) == 1 + 8
    assert registry.get("nothing") is None


def test_a_name_that_is_taken_is_a_value_error() -> None:
    full = registry_with_memory_tools(ToolRegistry(), searching(), "ada")

    with pytest.raises(ValueError, match="search_memory"):
        registry_with_memory_tools(full, searching(), "ada")


def test_tools_that_cannot_be_had_leave_the_registry_as_it_is(log_output: io.StringIO) -> None:
    class Broken(ToolBasedInjectionStrategy):
        def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
            raise RuntimeError("a bug")

    registry = ToolRegistry([AHammer()])
    broken = Broken(backend=ABackend(), config=MemoryRetrievalConfig(strategy="tool_based"))

    assert registry_with_memory_tools(registry, broken, "ada") is registry
    (line,) = log_output.getvalue().splitlines()
    assert "level=warning" in line
    assert "a bug" not in line


async def test_a_tool_speaks_for_its_agent_and_says_whether_it_failed() -> None:
    strategy = searching(ABackend([an_entry("m1")]))
    search = SearchMemoryTool(strategy=strategy, agent_id="ada")
    recall = RecallMemoryTool(strategy=strategy, agent_id="ada")

    result = await search.execute(arguments={"query": "x"})
    wrong = await recall.execute(arguments={"memory_id": "unknown"})

    assert lines_in(result.content) == ["[semantic] (id=m1) content of m1"]
    assert (result.name, result.is_error) == ("search_memory", False)
    assert (wrong.name, wrong.is_error) == ("recall_memory", True)
    assert search.category is ToolCategory.MEMORY
    assert search.parameters_schema["required"] == ["query"]
    assert search.description
