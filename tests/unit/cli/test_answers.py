"""Search results as lines (memd/cli/memory/answers.py)."""

from __future__ import annotations

import pytest

from memd.cli.memory import answers


def _cut(memory_id: str, relevance: float, by: str) -> dict[str, object]:
    return {"id": memory_id, "relevance_score": relevance, "by": by}


def test_what_is_unlikely_and_left_out_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    cut = [
        _cut("a" * 36, 0.4, "room"),
        _cut("b" * 36, 0.03, "bar"),
        _cut("c" * 36, 0.001, "bar"),
        _cut("d" * 36, 0.0, "bar"),
        _cut("e" * 36, 0.01, "room"),
    ]
    answers.explain({"gate": 0.9, "memories": [], "cut": cut})
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "probability that anything answers: 0.90"
    assert [line.split("(")[-1] for line in lines] == [
        "0.40): over the budget, or too many from one source",
        "0.03): its relevance is too low",
        "0.01): over the budget, or too many from one source",
        "left out 2 below 0.02: its relevance is too low",
    ]
