"""Naps keep what is plainly stated though no word says that it lasts (decisions 0289, 0308, 0331).

It stands alone in a message, or beside an order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import pytest
from bench import sentence_judge
from bench.fit_life_changes import HELD, keeps_what_lasts, read_life
from bench.nap_scores import stands_in
from support.distilled_memories import sections_of

from memd.embedding.embed import Encoder
from memd.sleep.distil.exchanges import NapKind
from memd.text.words import sentences

SAYINGS = sections_of(Path(__file__).parents[1] / "unit" / "sleep" / "distil" / "sayings.txt")
PLAIN = "plain "
TOLD_IN_DOCS = (
    "postgres is 14.9 on prod",
    "we dropped GraphQL, everything new is plain REST",
    "you only ever run plan, I run apply",
    "the csv is semicolon separated, it only LOOKS like one column",
)
GATE_STEP = 5
"""The gate naps on every fifth saying of each list, ``--long`` on all (decision 0153)."""


class Figures(NamedTuple):
    """How many sayings of each list are kept: at least of what lasts, at most of the moment."""

    alone: Mapping[str, tuple[int, int]]
    """Of those in even places, which were looked at, and of those in odd ones, which were not."""
    moments_alone: Mapping[str, tuple[int, int]]
    beside: Mapping[str, int]
    """The same beside an order, in all."""
    moments_beside: Mapping[str, int]


WHOLE = Figures(
    {
        "conventions": (43, 45),
        "environment": (23, 23),
        "decisions": (24, 23),
        "constraints": (19, 20),
        "people": (19, 20),
    },
    {"conventions, of the moment": (10, 11), "moment": (3, 1)},
    {
        "conventions": 83,
        "environment": 49,
        "decisions": 45,
        "constraints": 39,
        "people": 39,
    },
    {"conventions, of the moment": 23, "moment": 17},
)
FIFTH = Figures(
    {
        "conventions": (9, 9),
        "environment": (5, 5),
        "decisions": (5, 4),
        "constraints": (3, 4),
        "people": (3, 3),
    },
    {"conventions, of the moment": (3, 5), "moment": (1, 1)},
    {
        "conventions": 17,
        "environment": 10,
        "decisions": 9,
        "constraints": 7,
        "people": 8,
    },
    {"conventions, of the moment": 6, "moment": 4},
)
PARTS = pytest.mark.parametrize(
    ("step", "figures"),
    [
        pytest.param(GATE_STEP, FIFTH, id="a fifth"),
        pytest.param(1, WHOLE, id="all", marks=pytest.mark.long),
    ],
)


@pytest.fixture(autouse=True)
def installed(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge sentences with the model."""
    monkeypatch.setattr(sentence_judge, "encoder", lambda: encoder)


def is_kept(saying: str, text: str | None = None) -> bool:
    """Return whether *saying* is in a memory of a message that says it, or of *text*."""
    messages = [
        {"role": "user", "content": "Look at the folder of the project and say what is in it."},
        {"role": "assistant", "content": "It holds twelve files, most of them changed last week."},
        {"role": "user", "content": text or saying},
        {"role": "assistant", "content": "Understood."},
    ]
    longest = max(sentences(saying), key=len)
    memories = sentence_judge.distilled(messages)
    return any(stands_in(longest, m.text) for m in memories if m.kind is not NapKind.DIGEST)


@pytest.mark.parametrize("text", TOLD_IN_DOCS)
def test_what_the_changelog_says_is_kept_is(text: str) -> None:
    assert is_kept(text)


@PARTS
def test_plain_statements_are_kept_and_few_sayings_that_sound_like_them(
    step: int, figures: Figures
) -> None:
    halves = {
        name.removeprefix(PLAIN): [
            sum(is_kept(saying) for at, saying in places(its, step) if at % 2 == odd)
            for odd in (0, 1)
        ]
        for name, its in SAYINGS.items()
        if name.startswith(PLAIN)
    }
    assert set(halves) == {*figures.alone, *figures.moments_alone}
    for name, (even, odd) in figures.alone.items():
        assert halves[name][0] >= even, name
        assert halves[name][1] >= odd, name
    for name, (even, odd) in figures.moments_alone.items():
        assert halves[name][0] <= even, name
        assert halves[name][1] <= odd, name


@PARTS
def test_plain_statements_are_kept_beside_orders(step: int, figures: Figures) -> None:
    orders = cycle(each for each in SAYINGS["moments typed"] if each and "//" not in each)
    kept = {}
    for name in (*figures.beside, *figures.moments_beside):
        its = SAYINGS[PLAIN + name]
        mixed = [beside(saying, order, at) for at, (saying, order) in enumerate(zip(its, orders))]  # noqa: B905  # orders have no end
        kept[name] = sum(is_kept(saying, mixed[at]) for at, saying in places(its, step))
    for name, least in figures.beside.items():
        assert kept[name] >= least, name
    for name, most in figures.moments_beside.items():
        assert kept[name] <= most, name


def places(sayings: Sequence[str], step: int) -> list[tuple[int, str]]:
    """Return every *step*-th of *sayings* with its place: of each half as many."""
    assert all(sayings)
    return list(enumerate(sayings))[::step]


def beside(saying: str, order: str, at: int) -> str:
    """Return a message that says both, the *saying* first where *at* is even."""
    first, second = (saying, order) if at % 2 == 0 else (order, saying)
    return f"{first}{'' if first[-1] in '.!?' else '.'} {second}"


def test_what_changed_in_a_life_is_kept() -> None:
    """ "We broke up": of the writer whom nothing is fitted on every second one (decision 0341)."""
    messages = [each for each in read_life() if each["writer"] == HELD][::2]
    kept = [(bool(each["life"]), keeps_what_lasts(each)) for each in messages]
    tells = [is_kept for tells, is_kept in kept if tells]
    sounds = [is_kept for tells, is_kept in kept if not tells]
    assert sum(tells) >= 0.7 * len(tells), sum(tells)
    assert sum(sounds) <= 0.15 * len(sounds), sum(sounds)
