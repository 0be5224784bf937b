"""Who stands where a number is missing was forgotten; who is new was not."""

from __future__ import annotations

import random

import pytest

from memd.sleep.nap.erasures import NO_HISTORY, SessionHistory, find_erased

Mark = tuple[bytes, int] | None


def marks(names: str) -> list[Mark]:
    """Return a mark for each letter; a dash is a message that says nothing."""
    return [None if name == "-" else (name.encode(), 0) for name in names]


def history(stored_names: str, message_count: int | None = None) -> SessionHistory:
    """Return the history in which each letter has its place in *stored_names*; dots were erased."""
    places = {(name.encode(), 0): place for place, name in enumerate(stored_names) if name != "."}
    return SessionHistory(places, len(stored_names) if message_count is None else message_count)


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
    erased = find_erased(marks(names_given), history(stored_names))
    assert "".join(names_given[place] for place in sorted(erased)) == erased_names


def test_a_list_that_was_heard_in_another_order_loses_nothing_new() -> None:
    """First the end of a conversation was napped over, then the whole of it."""
    assert find_erased(marks("abcdxy"), history("cdab")) == frozenset()
    assert find_erased(marks("abcdxy"), history("cd.b")) == {0}
    assert find_erased(marks("xyz"), NO_HISTORY) == frozenset()


def test_whatever_is_forgotten_is_found_and_nothing_else() -> None:
    chance = random.Random(7)
    for _ in range(300):
        size = chance.randrange(1, 12)
        names = "abcdefghijkl"[:size]
        stored_names = "".join(name if chance.random() < 0.6 else "." for name in names)
        erased = find_erased(marks(names + "xyz"), history(stored_names))
        assert erased == {place for place, name in enumerate(stored_names) if name == "."}
