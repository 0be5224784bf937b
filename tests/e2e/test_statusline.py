"""``memd statusline``: what Claude Code tells it reaches the daemon; the line of before stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Spawned, spawned, wait_until
from support.desk import a_desk
from support.hook_process import command, introduce, log_lines, unread

from memd.assist.statusline import usage_of

USED = {"input_tokens": 60_000, "output_tokens": 9, "cache_creation_input_tokens": 2_000,
        "cache_read_input_tokens": 20_000}  # fmt: skip


def line(session: str, used: dict[str, int] | None = USED, **more: Any) -> dict[str, Any]:
    window = {"context_window_size": 200_000, "current_usage": used, "used_percentage": 41}
    return {"session_id": session, "cwd": "/home/ada/proj", "model": {"id": "opus"},
            "context_window": {**window, **more}}  # fmt: skip


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    with spawned(tmp_path_factory.mktemp("home")) as daemon:
        introduce(daemon, "claude-code")
        yield daemon


def windows(daemon: Spawned) -> dict[str, Any]:
    with a_desk(daemon, "claude-code") as desk:
        return {each["session_id"]: each for each in desk.call("usage.list")["items"]}


def stored(daemon: Spawned) -> int:
    with a_desk(daemon, "claude-code") as desk:
        return desk.count()


def test_it_tells_the_daemon_how_full_the_window_is(daemon: Spawned) -> None:
    printed = command(daemon.home, ["statusline"], line("a"))
    assert printed == (0, "memd 41%\n", "")
    wait_until(lambda: "a" in windows(daemon), "the window is known")
    window = windows(daemon)["a"]
    assert (window["used_tokens"], window["window_tokens"], window["model"]) == (
        82_000,
        200_000,
        "opus",
    )


def test_a_line_that_nobody_reads_is_no_failure(daemon: Spawned) -> None:
    assert unread(daemon.home, ["statusline"], line("unread")) == (0, "")


def test_a_full_window_is_napped_over(daemon: Spawned) -> None:
    home = daemon.home
    prompt = {"session_id": "b", "prompt": "The heron service runs on port 8443.", "cwd": "/"}
    command(home, ["hook", "claude-code", "UserPromptSubmit"], prompt)
    wait_until(lambda: stored(daemon) == 1, "the prompt, which its hook does not wait for")
    full = {**USED, "cache_read_input_tokens": 110_000}
    assert command(home, ["statusline"], line("b", full)).code == 0
    wait_until(lambda: bool(windows(daemon).get("b", {}).get("napped_at")), "the nap")


@pytest.mark.parametrize(
    "before",
    [["cat > /dev/null; echo main '*'"], ["/bin/sh", "-c", "cat > /dev/null; echo main '*'"]],
)
def test_the_line_of_before_is_printed_first(daemon: Spawned, before: list[str]) -> None:
    printed = command(daemon.home, ["statusline", "--", *before], line("c"))
    assert printed == (0, "main * | memd 41%\n", "")


def test_the_line_of_before_reads_what_memd_reads(daemon: Spawned) -> None:
    printed = command(daemon.home, ["statusline", "--", "wc", "-c"], b'{"x": 1}')
    assert printed == (0, "8\n", "")


def test_a_percentage_alone_is_enough(daemon: Spawned) -> None:
    assert command(daemon.home, ["statusline"], line("p", None)) == (0, "memd 41%\n", "")
    wait_until(lambda: "p" in windows(daemon), "the window is known")
    assert windows(daemon)["p"]["fill"] == pytest.approx(0.41)


def test_without_a_daemon_or_a_first_answer_the_line_is_short(
    daemon: Spawned, tmp_path: Path
) -> None:
    first = line("d", None, used_percentage=None)
    assert command(daemon.home, ["statusline"], first) == (0, "memd\n", "")
    assert (
        command(tmp_path, ["statusline", "--", "echo main"], line("d")).out == "main | memd off\n"
    )
    assert len(log_lines(tmp_path)) == 1


def test_what_was_told_already_is_not_told_again(daemon: Spawned) -> None:
    home = daemon.home
    for _ in range(3):
        command(home, ["statusline"], line("e"))
    wait_until(lambda: "e" in windows(daemon), "the window is known")
    seen = windows(daemon)["e"]["seen_at"]
    command(home, ["statusline"], line("e"))
    assert windows(daemon)["e"]["seen_at"] == seen


def test_totals_of_a_whole_session_are_not_the_window_s() -> None:
    older: dict[str, object] = {"session_id": "f", "context_window": {"total_input_tokens": 9}}
    assert usage_of(older) == {"source": "claude-code", "session_id": "f", "event": "statusline"}
    assert usage_of({"session_id": "f"}) == {}
    assert usage_of({"context_window": {}}) == {}
