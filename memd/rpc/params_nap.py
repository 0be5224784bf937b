"""The params of ``session.*``, ``usage.*``, ``events.*`` and of naps."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasChoices, Field

from memd.base.limits import (
    FRAME_BYTES_MAX,
    NAP_MESSAGES_MAX,
    PAGE_ITEMS_MAX,
    SIGNAL_PATH_CHARS_MAX,
)
from memd.model.events import EventName
from memd.model.session import SessionQuery
from memd.model.values import Name, NotBlankStr, ProjectId, Time
from memd.rpc.params import Params, Scoped, Writing

Messages = Annotated[tuple[dict[str, Any], ...], Field(max_length=NAP_MESSAGES_MAX)]
Path = Annotated[NotBlankStr, Field(max_length=SIGNAL_PATH_CHARS_MAX)]
Tokens = Annotated[int, Field(ge=0, le=2**53)]


class StartSession(Writing):
    """The session to begin, or to go on with; without an id it is given one."""

    session_id: Name | None = None
    project_id: ProjectId | None = None


class EndSession(Writing):
    """The session that is over."""

    session_id: Name


class SessionMessages(Scoped):
    """Whose messages, from after the *after*-th on."""

    session_id: Name
    after: int | None = Field(default=None, ge=0)
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


class SearchSessions(Scoped, SessionQuery):
    """Which words to look for in what was said, and where."""


class ImportSession(Scoped):
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


class ReportUsage(Scoped):
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


class Subscribe(Scoped):
    """Which events of which agent; all of them when none are named."""

    names: frozenset[EventName] = Field(default=frozenset(EventName), min_length=1)


class Consolidate(Writing):
    """A nap over *messages*, over the transcript at a path, or over what a session told memd."""

    messages: Messages | None = None
    transcript_path: Path | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    """The window that the summary must fit into, by a quarter."""
    system_prompt: str = ""
    """Accepted, and of no effect (SPEC 6.3)."""


class ShouldConsolidate(Params):
    """How many tokens are used; without *max_tokens* of what the settings say."""

    current_tokens: Tokens
    max_tokens: int | None = Field(default=None, le=2**53)
    threshold_pct: float | None = Field(default=None, gt=0.0, le=1.0)


class EstimateTokens(Params):
    """The messages to measure."""

    messages: Messages
