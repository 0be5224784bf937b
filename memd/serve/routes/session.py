"""``session.*``, ``usage.*``, ``events.*``: conversations, context windows, subscriptions."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, Field
from pydantic_core import to_json

from memd.base.limits import (
    FRAME_BYTES_MAX,
    NAP_MESSAGES_MAX,
    PAGE_ITEMS_MAX,
    SIGNAL_PATH_CHARS_MAX,
)
from memd.domain.caller import Caller
from memd.domain.ingest import MovedProject, Session, SessionHit, SessionMessage, SessionQuery
from memd.domain.sleep.sleep import ImportedSession, Window
from memd.domain.values import EventName, Name, NotBlankStr, ProjectId, Time, Value
from memd.serve.routes.routes import (
    AgentParams,
    Context,
    Page,
    PageParams,
    Router,
    ShortId,
    WriteParams,
    fitting_page,
)

router = Router()


def _check_absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError("must be an absolute path, such as /home/ada/billing")
    return path


Messages = Annotated[tuple[dict[str, Any], ...], Field(max_length=NAP_MESSAGES_MAX)]
Path = Annotated[NotBlankStr, Field(max_length=SIGNAL_PATH_CHARS_MAX)]
AbsolutePath = Annotated[Path, AfterValidator(_check_absolute)]
_SESSION_ID = ShortId("session_id", "session")
Tokens = Annotated[int, Field(ge=0, le=2**53)]


class StartSessionParams(WriteParams):
    """The session to start or continue; without an id it gets one."""

    session_id: Name | None = None
    project_id: ProjectId | None = None


class EndSessionParams(WriteParams):
    """The session to end."""

    session_id: Name


class ProjectsParams(AgentParams):
    """Where the page of projects starts: *after* is the ``next`` of the page before."""

    after: ProjectId | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class MoveProjectParams(WriteParams):
    """The project whose sessions and memories to move, and the project to move them to.

    Null means no project.
    """

    project_id: ProjectId | None
    new_project_id: ProjectId | None


class SessionMessagesParams(AgentParams):
    """The session whose messages to list, those after number *after*."""

    session_id: Name
    after: int | None = Field(default=None, ge=0)
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class SearchSessionsParams(AgentParams, SessionQuery):
    """The words to search messages for, and the scope of the search."""


class ImportSessionParams(WriteParams):
    """A part of a session's transcript as its assistant wrote it; the last part starts the nap.

    *offset* is the number of characters already sent on this connection. A part out of order is
    refused, and offset 0 starts again.
    """

    text: str = Field(max_length=FRAME_BYTES_MAX)
    offset: int = Field(default=0, ge=0)
    more: bool = False
    """More parts follow."""
    session_id: Name | None = None
    """The session's id, if the transcript does not have it."""
    cwd: Path | None = None
    """The session's working directory, if the transcript does not have it."""
    said_at: Time | None = None
    """When the session took place, if the transcript has no times."""
    dry_run: bool = False


class AddMessagesParams(WriteParams):
    """Messages of a session, in order, for its later naps; it may repeat earlier ones.

    One is known by its text and ``timestamp``. The output of tools counts as text.
    """

    session_id: Name
    project_id: ProjectId | None = None
    messages: Messages


class ReportUsageParams(WriteParams):
    """The fields of a usage file, by call; omitted ones keep their last value."""

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
    cwd: AbsolutePath | None = None
    transcript_path: Path | None = None
    event: Name | None = None
    """turn, PreCompact, PostCompact, SessionEnd, or an event of an assistant's hook."""
    ts: Time | None = None
    messages: Messages | None = None
    """The window's messages: a nap that this report triggers consolidates and returns them."""
    return_messages: bool = False
    """Wait for the nap that this report triggers, and return the shorter list."""


class NewMessages(Value):
    """How many messages the session did not have yet."""

    new: int


class SubscribeParams(AgentParams):
    """The events of an agent to subscribe to, by default all."""

    names: frozenset[EventName] = Field(default=frozenset(EventName), min_length=1)


class Projects(Value):
    """One page of the ids of projects, in order."""

    items: tuple[ProjectId, ...]
    next: ProjectId | None = None


class SessionMessages(Value):
    """One page of a session's messages, in order."""

    items: tuple[SessionMessage, ...]
    next: int | None = None


class Windows(Value):
    """Every context window of an agent's assistants, in one page.

    *unreadable* counts usage files that could not be read, with the reason for the last.
    """

    items: tuple[Window, ...]
    next: Name | None = None
    unreadable: int = 0
    unreadable_reason: str | None = None


class Subscriptions(Value):
    """The events of the agent that the connection is now subscribed to."""

    names: tuple[EventName, ...]


@router.method("session.start", "Start or resume a session.", scope="write")
async def start(context: Context, params: StartSessionParams) -> Session:
    return await context.rooms.sessions.start(context.caller, params.session_id)


@router.method(
    "session.end",
    "End a session; memories of level session are dropped.",
    scope="write",
    repeats="when done",
)
async def end(context: Context, params: EndSessionParams) -> Session:
    return await context.rooms.sessions.end(context.caller, params.session_id)


