"""The last answer and the window's usage from the end of a transcript, for hooks without them."""

from __future__ import annotations

from pathlib import Path

from memd.signals import files, transcripts
from memd.signals.usage import UnreadableSignal


class Tail:
    """The end of a transcript."""

    __slots__ = ("answer", "usage")

    def __init__(self) -> None:
        self.answer: str | None = None
        self.usage: dict[str, object] = {}


def tail(path: str, bytes_max: int) -> Tail:
    """Return the last answer and the usage at the end of the transcript *path*.

    Both are empty for a transcript that is missing or of an unknown format.
    """
    end = Tail()
    try:
        raw = files.read_own(Path(path), bytes_max, tail=True)
        usage = transcripts.usage_of(raw)
        messages = transcripts.read(raw).messages
    except UnreadableSignal:
        return end
    for name in ("used_tokens", "window_tokens", "compact_at_tokens"):
        value = getattr(usage, name, None)
        if value is not None:
            end.usage[name] = value
    last = next((each for each in reversed(messages) if each.get("content")), None)
    if last is not None and last.get("role") == "assistant" and isinstance(last["content"], str):
        end.answer = last["content"]
    return end
