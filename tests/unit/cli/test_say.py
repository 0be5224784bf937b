import json
import time
from pathlib import Path

import pytest

from memd.base import errors
from memd.cli import say
from memd.cli.say import CommandExit, Exit


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.NotRunningError("x"), Exit.NOT_RUNNING),
        (errors.DegradedError("x"), Exit.DEGRADED),
        (errors.MemoryConfigError("x"), Exit.CONFIG),
        (errors.InvalidError("x"), Exit.USAGE),
        (errors.NotFoundError("x"), Exit.ERROR),
        (errors.DamagedError("x"), Exit.ERROR),
    ],
)
def test_every_kind_of_error_has_the_exit_code_of_whose_move_it_is(
    error: errors.MemdError, code: Exit
) -> None:
    assert say.exit_code(error) is code


def test_an_error_and_its_hint_go_to_stderr_and_nothing_to_stdout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say.report_error(errors.NotFoundError("no such thing", hint="look again"))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "memd: no such thing\n      look again\n"


def test_json_answers_carry_their_version_first(capsys: pytest.CaptureFixture[str]) -> None:
    say.print_json({"id": "ä"})
    shown = capsys.readouterr().out
    assert shown.startswith('{"v": 1')
    assert json.loads(shown) == {"v": 1, "id": "ä"}


def test_what_nobody_confirms_is_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandExit) as left:
        say.confirm("Erase?", yes=False, read=lambda: "n\n")
    assert left.value.code is Exit.ERROR
    assert "Erase? [y/N]" in capsys.readouterr().err


@pytest.mark.parametrize("answer", ["y\n", "YES\n", " y \n"])
def test_yes_is_yes(answer: str) -> None:
    say.confirm("Erase?", yes=False, read=lambda: answer)


def test_without_a_terminal_a_question_is_answered_with_no(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        with pytest.raises(CommandExit) as left:
            say.confirm("Erase?", yes=False)
    assert left.value.code is Exit.USAGE


def test_times_are_shown_on_the_clock_of_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert say.local_time("2026-03-02T20:05:59.1Z") == "2026-03-03 05:05"
        assert say.local_time("2026-03-02T20:05:59.1Z", zone=True) == "2026-03-03 05:05 JST"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_no_color_is_honoured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    assert say.has_colour(terminal)  # type: ignore[arg-type]  # only isatty is asked
    monkeypatch.setenv("NO_COLOR", "1")
    assert not say.has_colour(terminal)  # type: ignore[arg-type]
