"""Lists fit the terminal and are whole in a pipe."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.cli import say, tables
from memd.cli.tables import Column, id_column, table, text_column, time_column, word_column
from memd.view.cells import width

ID = "0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11"
COLUMNS = (id_column(), time_column("CREATED"), word_column("CATEGORY"), text_column("TEXT"))
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
        patch.setattr(say, "width", lambda: 80)
        patch.setenv("NO_COLOR", "1")
        table(columns, rows)
    return screen.getvalue().splitlines()


def test_a_terminal_shows_the_text_first_then_a_short_id_and_the_local_time() -> None:
    head, line = shown(COLUMNS, [ROW])
    assert head.startswith(" " * len(say.BAR))
    assert head.split() == ["TEXT", "ID", "CATEGORY", "CREATED"]
    assert line.startswith(f"{say.BAR}東京のサーバー")
    assert line.endswith(f"6f2f9b11  semantic  {say.local_time(ROW[1])}")
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
    st.lists(st.sampled_from([word_column("W"), id_column(), time_column("T")]), max_size=5),
    st.lists(st.text(min_size=1, max_size=90), min_size=5, max_size=5),
    st.text(max_size=200),
)
def test_no_line_is_wider_than_the_terminal(
    columns: list[Column], words: list[str], content: str
) -> None:
    cells = [ROW[1] if one.head == "T" else words[n] for n, one in enumerate(columns)]
    lines = shown((*columns, text_column("TEXT")), [(*cells, content)])
    assert all(width(line) <= 80 for line in lines)


def test_only_ids_that_memd_made_are_shortened() -> None:
    assert tables.short(ID) == "6f2f9b11"
    assert tables.short("config:policy:1") == "config:policy:1"
