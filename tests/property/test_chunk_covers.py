"""Whatever the text: chunks are in order and together hold all of it."""

from hypothesis import given
from hypothesis import strategies as st
from support.gate import drawn

from memd.text.chunk import chunk, clean


class Letters:
    """A counter of three characters a token."""

    def count(self, text: str) -> int:
        return sum(-(-len(word) // 3) for word in text.split())


parts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["\n\n", "```", "```\n", "~~~\n", ". A", "\n", " ", "é", "e\u0301", "x" * 150]),
)
texts = st.lists(parts, max_size=30).map("".join)


@given(text=texts, tokens_min=st.integers(1, 10), more=st.integers(0, 20))
@drawn(gate=75, long=300)
def test_chunks_hold_every_character_in_order(text: str, tokens_min: int, more: int) -> None:
    cleaned = clean(text)
    pieces = chunk(cleaned, Letters(), tokens_min=tokens_min, tokens_max=tokens_min + more)
    assert "".join("".join(pieces).split()) == "".join(cleaned.split())
    assert all(piece.strip() for piece in pieces)


@given(text=texts, tokens_min=st.integers(2, 10), more=st.integers(0, 20))
@drawn(gate=75, long=300)
def test_no_chunk_is_larger_than_the_maximum(text: str, tokens_min: int, more: int) -> None:
    counter = Letters()
    pieces = chunk(clean(text), counter, tokens_min=tokens_min, tokens_max=tokens_min + more)
    assert all(counter.count(piece) <= tokens_min + more for piece in pieces)


words = st.text("abc", min_size=1, max_size=9)
sentences = st.lists(words, min_size=1, max_size=40).map(lambda some: " ".join(some).capitalize())
paragraphs = st.lists(sentences, min_size=1, max_size=12).map(". ".join)


@given(text=paragraphs, tokens_min=st.integers(1, 12), more=st.integers(6, 30))
@drawn(gate=75, long=300)
def test_no_part_of_a_long_paragraph_is_below_the_minimum(
    text: str, tokens_min: int, more: int
) -> None:
    """A word has three tokens at most: wherever the cut should be, a seam is near."""
    counter = Letters()
    tokens_max = 2 * tokens_min + more
    sizes = [
        counter.count(piece)
        for piece in chunk(text, counter, tokens_min=tokens_min, tokens_max=tokens_max)
    ]
    assert max(sizes) <= tokens_max
    assert min(sizes) >= tokens_min or len(sizes) == 1


@given(text=texts)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)
