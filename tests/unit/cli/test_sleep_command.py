"""What a person is told of the nights, and what is refused."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from memd.base.errors import InvalidError
from memd.cli.options import parse
from memd.cli.sleep import sleep, usage
from memd.cli.sleep.sleep import check_options, status_line

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
    "session_id": None,
    "project_id": None,
    "client": None,
    "changes": [],
    "left_out": 0,
}
NAP: dict[str, Any] = {
    **RUN,
    "kind": "nap",
    "agent_id": "default",
    "steps": [{"name": "nap", "rows": 4, "steps": 1}],
    "detail": {},
    "session_id": "0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11",
    "project_id": "/home/ada/acme",
    "client": "claude",
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
    ("more", "expected"),
    [
        ({}, "no night yet; next 2026-03-18 03:00"),
        ({"last": RUN}, "last night 2026-03-17 03:00; next 2026-03-18 03:00"),
        (
            {"waits_for": "the computer runs on battery"},
            "no night yet; next 2026-03-18 03:00, waiting: the computer runs on battery",
        ),
        ({"paused": True}, "no night yet; paused; to resume: memd sleep --resume"),
        ({"enabled": False}, "no night yet; off: consolidation.enabled is false in the settings"),
        (
            {"interval": "never", "next_at": None},
            "no night yet; none: consolidation.interval is never in the settings",
        ),
        ({"next_at": None}, "no night yet; the first one follows the first memory"),
        ({"running": RUN}, "a night is running since 2026-03-17 03:00"),
    ],
)
def test_the_status_is_one_line(more: dict[str, Any], expected: str) -> None:
    assert status_line({**STATUS, **more}) == expected


def test_a_report_tells_each_step_and_ends_with_the_way_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sleep._print_run(RUN)
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "night r1: done in 2.5 s",
        "  started 2026-03-17 03:00, all agents",
        "  retention      1 memory moved to the trash: past the retention",
        "  consolidation  1,203 memories archived behind summaries",
        "  summaries      31 created",
    ]
    assert shown.err == "to undo it: memd sleep --undo r1\n"


@pytest.mark.parametrize(
    ("state", "effect"),
    [
        ("done", "4 memories created"),
        ("undone", "4 memories created, now in the trash, except for edited ones"),
    ],
)
def test_a_report_of_a_nap_tells_its_session(
    capsys: pytest.CaptureFixture[str], state: str, effect: str
) -> None:
    sleep._print_run({**NAP, "state": state})
    assert capsys.readouterr().out.splitlines() == [
        f"nap r1: {state} in 2.5 s",
        "  started 2026-03-17 03:00, agent default",
        "  session 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11, project acme, client claude",
        f"  nap            {effect}",
    ]


def test_a_list_of_runs_tells_the_session_of_each_nap(capsys: pytest.CaptureFixture[str]) -> None:
    sleep._table([NAP, RUN])
    nap, night = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert nap[5:] == [NAP["session_id"], "/home/ada/acme", "claude"]
    assert night[5:] == ["", "", ""]


@pytest.mark.parametrize(
    ("run", "lines"),
    [
        (
            {**RUN, "steps": [{"name": name, "rows": 2, "steps": 1} for name in sleep._EFFECTS]},
            [
                "retention      2 memories moved to the trash: past the retention",
                "consolidation  2 memories archived behind summaries",
                "compression    2 memories of old sessions archived behind summaries",
                "ageing         2 memories moved into the archive",
                "cap            2 memories archived: over the cap",
                "nap            2 memories created",
                "summaries      31 created",
            ],
        ),
        (
            {**RUN, "detail": {"summaries": 1}, "steps": RUN["steps"][:1]},
            [
                "retention      1 memory moved to the trash: past the retention",
                "summaries      1 created",
            ],
        ),
        (
            {**RUN, "steps": [], "detail": {}},
            [
                "nothing to do; left alone are memories younger than a day, what naps made, and "
                "sessions and sources with less than three others"
            ],
        ),
        (
            {**RUN, "kind": "compress", "steps": [], "detail": {}},
            [
                "nothing to do; left alone are sessions that have a digest, have a single turn or "
                "were used in the last six hours; without --force also up to ten others"
            ],
        ),
        ({**RUN, "kind": "nap", "steps": [], "detail": {}}, ["nothing new to remember"]),
    ],
)
def test_each_step_is_told_in_words_and_why_there_was_none(
    run: dict[str, Any], lines: list[str]
) -> None:
    assert list(sleep._steps(run)) == lines


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (RUN, "night"),
        ({**RUN, "kind": "nap"}, "nap"),
        ({**RUN, "kind": "compress"}, "compression"),
        ({**RUN, "dry_run": True}, "simulated night"),
    ],
)
def test_a_run_has_a_name(run: dict[str, Any], name: str) -> None:
    assert sleep._name(run) == name


def test_what_aged_is_not_counted_twice() -> None:
    aged = {**RUN, "steps": [*RUN["steps"], {"name": "ageing", "rows": 7, "steps": 1}]}
    assert sleep._format_moved(aged) == "1,204 memories"


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (
            {**RUN, "detail": {"errors": ["disk_full"]}, "again_at": "2026-03-17T04:00:00Z"},
            "stopped by the disk (disk_full); continues 2026-03-17 04:00",
        ),
        ({**RUN, "detail": {"errors": ["internal", "busy"]}}, "failed: internal, busy"),
    ],
)
def test_why_a_run_failed_is_told(run: dict[str, Any], line: str) -> None:
    assert list(sleep._faults(run)) == [line]


def test_whose_memories_a_run_was_of_is_told_without_orders_to_the_terminal() -> None:
    assert sleep._agent({"agent_id": "ada\x1b[31m"}).startswith("agent ada")
    assert "\x1b" not in sleep._agent({"agent_id": "ada\x1b[31m"})


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
    sleep._print_run(run)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--now --undo r1", "exclude each other"),
        ("--pause --resume", "exclude each other"),
        ("--undo", "no run to undo"),
        ("--last", "--last goes with --undo"),
        ("--undo --last r1", "--last goes with --undo"),
        ("r1", "goes with --undo or --report only"),
        ("--now r1", "goes with --undo or --report only"),
        ("--step retention", "apply to a night"),
        ("--report --agent ada", "apply to a night"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anybody_is_asked(
    line: str, message: str
) -> None:
    params = parse(sleep.sleep, line.split())
    assert params is not None
    assert (params.pop("profile"), params.pop("json")) == (None, False)  # the entry point's
    with pytest.raises(InvalidError, match=message):
        sleep.sleep(**params)


def test_a_rehearsal_may_be_asked_for_with_now() -> None:
    assert (
        sleep._action(now=True, dry_run=True, undo=False, report=False, pause=False, resume=False)
        == "night"
    )


@pytest.mark.parametrize(
    ("word", "hint"),
    [("now", "memd sleep --now"), ("status", "memd sleep"), ("12", None)],
)
def test_a_word_that_is_an_option_is_answered_with_the_option(word: str, hint: str | None) -> None:
    with pytest.raises(InvalidError) as refused:
        check_options("status", word, by_night=False, last=False)
    assert refused.value.hint == hint


def test_a_nap_over_stored_turns_is_shown_beside_what_was_not_read() -> None:
    problem = "the transcript is not read: it is in no allowed folder"
    window = {"napped_at": None, "nap_problem": problem, "armed": False}
    assert usage._nap(window) == f"no nap: {problem}"
    napped = {**window, "napped_at": "2026-11-20T09:30:00Z"}
    assert re.fullmatch(rf"napped \S.*; {problem}", usage._nap(napped))
