"""Handling of hook events, without a daemon."""

from __future__ import annotations

import json
from pathlib import Path

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
    """Records the notifications. By default it leaves no marks: its folder cannot be created."""

    def __init__(self, path: str = "/dev/null/memd.sock") -> None:
        self.path = path
        self.sent: dict[str, bytes] = {}

    def ask(self, method: str, params: dict[str, object]) -> dict[str, object]:
        return {}

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


@pytest.mark.parametrize(
    ("between", "is_reported"),
    [
        ([], False),
        ([("SessionStart", {"source": "resume"})], True),
        ([("UserPromptSubmit", {"prompt": "tabs, please"})], True),
        ([("UserPromptSubmit", {"prompt": "tabs, please", "session_id": "t"})], False),
    ],
)
def test_a_session_that_goes_on_can_end_again(
    tmp_path: Path, between: list[tuple[str, dict[str, str]]], is_reported: bool
) -> None:
    connection = RecordedConnection(str(tmp_path / "memd.sock"))
    end: tuple[str, dict[str, str]] = ("SessionEnd", {"reason": "other"})
    for name, fields in (end, *between, end):
        connection.sent.clear()
        raw = json.dumps({"session_id": "s", **fields}).encode()
        event = payload.read("claude-code", name, raw)
        assert event is not None
        handle(connection, event)
    assert ("usage.report" in connection.sent) is is_reported
