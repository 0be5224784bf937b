"""Which messages of a transcript were forgotten: they must not be learned again. Pure.

A transcript is its assistant's and still holds what memd has erased. Of an erased
message nothing is left but its place: the session's messages are numbered, and a
number that nobody has was somebody's. A transcript that goes on where it was has
the others in their order, so who stands where a number is missing was forgotten.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class History(NamedTuple):
    """The *places* of the messages that are kept, by text and number; *heard* were kept ever."""

    places: dict[tuple[bytes, int], int]
    heard: int


NEW = History({}, 0)


def erased(marks: Sequence[tuple[bytes, int] | None], history: History) -> frozenset[int]:
    """Return which of *marks* stand where messages were erased; None marks a blank message.

    >>> sorted(erased([(b"a", 0), (b"b", 0), (b"c", 0)], History({(b"a", 0): 0, (b"c", 0): 2}, 3)))
    [1]
    """
    gone = sorted(set(range(history.heard)) - set(history.places.values()))
    places = [None if mark is None else history.places.get(mark) for mark in marks]
    known = [place for place in places if place is not None]
    if not gone or (not known and len(gone) < history.heard):
        return frozenset()  # nothing is missing, or nothing tells where this list begins
    numbers: set[int] = set()
    for before, run, after in _runs(marks, places, history.heard):
        room = bisect_left(gone, after) - bisect_right(gone, before)
        numbers.update(run[: max(0, room)])
    return frozenset(numbers)


def _runs(
    marks: Sequence[tuple[bytes, int] | None], places: Sequence[int | None], heard: int
) -> list[tuple[int, list[int], int]]:
    """Return each run of unknown messages with the places between which it stands.

    The last one stands after every place: what is new comes behind all that was.
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
    return [*runs, (highest, run, heard)]
