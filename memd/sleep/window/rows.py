"""Convert a window between a usage report, its row, and the value for callers."""

from __future__ import annotations

from typing import Any

from memd.base.clock import from_us, to_us
from memd.base.errors import InvalidError
from memd.domain.sleep.sleep import Window
from memd.signals.usage import Usage
from memd.sleep.window import trigger
from memd.sleep.window.trigger import Emptying, Reason, WindowState
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.session import injections, windows
from memd.store.session.windows import WindowRow


def to_state(row: WindowRow | None) -> WindowState:
    """Return the state for the trigger; *row* is None for a window without a report."""
    if row is None:
        return WindowState()
    return WindowState(
        used=row.used_tokens,
        window=row.window_tokens,
        compact_at=row.compact_at_tokens,
        percent=row.used_percent,
        event=row.event,
        at=from_us(row.seen_at_us),
        armed=row.armed,
    )


def update_row(
    agent_id: str, usage: Usage, before: WindowRow | None, after: WindowState, now_us: int
) -> WindowRow:
    """Return a window's row after *usage*, which must have source and session."""
    assert usage.source is not None
    assert usage.session_id is not None
    return WindowRow(
        agent_id=agent_id,
        source=usage.source,
        session_id=usage.session_id,
        used_tokens=after.used,
        window_tokens=after.window,
        compact_at_tokens=after.compact_at,
        used_percent=after.percent,
        model=usage.model or (before.model if before else None),
        cwd=usage.cwd or (before.cwd if before else None),
        transcript_path=usage.transcript_path or (before.transcript_path if before else None),
        event=after.event,
        armed=after.armed,
        seen_at_us=now_us if usage.at is None else to_us(usage.at),
        napped_at_us=before.napped_at_us if before else None,
    )


def require_fill(before: WindowRow | None, usage: Usage) -> None:
    """Raise InvalidError for a first report with neither a fill nor an event."""
    values = (usage.used_tokens, usage.used_percent, usage.event)
    if before is None and all(value is None for value in values):
        raise InvalidError(
            "the first report of a window says how full it is",
            field="used_percent",
            hint="give used_percent, or used_tokens and window_tokens",
        )


def store_row(conn: Writing, row: WindowRow, now_us: int, emptying: Emptying | None) -> None:
    """Store *row*; if the window was emptied, record that it lost the texts injected so far."""
    agent_key = names.ensure_agent(conn, row.agent_id, now_us)
    windows.put(conn, agent_key, row)
    session_key = names.find_session(conn, agent_key, row.session_id)
    if session_key is None or emptying is None:
        return
    if emptying is Emptying.ANNOUNCED:
        injections.mark_emptied(conn, session_key, now_us, announced=True)
    else:
        injections.mark_shrunk(conn, session_key, now_us)


def summary_window(row: WindowRow | Window, max_tokens: int) -> int:
    """Return the smallest known size of the window; a summary must fit into it.

    The sizes are its own, that at which its assistant compacts, and *max_tokens*.
    """
    sizes = (row.window_tokens, row.compact_at_tokens, max_tokens)
    return min(size for size in sizes if size)


def event_payload(window: Window, reason: Reason | None) -> dict[str, Any]:
    """Return the event of a window for subscribers, without paths."""
    payload = window.model_dump(
        mode="json", include={"source", "session_id", "used_tokens", "window_tokens", "fill"}
    )
    return payload if reason is None else {**payload, "nap": reason.value}


def to_window(row: WindowRow, max_tokens: int) -> Window:
    """Return *row* for callers; *max_tokens* is the size of a window of unknown size."""
    columns: dict[str, Any] = row._asdict()
    napped_us = columns.pop("napped_at_us")
    columns.pop("used_percent")
    return Window(
        **{name: value for name, value in columns.items() if name != "seen_at_us"},
        fill=trigger.fill(to_state(row), max_tokens),
        seen_at=from_us(row.seen_at_us),
        napped_at=from_us(napped_us),
    )
