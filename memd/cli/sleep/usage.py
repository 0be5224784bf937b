"""``memd usage``: show each assistant's context window as last reported, and its naps."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from memd.cli import console, options
from memd.cli.connection import daemon
from memd.cli.tables import id_column, table, text_column, word_column

POLL_S = 1.0
"""Time between two refreshes of ``--watch``."""
_BAR = 16
"""Cells of a bar; each is filled in eighths."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HOME = "\x1b[H\x1b[J"  # move to the top left and clear the screen


@options.examples("memd usage", "memd usage --watch", "memd usage --json | jq '.items[].fill'")
def usage(
    watch: Annotated[bool, "--watch, -w", "Refresh until Ctrl-C."] = False,
    agent: options.Agent = None,
) -> None:
    """Show how full each assistant's context window is.

    At 80 % the session naps.
    """
    params = options.without_none(agent_id=agent)
    with daemon() as client:
        answer = client.call("usage.list", params)
        _show(answer)
        if not answer["items"] and not watch:
            console.note("no assistant has reported its context window")
        while watch:
            time.sleep(POLL_S)
            latest = client.call("usage.list", params)
            if latest != answer:
                answer = latest
                _show(answer, again=True)


def _show(answer: Mapping[str, Any], again: bool = False) -> None:
    unreadable, reason = answer["unreadable"], answer["unreadable_reason"]
    if console.is_json():
        problem = {"unreadable": unreadable, "unreadable_reason": reason}
        console.print_json({"items": answer["items"], **(problem if unreadable else {})})
    else:
        if again and sys.stdout.isatty():
            console.steer(_HOME)
        columns = (
            word_column("ASSISTANT", "source", stored=True),
            id_column("SESSION", "session_id"),
            word_column("USED", lambda window: _number(window["used_tokens"])),
            word_column("OF", lambda window: _number(_end(window))),
            word_column("FULL", lambda window: bar(window["fill"]), whole=True),
            text_column("NAP", _nap, in_place=True),
        )
        table(columns, answer["items"])
        if unreadable:
            console.note(f"unreadable usage files: {unreadable}; the last: {console.line(reason)}")
    sys.stdout.flush()


def _end(window: Mapping[str, Any]) -> int | None:
    """Return the end of the window: its size, or the fill at which the assistant compacts."""
    ends = [end for end in (window["window_tokens"], window["compact_at_tokens"]) if end]
    return min(ends) if ends else None


def bar(fill: float | None) -> str:
    """Format a fill as a bar and a percentage.

    >>> bar(0.5), bar(None), bar(2.0)
    ('████████          50 %', '?', '████████████████ 200 %')
    """
    if fill is None:
        return "?"
    eighths = min(_BAR * 8, round(fill * _BAR * 8))
    full, partial = divmod(eighths, 8)
    blocks = "█" * full + (_EIGHTHS[partial] if partial else "")
    return f"{blocks.ljust(_BAR)} {round(fill * 100):>3} %"


def _nap(window: Mapping[str, Any]) -> str:
    if window.get("napping"):  # older daemons do not report it
        return "napping"
    if window["nap_problem"] is not None:
        # A nap whose transcript is not read goes over the turns that memd has.
        last = "no nap: " if window["napped_at"] is None else f"{_at(window)}; "
        return last + console.line(window["nap_problem"])
    if window["napped_at"] is None:
        return "when full" if window["armed"] else "nothing to consolidate"
    # A nap after the last report was over a session that had ended or fallen quiet.
    goes_on = _time(window["napped_at"]) < _time(window["seen_at"])
    return f"{_at(window)}; again when full" if window["armed"] and goes_on else _at(window)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _at(window: Mapping[str, Any]) -> str:
    return f"napped {console.local_time(window['napped_at'])}"


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"