@router.method("session.list", "List sessions, page by page.")
async def list_(context: Context, params: PageParams) -> Page[Session]:
    items, after = await context.rooms.sessions.list(context.caller, params.after, params.limit)
    return Page[Session](items=items, next=after)


@router.method("session.projects", "List the projects of an agent's sessions and memories.")
async def projects(context: Context, params: ProjectsParams) -> Projects:
    """Return one page, shortened so that its ids fit into a frame."""

    async def page_of(limit: int) -> Projects:
        sessions = context.rooms.sessions
        items, after = await sessions.projects(context.caller, params.after, limit)
        return Projects(items=items, next=after)

    return await fitting_page(page_of, params.limit)


@router.method(
    "session.move_project", "Move a project's sessions and memories to another.", scope="admin"
)
async def move_project(context: Context, params: MoveProjectParams) -> MovedProject:
    sessions = context.rooms.sessions
    return await sessions.move_project(context.caller, params.project_id, params.new_project_id)


@router.method(
    "session.messages",
    "List the messages that naps kept of a session.",
    short_id=_SESSION_ID,
)
async def messages(context: Context, params: SessionMessagesParams) -> SessionMessages:
    """Return one page, shortened so that its texts fit into a frame."""

    async def page_of(limit: int) -> SessionMessages:
        items, after = await context.rooms.sessions.messages(
            context.caller, params.session_id, params.after, limit
        )
        return SessionMessages(items=items, next=after)

    return await fitting_page(page_of, params.limit)


@router.method("session.search", "Search the messages that naps kept.", short_id=_SESSION_ID)
async def search(context: Context, params: SearchSessionsParams) -> Page[SessionHit]:
    return Page[SessionHit](items=await context.rooms.sessions.search(context.caller, params))


@router.method(
    "session.add_messages",
    "Add messages to a session, for its later naps.",
    scope="write",
    repeats="when done",
)
async def add_messages(context: Context, params: AddMessagesParams) -> NewMessages:
    from memd.sleep.transcript.roles import check_messages

    check_messages(params.messages)
    log = context.rooms.naps.message_log
    return NewMessages(new=await log.add(context.caller, params.session_id, params.messages))


@router.method("session.import", "Import a recorded session by a nap.", scope="write")
async def import_(context: Context, params: ImportSessionParams) -> ImportedSession:
    """Store a part; with the last part, nap over the whole transcript.

    Only the last part is a write, whose answer is stored. Another one that is sent again belongs to
    the connection on which it arrives.
    """
    assert context.peer is not None
    add = partial(context.rooms.uploads.add, context.peer, params.text, params.offset)
    if params.more:
        return ImportedSession(taken=add(more=True).chars)

    async def import_session(caller: Caller) -> ImportedSession:
        chars, transcript = add(more=False)
        assert transcript is not None
        imported = await context.rooms.naps.importer.import_session(
            caller,
            transcript,
            session_id=params.session_id,
            cwd=params.cwd,
            said_at=params.said_at,
            dry_run=params.dry_run,
        )
        return imported.model_copy(update={"taken": chars})

    answer: ImportedSession = await context.rooms.answers.run_once(context.caller, import_session)
    return answer


@router.method(
    "usage.report", "Report how full a context window is; naps when full.", scope="write"
)
async def report_usage(context: Context, params: ReportUsageParams) -> Window:
    """Handle a report. Its answer is stored without the texts of a nap, which are made again."""
    from memd.signals.usage import Usage
    from memd.sleep.transcript.roles import check_messages
    from memd.sleep.window.trigger import check_event

    check_event(params.event)
    check_messages(params.messages or ())
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
    watcher, windows = context.rooms.naps.watcher, list[Window]()

    async def report(caller: Caller) -> Window:
        windows.append(await watcher.report(caller, usage, params.messages, returns=returns))
        return windows[0].without_texts()

    stored = await context.rooms.answers.run_once(context.caller, report)
    if windows:
        return windows[0]
    window = Window.model_validate_json(to_json(stored))
    return await watcher.restore_texts(context.caller, window, params.messages)


@router.method("usage.list", "List each assistant's context window, as last reported.")
async def windows(context: Context, _params: AgentParams) -> Windows:
    watcher = context.rooms.naps.watcher
    unreadable, reason = watcher.unreadable()
    return Windows(
        items=await watcher.list(context.caller),
        unreadable=unreadable,
        unreadable_reason=reason,
    )


@router.method("events.subscribe", "Subscribe this connection to events.")
async def subscribe(context: Context, params: SubscribeParams) -> Subscriptions:
    events, agent_id = context.rooms.events, context.caller.agent_id
    names = events.subscribe(context.peer, agent_id, params.names)
    return Subscriptions(names=tuple(sorted(names)))


@router.method("events.unsubscribe", "Unsubscribe this connection from events.")
async def unsubscribe(context: Context, params: SubscribeParams) -> Subscriptions:
    events, agent_id = context.rooms.events, context.caller.agent_id
    names = events.unsubscribe(context.peer, agent_id, params.names)
    return Subscriptions(names=tuple(sorted(names)))
