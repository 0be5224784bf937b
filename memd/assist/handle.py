"""What one event asks for: the daemon is told of it, and what it answers is printed.

Nothing is sent before the daemon knows whose hook this is.
"""

from __future__ import annotations

import sys
import time

from memd.assist import events, once, quick_json
from memd.assist.line import HookConnection
from memd.assist.payload import TEXT_CHARS_MAX, HookEvent

PROMPT_TOKENS = 2_000
PATIENCE_MS = 100
PRINTED_CHARS_MAX = 9_500
"""Claude Code shows a model 9,900 characters whole, of 10,100 only the beginning."""
"""How long a model that is not loaded is waited for; then words alone are searched."""
QUERY_CHARS_MAX = 8_000
TYPED_CHARS_MAX = 4_000
FRAME_BYTES_MAX = 900_000
TAIL_BYTES_MAX = 1_048_576

_READS_ALONE = ("copilot",)
"""Who hands over no answer: it stands in the transcript."""
_TELLS_NO_USAGE = ("codex", "gemini", "copilot")
"""Whose transcripts tell how full the window is, and nothing else does."""


def handle(line: HookConnection, event: HookEvent) -> None:
    """Tell the daemon what *event* says, and print what the assistant is to read."""
    marks = once.Marks(line.path)
    if not marks.take(once.stamp(event.session, event.action, event.mark, event.text or "")):
        return
    if event.action == events.BEGIN:
        marks.clear()
        _begun(line, event)
    elif event.action == events.PROMPT:
        _asked(line, event, marks)
    elif event.action == events.ANSWER:
        _answered(line, event, marks)
    else:
        _report(line, event, event.usage)


def _begun(line: HookConnection, event: HookEvent) -> None:
    """Print the brief of a session that begins or whose window was emptied."""
    if event.aside or event.resumed:
        return
    line.ask("session.start", event.where)  # and over: what it is given is noted from then on
    brief = line.ask("inject.brief", {**event.where, "token_budget": PROMPT_TOKENS})
    _tell(event, brief)


def _asked(line: HookConnection, event: HookEvent, marks: once.Marks) -> None:
    """Print what is known about a person's prompt, and then have the prompt kept.

    In this order: the daemon's work on what is kept would compete with what is waited for.
    """
    if event.aside and event.mark:
        marks.put(once.stamp("aside", event.session, event.mark))
    if event.aside or event.text is None:
        return
    try:
        if events.takes(event.source, event.action):
            asked = {
                "query": event.text[:QUERY_CHARS_MAX],
                "token_budget": PROMPT_TOKENS,
                "patience_ms": PATIENCE_MS,
            }
            _tell(event, line.ask("inject.prepare", {**event.where, **asked}))
    finally:
        _keep(line, event, typed(event.text), "person")


def typed(prompt: str) -> str:
    r"""Return what of a *prompt* a person may have typed: its beginning, up to a paragraph's end.

    A log that is pasted below would be four hundred memories in the person's name; it stands
    in the transcript, and naps know a paste when they see one.

    >>> len(typed("Why does this fail?\n\n" + "x" * 9_000))
    19
    """
    if len(prompt) <= TYPED_CHARS_MAX:
        return prompt
    head = prompt[:TYPED_CHARS_MAX]
    return head.rpartition("\n\n")[0].rstrip() or head.rpartition("\n")[0].rstrip() or head


def _answered(line: HookConnection, event: HookEvent, marks: once.Marks) -> None:
    """Have the answer kept, and tell how full the window is where the transcript knows."""
    if event.mark and marks.has(once.stamp("aside", event.session, event.mark)):
        return
    if event.text is not None:
        _keep(line, event, event.text, "assistant")
    usage = event.usage
    if event.transcript is not None and event.source in _TELLS_NO_USAGE:
        from memd.assist import transcript

        tail = transcript.tail(event.transcript, TAIL_BYTES_MAX)
        usage = usage or tail.usage
        if event.source in _READS_ALONE and tail.answer is not None:
            _keep(line, event, tail.answer, "assistant")
    _report(line, event, usage)


def _keep(line: HookConnection, event: HookEvent, text: str, origin: str) -> None:
    """Send a turn of the session, under a key that the same event always has."""
    if len(text) > TEXT_CHARS_MAX:
        return  # no frame's worth was typed: what is pasted whole stands in the transcript
    key = f"hook:{event.action}:{once.stamp(event.source, event.session, event.mark, text)}"
    turn: dict[str, object] = {"text": text, "origin": origin, "idempotency_key": key}
    line.tell("memory.ingest", {**event.where, **turn})


def _report(line: HookConnection, event: HookEvent, usage: dict[str, object]) -> None:
    """Tell what is known of the window; a nap follows by itself where the event calls for one."""
    params: dict[str, object] = {
        "source": event.source,
        "session_id": event.session,
        "event": event.event,
        "ts": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **usage,
    }
    if event.model is not None:
        params["model"] = event.model
    if event.cwd is not None:
        params["cwd"] = event.cwd
    if event.messages is not None:
        params["messages"] = _newest(event.messages)
    elif event.transcript is not None:
        params["transcript_path"] = event.transcript
    line.tell("usage.report", params)


def _newest(messages: list[object]) -> list[object]:
    """Return the newest messages that fit into a frame."""
    kept: list[object] = []
    size = 0
    for message in reversed(messages):
        size += len(repr(message)) * 2
        if size > FRAME_BYTES_MAX:
            break
        kept.append(message)
    return kept[::-1]


def _tell(event: HookEvent, result: dict[str, object]) -> None:
    """Print what the assistant reads of *result*."""
    text = printed(event.source, event.event, text_of(result))
    if text:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def text_of(result: dict[str, object]) -> str:
    r"""Return the messages of a brief or a prompt as one text; what does not fit stays out whole.

    >>> text_of({"messages": [{"role": "system", "content": "one"}, {"content": "two"}]})
    'one\n\ntwo'
    """
    text = ""
    messages = result.get("messages")
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, str) or len(text) + len(content) + 2 > PRINTED_CHARS_MAX:
            continue
        text = f"{text}\n\n{content}" if text else content
    return text


def printed(source: str, event: str, text: str) -> str:
    """Return what is printed for *text*; of nothing, nothing."""
    if not text:
        return ""
    if source in ("copilot", "opencode"):
        output: dict[str, object] = {"additionalContext": text}
    elif source == "cursor":
        output = {"additional_context": text}
    else:
        output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return quick_json.dumps(output)
