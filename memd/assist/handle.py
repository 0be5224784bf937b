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


def handle(line: HookConnection, said: HookEvent) -> None:
    """Tell the daemon what *said* says, and print what the assistant is to read."""
    marks = once.Marks(line.path)
    if not marks.take(once.stamp(said.session, said.action, said.mark, said.text or "")):
        return
    if said.action == events.BEGIN:
        marks.clear()
        _begun(line, said)
    elif said.action == events.PROMPT:
        _asked(line, said, marks)
    elif said.action == events.ANSWER:
        _answered(line, said, marks)
    else:
        _report(line, said, said.usage)


def _begun(line: HookConnection, said: HookEvent) -> None:
    """Print the brief of a session that begins or whose window was emptied."""
    if said.aside or said.resumed:
        return
    line.ask("session.start", said.where)  # and over: what it is given is noted from then on
    brief = line.ask("inject.brief", {**said.where, "token_budget": PROMPT_TOKENS})
    _tell(said, brief)


def _asked(line: HookConnection, said: HookEvent, marks: once.Marks) -> None:
    """Print what is known about a person's prompt, and then have the prompt kept.

    In this order: the daemon's work on what is kept would compete with what is waited for.
    """
    if said.aside and said.mark:
        marks.put(once.stamp("aside", said.session, said.mark))
    if said.aside or said.text is None:
        return
    try:
        if events.takes(said.source, said.action):
            asked = {
                "query": said.text[:QUERY_CHARS_MAX],
                "token_budget": PROMPT_TOKENS,
                "patience_ms": PATIENCE_MS,
            }
            _tell(said, line.ask("inject.prepare", {**said.where, **asked}))
    finally:
        _keep(line, said, typed(said.text), "person")


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


def _answered(line: HookConnection, said: HookEvent, marks: once.Marks) -> None:
    """Have the answer kept, and tell how full the window is where the transcript knows."""
    if said.mark and marks.has(once.stamp("aside", said.session, said.mark)):
        return
    if said.text is not None:
        _keep(line, said, said.text, "assistant")
    usage = said.usage
    if said.transcript is not None and said.source in _TELLS_NO_USAGE:
        from memd.assist import transcript

        tail = transcript.tail(said.transcript, TAIL_BYTES_MAX)
        usage = usage or tail.usage
        if said.source in _READS_ALONE and tail.answer is not None:
            _keep(line, said, tail.answer, "assistant")
    _report(line, said, usage)


def _keep(line: HookConnection, said: HookEvent, text: str, origin: str) -> None:
    """Send a turn of the session, under a key that the same event always has."""
    if len(text) > TEXT_CHARS_MAX:
        return  # no frame's worth was typed: what is pasted whole stands in the transcript
    key = f"hook:{said.action}:{once.stamp(said.source, said.session, said.mark, text)}"
    turn: dict[str, object] = {"text": text, "origin": origin, "idempotency_key": key}
    line.tell("memory.ingest", {**said.where, **turn})


def _report(line: HookConnection, said: HookEvent, usage: dict[str, object]) -> None:
    """Tell what is known of the window; a nap follows by itself where the event calls for one."""
    told: dict[str, object] = {
        "source": said.source,
        "session_id": said.session,
        "event": said.event,
        "ts": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **usage,
    }
    if said.model is not None:
        told["model"] = said.model
    if said.cwd is not None:
        told["cwd"] = said.cwd
    if said.messages is not None:
        told["messages"] = _newest(said.messages)
    elif said.transcript is not None:
        told["transcript_path"] = said.transcript
    line.tell("usage.report", told)


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


def _tell(said: HookEvent, result: dict[str, object]) -> None:
    """Print what the assistant reads of *result*."""
    text = printed(said.source, said.event, text_of(result))
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
        said = message.get("content") if isinstance(message, dict) else None
        if not isinstance(said, str) or len(text) + len(said) + 2 > PRINTED_CHARS_MAX:
            continue
        text = f"{text}\n\n{said}" if text else said
    return text


def printed(source: str, event: str, text: str) -> str:
    """Return what is printed for *text*; of nothing, nothing."""
    if not text:
        return ""
    if source in ("copilot", "opencode"):
        found: dict[str, object] = {"additionalContext": text}
    elif source == "cursor":
        found = {"additional_context": text}
    else:
        found = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return quick_json.dumps(found)
