"""Wishes are told by how they are made, and what points at the hour is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.nap_scores import stands_in
from support.distilled_memories import kept, memories_of, sections_of

from memd.sleep.distil.answers import find_answered
from memd.sleep.distil.exchanges import AgentText
from memd.sleep.distil.user.speech_acts import Act, judge
from memd.text.words import sentences

SAYINGS = sections_of(Path(__file__).with_name("sayings.txt"))
# Of sayings written before the patterns were read: of the even ones, which were looked at,
# and of the odd ones, which were not.
WISHES_KEPT = (48, 43)
MOMENTS_KEPT = (5, 8)
# The same of those that say it of themselves.
OWN_WISHES_KEPT = (50, 39)
OWN_MOMENTS_KEPT = (8, 8)
# The same of those that are typed in haste, or stand in longer messages.
TYPED_WISHES_KEPT = (30, 23)
TYPED_MOMENTS_KEPT = (5, 4)
# The same of those of nine languages, as questions and as statements.
SAID_KEPT = {
    "asked wishes": (41, 28),  # (15, 15) before they were looked at
    "asked moments": (4, 6),  # (10, 13)
    "told wishes": (25, 19),  # (25, 19)
    "told moments": (7, 14),  # (18, 15)
}


def _of_oneself(what: str) -> list[list[str]]:
    return [lines for name, lines in SAYINGS.items() if name.startswith(f"{what} of oneself")]


def test_wishes_of_many_trades_are_kept() -> None:
    hits = [kept(saying) for saying in SAYINGS["wishes"]]
    assert sum(hits[::2]) >= WISHES_KEPT[0]
    assert sum(hits[1::2]) >= WISHES_KEPT[1]


def test_few_sayings_of_the_moment_are_kept() -> None:
    hits = [kept(saying) for saying in SAYINGS["moments"]]
    assert sum(hits[::2]) <= MOMENTS_KEPT[0]
    assert sum(hits[1::2]) <= MOMENTS_KEPT[1]


def test_wishes_are_kept_as_they_are_typed() -> None:
    hits: list[bool] = []
    for row in SAYINGS["wishes typed"]:
        typed, _, words = row.partition(" | ")
        texts = memories_of("\n".join(typed.split(" // ")))
        hits.append(any(words.casefold() in text.casefold() for text in texts))
    assert sum(hits[::2]) >= TYPED_WISHES_KEPT[0]
    assert sum(hits[1::2]) >= TYPED_WISHES_KEPT[1]


def test_few_orders_of_the_moment_are_kept_as_they_are_typed() -> None:
    hits: list[bool] = []
    for row in SAYINGS["moments typed"]:
        texts = memories_of("\n".join(row.split(" // ")))
        hits.append(any(stands_in(one, text) for one in sentences(row) for text in texts))
    assert sum(hits[::2]) <= TYPED_MOMENTS_KEPT[0]
    assert sum(hits[1::2]) <= TYPED_MOMENTS_KEPT[1]


@pytest.mark.parametrize("section", SAID_KEPT)
def test_wishes_of_many_languages_are_told_from_what_sounds_like_them(section: str) -> None:
    hits = [kept(saying) for saying in SAYINGS[section]]
    counts = (sum(hits[::2]), sum(hits[1::2]))
    bounds = zip(counts, SAID_KEPT[section], strict=True)
    is_wish = section.endswith("wishes")
    assert all(count >= bound if is_wish else count <= bound for count, bound in bounds), counts


def test_what_is_listed_below_an_order_to_write_rules_is_a_wish() -> None:
    points = "- name the ticket first\n- mention what else was changed"
    below = memories_of(f"Add a rule on how pull requests are described\n\n{points}")
    assert any("mention what else was changed" in text for text in below)
    assert memories_of(f"Add a page on how pull requests are described\n\n{points}") == []


def test_wishes_that_somebody_says_of_themselves_are_kept() -> None:
    hits = [[kept(saying) for saying in group] for group in _of_oneself("wishes")]
    assert sum(sum(group[::2]) for group in hits) >= OWN_WISHES_KEPT[0]
    assert sum(sum(group[1::2]) for group in hits) >= OWN_WISHES_KEPT[1]


def test_few_sayings_of_the_moment_that_sound_like_them_are_kept() -> None:
    hits = [[kept(saying) for saying in group] for group in _of_oneself("moments")]
    assert sum(sum(group[::2]) for group in hits) <= OWN_MOMENTS_KEPT[0]
    assert sum(sum(group[1::2]) for group in hits) <= OWN_MOMENTS_KEPT[1]


@pytest.mark.parametrize(
    ("saying", "is_one"),
    [
        ("You keep adding comments to every line.", True),
        ("You keep hitting the same error.", False),
        ("I'm a Windows user.", True),
        ("I'm on the settings page and see nothing.", False),
        ("Nobody asked for a README.", True),
        ("Nobody answered on that port.", False),
        ("My screen reader stumbles over tables, so give me lists.", True),
        ("I lost the key, so give me a new one.", False),
        ("Every component gets its own story.", True),
        ("Every cell in this column is bold.", False),
    ],
)
def test_who_somebody_is_and_is_tired_of_lasts(saying: str, *, is_one: bool) -> None:
    assert (judge(saying).act is Act.PREFERENCE) == is_one


@pytest.mark.parametrize("user", ["na, i am fine", "nope, that's all", "no, we're good"])
def test_an_answer_that_wants_nothing_more_is_none(user: str) -> None:
    asked = "The lock is a file now. Is there anything specific you'd like me to change?"
    assert not kept(user)
    assert find_answered(user, [AgentText(0, asked)]) is None


@pytest.mark.parametrize(
    "saying",
    [
        "It always crashes when I click the second tab.",
        "The demo is in an hour so don't touch anything else.",
    ],
)
def test_what_happens_on_a_page_is_no_rule(saying: str) -> None:
    assert judge(saying).score < 0.5


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
    assert judge(saying).act is Act.PREFERENCE


@pytest.mark.parametrize(
    "saying",
    [
        "I prefer to look at it tomorrow.",
        "Please don't commit yet, I'm still looking.",
        "I'd rather have the blue one for this slide.",
        "Wait, don't delete that one.",
        "Either is fine, I have no preference.",
        "Once we were there, we were missing a paper.",
        "In the future perhaps we'll add a second table.",
        "I've restarted the server, and it must be the cache.",
        "The first is selected by default but we can't click on the button.",
        "Would it be possible to have it always closed",
    ],
)
def test_what_points_at_the_hour_is_no_wish(saying: str) -> None:
    assert judge(saying).score < 0.5


@pytest.mark.parametrize(
    "line",
    [
        "git: 'filter-repo' is not a git command.",
        "error: failed to push some refs, hint: always pull first",
    ],
)
def test_what_a_program_says_is_no_wish(line: str) -> None:
    assert not kept(line)
