"""Handle one hook event: report it to the daemon and print the daemon's answer.

Nothing is sent before the daemon has accepted the hook's key.
"""

from __future__ import annotations

import os
import sys
import time

from memd.assist import events, hook_marks, quick_json
from memd.assist.connection import HookConnection, timeout_s
from memd.assist.payload import TEXT_CHARS_MAX, HookEvent

PROMPT_TOKENS = 2_000
"""Budget of the memories for one prompt."""
PATIENCE_MS = 100
"""How long the daemon may wait for its model to load; then it searches by words only."""
PRINTED_CHARS_MAX = 9_500
"""Maximum output. Claude Code passes on 9,900 characters whole, but only the start of 10,100."""
TYPED_CHARS_MAX = 4_000
"""Characters of a prompt that a person may have typed; the rest is taken for pasted."""
FRAME_BYTES_MAX = 900_000
"""Maximum size of a turn or of the messages of an event; the daemon reads frames of up to 1 MiB."""
TAIL_BYTES_MAX = 1_048_576
"""Bytes that are read from the end of a transcript."""
TAIL_WAIT_S = 1.5
"""How long to wait for the answer in a transcript. Copilot writes it shortly after the event."""
_TAIL_POLL_S = 0.1

_BRIEF_WITH_PROMPT = ("gemini",)
"""Assistants that get the brief with the first prompt, not at the start of the session.

Gemini CLI puts output of the session's start before the prompt, and drops it when the session is
resumed. Output for a prompt comes after the prompt, and stays.
"""
_FORGETFUL = ("copilot",)
"""Assistants that lose the output of hooks when they resume a session."""
_ANSWER_IN_TRANSCRIPT = ("copilot",)
"""Assistants that pass no answer to their hooks; it is read from the transcript."""
_USAGE_IN_TRANSCRIPT = ("codex", "gemini", "copilot")
"""Assistants that report the usage of the window only in their transcripts."""
_UNREADABLE_TRANSCRIPT = ("qwen",)
"""Assistants whose transcripts memd cannot read; their naps use the ingested turns."""
_CONTINUES = (events.BEGIN, events.PROMPT)
"""Actions after which the next one of _NAPS is no duplicate: the session went on."""
_NAPS = (events.COMPACTS, events.END)


def handle(connection: HookConnection, event: HookEvent) -> None:
    """Report *event* to the daemon, and print the context for the assistant.

    Does nothing for a duplicate. Raises HookError if the daemon refuses or does not answer.
    """
    marks = hook_marks.Marks(connection.path)
    parts = (event.session, event.action, event.mark, event.text or "", event.begins or "")
    if not marks.take(hook_marks.stamp(*parts)):
        return
    if event.action in _CONTINUES:
        for action in _NAPS:
            marks.release(hook_marks.stamp(event.session, action, "", "", ""))
    if event.action == events.BEGIN:
        marks.clear()
        _handle_begin(connection, event, marks)
    elif event.action == events.PROMPT:
        _handle_prompt(connection, event, marks)
    elif event.action == events.ANSWER:
        _handle_answer(connection, event, marks)
    else:
        _report_usage(connection, event, event.usage)


def _handle_begin(connection: HookConnection, event: HookEvent, marks: hook_marks.Marks) -> None:
    """Print the brief of a session that begins or whose window was compacted."""
    if event.is_automated or not _lacks_brief(event, marks):
        return
    if event.source in _BRIEF_WITH_PROMPT:
        marks.add(_begin_mark(event))
    else:
        context = _Context(connection, event, marks)
        context.add_brief()
        context.print()


def _lacks_brief(event: HookEvent, marks: hook_marks.Marks) -> bool:
    """Return whether the session needs a brief.

    A resumed session has it in its window, unless memd was not running when the session began, or
    the assistant loses the output of hooks. The window of a fork has that of its origin.
    """
    if not event.resumed or event.source in _FORGETFUL:
        return True
    return not (event.begins == "fork" or marks.has(_brief_mark(event)))


def _brief_mark(event: HookEvent) -> str:
    """Return the mark of a session that has its brief."""
    return f"{hook_marks.LASTING}{hook_marks.stamp('brief', event.source, event.session)}"


def _begin_mark(event: HookEvent) -> str:
    """Return the mark of a session that gets its brief with the next prompt."""
    return f"{hook_marks.LASTING}{hook_marks.stamp('begun', event.source, event.session)}"


def _standing_mark(event: HookEvent) -> str:
    """Return the mark that has the stamp of the standing texts in the session's window.

    Standing texts are those that every prompt has: policies and preferences.
    """
    return hook_marks.stamp("standing", event.source, event.session)


def _aside_mark(event: HookEvent) -> str:
    """Return the mark of an automated prompt, whose answer is skipped, too."""
    return hook_marks.stamp("aside", event.session, event.mark)


