"""``session.*``, ``usage.*``, ``events.*``, and naps by call: thin views of the sleep room."""

from __future__ import annotations

from collections.abc import Mapping

from memd.base.limits import FRAME_BYTES_MAX
from memd.model.caller import Caller
from memd.model.session import Session
from memd.model.sleep import NapResult, Window
from memd.rpc import params_nap as p
from memd.rpc.methods import SessionHits, SessionMessages, Sessions, Subscribed, Windows
from memd.rpc.params import Paged, Scoped
from memd.serve.dispatch import Handler, peer_of_call
from memd.serve.rooms import Rooms


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handlers of sessions, windows, naps and events."""
    sessions, usage, naps, events = _Sessions(rooms), _Usage(rooms), _Naps(rooms), _Events(rooms)
    return {
        "session.start": sessions.start,
        "session.end": sessions.end,
        "session.list": sessions.list,
        "session.messages": sessions.messages,
        "session.search": sessions.search,
        "usage.report": usage.report,
        "usage.list": usage.list,
        "sleep.consolidate": naps.consolidate,
        "sleep.should_consolidate": naps.should_consolidate,
        "sleep.estimate_tokens": naps.estimate_tokens,
        "events.subscribe": events.subscribe,
        "events.unsubscribe": events.unsubscribe,
    }


class _Sessions:
    """``session.*``."""

    def __init__(self, rooms: Rooms) -> None:
        self._sessions = rooms.sessions

    async def start(self, caller: Caller, params: p.StartSession) -> Session:
        return await self._sessions.start(caller, params.session_id)

    async def end(self, caller: Caller, params: p.EndSession) -> Session:
        return await self._sessions.end(caller, params.session_id)

    async def list(self, caller: Caller, params: Paged) -> Sessions:
        items, after = await self._sessions.list(caller, params.after, params.limit)
        return Sessions(items=items, next=after)

    async def messages(self, caller: Caller, params: p.SessionMessages) -> SessionMessages:
        """Return one page, shorter than asked for when its texts would not fit into a frame."""
        limit = params.limit
        while True:
            items, after = await self._sessions.messages(
                caller, params.session_id, params.after, limit
            )
            page = SessionMessages(items=items, next=after)
            if limit == 1 or len(page.model_dump_json()) <= FRAME_BYTES_MAX:
                return page
            limit = max(1, limit // 4)

    async def search(self, caller: Caller, params: p.SearchSessions) -> SessionHits:
        return SessionHits(items=await self._sessions.search(caller, params))


class _Usage:
    """``usage.*``."""

    def __init__(self, rooms: Rooms) -> None:
        self._usage = rooms.usage

    async def report(self, caller: Caller, params: p.ReportUsage) -> Window:
        from memd.signals.usage import Usage

        usage = Usage(
            source=params.source,
            session_id=params.session_id,
            used_tokens=params.used_tokens,
            window_tokens=params.window_tokens,
            compact_at_tokens=params.compact_at_tokens,
            used_percent=params.used_percent,
            model=params.model,
            cwd=params.cwd,
            transcript_path=params.transcript_path,
            event=params.event,
            at=params.ts,
        )
        returns = params.return_messages or params.messages is not None
        return await self._usage.report(caller, usage, params.messages, returns=returns)

    async def list(self, caller: Caller, params: Scoped) -> Windows:
        del params
        unreadable, reason = self._usage.unreadable()
        return Windows(
            items=await self._usage.list(caller), unreadable=unreadable, unreadable_reason=reason
        )


class _Naps:
    """``sleep.consolidate`` and the rule that it follows."""

    def __init__(self, rooms: Rooms) -> None:
        self._naps = rooms.naps

    async def consolidate(self, caller: Caller, params: p.Consolidate) -> NapResult:
        return await self._naps.consolidate(
            caller,
            messages=params.messages,
            transcript_path=params.transcript_path,
            max_tokens=params.max_tokens,
        )

    async def should_consolidate(self, caller: Caller, params: p.ShouldConsolidate) -> bool:
        del caller
        from memd.sleep.nap.consolidator import MemoryConsolidator

        rule = self._naps.rule
        most = rule.max_tokens if params.max_tokens is None else params.max_tokens
        share = params.threshold_pct or rule.threshold_pct
        return MemoryConsolidator(share, most).should_consolidate(params.current_tokens)

    async def estimate_tokens(self, caller: Caller, params: p.EstimateTokens) -> int:
        del caller
        return self._naps.rule.estimate_tokens(params.messages)


class _Events:
    """``events.*``: to the connection that asks."""

    def __init__(self, rooms: Rooms) -> None:
        self._events = rooms.events

    async def subscribe(self, caller: Caller, params: p.Subscribe) -> Subscribed:
        names = self._events.subscribe(peer_of_call(), caller.agent_id, params.names)
        return Subscribed(names=tuple(sorted(names)))

    async def unsubscribe(self, caller: Caller, params: p.Subscribe) -> Subscribed:
        names = self._events.unsubscribe(peer_of_call(), caller.agent_id, params.names)
        return Subscribed(names=tuple(sorted(names)))
