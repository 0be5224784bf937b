"""``inject.*``: prompts prepared, tools listed, tool calls answered, memories as files."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from memd.domain.enums import InjectionStrategy
from memd.domain.files import FileCommand, FileReply
from memd.domain.inject import (
    Brief,
    BriefRequest,
    PreparedPrompt,
    PrepareRequest,
    ToolAnswer,
    ToolDefinition,
)
from memd.domain.values import Name, ProjectId, Value
from memd.serve.params import AgentParams, WriteParams
from memd.serve.route import Context, Router

router = Router()


class PrepareParams(PrepareRequest, AgentParams):
    """The question that a prompt is prepared for, and its budget."""


class BriefParams(BriefRequest, AgentParams):
    """The session that is told what is worth knowing before it asks."""


class ToolsParams(AgentParams):
    """Whose tools: those of *strategy*, or of the one in the settings."""

    strategy: InjectionStrategy | None = None


class CallToolParams(WriteParams):
    """One tool call as a language model made it.

    Without a *strategy* the tool's name says whose it is. *arguments* are checked by
    the tool, whose answer says what is wrong with them.
    """

    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)
    strategy: InjectionStrategy | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None


class FileParams(FileCommand, WriteParams):
    """One command of the file view, and whose memories it is about."""


class Tools(Value):
    """The tools of a strategy; there is one page."""

    items: tuple[ToolDefinition, ...]
    next: Name | None = None


@router.method("inject.prepare", PrepareParams, PreparedPrompt, "One prompt, in a budget.")
async def prepare(context: Context, params: PrepareParams) -> PreparedPrompt:
    return await context.rooms.inject.prepare(context.caller, params)


@router.method("inject.brief", BriefParams, Brief, "What to know before the first question.")
async def brief(context: Context, params: BriefParams) -> Brief:
    return await context.rooms.briefs.brief(context.caller, params)


@router.method("inject.tools", ToolsParams, Tools, "The memory tools of a strategy.")
async def tools(context: Context, params: ToolsParams) -> Tools:
    return Tools(items=context.rooms.inject.tools(params.strategy))


@router.method(
    "inject.call",
    CallToolParams,
    ToolAnswer,
    "One call of a memory tool, and its answer.",
    writes=True,
)
async def call(context: Context, params: CallToolParams) -> ToolAnswer:
    return await context.rooms.inject.call(
        context.caller, params.name, params.arguments, params.strategy
    )


@router.method(
    "inject.file", FileParams, FileReply, "The memory tool: memories as files.", scope="write"
)
async def file(context: Context, params: FileParams) -> FileReply:
    return await context.rooms.files.run(context.caller, params)
