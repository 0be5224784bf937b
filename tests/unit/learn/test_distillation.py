"""SPEC 16.14: what is kept of a task that is over."""

from __future__ import annotations

from typing import Any

import pytest

from memd.domain.learn import TaskDistillation, TerminationReason
from memd.learn.lessons import render_distillation


def lines(**task: Any) -> dict[str, str]:
    told = render_distillation(TaskDistillation(task_id="T-1", **task)).split("\n")
    return dict(line.split(": ", 1) for line in told)


@pytest.mark.parametrize(
    ("task", "outcome"),
    [
        ({}, "completed"),
        ({"error_message": "said in passing"}, "completed"),
        (
            {"termination_reason": "error", "error_message": "no file /etc/x"},
            "failed: no file [PATH]",
        ),
        ({"termination_reason": "error"}, "failed: details redacted"),
        ({"termination_reason": "max_turns"}, "terminated: max_turns"),
        ({"termination_reason": "parked"}, "terminated: parked"),
    ],
)
def test_the_outcome_is_completed_failed_or_terminated(task: Any, outcome: str) -> None:
    assert lines(**task)["Outcome"] == outcome


def test_every_way_to_end_has_an_outcome() -> None:
    told = {lines(termination_reason=reason)["Outcome"] for reason in TerminationReason}
    assert len(told) == len(TerminationReason)


def test_the_trajectory_counts_turns_tokens_and_calls_of_sorted_tools() -> None:
    tools = ("Edit", "Bash", "Edit", "search_memory", "recall_memory", "search_memory")
    told = lines(turn_count=3, total_tokens=77, tool_calls_made=tools)
    assert told["Trajectory"] == (
        "3 turns, 77 tokens, 6 calls of Bash, Edit, recall_memory, search_memory"
    )
    assert told["Memory tools"] == "search_memory, recall_memory, search_memory"


def test_no_turns_no_tools_and_no_memory_are_said() -> None:
    assert lines()["Trajectory"] == "no turns"
    assert lines(turn_count=1)["Trajectory"] == "1 turn, 0 tokens, no tools"
    assert lines()["Memory tools"] == "none"
