"""``agent.*``, ``preference.*``, ``shared.*``: an agent's settings, preferences, shared texts."""

from __future__ import annotations

from pydantic import Field

from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest, Preference
from memd.domain.settings.settings import MemoryConfig, SettingSource
from memd.domain.values import Name, Text, Value
from memd.serve.routes.routes import (
    AgentParams,
    Context,
    Page,
    Params,
    Router,
    ShortId,
    WriteParams,
)

router = Router()


class SetPreferenceParams(WriteParams):
    """A preference and its new value."""

    name: Name
    value: Text


class ConfirmPreferenceParams(WriteParams):
    """The preference to confirm, and its value, so that no other value is confirmed."""

    name: Name
    value: Text | None = None


class PreferenceParams(AgentParams):
    """One preference, by its name."""

    name: Name


class DeletePreferenceParams(WriteParams):
    """The preference to delete."""

    name: Name


class SetAgentParams(MemoryConfig, WriteParams):
    """Settings of an agent; omitted ones stay unchanged."""


class AgentSettings(Value):
    """The settings of one agent."""

    agent_id: Name
    settings: MemoryConfig
    origins: dict[str, SettingSource] = Field(default_factory=dict)
    """The source of each setting: the settings file, a call, or the default."""


@router.method("preference.set", "Set a preference.", scope="write")
async def set_preference(context: Context, params: SetPreferenceParams) -> None:
    await context.rooms.preferences.set(context.caller, params.name, params.value)


@router.method("preference.confirm", "Confirm a preference as the owner's word.", scope="admin")
async def confirm_preference(context: Context, params: ConfirmPreferenceParams) -> bool:
    return await context.rooms.preferences.confirm(context.caller, params.name, params.value)


@router.method("preference.get", "Get one preference, or null.")
async def preference(context: Context, params: PreferenceParams) -> Preference | None:
    items = await context.rooms.recall.preferences(context.caller)
    return next((item for item in items if item.name == params.name), None)


@router.method("preference.list", "List all preferences.")
async def preferences(context: Context, _params: AgentParams) -> Page[Preference]:
    return Page[Preference](items=await context.rooms.recall.preferences(context.caller))


@router.method("preference.delete", "Delete a preference.", scope="write")
async def delete_preference(context: Context, params: DeletePreferenceParams) -> bool:
    return await context.rooms.preferences.delete(context.caller, params.name)


@router.method("agent.set", "Change the settings of an agent.", scope="write")
async def set_agent(context: Context, params: SetAgentParams) -> AgentSettings:
    agents, caller = context.rooms.agents, context.caller
    names = params.model_fields_set & set(MemoryConfig.model_fields)
    agents.check_not_in_file(caller.agent_id, names)
    settings = MemoryConfig(**{name: getattr(params, name) for name in names})
    return await _with_origins(context, caller.agent_id, await agents.set(caller, settings))


@router.method("agent.get", "Get the settings of an agent.")
async def agent(context: Context, _params: AgentParams) -> AgentSettings:
    settings = await context.rooms.agents.get(context.caller)
    return await _with_origins(context, context.caller.agent_id, settings)


@router.method("agent.list", "List all agents with their settings.")
async def agents(context: Context, _params: Params) -> Page[AgentSettings]:
    """Return the agents with settings; a client bound to one agent sees only that one."""
    items = [
        await _with_origins(context, agent_id, settings)
        for agent_id, settings in await context.rooms.agents.list(context.caller)
        if context.caller.may_be(agent_id)
    ]
    return Page[AgentSettings](items=tuple(items))


async def _with_origins(context: Context, agent_id: str, settings: MemoryConfig) -> AgentSettings:
    origins = await context.rooms.agents.origins(agent_id)
    return AgentSettings(agent_id=agent_id, settings=settings, origins=origins)


# Shared memories.


class PublishParams(MemoryStoreRequest, WriteParams):
    """A text to share in the agent's name."""


class SearchSharedParams(MemoryQuery, Params):
    """A search of shared memories, without those that *exclude_agent* published."""

    exclude_agent: Name | None = None


class RetractSharedParams(WriteParams):
    """The shared memory to retract, by its id."""

    id: Name


@router.method(
    "shared.publish", "Publish a text to all agents; returns the id of the copy.", scope="write"
)
async def publish(context: Context, params: PublishParams) -> Name:
    return await context.rooms.sharing.publish(context.caller, params)


@router.method("shared.search", "Search or list shared memories.")
async def search(context: Context, params: SearchSharedParams) -> tuple[MemoryEntry, ...]:
    return await context.rooms.recall.search_shared(params, params.exclude_agent)


@router.method(
    "shared.retract",
    "Retract a memory that the agent shared.",
    scope="write",
    short_id=ShortId("id", "memory"),
)
async def retract(context: Context, params: RetractSharedParams) -> bool:
    return await context.rooms.sharing.retract(context.caller, params.id)
