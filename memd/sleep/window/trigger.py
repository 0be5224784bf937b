"""When a context window calls for a nap: a rule over what was last known and what is said now.

"80 % of the window" alone is no trigger: assistants compact by themselves, some of
them much earlier. So the window ends where the assistant compacts, its event before
a compaction counts as much as the filling, and a drop means that memd came too late
and only the transcript is left. A crossing fires once; a window must have emptied
below the rearm share, or the session be new, before the next one counts. A
compaction and a session's end are losses of their own and fire whenever they are
announced: what came after the crossing would otherwise be lost.

Pure: the state is a value that is stored after each sample, so a restart fires
nothing twice and two assistants never disturb each other.

Which project an assistant works on is the root of the git working tree that it stands in (D1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from memd.base.limits import PROJECT_CHARS_MAX
from memd.signals.usage import Usage

MAX_TOKENS = 30_000
"""The window of an assistant that does not say how large it is (SPEC 6.1)."""

METHOD = "memory.consolidate"
"""What a nap calls itself in the audit, whoever called for it."""

THRESHOLD = 0.8
REARM = 0.6
DROP = 0.25

# What the assistants call it, in lower-case letters alone.
_BEFORE_COMPACTION = frozenset({"precompact", "sessioncompacting", "experimentalsessioncompacting"})
_PERHAPS_BEFORE_COMPACTION = frozenset({"precompress"})
_AFTER_COMPACTION = frozenset({"postcompact", "postcompress", "sessioncompacted"})
_AT_THE_END = frozenset({"sessionend", "taskcomplete", "taskcancel"})


class Reason(StrEnum):
    """Why a nap is due."""

    FULL = "full"
    EVENT = "event"
    ENDED = "ended"
    DROPPED = "dropped"
    QUIET = "quiet"
    """Nothing was heard of it for an hour; no sample says so (``quiet.py``)."""


@dataclass(frozen=True, slots=True)
class WindowState:
    """One assistant's window as it is known; None is unknown.

    *used* and *percent* say the same thing, so that a new one replaces both.
    *armed*: the next crossing fires. *event* and *at* are the last that were said;
    stored with the rest, they tell a new event from one that is read again.
    """

    used: int | None = None
    window: int | None = None
    compact_at: int | None = None
    percent: float | None = None
    event: str | None = None
    at: datetime | None = None
    armed: bool = True


def merge(state: WindowState, usage: Usage) -> WindowState:
    """Return *state* with what *usage* says; what it does not say stays."""
    says_fill = usage.used_tokens is not None or usage.used_percent is not None
    return WindowState(
        used=usage.used_tokens if says_fill else state.used,
        percent=usage.used_percent if says_fill else state.percent,
        window=state.window if usage.window_tokens is None else usage.window_tokens,
        compact_at=state.compact_at if usage.compact_at_tokens is None else usage.compact_at_tokens,
        event=usage.event or state.event,
        at=usage.at or state.at,
        armed=state.armed,
    )


def fill(state: WindowState, max_tokens: int = MAX_TOKENS) -> float | None:
    """Return how full the window is, as a share of where it ends; None when nobody said.

    It ends where the assistant compacts, at its size, or after *max_tokens* when
    neither is known. A *max_tokens* of 0 never fills.

    >>> compacting = WindowState(used=162_000, window=1_000_000, compact_at=400_000)
    >>> fill(WindowState(used=24_000)), fill(compacting)
    (0.8, 0.405)
    """
    ends = [size for size in (state.window, state.compact_at) if size]
    if state.used is not None and (ends or state.percent is None):
        end = min(ends) if ends else max_tokens
        return state.used / end if end > 0 else 0.0
    if state.percent is None:
        return None
    share = state.percent / 100
    return share * state.window / min(ends) if state.window else share


def step(
    state: WindowState,
    usage: Usage,
    *,
    max_tokens: int = MAX_TOKENS,
    threshold: float = THRESHOLD,
    rearm: float = REARM,
    drop: float = DROP,
) -> tuple[WindowState, Reason | None]:
    """Return the state after *usage* and why a nap is due, None when it is not.

    Equality fires. A *rearm* that is not below *threshold* becomes three quarters of
    it, so that no window hovers between the two and fires at every sample.
    """
    now = merge(state, usage)
    share = fill(now, max_tokens)
    if rearm >= threshold:
        rearm = threshold * REARM / THRESHOLD
    crossed = state.armed and share is not None and share >= threshold
    reason = _announced(state, usage, share, rearm)
    if reason is None and crossed:
        reason = Reason.FULL
    if reason is None and state.armed and _fell(state, now, drop):
        reason = Reason.DROPPED
    if crossed or reason is Reason.EVENT:
        armed = False
    else:
        armed = state.armed or (share is not None and share < rearm)
    return replace(now, armed=armed), reason


class Emptying(StrEnum):
    """How it is known that a window holds no more what it held."""

    ANNOUNCED = "announced"
    FELL = "fell"


def emptying(
    before: WindowState, usage: Usage, reason: Reason | None, drop: float = DROP
) -> Emptying | None:
    """Return whether *usage* says that the window is emptied: by an event, or by its fill.

    The event before a compaction is as good as the one after it: between the two nobody asks.
    """
    is_after = usage.event is not None and _letters(usage.event) in _AFTER_COMPACTION
    if reason is Reason.EVENT or (is_after and not _is_same(before, usage)):
        return Emptying.ANNOUNCED
    return Emptying.FELL if _fell(before, merge(before, usage), drop) else None


def _letters(event: str) -> str:
    return "".join(letter for letter in event.lower() if letter.isalpha())


def _announced(
    state: WindowState, usage: Usage, share: float | None, rearm: float
) -> Reason | None:
    """Return what the event of *usage* calls for, if it is news.

    Gemini announces a compression on every attempt, also on those that do nothing.
    """
    if usage.event is None or _is_same(state, usage):
        return None
    name = _letters(usage.event)
    if name in _AT_THE_END:
        return Reason.ENDED
    if name in _BEFORE_COMPACTION:
        return Reason.EVENT
    likely = state.armed and share is not None and share >= rearm
    return Reason.EVENT if name in _PERHAPS_BEFORE_COMPACTION and likely else None


def _is_same(state: WindowState, usage: Usage) -> bool:
    """Return whether *usage* is what was read last, as after a restart."""
    if usage.event != state.event:
        return False
    if usage.at is not None:
        return usage.at == state.at
    return merge(state, usage) == state


def _fell(before: WindowState, now: WindowState, drop: float) -> bool:
    """Return whether less is used than before, by more than *drop* of it."""
    used, left = _tokens(before), _tokens(now)
    if used is None or left is None:
        used, left = before.percent, now.percent
    return used is not None and left is not None and left < used * (1 - drop)


def _tokens(state: WindowState) -> float | None:
    if state.used is None and state.percent is not None and state.window is not None:
        return state.percent / 100 * state.window
    return state.used


_STEPS_MAX = 64


def project_of(cwd: str | None) -> str | None:
    """Return the project's id for the folder *cwd*, None outside of any.

    Nothing is read: a folder with a ``.git`` in it is a root.
    """
    if cwd is None or not cwd.startswith("/") or "\0" in cwd:
        return None
    here = Path(cwd)
    for folder in (here, *list(here.parents)[:_STEPS_MAX]):
        try:
            has_git = (folder / ".git").exists()
        except OSError:
            return None
        if has_git:
            return str(folder) if len(str(folder)) <= PROJECT_CHARS_MAX else None
    return None