class _Context:
    """The output for one event: texts that stay in the assistant's window.

    Because they stay, policies and preferences are printed only in a brief, when they change, and
    once an hour. The last is for assistants that do not report a compaction.
    """

    __slots__ = ("_brief", "_connection", "_event", "_marks", "_messages", "_standing")

    def __init__(
        self, connection: HookConnection, event: HookEvent, marks: hook_marks.Marks
    ) -> None:
        self._connection, self._event, self._marks = connection, event, marks
        self._messages: list[str] = []
        self._standing, self._brief = "", False

    def add_brief(self) -> None:
        """Add the session's brief."""
        self._marks.remove(_standing_mark(self._event))
        # Starts the daemon's list of memories that the session has, so that none is repeated.
        self._connection.ask("session.start", self._event.session_params)
        self._add(self._connection.ask("inject.brief", self._event.session_params))
        self._brief = True

    def add_prompt(self, params: dict[str, object]) -> None:
        """Add the memories for a prompt."""
        params = {**self._event.session_params, **params}
        self._add(self._connection.ask("inject.prepare", params))

    def _add(self, answer: dict[str, object]) -> None:
        """Add the messages of *answer*, without standing texts that the session has already.

        The first ``standing`` messages are the standing ones. They are the same in briefs and
        prompts with the same policies and preferences.
        """
        messages, standing = _messages(answer), answer.get("standing")
        if isinstance(standing, int) and standing:
            text, mark = "\n".join(messages[:standing]), _standing_mark(self._event)
            if text == self._standing or self._marks.holds(mark, text, hook_marks.KEPT_S):
                messages = messages[standing:]
            else:
                self._standing = text
        self._messages += messages

    def print(self) -> None:
        """Print the messages in the assistant's output format, and then set the marks.

        A brief that is printed together with memories for a prompt has twice the room.
        """
        with_prompt = self._brief and self._event.action == events.PROMPT
        text = join_messages(self._messages, PRINTED_CHARS_MAX * (2 if with_prompt else 1))
        output = render_output(self._event.source, self._event.event, text)
        if output:
            sys.stdout.write(output + "\n")
            sys.stdout.flush()
        if self._standing:
            self._marks.store(_standing_mark(self._event), self._standing)
        if self._brief:
            self._marks.remove(_begin_mark(self._event))
            self._marks.add(_brief_mark(self._event))


def _handle_prompt(connection: HookConnection, event: HookEvent, marks: hook_marks.Marks) -> None:
    """Print the memories for a person's prompt, then send the prompt to be ingested.

    In this order, because ingesting would compete with the recall that the person waits for.
    """
    if event.is_automated and event.mark:
        marks.add(_aside_mark(event))
    if event.is_automated or event.text is None:
        return
    try:
        if events.reads_output(event.source, event.action):
            _answer_prompt(connection, event, marks)
    finally:
        _ingest_turn(connection, event, typed_part(event.text), "person")


def _answer_prompt(connection: HookConnection, event: HookEvent, marks: hook_marks.Marks) -> None:
    """Print the memories for a prompt, after the brief if the session lacks it."""
    context = _Context(connection, event, marks)
    try:
        if marks.has(_begin_mark(event)) or (event.begins and _lacks_brief(event, marks)):
            context.add_brief()
        params: dict[str, object] = {
            "query": _both_ends(event.text or ""),
            "token_budget": PROMPT_TOKENS,
            "patience_ms": PATIENCE_MS,
        }
        context.add_prompt(params)
    finally:
        context.print()


def _both_ends(prompt: str) -> str:
    """Return the beginning and the end of a long *prompt*, so that it fits into a frame.

    The daemon matches no more than that anyway. A question is before or after a pasted text.
    """
    if len(prompt) <= 2 * TYPED_CHARS_MAX:
        return prompt
    return f"{prompt[:TYPED_CHARS_MAX]}\n\n{prompt[-TYPED_CHARS_MAX:]}"


def typed_part(prompt: str) -> str:
    r"""Return the part of a *prompt* that a person may have typed: its first paragraphs.

    A pasted log would become hundreds of memories in the person's name. The transcript has
    it, too, and naps recognize a paste.

    >>> len(typed_part("Why does this fail?\n\n" + "x" * 9_000))
    19
    """
    if len(prompt) <= TYPED_CHARS_MAX:
        return prompt
    head = prompt[:TYPED_CHARS_MAX]
    # Whole paragraphs, else whole lines, else characters.
    return head.rpartition("\n\n")[0].rstrip() or head.rpartition("\n")[0].rstrip() or head


def _handle_answer(connection: HookConnection, event: HookEvent, marks: hook_marks.Marks) -> None:
    """Send the answer to be ingested, and report the usage of the window."""
    if event.mark and marks.has(_aside_mark(event)):
        return
    if event.text is not None:
        _ingest_turn(connection, event, event.text, "assistant")
    usage = event.usage
    if event.transcript is not None and event.source in _USAGE_IN_TRANSCRIPT:
        tail = read_tail(event.transcript, TAIL_BYTES_MAX)
        if event.source in _ANSWER_IN_TRANSCRIPT:
            tail = _await_answer(event, event.transcript, tail, marks)
            if tail.answer is not None:
                _ingest_turn(connection, event, tail.answer, "assistant")
        usage = usage or tail.usage
    _report_usage(connection, event, usage)


