"""Decision 0015: the log has a bug's full trace, and never its message."""

from __future__ import annotations

from memd.base.log import trace_of


def test_an_error_that_is_its_own_cause_has_a_trace_too() -> None:
    error = ValueError("a memory's text")
    error.__cause__ = error

    trace = trace_of(error)

    assert trace.endswith("ValueError")
    assert "text" not in trace


def test_causes_come_first() -> None:
    error = ValueError()
    error.__cause__ = KeyError()

    assert trace_of(error).split("\nthen\n") == ["KeyError", "ValueError"]
