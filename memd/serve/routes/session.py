"""``session.*``, ``usage.*``, ``events.*``: conversations, windows, and who hears of what."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasChoices, Field

from memd.base.limits import (
    FRAME_BYTES_MAX,
    NAP_MESSAGES_MAX,
    PAGE_ITEMS_MAX,
    SIGNAL_PATH_CHARS_MAX,
)
from memd.domain.ingest import Session, SessionHit, SessionMessage, SessionQuery
from memd.domain.sleep.sleep import ImportedSession, Window
from memd.domain.values import EventName, Name, NotBlankStr, ProjectId, Time, Value
from memd.serve.params import AgentParams, PageParams, WriteParams
from memd.serve.route import Context, Router
from memd.serve.routes.fitting import fitting_page

router = Router()

Messages = Annotated[tuple[dict[str, Any], ...], Field(max_length=NAP_MESSAGES_MAX)]
Path = Annotated[NotBlankStr, Field(max_length=SIGNAL_PATH_CHARS_MAX)]
Tokens = Annotated[int, Field(ge=0, le=2**53)]


class StartSessionParams(WriteParams):
    """The session to begin, or to go on with; without an id it is given one."""

    session_id: Name | None = None
    project_id: ProjectId | None = None


class EndSessionParams(WriteParams):
    """The session that is over."""

    session_id: Name


class SessionMessagesParams(AgentParams):
    """Whose messages, from after the *after*-th on."""

    session_id: Name
    after: int | None = Field(default=None, ge=0)
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class SearchSessionsParams(AgentParams, SessionQuery):
    """Which words to look for in what was said, and where."""


class ImportSessionParams(WriteParams):
    """A part of a session's transcript, as its assistant wrote it; the nap is with the last.

    *offset* says how many characters came before it on this connection: a part that does
    not follow is refused, and the first one begins anew.
    """

    text: str = Field(max_length=FRAME_BYTES_MAX)
    offset: int = Field(default=0, ge=0)
    more: bool = False
    """There are parts to come."""
    session_id: Name | None = None
    """The session, where the transcript does not name it."""
    cwd: Path | None = None
    """Where it was held, where the transcript does not tell."""
    dry_run: bool = False


class ReportUsageParams(WriteParams):
    """What a usage file says, by call; what is left out stays as it was said last."""

    source: Name
    session_id: Name
    used_tokens: Tokens | None = Field(
        default=None, validation_alias=AliasChoices("used_tokens", "current_tokens")
    )
    window_tokens: Tokens | None = Field(
        default=None, ge=1, validation_alias=AliasChoices("window_tokens", "max_tokens")
    )
    compact_at_tokens: Tokens | None = Field(default=None, ge=1)
    used_percent: float | None = Field(default=None, ge=0.0, le=1000.0)
    model: Name | None = None
    cwd: Path | None = None
    transcript_path: Path | None = None
    event: Name | None = None
    ts: Time | None = None
    messages: Messages | None = None
    """What stands in the window: a nap that this calls for is over it, and returned."""
    return_messages: bool = False
    """Wait for the nap that this calls for, and return the shorter list."""


class SubscribeParams(AgentParams):
    """Which events of which agent; all of them when none are named."""

    names: frozenset[EventName] = Field(default=frozenset(EventName), min_length=1)


class SessionPage(Value):
    """One page of sessions, the newest first."""

    items: tuple[Session, ...]
    next: Name | None = None


class SessionHits(Value):
    """Messages that hold the words, best first; there is one page."""

    items: tuple[SessionHit, ...]
    next: Name | None = None


class SessionMessages(Value):
    """One page of a session's messages, in order."""

    items: tuple[SessionMessage, ...]
    next: int | None = None


class Windows(Value):
    """Every context window of an agent's assistants; there is one page.

    *unreadable* usage files are there too, the last of them for this reason.
    """

    items: tuple[Window, ...]
    next: Name | None = None
    unreadable: int = 0
    unreadable_reason: str | None = None


