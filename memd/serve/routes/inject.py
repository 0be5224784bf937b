"""``inject.*``: prompts, briefs, tools and their calls, memories as files."""

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
from memd.domain.values import Name, ProjectId
from memd.serve.routes.routes import AgentParams, Context, Page, Router, WriteParams

router = Router()


class PrepareParams(PrepareRequest, AgentParams):
    """The question to prepare a prompt for, and its budget."""


class BriefParams(BriefRequest, AgentParams):
    """The session to get a brief for."""


class ToolsParams(AgentParams):
    """The strategy whose tools to list, by default that of the settings."""

    strategy: InjectionStrategy | None = None


class CallToolParams(WriteParams):
    """One tool call as a language model made it.

    Without a *strategy* it follows from the tool's name. The tool checks its *arguments*; its
    answer says what is wrong with them.
    """

    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)
    strategy: InjectionStrategy | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None


class FileParams(FileCommand, WriteParams):
    """One command of the file view, for one agent's memories."""


@router.method("inject.prepare", "Prepare the messages of a prompt within a token budget.")
async def prepare(context: Context, params: PrepareParams) -> PreparedPrompt:
    prompt = await context.rooms.inject.prepare(context.caller, params)
    if context.rooms.uptake is not None:
        context.rooms.uptake.note_prompt(context.caller, params, prompt)
    return prompt


@router.method("inject.brief", "Get the brief for the start of a session.")
async def brief(context: Context, params: BriefParams) -> Brief:
    return await context.rooms.briefs.brief(context.caller, params)


@router.method("inject.tools", "List the memory tools of a strategy.")
async def tools(context: Context, params: ToolsParams) -> Page[ToolDefinition]:
    return Page[ToolDefinition](items=context.rooms.inject.tools(params.strategy))


@router.method("inject.call", "Call a memory tool; returns its answer.", writes=True)
async def call(context: Context, params: CallToolParams) -> ToolAnswer:
    return await context.rooms.inject.call(
        context.caller, params.name, params.arguments, params.strategy
    )


@router.method("inject.file", "Run a command of the memory tool: memories as files.", scope="write")
async def file(context: Context, params: FileParams) -> FileReply:
    return await context.rooms.files.run(context.caller, params)
