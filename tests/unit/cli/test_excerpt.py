from hypothesis import given
from hypothesis import strategies as st

from memd.cli.say import excerpt


def test_the_sentence_that_shares_most_words_with_the_query_comes_first() -> None:
    text = "We met on Monday. The staging server is called heron. Then we had lunch together."
    assert excerpt(text, "what is the staging server called?", 50).startswith(
        "… The staging server"
    )


def test_without_a_shared_word_it_begins_at_the_beginning() -> None:
    assert excerpt("One. Two. Three. Four.", "zebra", 10) == "One. Two.…"


@given(st.text(max_size=200), st.text(max_size=20), st.integers(20, 80))
def test_an_excerpt_is_never_longer_than_the_room_there_is(
    text: str, query: str, room: int
) -> None:
    assert len(excerpt(text, query, room)) <= room
