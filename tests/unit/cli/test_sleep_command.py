"""What a person is told of the nights, and what is refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from memd.base.errors import InvalidError
from memd.cli import sleep, words
from memd.cli.sleep import in_a_line

STATUS: dict[str, Any] = {
    "enabled": True,
    "paused": False,
    "interval": "daily",
    "running": None,
    "last": None,
    "next_at": "2026-03-18T03:00:00Z",
    "waits_for": None,
}
RUN: dict[str, Any] = {
    "run_id": "r1",
    "kind": "night",
    "state": "done",
    "agent_id": None,
    "dry_run": False,
    "started_at": "2026-03-17T03:00:00Z",
    "finished_at": "2026-03-17T03:00:02.500000Z",
    "steps": [
        {"name": "retention", "rows": 1, "steps": 1},
        {"name": "consolidation", "rows": 1_203, "steps": 9},
    ],
    "detail": {"summaries": 31},
}


@pytest.fixture(autouse=True)
def greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tell times as in Greenwich, wherever the test runs."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "no night yet; next 2026-03-18 03:00"),
        ({"last": RUN}, "last night 2026-03-17 03:00; next 2026-03-18 03:00"),
        (
            {"waits_for": "the computer runs on battery"},
            "no night yet; next 2026-03-18 03:00, waiting: the computer runs on battery",
        ),
        ({"paused": True}, 'no night yet; paused: "memd sleep --resume" goes on'),
        (
            {"enabled": False},
            "no night yet; off: consolidation.enabled is false in the settings",
        ),
        (
            {"interval": "never", "next_at": None},
            "no night yet; none to come: consolidation.interval is never in the settings",
        ),
        ({"next_at": None}, "no night yet; the first one comes after the first memory"),
        ({"running": RUN}, "a night since 2026-03-17 03:00"),
    ],
)
def test_the_status_is_one_line(more: dict[str, Any], said: str) -> None:
    assert in_a_line({**STATUS, **more}) == said


def test_a_report_tells_each_step_and_ends_with_the_way_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sleep._tell(RUN)
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "night r1: done in 2.5 s",
        "  begun 2026-03-17 03:00, of everybody",
        "  retention      1 memory into the trash: kept as long as you set",
        "  consolidation  1,203 memories put away behind summaries",
        "  in their place 31 summaries",
    ]
    assert shown.err == "to undo it: memd sleep --undo r1\n"


@pytest.mark.parametrize(
    "run",
    [
        {**RUN, "dry_run": True},
        {**RUN, "state": "undone"},
        {**RUN, "kind": "undo"},
        {**RUN, "steps": []},
    ],
)
def test_what_changed_nothing_or_is_undone_has_no_way_back(
    run: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    sleep._tell(run)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--now --undo r1", "one thing at a time"),
        ("--pause --resume", "one thing at a time"),
        ("--undo", "undo which run"),
        ("r1", "for --undo or --report only"),
        ("--now r1", "for --undo or --report only"),
        ("--step retention", "for a night"),
        ("--report --agent ada", "for a night"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anybody_is_asked(line: str, said: str) -> None:
    params = words.read(sleep.sleep, line.split())
    assert params is not None
    with pytest.raises(InvalidError, match=said):
        sleep.sleep(**params)


def test_a_rehearsal_may_be_asked_for_with_now() -> None:
    assert (
        sleep._chosen(now=True, dry_run=True, undo=False, report=False, pause=False, resume=False)
        == "night"
    )
