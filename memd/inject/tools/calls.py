"""Dispatch tool calls from the socket: find the strategy of a tool, and check the caller's scope.

An unknown tool is an error and never falls back to a search (SPEC 12.6).
"""

from __future__ import annotations

from typing import NamedTuple

from memd.base.errors import DeniedError, InvalidError
from memd.domain.caller import Caller
from memd.domain.enums import InjectionStrategy
from memd.domain.inject import (
    QueryReformulator,
    SelfEditingMemoryConfig,
    SufficiencyChecker,
    ToolDefinition,
)
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.inject.own_memories import OwnMemories
from memd.inject.tools.arguments import short_value
from memd.inject.tools.editing_tools import DEFINITIONS as EDITING
from memd.inject.tools.extra_tools import FACTS_TOOL, SESSIONS_TOOL
from memd.inject.tools.reformulation import LikelySufficient, WordReformulator
from memd.inject.tools.self_editing import SelfEditingMemoryStrategy
from memd.inject.tools.tool_based import DEFINITIONS as SEARCHING
from memd.inject.tools.tool_based import ToolBasedInjectionStrategy
from memd.inject.tools.tools import HandlesTools

_TOOLS = {
    InjectionStrategy.CONTEXT: (),
    InjectionStrategy.TOOL_BASED: (*SEARCHING, FACTS_TOOL, SESSIONS_TOOL),
    InjectionStrategy.SELF_EDITING: (*EDITING, FACTS_TOOL, SESSIONS_TOOL),
}
_WRITING = frozenset(
    tool.name for tool in EDITING if tool.name.endswith(("_write", "_replace", "_delete"))
)


def definitions(strategy: InjectionStrategy) -> tuple[ToolDefinition, ...]:
    """Return the tools of *strategy*."""
    return tuple(tool.model_copy(deep=True) for tool in _TOOLS[strategy])


def strategy_of(name: str, preferred: InjectionStrategy | None) -> InjectionStrategy:
    """Return the strategy that has the tool *name*: *preferred* or, without one, the first.

    Raises InvalidError if there is none.
    """
    strategies = {
        tool.name: strategy
        for strategy, tools in _TOOLS.items()
        if preferred in {None, strategy}
        for tool in tools
    }
    if name not in strategies:
        whose = f"strategy {preferred} has" if preferred else "there is"
        raise InvalidError(
            f"{whose} no tool {short_value(name)}", field="name", hint="inject.tools lists all"
        )
    return strategies[name]


def is_writing(name: str) -> bool:
    """Return whether the tool *name* changes memories."""
    return name in _WRITING


def check_scope(caller: Caller, name: str) -> None:
    """Raise DeniedError if the tool *name* writes and the caller may only read."""
    if is_writing(name) and "write" not in caller.scopes:
        raise DeniedError(f"{name} writes, and this client may only read", field="name")


class SearchJudges(NamedTuple):
    """A reformulator of queries, and a checker whether results are sufficient."""

    reformulator: QueryReformulator
    checker: SufficiencyChecker


BY_RULE = SearchJudges(WordReformulator(), LikelySufficient())


def memory_tools(
    strategy: InjectionStrategy,
    memories: OwnMemories,
    config: MemoryRetrievalConfig,
    editing_config: SelfEditingMemoryConfig,
    judges: SearchJudges = BY_RULE,
) -> HandlesTools:
    """Return the tools of *strategy* over one caller's memories."""
    if strategy is InjectionStrategy.SELF_EDITING:
        return SelfEditingMemoryStrategy(backend=memories, config=editing_config)
    return search_strategy(memories, config, judges)


def search_strategy(
    memories: OwnMemories, config: MemoryRetrievalConfig, judges: SearchJudges = BY_RULE
) -> ToolBasedInjectionStrategy:
    """Return the tool-based strategy over one caller's memories."""
    return ToolBasedInjectionStrategy(
        backend=memories,
        config=config,
        reformulator=judges.reformulator,
        sufficiency_checker=judges.checker,
    )
