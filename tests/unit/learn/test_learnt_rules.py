"""What became of a task, and what a pattern is called (SPEC 5a)."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest

from memd.domain.enums import LearningOutcome
from memd.domain.learn import PlaybookEntry
from memd.learn.playbook import (
    approach_of,
    as_text,
    lesson_of,
    nearest,
    outcome_of,
    pattern_id,
    task_type_of,
)

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
    said = {outcome: lesson_of("shell", ["a", "b"], outcome) for outcome in LearningOutcome}
    assert said[LearningOutcome.FAILURE] == "shell: a then b failed"
    assert len(set(said.values())) == 3


def test_5a_2_the_id_is_16_hex_of_sha256_and_knows_no_order() -> None:
    expected = hashlib.sha256(b"shell:file_write,shell_exec").hexdigest()[:16]
    assert pattern_id("shell", ["shell_exec", "file_write"]) == expected
    assert pattern_id("shell", ["file_write", "shell_exec"]) == expected
    assert pattern_id("web", ["file_write", "shell_exec"]) != expected


def test_5a_3_one_pattern_is_one_fragment() -> None:
    assert as_text(an_entry("rsync deploy")) == "rsync deploy: shell_exec then file_write"


def test_5a_3_the_nearest_to_a_question_come_first_then_what_worked_most_often() -> None:
    far, often, near = an_entry("a", 1), an_entry("b", 9), an_entry("deploy docker", 2)
    found = nearest([far, often, near], frozenset({"docker"}), 2)
    assert found == [near, often]
