"""Whether a run failed, and which line says best what did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sleep.distil.exchanges import ToolRun
from memd.sleep.distil.language.failures import ERROR_CHARS_MAX, error_line, has_failed


def _run(tool: str, given: object, result: str | None = "") -> ToolRun:
    return ToolRun(0, "1", tool, given, result)


@pytest.mark.parametrize(
    ("result", "is_failure"),
    [
        ("Exit code 1\n2 problems", True),
        ("Command: make\nExit Code: 0\nError: (none)", False),
        ("Exit code: 0\nWall time: 1s\nOutput:\n--- FAIL: TestX is only quoted", False),
        ("Process exited with code 2", True),
        ('{"output": "", "metadata": {"exit_code": 1}}', True),
        ("<returncode>2</returncode>\n<output>\n</output>", True),
        ("<returncode>0</returncode>\n<output>\n3 errors\n</output>", False),
        ("collected 3 items\n\n=== 1 failed, 2 passed in 0.1s ===", True),
        ("=== 3 passed, 0 failed in 0.1s ===", False),
        ("Traceback (most recent call last):\n  File x\nKeyError: 'a'", True),
        ("bash: foo: command not found", True),
        ("ok  \tpkg/store\t0.2s", False),
        ("<tool_use_error>File has not been read yet</tool_use_error>", True),
        ("", False),
        (None, False),
    ],
)
def test_a_failure_is_seen_by_its_exit_code_or_by_what_it_prints(
    result: str | None, is_failure: bool
) -> None:
    assert has_failed(_run("Bash", {"command": "make"}, result)) is is_failure


def test_the_line_that_says_what_failed_is_found_past_the_trace() -> None:
    trace = "Traceback (most recent call last):\n  File 'a.py', line 3\nValueError: bad port"
    assert error_line(trace) == "ValueError: bad port"
    assert error_line("Exit code 2\nbuilding\nonly version 2 files are supported") == (
        "only version 2 files are supported"
    )
    assert error_line("all is well") == ""


def test_of_a_long_result_only_head_and_tail_are_read() -> None:
    middle = "x" * 40 + "\n"
    assert not has_failed(
        _run("Bash", {"command": "a"}, middle * 500 + "KeyError: 'a'\n" + middle * 500)
    )
    assert has_failed(_run("Bash", {"command": "a"}, middle * 500 + "KeyError: 'a'\n"))


def test_a_line_that_is_too_long_keeps_its_end() -> None:
    line = error_line("error: " + "x" * 400 + ' no entry for "API_KEY"')
    assert line.startswith("error: x")
    assert line.endswith('no entry for "API_KEY"')
    assert len(line) == ERROR_CHARS_MAX


def test_a_line_that_says_why_is_told_before_one_that_only_counts() -> None:
    printed = "--- FAIL: TestPort (0.01s)\n    port_test.go:9: got 80, want 8080\nFAIL\n1 failed"
    assert error_line(printed) == "port_test.go:9: got 80, want 8080"


@given(st.text())
def test_no_result_is_an_error(result: str) -> None:
    assert has_failed(_run("Bash", {"command": "make"}, result)) in {True, False}
    assert len(error_line(result)) <= ERROR_CHARS_MAX


def test_the_exit_code_alone_says_nothing_where_a_line_says_why() -> None:
    result = "Error: Exit code 1\nE   ModuleNotFoundError: No module named 'stripe'"

    assert error_line(result) == "E ModuleNotFoundError: No module named 'stripe'"


@pytest.mark.parametrize(
    "line",
    ["cat app.log", "ssh -p 22 prod 'journalctl -u web -n 20'", "docker compose logs web | tail"],
)
def test_what_a_log_says_is_no_failure_of_the_command_that_shows_it(line: str) -> None:
    printed = "redis.exceptions.ConnectionError: Error while reading from localhost"
    assert has_failed(_run("Bash", {"command": "make"}, printed))
    assert not has_failed(_run("Bash", {"command": line}, printed))
    assert has_failed(_run("Bash", {"command": line}, f"Exit code 1\n{printed}"))
