"""What commands write: sentences, excerpts, progress and tables."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.base import errors
from memd.cli import console, tables
from memd.cli.console import CommandExit, Exit, excerpt
from memd.cli.progress import LINE_EVERY_US, Progress
from memd.cli.tables import Column, id_column, table, text_column, time_column, word_column
from memd.view.cells import width


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
    assert console.exit_code(error) is code


def test_an_error_and_its_hint_go_to_stderr_and_nothing_to_stdout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console.report_error(errors.NotFoundError("no such thing", hint="look again"))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "memd: no such thing\n      look again\n"


def test_json_answers_carry_their_version_first(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({"id": "ä"})
    shown = capsys.readouterr().out
    assert shown.startswith('{"v": 1')
    assert json.loads(shown) == {"v": 1, "id": "ä"}


def test_what_nobody_confirms_is_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandExit) as left:
        console.confirm("Erase?", yes=False, read=lambda: "n\n")
    assert left.value.code is Exit.ERROR
    assert "Erase? [y/N]" in capsys.readouterr().err


@pytest.mark.parametrize("answer", ["y\n", "YES\n", " y \n"])
def test_yes_is_yes(answer: str) -> None:
    console.confirm("Erase?", yes=False, read=lambda: answer)


def test_without_a_terminal_a_question_is_answered_with_no(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        with pytest.raises(CommandExit) as left:
            console.confirm("Erase?", yes=False)
    assert left.value.code is Exit.USAGE


def test_times_are_shown_on_the_clock_of_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert console.local_time("2026-03-02T20:05:59.1Z") == "2026-03-03 05:05"
        assert console.local_time("2026-03-02T20:05:59.1Z", zone=True) == "2026-03-03 05:05 JST"
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
    assert console.has_colour(terminal)  # type: ignore[arg-type]  # only isatty is asked
    monkeypatch.setenv("NO_COLOR", "1")
    assert not console.has_colour(terminal)  # type: ignore[arg-type]


def test_the_sentence_that_shares_most_words_with_the_query_comes_first() -> None:
    text = "We met on Monday. The staging server is called heron. Then we had lunch together."
    assert excerpt(text, "what is the staging server called?", 50).startswith(
        "… The staging server"
    )


def test_a_text_begins_at_its_beginning_where_the_best_sentence_fits() -> None:
    text = "No, it stays. In answer to: drop the blob from the upload? And more of the same."
    assert excerpt(text, "do we drop the blob from the upload?", 70) == f"{text[:69]}…"


def test_without_a_shared_word_it_begins_at_the_beginning() -> None:
    assert excerpt("One. Two. Three. Four.", "zebra", 10) == "One. Two.…"


@given(st.text(max_size=200), st.text(max_size=20), st.integers(20, 80))
def test_an_excerpt_is_never_longer_than_the_room_there_is(
    text: str, query: str, room: int
) -> None:
    assert len(excerpt(text, query, room)) <= room


class Held:
    now = 0

    def now_us(self) -> int:
        return self.now

    def monotonic_us(self) -> int:
        return self.now


def test_without_a_terminal_a_line_is_written_at_most_every_five_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Held()
    with Progress("importing", unit="parts", clock=clock) as progress:
        for done in range(1, 11):
            clock.now += LINE_EVERY_US // 4
            progress.at(done, 10)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "importing: 4 parts of 10 parts",
        "importing: 8 parts of 10 parts",
    ]


def test_a_single_file_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Held()
    with Progress("importing", unit="files", clock=clock) as progress:
        clock.now += LINE_EVERY_US
        progress.at(0, 1, "chat 25 of 35")
    assert capsys.readouterr().err == "chat 25 of 35\n"


ID = "0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11"
COLUMNS = (
    id_column(cell=itemgetter(0)),
    time_column("CREATED", itemgetter(1)),
    word_column("CATEGORY", itemgetter(2)),
    text_column("TEXT", itemgetter(3)),
)
ROW = (
    ID,
    "2026-03-02T10:05:59.123456Z",
    "semantic",
    "東京のサーバーは毎週月曜日に再起動されます。" * 3,
)


class Screen(io.StringIO):
    """A terminal of 80 columns, as far as a list is concerned."""

    def isatty(self) -> bool:
        return True


def shown(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines that a terminal gets."""
    screen = Screen()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", screen)
        patch.setattr(console, "width", lambda: 80)
        patch.setenv("NO_COLOR", "1")
        table(columns, rows)
    return screen.getvalue().splitlines()


def test_a_terminal_shows_the_text_first_then_a_short_id_and_the_local_time() -> None:
    head, line = shown(COLUMNS, [ROW])
    assert head.startswith(" " * len(console.BAR))
    assert head.split() == ["TEXT", "ID", "CATEGORY", "CREATED"]
    assert line.startswith(f"{console.BAR}東京のサーバー")
    assert line.endswith(f"6f2f9b11  semantic  {console.local_time(ROW[1])}")
    assert width(line) == 80


def test_a_pipe_gets_every_column_whole_in_the_order_of_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table(COLUMNS, [(*ROW[:3], "two\nlines\tand a tab")])
    assert capsys.readouterr().out == f"{ID}\t{ROW[1]}\tsemantic\ttwo · lines and a tab\n"


def test_a_list_of_nothing_has_no_head() -> None:
    assert shown(COLUMNS, []) == []


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([word_column("W", "w"), id_column(), time_column("T", "t")]), max_size=5
    ),
    st.lists(st.text(min_size=1, max_size=90), min_size=5, max_size=5),
    st.text(max_size=200),
)
def test_no_line_is_wider_than_the_terminal(
    columns: list[Column], words: list[str], content: str
) -> None:
    cells = [ROW[1] if one.head == "T" else words[n] for n, one in enumerate(columns)]
    columns = [one._replace(cell=itemgetter(n)) for n, one in enumerate(columns)]
    lines = shown((*columns, text_column("TEXT", itemgetter(-1))), [(*cells, content)])
    assert all(width(line) <= 80 for line in lines)


def test_only_ids_that_memd_made_are_shortened() -> None:
    assert tables.short(ID) == "6f2f9b11"
    assert tables.short("config:policy:1") == "config:policy:1"
