"""Which messages of a transcript were erased: they must not be learnt again. Pure.

The transcript belongs to its assistant and still holds what memd has erased. All
that memd has of an erased message is a gap: the session's messages are numbered, and a
missing number was a message. A transcript keeps its order, so an unknown message that
stands where a number is missing is the erased one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class SessionHistory(NamedTuple):
    """The places of the stored messages by text hash and count, and how many were ever stored."""

    places: dict[tuple[bytes, int], int]
    message_count: int


NO_HISTORY = SessionHistory({}, 0)


def find_erased(
    marks: Sequence[tuple[bytes, int] | None], history: SessionHistory
) -> frozenset[int]:
    """Return the indexes of the *marks* that were erased; None marks a message without text.

    >>> history = SessionHistory({(b"a", 0): 0, (b"c", 0): 2}, 3)
    >>> sorted(find_erased([(b"a", 0), (b"b", 0), (b"c", 0)], history))
    [1]
    """
    missing = sorted(set(range(history.message_count)) - set(history.places.values()))
    places = [None if mark is None else history.places.get(mark) for mark in marks]
    known_places = [place for place in places if place is not None]
    if not missing or (not known_places and len(missing) < history.message_count):
        return frozenset()  # nothing is missing, or the list's position in the session is unknown
    numbers: set[int] = set()
    for before, run, after in _unknown_runs(marks, places, history.message_count):
        # Of a run, at most as many messages were erased as numbers are missing at its place.
        room = bisect_left(missing, after) - bisect_right(missing, before)
        numbers.update(run[: max(0, room)])
    return frozenset(numbers)


def _unknown_runs(
    marks: Sequence[tuple[bytes, int] | None], places: Sequence[int | None], message_count: int
) -> list[tuple[int, list[int], int]]:
    """Return each run of unknown messages with the places before and after it.

    The last run comes after the highest place, as new messages are at the end.
    """
    runs: list[tuple[int, list[int], int]] = []
    before, run = -1, list[int]()
    for index, place in enumerate(places):
        if place is None:
            if marks[index] is not None:
                run.append(index)
            continue
        if run:
            runs.append((before, run, place))
            run = []
        before = place
    highest = max((place for place in places if place is not None), default=-1)
    return [*runs, (highest, run, message_count)]
