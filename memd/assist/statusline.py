"""``memd statusline``: what Claude Code tells its status line, told to memd, and a short line.

The one live signal of how full a window is; at most every 300 ms, so what is said already
is not said again. A status line that somebody had before goes on: its command stands after
``--``, reads the same and is printed first. Exit code 0 and never a word of an error.
"""

from __future__ import annotations

import os
import sys

from memd.assist import hook_log, once, quick_json
from memd.assist.hook import STDIN_SECONDS_MAX, options, stdin
from memd.assist.line import HookConnection, LineError

SECONDS_MAX = 0.3
CHAINED_SECONDS_MAX = 5.0
SOURCE = "claude-code"
_IN_THE_WINDOW = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def run(arguments: list[str]) -> int:
    """Report what is on stdin and print the line; always 0."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    named, _ = options(arguments[:split])
    before = ""
    try:
        raw = stdin(STDIN_SECONDS_MAX)
        before = _chained(arguments[split + 1 :], raw)
        ours = _line(raw, named.get("client") or SOURCE, named.get("profile"))
    except Exception as error:  # noqa: BLE001  # nobody wants a fault of ours in his status line
        hook_log.note("the status line", type(error).__name__)
        ours = ""
    sys.stdout.write(joined(before, ours))
    return 0


def joined(before: str, ours: str) -> str:
    r"""Return what is printed: the line of before, and memd's behind its last words.

    >>> joined("main *\n", "memd 41%")
    'main * | memd 41%\n'
    """
    before = before.rstrip("\n")
    line = " | ".join(part for part in (before, ours) if part)
    return f"{line}\n" if line else ""


def usage_of(payload: dict[str, object]) -> dict[str, object]:
    """Return what a status line says in the words of ``usage.report``; {} when it names no session.

    Its totals were once the whole session's, so only ``current_usage`` counts as tokens.
    """
    window, session = payload.get("context_window"), payload.get("session_id")
    if not isinstance(window, dict) or not isinstance(session, str) or not session.strip():
        return {}
    usage: dict[str, object] = {"source": SOURCE, "session_id": session, "event": "statusline"}
    now = window.get("current_usage")
    if isinstance(now, dict):
        usage["used_tokens"] = sum(_whole(now.get(name)) for name in _IN_THE_WINDOW)
    if _whole(window.get("context_window_size")):
        usage["window_tokens"] = window["context_window_size"]
    percent = window.get("used_percentage")
    if isinstance(percent, int | float) and not isinstance(percent, bool) and percent >= 0:
        usage["used_percent"] = percent
    model = payload.get("model")
    name = model.get("id") if isinstance(model, dict) else None
    named = {
        "model": name,
        "cwd": payload.get("cwd"),
        "transcript_path": payload.get("transcript_path"),
    }
    texts = {key: value for key, value in named.items() if isinstance(value, str) and value.strip()}
    return usage | texts


def _line(raw: bytes, client: str, profile: str | None) -> str:
    """Tell the daemon what is new, and return memd's own line."""
    try:
        payload = quick_json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    usage = usage_of(payload) if isinstance(payload, dict) else {}
    if not usage:
        return ""
    try:
        line = HookConnection("memd-statusline", client, profile, SECONDS_MAX)
        line.acknowledge()
    except LineError as error:
        hook_log.note("the status line", str(error))
        return "memd off"
    try:
        changed = once.Marks(line.path).changed(
            once.stamp("statusline", str(usage["session_id"])), quick_json.dumps(usage)
        )
        if changed and "used_tokens" in usage:
            line.tell("usage.report", usage)
    finally:
        line.close()
    percent = usage.get("used_percent")
    return "memd" if percent is None else f"memd {percent:.0f}%"


def _chained(command: list[str], raw: bytes) -> str:
    """Return what the *command* prints that was there before; a single word is a shell's line."""
    if not command:
        return ""
    import subprocess

    words = ["/bin/sh", "-c", command[0]] if len(command) == 1 else command
    try:
        done = subprocess.run(  # noqa: S603  # the user's own status line, as he wrote it
            words,
            input=raw,
            stdout=subprocess.PIPE,
            timeout=CHAINED_SECONDS_MAX,
            check=False,
            env=dict(os.environ),
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
