"""A finding that the same session changed is told as of then, with what was done."""

from __future__ import annotations

from typing import Any

import pytest
from support.distilled_memories import without_digest

from memd.domain.sleep.consolidation import OUTCOME_PART
from memd.sleep.distil.agent.changes import BEFORE_CHANGE
from memd.sleep.distil.exchanges import NapKind

FINDING = (
    "`worker/lease.go:12` sets `leaseTTL` to 2 s because `retry.go` needs it, but the bank answers"
    " after 4 s."
)
PLAIN = FINDING.replace("`", "")
ASKED = "why is the lease lost so often?"


def session(*turns: tuple[str, str]) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [
        {"role": role, "content": text}
        for turn in turns
        for role, text in zip(roles, turn, strict=True)
    ]


def outcomes(*turns: tuple[str, str]) -> list[str]:
    memories = without_digest(session(*turns))
    return [memory.text for memory in memories if memory.kind is NapKind.OUTCOME]


@pytest.mark.parametrize(
    ("order", "report", "change"),
    [
        (
            "set it to 30s",
            "Set leaseTTL = 30s and a renewer that renews every 10 s.",
            "Set leaseTTL = 30s and a renewer that renews every 10 s.",
        ),
        ("raise leaseTTL in lease.go to 30s", "Done.", "Done."),
        ("set it to 30s", "Done. I set `leaseTTL` to 30 s.", "I set leaseTTL to 30 s."),
        (
            "yes",
            "The lease now lasts 30 s in `worker/lease.go`.",
            "The lease now lasts 30 s in worker/lease.go.",
        ),
    ],
)
def test_a_finding_is_told_with_the_change_that_follows(
    order: str, report: str, change: str
) -> None:
    texts = outcomes((ASKED, FINDING), (order, report))
    assert texts == [f"{BEFORE_CHANGE}{PLAIN}{OUTCOME_PART}{change}"]


def test_a_change_that_follows_a_question_is_found_too() -> None:
    between = ("do we use a clock elsewhere?", "No.")
    texts = outcomes(
        (ASKED, FINDING), between, ("30s for leaseTTL then", "Set `leaseTTL` to 30 s.")
    )
    assert texts == [f"{BEFORE_CHANGE}{PLAIN}{OUTCOME_PART}Set leaseTTL to 30 s."]


@pytest.mark.parametrize(
    ("order", "report"),
    [
        ("ok, add a page for the orders", "Added the page `orders.html`."),
        ("leave it", "Left as it is."),
        ("is it the same on staging?", "Yes, both."),
        ("commit it", "Committed."),
    ],
)
def test_a_finding_that_nothing_changes_is_told_as_it_is(order: str, report: str) -> None:
    assert PLAIN in outcomes((ASKED, FINDING), (order, report))


def test_a_change_that_the_user_rejects_is_none() -> None:
    rejected = ("no, it still gets lost", "I look again.")
    texts = outcomes((ASKED, FINDING), ("set it to 30s", "Set `leaseTTL` to 30 s."), rejected)
    assert texts == [PLAIN]
