"""Memory tools as objects, and a registry for them and the tools of an assistant.

An assistant that dispatches its tools by name can call memory tools like any others. Each is bound
to a strategy and an agent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from memd.base import log
from memd.domain.inject import ToolAnswer, ToolCategory, ToolDefinition
from memd.inject.tools.arguments import to_answer
from memd.inject.tools.self_editing import SelfEditingMemoryStrategy
from memd.inject.tools.tool_based import RECALL, SEARCH, ToolBasedInjectionStrategy


class HandlesTools(Protocol):
    """A strategy with tools."""

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]: ...
    async def handle_tool_call(
        self, tool_name: str, arguments: Mapping[str, Any], agent_id: str
    ) -> str: ...


class Tool(Protocol):
    """An item of a registry."""

    @property
    def name(self) -> str: ...


class BaseTool(ABC):
    """A tool with a name, a description and a schema, callable with arguments."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def description(self) -> str: ...

    @property
    @abstractmethod
    def parameters_schema(self) -> dict[str, Any]: ...

    @property
    @abstractmethod
    def category(self) -> ToolCategory: ...

    @abstractmethod
    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Return the tool's answer, which may be an error."""


class MemoryTool(BaseTool):
    """One tool of a strategy, bound to an agent.

    Raises ValueError for a name that the strategy does not have.
    """

    def __init__(self, *, strategy: HandlesTools, agent_id: str, name: str) -> None:
        definitions = {tool.name: tool for tool in strategy.get_tool_definitions()}
        if name not in definitions:
            raise ValueError(f"the strategy has no tool {name}")
        self._strategy = strategy
        self._agent_id = agent_id
        self.definition = definitions[name]

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def description(self) -> str:
        return self.definition.description

    @property
    def parameters_schema(self) -> dict[str, Any]:
        return self.definition.parameters_schema

    @property
    def category(self) -> ToolCategory:
        return ToolCategory.MEMORY

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call the tool and return its answer; an error's text begins with ``Error:``."""
        text = await self._strategy.handle_tool_call(self.name, arguments, self._agent_id)
        return to_answer(self.name, text)


class SearchMemoryTool(MemoryTool):
    """The tool ``search_memory`` of a tool-based strategy."""

    def __init__(self, *, strategy: ToolBasedInjectionStrategy, agent_id: str) -> None:
        super().__init__(strategy=strategy, agent_id=agent_id, name=SEARCH)


class RecallMemoryTool(MemoryTool):
    """The tool ``recall_memory`` of a tool-based strategy."""

    def __init__(self, *, strategy: ToolBasedInjectionStrategy, agent_id: str) -> None:
        super().__init__(strategy=strategy, agent_id=agent_id, name=RECALL)


class ToolRegistry:
    """Tools by name, in the order given. Raises ValueError if two have the same name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name}")
            self._tools[tool.name] = tool

    def get(self, name: str) -> Tool | None:
        """Return the tool called *name*, or None."""
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)


def registry_with_memory_tools(
    registry: ToolRegistry, strategy: object | None, agent_id: str
) -> ToolRegistry:
    """Return *registry* with the tools of *strategy* after its own (SPEC 12.12).

    Returns *registry* itself for a strategy without tools. Does so, with a warning, if the strategy
    fails to return its tools. Raises ValueError if two tools have the same name.
    """
    if not isinstance(strategy, ToolBasedInjectionStrategy | SelfEditingMemoryStrategy):
        return registry
    try:
        return ToolRegistry([*registry, *_tools_of(strategy, agent_id)])
    except (ValueError, MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001  # a faulty strategy leaves the assistant its own tools
        log.warning("no memory tools", error=type(error).__name__)
        return registry


def _tools_of(
    strategy: ToolBasedInjectionStrategy | SelfEditingMemoryStrategy, agent_id: str
) -> Iterator[MemoryTool]:
    if isinstance(strategy, ToolBasedInjectionStrategy):
        yield SearchMemoryTool(strategy=strategy, agent_id=agent_id)
        yield RecallMemoryTool(strategy=strategy, agent_id=agent_id)
        return
    for definition in strategy.get_tool_definitions():
        yield MemoryTool(strategy=strategy, agent_id=agent_id, name=definition.name)
