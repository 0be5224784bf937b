"""What a nap knows of its session's messages: the earlier ones, and which were forgotten."""

from __future__ import annotations

import random
import zlib
from typing import Any

import pytest

from memd.sleep.nap.source import (
    NO_HISTORY,
    SessionHistory,
    count_earlier,
    find_erased,
    rebuild_messages,
)
from memd.sleep.transcript.facts import HEADER
from memd.sleep.transcript.messages import to_stored
from memd.store.session.session_messages import MessageRow

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


SAID_US = 1_772_359_200_000_000


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
        MessageRow(
            key,
            key,
            stored.role,
            None if stored.said_at is None else SAID_US,
            0,
            zlib.decompress(stored.zlib).decode(),
        )
        for key, stored in enumerate(to_stored(messages_given), 70)
        if stored is not None
    ]
    earlier, keys = rebuild_messages(rows)
    assert keys == [70, 71, 72, 73]
    assert [each["role"] for each in earlier] == ["user", "assistant", "assistant", "tool"]
    first, asking, calling, answer = earlier
    assert first == {
        "role": "user",
        "content": "[calls nobody] and\nso on",
        "timestamp": "2026-03-01T10:00:00+00:00",
    }
    assert (asking["content"], asking["tool_calls"]) == ("I look.", [call, other])
    assert calling["tool_calls"] == [{"function": {"name": "ls", "arguments": ""}}]
    assert answer["content"] == "a.py"


Mark = tuple[bytes, int] | None


def marks(names: str) -> list[Mark]:
    """Return a mark for each letter; a dash is a message that says nothing."""
    return [None if name == "-" else (name.encode(), 0) for name in names]


def history_of(stored_names: str) -> SessionHistory:
    """Return the history in which each letter has its place in *stored_names*; dots were erased."""
    places = {(name.encode(), 0): place for place, name in enumerate(stored_names) if name != "."}
    return SessionHistory(places, len(stored_names))


@pytest.mark.parametrize(
    ("stored_names", "names_given", "erased_names"),
    [
        ("abc", "abc", ""),
        ("abc", "abcde", ""),
        ("a.c", "abc", "b"),
        ("a.c", "abcd", "b"),
        (".bc", "abc", "a"),
        ("ab.", "abc", "c"),
        ("ab.", "abcd", "c"),
        ("a...e", "abcde", "bcd"),
        ("...", "abc", "abc"),
        ("...", "abcde", "abc"),
        ("a.c", "a-b-c-d", "b"),
        ("a.c", "xyz", ""),  # another list: nothing tells where it begins
        ("a.c", "ac", ""),
        ("a.cd", "cdxy", ""),  # its beginning is gone, what follows is new
        ("a.c", "abxc", "b"),
        ("", "abc", ""),
    ],
)
def test_what_stands_where_a_number_is_missing_was_forgotten(
    stored_names: str, names_given: str, erased_names: str
) -> None:
    erased = find_erased(marks(names_given), history_of(stored_names))
    assert "".join(names_given[place] for place in sorted(erased)) == erased_names


def test_a_list_that_was_heard_in_another_order_loses_nothing_new() -> None:
    """First the end of a conversation was napped over, then the whole of it."""
    assert find_erased(marks("abcdxy"), history_of("cdab")) == frozenset()
    assert find_erased(marks("abcdxy"), history_of("cd.b")) == {0}
    assert find_erased(marks("xyz"), NO_HISTORY) == frozenset()


def test_whatever_is_forgotten_is_found_and_nothing_else() -> None:
    chance = random.Random(7)
    for _ in range(300):
        size = chance.randrange(1, 12)
        names = "abcdefghijkl"[:size]
        stored_names = "".join(name if chance.random() < 0.6 else "." for name in names)
        erased = find_erased(marks(names + "xyz"), history_of(stored_names))
        assert erased == {place for place, name in enumerate(stored_names) if name == "."}