def _await_answer(event: HookEvent, path: str, tail: Tail, marks: hook_marks.Marks) -> Tail:
    """Wait until the transcript ends with a new answer, and return its tail then.

    *tail* is what was read last. After ``TAIL_WAIT_S`` it is returned without an answer. An answer
    is new unless an earlier event of the session has seen it, which a mark shows.
    """
    name = hook_marks.stamp("answer", event.session)
    until = time.monotonic() + timeout_s(TAIL_WAIT_S, dict(os.environ))
    while tail.answer is None or not marks.update(name, tail.at + tail.answer):
        if time.monotonic() > until:
            return Tail(None, tail.usage)
        time.sleep(_TAIL_POLL_S)
        tail = read_tail(path, TAIL_BYTES_MAX)
    return tail


class Tail:
    """The end of a transcript.

    *answer* is the assistant's text if the last message is one, *at* is the time of that message,
    and *usage* has the known figures of the window.
    """

    __slots__ = ("answer", "at", "usage")

    def __init__(self, answer: str | None, usage: dict[str, object], at: str = "") -> None:
        self.answer, self.usage, self.at = answer, usage, at


def read_tail(path: str, bytes_max: int) -> Tail:
    """Read at most *bytes_max* from the end of the transcript *path*.

    Answer and usage are empty if it is missing or its format is unknown.
    """
    from pathlib import Path

    from memd.signals import files, transcripts
    from memd.signals.usage import UnreadableSignal

    try:
        raw = files.read_own(Path(path), bytes_max, tail=True)
        usage = transcripts.usage_of(raw)
        messages = transcripts.read(raw).messages
    except UnreadableSignal:
        return Tail(None, {})
    names = ("used_tokens", "window_tokens", "compact_at_tokens")
    values = {name: getattr(usage, name, None) for name in names}
    known = {name: value for name, value in values.items() if value is not None}
    last = next((message for message in reversed(messages) if message.get("content")), {})
    content = last.get("content") if last.get("role") == "assistant" else None
    answer = content if isinstance(content, str) else None
    return Tail(answer, known, str(last.get("timestamp", "")))


def _ingest_turn(connection: HookConnection, event: HookEvent, text: str, origin: str) -> None:
    """Send a turn to be ingested, with an idempotency key that is derived from the event.

    In a frame, which is ASCII, other characters have six or twelve bytes. The daemon reads nothing
    after a frame that is too long, so the report that follows would be lost, too.
    """
    if len(text) > TEXT_CHARS_MAX or len(quick_json.dumps(text)) > FRAME_BYTES_MAX:
        return  # too long to be typed: a paste, which is in the transcript, too
    key = f"hook:{event.action}:{hook_marks.stamp(event.source, event.session, event.mark, text)}"
    turn: dict[str, object] = {"text": text, "origin": origin, "idempotency_key": key}
    connection.notify("memory.ingest", {**event.session_params, **turn})


def _report_usage(connection: HookConnection, event: HookEvent, usage: dict[str, object]) -> None:
    """Add the event's messages and report the usage; the daemon naps if the event calls for it."""
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
    if event.transcript is not None and event.source not in _UNREADABLE_TRANSCRIPT:
        params["transcript_path"] = event.transcript
    try:
        if event.messages:  # opencode's plugin sends those again of which nothing is printed
            newest = newest_that_fit(event.messages)
            connection.ask("session.add_messages", {**event.session_params, "messages": newest})
            sys.stdout.write('{"stored": true}\n')
    finally:
        connection.notify("usage.report", params)


def newest_that_fit(messages: list[object]) -> list[object]:
    """Return the newest messages that fit into a frame, oldest first."""
    newest: list[object] = []
    size = 0
    for message in reversed(messages):
        size += len(quick_json.dumps(message)) + 1
        if size > FRAME_BYTES_MAX:
            break
        newest.append(message)
    return newest[::-1]


def _messages(result: dict[str, object]) -> list[str]:
    """Return the texts of the messages of a brief or a prompt."""
    messages = result.get("messages")
    return [
        content
        for message in (messages if isinstance(messages, list) else [])
        if isinstance(message, dict) and isinstance(content := message.get("content"), str)
    ]


def join_messages(messages: list[str], chars_max: int = PRINTED_CHARS_MAX) -> str:
    r"""Return *messages* as one text, without those that do not fit or only repeat lines.

    >>> join_messages(["Preferred:\n- tea\n- tabs", "one", "Preferred:\n- tabs\n- tea"])
    'Preferred:\n- tea\n- tabs\n\none'
    """
    text, lines = "", set[str]()
    for message in messages:
        is_repeat = lines.issuperset(message.split("\n"))
        if is_repeat or len(text) + len(message) + 2 > chars_max:
            continue
        lines.update(message.split("\n"))
        text = f"{text}\n\n{message}" if text else message
    return text


def render_output(source: str, event: str, text: str) -> str:
    """Return the hook output that adds *text* to the context, "" for an empty text."""
    if not text:
        return ""
    if source in ("copilot", "opencode"):
        output: dict[str, object] = {"additionalContext": text}
    elif source == "cursor":
        output = {"additional_context": text}
    else:
        output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return quick_json.dumps(output)
