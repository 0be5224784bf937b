"""Wishes are told by how they are made, and what points at the hour is none."""

from __future__ import annotations

import pytest
from bench.kept_scores import stands_in
from support import sayings

from memd.sleep.distil.acts import Act, act
from memd.sleep.distil.distil import distilled
from memd.sleep.distil.exchanges import NapKind
from memd.text.sentences import sentences

# Of sayings written before the patterns were read: of the even ones, which were looked at,
# and of the odd ones, which were not.
WISHES_KEPT = (48, 39)
MOMENTS_KEPT = (2, 11)


def kept(saying: str, shape: str = "{}") -> bool:
    """Return whether a message that says *saying* becomes a memory that holds it."""
    messages = [
        {"role": "user", "content": "Look at the folder of the project and say what is in it."},
        {"role": "assistant", "content": "It holds twelve files, most of them changed last week."},
        {"role": "user", "content": shape.format(saying)},
        {"role": "assistant", "content": "Understood."},
    ]
    own = [each.text for each in distilled(messages) if each.kind is not NapKind.DIGEST]
    longest = max(sentences(saying), key=len)
    return any(stands_in(longest, text) for text in own)


def test_wishes_of_many_trades_are_kept() -> None:
    found = [kept(saying) for saying in sayings.WISHES]
    assert sum(found[::2]) >= WISHES_KEPT[0]
    assert sum(found[1::2]) >= WISHES_KEPT[1]


def test_few_sayings_of_the_moment_are_kept() -> None:
    found = [kept(saying) for saying in sayings.MOMENTS]
    assert sum(found[::2]) <= MOMENTS_KEPT[0]
    assert sum(found[1::2]) <= MOMENTS_KEPT[1]


@pytest.mark.parametrize(
    "shape",
    ["Do these:\n- fill the table\n- {}\n", "Do these:\n1. fill the table\n2. {}\n", "@a/b.py {}"],
)
def test_a_wish_in_a_list_or_after_a_file_is_one(shape: str) -> None:
    for saying in ("Use pnpm here, not npm.", "In future, leave the lock file alone."):
        assert kept(saying, shape)


@pytest.mark.parametrize(
    "saying",
    [
        "In future, leave the generated files alone.",
        "We stick to conventional commits in all of our repositories.",
        "Once you've finished a task, tick it in the list.",
        "Can we make sure that in future every script has a dry run?",
        "Give me grams, not cups.",
        "It's our convention to put fixtures next to the tests.",
        "When I say ship it, I mean tag and push.",
    ],
)
def test_a_span_or_an_occasion_with_an_instruction_is_a_wish(saying: str) -> None:
    assert act(saying).act is Act.PREFERENCE


@pytest.mark.parametrize(
    "saying",
    [
        "I prefer to look at it tomorrow.",
        "Please don't commit yet, I'm still looking.",
        "I'd rather have the blue one for this slide.",
        "Wait, don't delete that one.",
        "Don't change anything for now, just look.",
        "Either is fine, I have no preference.",
        "Once we were there, we were missing a paper.",
        "In the future perhaps we'll add a second table.",
        "I've restarted the server, and it must be the cache.",
        "The first is selected by default but we can't click on the button.",
        "Would it be possible to have it always closed",
    ],
)
def test_what_points_at_the_hour_is_no_wish(saying: str) -> None:
    assert act(saying).score < 0.5


@pytest.mark.parametrize(
    "line",
    [
        "git: 'filter-repo' is not a git command.",
        "error: failed to push some refs, hint: always pull first",
    ],
)
def test_what_a_program_says_is_no_wish(line: str) -> None:
    assert not kept(line)