class Subscribed(Value):
    """What the connection now hears about the agent."""

    names: tuple[EventName, ...]


@router.method(
    "session.start", StartSessionParams, Session, "Begin a session, or go on.", scope="write"
)
async def start(context: Context, params: StartSessionParams) -> Session:
    return await context.rooms.sessions.start(context.caller, params.session_id)


@router.method(
    "session.end",
    EndSessionParams,
    Session,
    "End a session: what was its own goes.",
    scope="write",
)
async def end(context: Context, params: EndSessionParams) -> Session:
    return await context.rooms.sessions.end(context.caller, params.session_id)


@router.method("session.list", PageParams, SessionPage, "All sessions, page by page.")
async def list_(context: Context, params: PageParams) -> SessionPage:
    items, after = await context.rooms.sessions.list(context.caller, params.after, params.limit)
    return SessionPage(items=items, next=after)


@router.method("session.messages", SessionMessagesParams, SessionMessages, "What naps kept of it.")
async def messages(context: Context, params: SessionMessagesParams) -> SessionMessages:
    """Return one page, shorter than asked for when its texts would not fit into a frame."""

    async def page_of(limit: int) -> SessionMessages:
        items, after = await context.rooms.sessions.messages(
            context.caller, params.session_id, params.after, limit
        )
        return SessionMessages(items=items, next=after)

    return await fitting_page(page_of, params.limit)


@router.method("session.search", SearchSessionsParams, SessionHits, "Words in what naps kept.")
async def search(context: Context, params: SearchSessionsParams) -> SessionHits:
    return SessionHits(items=await context.rooms.sessions.search(context.caller, params))


@router.method(
    "session.import",
    ImportSessionParams,
    ImportedSession,
    "A recorded one: a nap.",
    scope="write",
    repeats="anew",
)
async def import_(context: Context, params: ImportSessionParams) -> ImportedSession:
    """Keep a part, or nap over the whole when it is the last."""
    assert context.peer is not None
    part = context.rooms.uploads.add(context.peer, params.text, params.offset, more=params.more)
    if part.transcript is None:
        return ImportedSession(taken=part.taken)
    imported = await context.rooms.naps.import_session(
        context.caller,
        part.transcript,
        session_id=params.session_id,
        cwd=params.cwd,
        dry_run=params.dry_run,
    )
    return imported.model_copy(update={"taken": part.taken})


@router.method(
    "usage.report",
    ReportUsageParams,
    Window,
    "How full a window is; naps when full.",
    scope="write",
    repeats="anew",
)
async def report_usage(context: Context, params: ReportUsageParams) -> Window:
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
    return await context.rooms.naps.report(context.caller, usage, params.messages, returns=returns)


@router.method("usage.list", AgentParams, Windows, "Each assistant's window, as it last said.")
async def windows(context: Context, _params: AgentParams) -> Windows:
    unreadable, reason = context.rooms.naps.unreadable()
    return Windows(
        items=await context.rooms.naps.list(context.caller),
        unreadable=unreadable,
        unreadable_reason=reason,
    )


@router.method("events.subscribe", SubscribeParams, Subscribed, "Hear of events, on this line.")
async def subscribe(context: Context, params: SubscribeParams) -> Subscribed:
    events, agent_id = context.rooms.events, context.caller.agent_id
    names = events.subscribe(context.peer, agent_id, params.names)
    return Subscribed(names=tuple(sorted(names)))


@router.method("events.unsubscribe", SubscribeParams, Subscribed, "Hear of them no longer.")
async def unsubscribe(context: Context, params: SubscribeParams) -> Subscribed:
    events, agent_id = context.rooms.events, context.caller.agent_id
    names = events.unsubscribe(context.peer, agent_id, params.names)
    return Subscribed(names=tuple(sorted(names)))
