"""``inject.*``: prompts prepared, tools told, tool calls answered."""

from __future__ import annotations

from collections.abc import Mapping

from memd.model.caller import Caller
from memd.model.inject import Brief, PreparedPrompt, ToolAnswer
from memd.rpc import params_inject as p
from memd.rpc.methods import Tools
from memd.serve.dispatch import Handler
from memd.serve.rooms import Rooms


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handlers of the injection room."""
    injecting = _Injecting(rooms)
    return {
        "inject.prepare": injecting.prepare,
        "inject.brief": injecting.brief,
        "inject.tools": injecting.tools,
        "inject.call": injecting.call,
    }


class _Injecting:
    """``inject.*``."""

    def __init__(self, rooms: Rooms) -> None:
        self._inject = rooms.inject
        self._briefs = rooms.briefs

    async def prepare(self, caller: Caller, params: p.Prepare) -> PreparedPrompt:
        return await self._inject.prepare(caller, params)

    async def brief(self, caller: Caller, params: p.Brief) -> Brief:
        return await self._briefs.brief(caller, params)

    async def tools(self, caller: Caller, params: p.Tools) -> Tools:
        del caller
        return Tools(items=self._inject.tools(params.strategy))

    async def call(self, caller: Caller, params: p.CallTool) -> ToolAnswer:
        return await self._inject.call(caller, params.name, params.arguments, params.strategy)
