"""Decide whether a report of a context window triggers a nap.

A nap is due when the fill reaches the threshold (80 %). But assistants compact by themselves, some
of them earlier, so:

- the window counts as full at the size at which its assistant compacts, if that is known;
- the event before a compaction, and the end of a session, trigger at any fill;
- a drop of the fill triggers: the assistant has compacted, and only the transcript has all.

Reaching the threshold triggers once. Before it does again, the fill must fall below the rearm
share. The caller stores the new state after each report, so a restart triggers nothing twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum

from memd.base.errors import InvalidError
from memd.signals.usage import Usage

MAX_TOKENS = 30_000
"""The window of an assistant that does not report its size (SPEC 6.1)."""

METHOD = "memory.consolidate"
"""The method name of every nap in the audit, whatever triggered it."""

THRESHOLD = 0.8  # the fill that triggers
REARM = 0.6  # below this fill, the threshold can trigger again
DROP = 0.25  # the share of the tokens by which a window falls when it was compacted
_SIMILARITY_MIN = 0.4  # of a misspelt event; "end" and "SessionEnd" have 0.46


def _normalise(event: str) -> str:
    """Return the letters of *event* in lower case: "sessionend" for "session_end"."""
    return "".join(letter for letter in event.lower() if letter.isalpha())


def _normalise_all(*events: str) -> frozenset[str]:
    return frozenset(map(_normalise, events))


_BEFORE_COMPACTION = _normalise_all(
    "PreCompact", "session.compacting", "experimental.session.compacting"
)
_PERHAPS_BEFORE_COMPACTION = _normalise_all("PreCompress")  # of Gemini CLI
_AFTER_COMPACTION = _normalise_all("PostCompact", "PostCompress", "session.compacted")
_AT_THE_END = _normalise_all("SessionEnd", "session.deleted", "TaskComplete", "TaskCancel")
# Events that trigger nothing by themselves; only their fill counts.
_IN_BETWEEN = _normalise_all(
    *("turn", "statusline", "SessionStart", "UserPromptSubmit", "Stop", "Notification"),
    *("PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "BeforeAgent", "AfterAgent"),
    *("BeforeModel", "AfterModel", "BeforeTool", "AfterTool", "userPromptSubmitted", "agentStop"),
    *("beforeSubmitPrompt", "afterAgentResponse", "session.created", "chat.message"),
    "session.idle",
)
_KNOWN = (
    _BEFORE_COMPACTION | _PERHAPS_BEFORE_COMPACTION | _AFTER_COMPACTION | _AT_THE_END | _IN_BETWEEN
)
NAMED_EVENTS = ("turn", "PreCompact", "PostCompact", "SessionEnd")
"""The events for users' own programs; the other names are those of assistants' hooks."""


class Reason(StrEnum):
    """Why a nap is due."""

    FULL = "full"
    EVENT = "event"
    ENDED = "ended"
    DROPPED = "dropped"
    QUIET = "quiet"
    """The session was quiet for an hour; triggered without a report (``other_sessions.py``)."""


@dataclass(frozen=True, slots=True)
class WindowState:
    """The known state of one assistant's window; None means unknown.

    *used* and *percent* are alternatives, so a report replaces both. *armed* says whether reaching
    the threshold triggers. *event* and *at* are those of the last report, to recognise it when it
    is read again.
    """

    used: int | None = None
    window: int | None = None
    compact_at: int | None = None
    percent: float | None = None
    event: str | None = None
    at: datetime | None = None
    armed: bool = True


def merge(state: WindowState, usage: Usage) -> WindowState:
    """Return *state* with the values that *usage* reports."""
    has_fill = usage.used_tokens is not None or usage.used_percent is not None
    return WindowState(
        used=usage.used_tokens if has_fill else state.used,
        percent=usage.used_percent if has_fill else state.percent,
        window=state.window if usage.window_tokens is None else usage.window_tokens,
        compact_at=state.compact_at if usage.compact_at_tokens is None else usage.compact_at_tokens,
        event=usage.event or state.event,
        at=usage.at or state.at,
        armed=state.armed,
    )


def fill(state: WindowState, max_tokens: int = MAX_TOKENS) -> float | None:
    """Return how full the window is, as a share; None if unknown.

    It is full at the smaller of its size and the size at which the assistant compacts, or at
    *max_tokens* if neither is known. With a *max_tokens* of 0 it is never full.

    >>> compacting = WindowState(used=162_000, window=1_000_000, compact_at=400_000)
    >>> fill(WindowState(used=24_000)), fill(compacting)
    (0.8, 0.405)
    """
    sizes = [size for size in (state.window, state.compact_at) if size]
    if state.used is not None and (sizes or state.percent is None):
        end = min(sizes) if sizes else max_tokens
        return state.used / end if end > 0 else 0.0
    if state.percent is None:
        return None
    share = state.percent / 100
    return share * state.window / min(sizes) if state.window else share


def step(
    state: WindowState,
    usage: Usage,
    *,
    max_tokens: int = MAX_TOKENS,
    threshold: float = THRESHOLD,
    rearm: float = REARM,
    drop: float = DROP,
) -> tuple[WindowState, Reason | None]:
    """Return the state after *usage*, and why a nap is due, or None.

    A fill of exactly the threshold triggers. A *rearm* that is not below *threshold* becomes three
    quarters of it, so that a window near the threshold does not trigger at every report.
    """
    new_state = merge(state, usage)
    share = fill(new_state, max_tokens)
    if rearm >= threshold:
        rearm = threshold * REARM / THRESHOLD
    crossed = state.armed and share is not None and share >= threshold
    reason = _reason_of_event(state, usage, share, rearm)
    if reason is None and crossed:
        reason = Reason.FULL
    if reason is None and state.armed and _has_dropped(state, new_state, drop):
        reason = Reason.DROPPED
    if crossed or reason is Reason.EVENT:
        armed = False
    else:
        armed = state.armed or (share is not None and share < rearm)
    return replace(new_state, armed=armed), reason


class Emptying(StrEnum):
    """How memd knows that a window has lost its contents."""

    ANNOUNCED = "announced"
    FELL = "fell"


def detect_emptying(
    before: WindowState, usage: Usage, reason: Reason | None, drop: float = DROP
) -> Emptying | None:
    """Return how *usage* shows that the window was emptied; None if it was not.

    The event before a compaction counts like the one after it, as no prompt comes in between.
    """
    is_after = usage.event is not None and _normalise(usage.event) in _AFTER_COMPACTION
    if reason is Reason.EVENT or (is_after and not _is_repeated(before, usage)):
        return Emptying.ANNOUNCED
    return Emptying.FELL if _has_dropped(before, merge(before, usage), drop) else None


def check_event(event: str | None) -> None:
    """Raise InvalidError for an unknown event, which might announce a compaction or an end.

    Letter case and punctuation do not matter.
    """
    if event is None or _normalise(event) in _KNOWN:
        return
    names = map(_normalise, NAMED_EVENTS)
    matches = get_close_matches(_normalise(event), names, 1, _SIMILARITY_MIN)
    guesses = [name for name in NAMED_EVENTS if _normalise(name) in matches]
    guess = f"did you mean {guesses[0]}? " if guesses else ""
    raise InvalidError(
        f"no such event; there are {', '.join(NAMED_EVENTS)}, and the events of assistants' hooks",
        field="event",
        hint=f"{guess}leave it out if nothing happened but a turn",
    )


def _reason_of_event(
    state: WindowState, usage: Usage, share: float | None, rearm: float
) -> Reason | None:
    """Return the reason if *usage* has a new event that triggers, else None.

    Gemini CLI announces every attempt to compress, even if it then does nothing. So its event
    triggers only if the window is armed and filled to *rearm*.
    """
    if usage.event is None or _is_repeated(state, usage):
        return None
    name = _normalise(usage.event)
    if name in _AT_THE_END:
        return Reason.ENDED
    if name in _BEFORE_COMPACTION:
        return Reason.EVENT
    is_likely = state.armed and share is not None and share >= rearm
    return Reason.EVENT if name in _PERHAPS_BEFORE_COMPACTION and is_likely else None


def _is_repeated(state: WindowState, usage: Usage) -> bool:
    """Return whether *usage* is the last report read again, as after a restart."""
    if usage.event != state.event:
        return False
    if usage.at is not None:
        return usage.at == state.at
    return merge(state, usage) == state


def _has_dropped(before: WindowState, new_state: WindowState, drop: float) -> bool:
    """Return whether the usage fell by more than the share *drop*."""
    used, used_now = _tokens(before), _tokens(new_state)
    if used is None or used_now is None:
        used, used_now = before.percent, new_state.percent
    return used is not None and used_now is not None and used_now < used * (1 - drop)


def _tokens(state: WindowState) -> float | None:
    if state.used is None and state.percent is not None and state.window is not None:
        return state.percent / 100 * state.window
    return state.used
