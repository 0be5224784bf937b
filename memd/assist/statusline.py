"""``memd statusline``: report the usage in Claude Code's status line data, and print a line.

This is the only live signal of a window's usage. It comes as often as every 300 ms, so an
unchanged one is not sent again. The user's own status line keeps working: its command follows
``--``, gets the same input, and its output is printed first. The exit code is always 0, and errors
are only logged.
"""

from __future__ import annotations

import os
import sys

from memd.assist import hook_marks, quick_json
from memd.assist.connection import HookConnection, HookError, parse_options
from memd.assist.hook import STDIN_SECONDS_MAX, note, stdin

SECONDS_MAX = 0.3
"""Timeout of the daemon."""
CHAINED_SECONDS_MAX = 5.0
"""Timeout of the user's own status line command."""
SOURCE = "claude-code"
_FILLS = frozenset(("used_tokens", "used_percent"))
"""Params of which one is enough to report how full a window is."""
_IN_THE_WINDOW = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def run(arguments: list[str]) -> int:
    """Report the usage on stdin and print the line; return 0."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options, _ = parse_options(arguments[:split])
    chained, own = "", ""
    try:
        raw = stdin(STDIN_SECONDS_MAX)
        chained = _run_chained(arguments[split + 1 :], raw)
        own = _report_and_render(raw, options.get("client") or SOURCE, options.get("profile"))
    except Exception as error:  # noqa: BLE001  # no error belongs in a status line
        note("the status line", type(error).__name__)
    sys.stdout.write(join_lines(chained, own))
    return 0


def join_lines(chained: str, own: str) -> str:
    r"""Return the output: the chained command's line, followed by memd's.

    >>> join_lines("main *\n", "memd 41%")
    'main * | memd 41%\n'
    """
    line = " | ".join(part for part in (chained.rstrip("\n"), own) if part)
    return f"{line}\n" if line else ""


def usage_of(payload: dict[str, object]) -> dict[str, object]:
    """Return the params of ``usage.report`` for a status line, {} if it names no session.

    Only ``current_usage`` gives the tokens: in some versions the totals cover the whole session.
    """
    window, session = payload.get("context_window"), payload.get("session_id")
    if not isinstance(window, dict) or not isinstance(session, str) or not session.strip():
        return {}
    usage: dict[str, object] = {"source": SOURCE, "session_id": session, "event": "statusline"}
    current = window.get("current_usage")
    if isinstance(current, dict):
        usage["used_tokens"] = sum(_positive_int(current.get(name)) for name in _IN_THE_WINDOW)
    if _positive_int(window.get("context_window_size")):
        usage["window_tokens"] = window["context_window_size"]
    percent = window.get("used_percentage")
    if isinstance(percent, int | float) and not isinstance(percent, bool) and percent >= 0:
        usage["used_percent"] = percent
    model = payload.get("model")
    name = model.get("id") if isinstance(model, dict) else None
    values = {
        "model": name,
        "cwd": payload.get("cwd"),
        "transcript_path": payload.get("transcript_path"),
    }
    texts = {
        key: value for key, value in values.items() if isinstance(value, str) and value.strip()
    }
    return usage | texts


def _report_and_render(raw: bytes, client: str, profile: str | None) -> str:
    """Report a changed usage to the daemon, and return memd's own line."""
    try:
        payload = quick_json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    usage = usage_of(payload) if isinstance(payload, dict) else {}
    if not usage:
        return ""
    try:
        connection = HookConnection("memd-statusline", client, profile, SECONDS_MAX)
        connection.acknowledge()
    except HookError as error:
        note("the status line", str(error))
        return "memd off"
    try:
        marks, text = hook_marks.Marks(connection.path), quick_json.dumps(usage)
        mark = hook_marks.stamp("statusline", str(usage["session_id"]))
        if not marks.holds(mark, text):
            if not _FILLS.isdisjoint(usage):
                connection.notify("usage.report", usage)
            marks.store(mark, text)  # now, so that a usage that was not sent is sent next time
    finally:
        connection.close()
    percent = usage.get("used_percent")
    return "memd" if percent is None else f"memd {percent:.0f}%"


def _run_chained(command: list[str], raw: bytes) -> str:
    """Return the output of the user's earlier *command*; a single word is a shell command."""
    if not command:
        return ""
    import subprocess

    words = ["/bin/sh", "-c", command[0]] if len(command) == 1 else command
    try:
        result = subprocess.run(  # noqa: S603  # the user's own status line, as he wrote it
            words,
            input=raw,
            stdout=subprocess.PIPE,
            timeout=CHAINED_SECONDS_MAX,
            check=False,
            env=dict(os.environ),
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.decode("utf-8", "replace")


def _positive_int(value: object) -> int:
    """Return *value* if it is a positive integer, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
