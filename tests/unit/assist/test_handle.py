"""Handling of hook events, without a daemon."""

from __future__ import annotations

import json

import pytest

from memd.assist import payload
from memd.assist.connection import HookConnection, frame
from memd.assist.handle import handle, newest_that_fit
from memd.assist.payload import TEXT_CHARS_MAX
from memd.base.limits import FRAME_BYTES_MAX


def test_messages_in_any_script_fit_into_a_frame() -> None:
    messages: list[object] = [{"role": "user", "content": "日本" * 1_500}] * 200
    newest = newest_that_fit(messages)
    assert newest
    assert len(frame({"params": {"messages": newest}})) < FRAME_BYTES_MAX


class RecordedConnection(HookConnection):
    """Records the notifications, and leaves no marks: its folder cannot be created."""

    def __init__(self) -> None:
        self.path = "/dev/null/memd.sock"
        self.sent: dict[str, bytes] = {}

    def notify(self, method: str, params: dict[str, object]) -> None:
        self.sent[method] = frame({"jsonrpc": "2.0", "method": method, "params": params})


@pytest.mark.parametrize(
    ("answer", "is_ingested"),
    [
        ("a" * TEXT_CHARS_MAX, True),
        ("日" * 140_000, True),
        ("日" * TEXT_CHARS_MAX, False),
        ("🦆" * 100_000, False),
        ("a" * (TEXT_CHARS_MAX + 1), False),
    ],
)
def test_an_answer_in_any_script_fits_into_a_frame_or_is_not_sent(
    answer: str, is_ingested: bool
) -> None:
    raw = json.dumps({"session_id": "s", "last_assistant_message": answer}).encode()
    event = payload.read("codex", "Stop", raw)
    assert event is not None
    connection = RecordedConnection()
    handle(connection, event)
    assert ("memory.ingest" in connection.sent) is is_ingested
    assert "usage.report" in connection.sent
    assert max(map(len, connection.sent.values())) < FRAME_BYTES_MAX
