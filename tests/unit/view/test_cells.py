from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from memd.view.cells import cut, pad, width, wrap
from memd.view.view import one_line

EVERYDAY = (
    "plain words", "Zürich", "東京のサーバーは毎週月曜日", "서울", "北京", "🚀 launch", "e\u0301",
    "\uff46\uff55\uff4c\uff4c", "“quotes” …", "привет", "שלום", "مرحبا", "Ελλάδα", "✓ done ✗ not",
)  # fmt: skip


def test_everyday_texts_are_as_wide_as_rich_says() -> None:
    assert {text: width(text) for text in EVERYDAY} == {text: cell_len(text) for text in EVERYDAY}


@given(st.text(max_size=60), st.integers(0, 40))
def test_what_is_cut_never_takes_more_than_the_room(text: str, room: int) -> None:
    assert width(cut(one_line(text), room)) <= room


@given(st.text(max_size=90), st.integers(2, 20), st.integers(1, 4))
def test_what_is_wrapped_fits_and_loses_nothing_but_its_end(
    text: str, room: int, rows: int
) -> None:
    text = " ".join(one_line(text).split(" ")).strip(" ")
    lines = wrap(text, room, rows)
    assert len(lines) <= rows
    assert all(width(line) <= room for line in lines)
    *whole, last = lines or [""]
    shown = "".join([*whole, last]).replace(" ", "")
    bare = text.replace(" ", "")
    assert shown == bare or (len(lines) == rows and bare.startswith(shown[:-1]))


@given(st.text(max_size=30), st.integers(0, 80))
def test_what_is_padded_takes_the_room_or_is_longer_already(text: str, room: int) -> None:
    assert width(pad(text, room)) == max(room, width(text))
