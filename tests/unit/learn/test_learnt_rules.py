"""What is kept of a task that is over (SPEC 5a, 16.14), and of what naps saw cured (0103)."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.domain.enums import LearningOutcome
from memd.domain.learn import PlaybookEntry, TaskDistillation, TerminationReason
from memd.learn.lessons import render_distillation
from memd.learn.playbook import (
    approach_of,
    as_text,
    lesson_of,
    nearest,
    outcome_of,
    pattern_id,
    task_type_of,
)
from memd.learn.propose import proposal_of
from memd.learn.tiers import as_tiers, sanitise_error, tiers_of
from memd.sleep.distil.agent.fixes import FIX_CHARS_MAX, fixes
from memd.sleep.distil.exchanges import AgentText, Exchange, ToolRun
from memd.sleep.distil.language.failures import ERROR_CHARS_MAX

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def an_entry(name: str = "deploy", successes: int = 1, **fields: object) -> PlaybookEntry:
    return PlaybookEntry.model_validate(
        {
            "pattern_id": name,
            "task_type": "shell",
            "description": name,
            "tool_sequence": ("shell_exec", "file_write"),
            "success_count": successes,
            "created_at": NOW,
            "updated_at": NOW,
            **fields,
        }
    )


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("Successfully deployed.", "success"),
        ("All tests COMPLETED", "success"),
        ("done", "success"),
        ("It worked!", "success"),
        ("The build finished with an error.", "success"),
        ("The build failed.", "failure"),
        ("an error: no such file", "failure"),
        ("I was unable to reach it", "failure"),
        ("I couldn't find it", "failure"),
        ("I couldn\u2019t find it", "failure"),
        ("This cannot be", "failure"),
        ("The plan was abandoned.", "partial"),
        ("a terror of errors", "partial"),
        ("unsuccessfully", "partial"),
        ("", "partial"),
    ],
)
def test_5a_1_the_outcome_is_told_by_whole_words_success_first(reply: str, outcome: str) -> None:
    assert outcome_of(reply).value == outcome


@pytest.mark.parametrize(
    ("tools", "task_type"),
    [
        (["shell_exec", "web_fetch", "file_write"], "shell+web"),
        (["shell_exec", "file_write"], "shell+file"),
        (["shell_exec"], "shell"),
        (["web_fetch", "file_write"], "web"),
        (["file_read"], "file"),
        (["calculator"], "chat"),
        ([], "chat"),
        (["Bash", "WebFetch"], "shell+web"),
        (["run_shell_command", "ReadFile"], "shell+file"),
        (["MultiEdit"], "file"),
        (["profile"], "chat"),
    ],
)
def test_5a_1_the_task_type_has_an_order(tools: list[str], task_type: str) -> None:
    assert task_type_of(tools) == task_type


def test_5a_1_the_approach_is_the_first_five_tools_or_none() -> None:
    assert approach_of([*"abcdefg"]) == tuple("abcde")
    assert approach_of([]) == ("direct_response",)


def test_5a_1_the_lesson_is_one_sentence_about_the_way_and_its_end() -> None:
    lessons = {outcome: lesson_of("shell", ["a", "b"], outcome) for outcome in LearningOutcome}
    assert lessons[LearningOutcome.FAILURE] == "shell: a then b failed"
    assert len(set(lessons.values())) == 3


def test_5a_2_the_id_is_16_hex_of_sha256_and_knows_no_order() -> None:
    expected = hashlib.sha256(b"shell:file_write,shell_exec").hexdigest()[:16]
    assert pattern_id("shell", ["shell_exec", "file_write"]) == expected
    assert pattern_id("shell", ["file_write", "shell_exec"]) == expected
    assert pattern_id("web", ["file_write", "shell_exec"]) != expected


def test_5a_3_one_pattern_is_one_fragment() -> None:
    assert as_text(an_entry("rsync deploy")) == "rsync deploy: shell_exec then file_write"


def test_5a_3_the_nearest_to_a_question_come_first_then_what_worked_most_often() -> None:
    far, often, near = an_entry("a", 1), an_entry("b", 9), an_entry("deploy docker", 2)
    nearest_ones = nearest([far, often, near], frozenset({"docker"}), 2)
    assert nearest_ones == [near, often]


def lines(**task: Any) -> dict[str, str]:
    rendered = render_distillation(TaskDistillation(task_id="T-1", **task)).split("\n")
    return dict(line.split(": ", 1) for line in rendered)


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
    outcomes = {lines(termination_reason=reason)["Outcome"] for reason in TerminationReason}
    assert len(outcomes) == len(TerminationReason)


def test_the_trajectory_counts_turns_tokens_and_calls_of_sorted_tools() -> None:
    tools = ("Edit", "Bash", "Edit", "search_memory", "recall_memory", "search_memory")
    parts = lines(turn_count=3, total_tokens=77, tool_calls_made=tools)
    assert parts["Trajectory"] == (
        "3 turns, 77 tokens, 6 calls of Bash, Edit, recall_memory, search_memory"
    )
    assert parts["Memory tools"] == "search_memory, recall_memory, search_memory"


def test_no_turns_no_tools_and_no_memory_are_said() -> None:
    assert lines()["Trajectory"] == "no turns"
    assert lines(turn_count=1)["Trajectory"] == "1 turn, 0 tokens, no tools"
    assert lines()["Memory tools"] == "none"


LINE = (
    "npm run integration-tests-of-the-shop -- --grep 'orders that nobody has paid for in a month'"
)
ERROR = "Error: the schema of the orders does not have the column that the report asks for" * 2
WHY = (
    "The report asks for a column that the schema of the orders lost, because the migration of"
    " last week was never run against the database of the tests, which nobody had noticed."
)


def fixes_of(why: str = WHY, error: str = ERROR, did: str = "make migrate") -> list[str]:
    """Return what a nap tells of a command that failed, a change, and that it passes."""
    runs = [
        ToolRun(1, "", "Bash", {"command": LINE}, f"Exit code 1\n{error}"),
        ToolRun(3, "", "Edit", {"file_path": "/srv/shop/report.sql", "new_string": "x"}, "done"),
        ToolRun(5, "", "Bash", {"command": did}, "done"),
        ToolRun(7, "", "Bash", {"command": f"SHOP_ENVIRONMENT=the-tests-of-the-shop {LINE}"}, "ok"),
    ]
    exchange = Exchange(0, "run the tests", (), [AgentText(2, why)], runs, 9)
    return [each.memory.text for each in fixes([exchange])]


def test_the_error_is_quoted_and_why_it_came_is_told_whole() -> None:
    (fix,) = fixes_of(error="Error: no column `paid` in /srv/shop/orders.sql")
    lesson = proposal_of(fix)
    assert lesson is not None
    reads = "Error: no column `paid` in [PATH]"
    assert lesson.condition.endswith(f"The error reads: {reads}.")
    why = fix.partition("orders.sql. ")[2].partition(" Changed ")[0]
    assert len(why) > 100
    assert f"{reads}. {why} What cured it: " in lesson.discovery
    assert lesson.rationale.startswith(why)
    assert lesson.action.startswith("Change report.sql.")


def test_a_fix_that_is_cut_off_is_a_lesson_of_what_is_left() -> None:
    (fix,) = fixes_of(
        did="make migrate DATABASE=the-database-of-the-tests HOST=the-host-of-the-tests"
    )
    assert len(fix) <= FIX_CHARS_MAX
    assert "It passes now" not in fix
    assert "Passes now" not in fix
    lesson = proposal_of(fix)
    assert lesson is not None
    assert lesson.action.startswith("Change report.sql.")


def test_a_fix_of_which_only_the_reason_is_told_is_cured_by_that() -> None:
    lesson = proposal_of("make failed: error: 5. The disk of the runner was full. It passes now.")
    assert lesson is not None
    assert lesson.action == "The disk of the runner was full."
    assert lesson.discovery.endswith("What cured it: the disk of the runner was full.")
    assert lesson.discovery.count("disk") == 1


def test_a_text_that_tells_no_cure_is_no_lesson() -> None:
    for text in (
        "",
        "make failed: error",
        "make failed: error. It passes now.",
        "all is well. It passes now.",
        f"make failed: {'x' * 2_000}. It passes now.",
    ):
        assert proposal_of(text) is None


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(["make setup", "npm ci"]))
def test_whatever_a_nap_tells_is_a_lesson_that_is_read_back(why: str, error: str, did: str) -> None:
    for fix in fixes_of(why, f"Error: {error}", did=did):
        lesson = proposal_of(fix)
        assert lesson is not None
        tiers = tiers_of(as_tiers(lesson))
        assert tiers is not None
        assert tiers.condition == lesson.condition


def test_an_error_of_a_nap_is_never_cut_by_the_lesson() -> None:
    assert len(sanitise_error("x" * (ERROR_CHARS_MAX + 1))) == ERROR_CHARS_MAX + 1
