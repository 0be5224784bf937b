"""A client that hands over its window only is remembered from the beginning of its session."""

from __future__ import annotations

from typing import Any

from memd.sleep.nap.earlier_messages import count_earlier, rebuild_messages
from memd.sleep.nap.erasures import SessionHistory
from memd.sleep.nap.facts import HEADER
from memd.sleep.nap.messages import to_stored
from memd.store.session.turns import EarlierRow

SESSION: list[dict[str, Any]] = [
    {"role": "user", "content": "Make it rain."},
    {"role": "assistant", "content": "ok"},
    {"role": "user", "content": "ok"},
    {"role": "assistant", "content": "It rains."},
    {"role": "user", "content": "Make it stop."},
]
SUMMARY = {"role": "user", "content": f"{HEADER}\n\n- Make it rain."}


def history(messages: list[dict[str, Any]], message_count: int | None = None) -> SessionHistory:
    stored = [each for each in to_stored(messages) if each is not None]
    places = {(each.sha256, each.nth): place for place, each in enumerate(stored)}
    return SessionHistory(places, len(stored) if message_count is None else message_count)


def test_a_whole_session_has_nothing_before_it() -> None:
    assert count_earlier([*SESSION, {"role": "user", "content": "And now?"}], history(SESSION)) == 0


def test_a_window_begins_where_its_first_message_that_was_said_once_stood() -> None:
    blank = {"role": "assistant", "content": ""}
    assert count_earlier([SUMMARY, blank, *SESSION[3:]], history(SESSION)) == 3
    assert count_earlier([SUMMARY, *SESSION[2:]], history(SESSION)) == 2
    assert count_earlier(SESSION[1:], history(SESSION)) == 1


def test_before_what_is_all_new_stands_all_that_was_heard() -> None:
    new = {"role": "user", "content": "And now?"}
    assert count_earlier([SUMMARY, new], history(SESSION, message_count=9)) == 9
    # Napped over, it begins where it began the first time.
    assert count_earlier([new], history([*SESSION, new])) == len(SESSION)


def test_kept_messages_are_read_back_as_what_they_were() -> None:
    call = {"function": {"name": "sh", "arguments": '{"command": "ls"}'}}
    other = {"function": {"name": "cat", "arguments": "a.py"}}
    messages_given: list[dict[str, Any]] = [
        {
            "role": "user",
            "content": "[calls nobody] and\nso on",
            "timestamp": "2026-03-01T10:00:00Z",
        },
        {"role": "assistant", "content": "I look.", "tool_calls": [call, other]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "ls"}}]},
        {"role": "tool", "content": "a.py"},
    ]
    rows = [
        EarlierRow(
            key, stored.role, None if stored.said_at is None else 1_772_359_200_000_000, stored.zlib
        )
        for key, stored in enumerate(to_stored(messages_given), 70)
        if stored is not None
    ]
    earlier = rebuild_messages(rows)
    assert earlier.source_by_place == {-4: 70, -3: 71, -2: 72, -1: 73}
    assert [each["role"] for each in earlier.messages] == ["user", "assistant", "assistant", "tool"]
    first, asking, calling, answer = earlier.messages
    assert first == {
        "role": "user",
        "content": "[calls nobody] and\nso on",
        "timestamp": "2026-03-01T10:00:00+00:00",
    }
    assert (asking["content"], asking["tool_calls"]) == ("I look.", [call, other])
    assert calling["tool_calls"] == [{"function": {"name": "ls", "arguments": ""}}]
    assert answer["content"] == "a.py"
