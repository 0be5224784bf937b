import unicodedata

import pytest
from support.fakes import QuarterCounter, WordCounter
from support.work_units import effort

from memd.text.chunk import chunk, clean


class Pieces:
    """Counts as a word-piece vocabulary does at worst: 4 characters a piece, long words as one."""

    def __init__(self) -> None:
        self.characters = 0

    def count(self, text: str) -> int:
        self.characters += len(text)
        return sum(1 if len(word) > 100 else -(-len(word) // 4) for word in text.split())


def words(text: str, tokens_min: int, tokens_max: int) -> list[str]:
    return chunk(text, WordCounter(), tokens_min=tokens_min, tokens_max=tokens_max)


def test_paragraphs_are_joined_to_a_neighbour_when_short() -> None:
    assert words("a b c d e f g h\n\nx\n\ny z w v", 3, 8) == ["a b c d e f g h", "x\n\ny z w v"]


def test_a_short_last_paragraph_that_does_not_fit_stands_alone() -> None:
    assert words("a b c d e f g h\n\nx", 3, 8) == ["a b c d e f g h", "x"]


def test_short_paragraphs_become_one_chunk() -> None:
    assert words("a\n\nb\n\nc", 3, 8) == ["a\n\nb\n\nc"]


def test_a_short_paragraph_joins_the_one_before_when_it_fits() -> None:
    assert words("a b c d\n\ne f\n\ng h i", 3, 8) == ["a b c d\n\ne f", "g h i"]


def test_a_merged_piece_that_is_too_large_is_cut_in_two_that_are_not_short() -> None:
    assert words("a b\n\nc d e f g h i", 3, 8) == ["a b c d", "e f g h i"]


def test_a_paragraph_that_is_a_little_too_long_is_cut_at_the_sentence_nearest_to_its_middle() -> (
    None
):
    text = "A b. C d e. F g h i. J k."
    assert words(text, 3, 10) == ["A b. C d e.", "F g h i. J k."]


def test_a_tail_with_no_sentence_to_cut_at_shares_the_words_of_the_part_before() -> None:
    assert words("a b c d e f g h i", 3, 8) == ["a b c d", "e f g h i"]


def test_a_short_sentence_before_an_oversize_one_is_no_chunk_of_its_own() -> None:
    assert words("A b. C d e f g h i j k l.", 3, 8) == ["A b. C d e", "f g h i j k l."]


def test_lines_of_code_at_the_end_of_a_block_are_not_left_alone() -> None:
    block = "\n".join(["```", *(f"call({number}, 2)" for number in range(9)), "```"])
    assert [len(piece.split("\n")) for piece in words(block, 4, 12)] == [6, 5]


def test_the_rest_of_a_long_word_is_not_left_alone() -> None:
    pieces = chunk("x" * 31, Pieces(), tokens_min=3, tokens_max=7)
    assert "".join(pieces) == "x" * 31
    assert [Pieces().count(piece) for piece in pieces] == [4, 4]


def test_long_paragraphs_are_cut_at_sentences() -> None:
    text = "One two three four. Five six seven eight. Nine ten eleven twelve."
    assert words(text, 1, 4) == [
        "One two three four.",
        "Five six seven eight.",
        "Nine ten eleven twelve.",
    ]


def test_sentences_are_packed_with_one_space() -> None:
    assert words("A b.\nC d! E f?  G h. i j.", 1, 4) == ["A b. C d!", "E f?", "G h. i j."]


def test_a_sentence_begins_with_any_capital() -> None:
    assert words("Eins zwei. Über uns. ende hier. Да нет.", 1, 4) == [
        "Eins zwei.",
        "Über uns. ende hier.",
        "Да нет.",
    ]


def test_without_sentences_a_paragraph_is_cut_by_words() -> None:
    pieces = words("a b c d e f g h i j k l", 1, 5)
    assert [len(piece.split()) for piece in pieces] == [5, 5, 2]


def test_what_was_packed_is_given_out_before_an_oversize_sentence() -> None:
    assert words("A b. C d e f g h i. J k.", 1, 4) == ["A b.", "C d e f", "g h i.", "J k."]


def test_white_space_gives_no_chunk() -> None:
    assert words(" \n\n \n\n", 3, 8) == []


@pytest.mark.parametrize(("low", "high"), [(0, 8), (-1, 8), (1, 0), (9, 8)])
def test_bounds_must_be_above_zero_and_in_order(low: int, high: int) -> None:
    with pytest.raises(ValueError, match="tokens_min"):
        words("a", low, high)


CODE = "```python\nimport os\n\n\ndef f():\n    return os.sep\n```"


def test_a_fenced_block_is_not_cut_at_its_blank_lines() -> None:
    assert words(f"before it all\n\n{CODE}\n\nafter it all", 3, 8) == [
        "before it all",
        CODE,
        "after it all",
    ]


def test_a_fenced_block_inside_a_large_paragraph_stays_whole() -> None:
    text = f"one two three four five:\n{CODE}\nsix seven eight"
    assert words(text, 3, 8) == ["one two three four five:", CODE, "six seven eight"]


def test_a_fenced_block_above_the_maximum_is_cut_between_lines() -> None:
    lines = [f"call({number}, 2)" for number in range(12)]
    text = "\n".join(["```", *lines, "```"])
    pieces = words(text, 3, 8)
    assert "\n".join(pieces).split("\n") == text.split("\n")


@pytest.mark.parametrize(
    "text",
    [
        "~~~\na b\n\n```\n\nc d\n~~~",
        "````\na b\n\n```\n\nc d\n````",
        "```\na\n\n```x\n\nd e f\n   ```",
    ],
)
def test_a_fence_is_closed_only_by_its_own_kind(text: str) -> None:
    assert words(text, 3, 9) == [text]


def test_a_fence_that_is_never_closed_is_ordinary_text() -> None:
    assert words("```\na b c\n\nd e f", 3, 8) == ["```\na b c", "d e f"]


# The same rules with a counter that knows pieces of words.


def test_no_chunk_is_above_the_maximum() -> None:
    text = ("The quick brown fox jumps over the lazy dog. " * 40 + "\n\n") * 20
    counter = Pieces()
    pieces = chunk(clean(text), counter)
    assert max(counter.count(piece) for piece in pieces) <= 254
    assert min(counter.count(piece) for piece in pieces[:-1]) >= 50


def test_a_word_of_a_megabyte_is_cut_in_bounded_work() -> None:
    counter = Pieces()
    text = "x" * 1_000_000
    pieces = chunk(text, counter)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 254 * 4 + 4
    assert counter.characters < 20 * len(text)


def test_a_chain_of_joined_emoji_is_cut_in_bounded_time() -> None:
    text = "\U0001f469\u200d" * 8_192 + "\U0001f469"
    with effort() as spent:
        pieces = chunk(text, Pieces())
    assert spent.units < 200
    assert "".join(pieces) == text
    assert all(piece[0] == "\U0001f469" for piece in pieces)


@pytest.mark.parametrize(
    "grapheme",
    ["e\u0323\u0302", "\U0001f1eb\U0001f1f7", "\U0001f44d\U0001f3fd", "\u2764\ufe0f", "ก\u0e49"],
)
def test_a_long_word_is_cut_between_graphemes(grapheme: str) -> None:
    text = grapheme * 1_000
    pieces = chunk(text, Pieces(), tokens_min=1, tokens_max=7)
    assert "".join(pieces) == text
    assert all(len(piece) % len(grapheme) == 0 for piece in pieces)
    assert not any(unicodedata.category(piece[0]).startswith("M") for piece in pieces)


@pytest.mark.parametrize(
    "text",
    ["a\n\n" * 50_000, "A. " * 50_000, "```x\n" * 30_000, "\u200b\n\n" * 50_000, "a/b+" * 40_000],
    ids=["paragraphs", "sentences", "fences", "nothing", "base64"],
)
def test_many_tiny_parts_are_counted_in_bounded_work(text: str) -> None:
    counter = Pieces()
    with effort() as spent:
        chunk(clean(text), counter)
    assert spent.units < 500
    assert counter.characters < 20 * len(text)


def test_a_counter_that_is_not_additive_is_obeyed_all_the_same() -> None:
    text = "\n\n".join(f"It is a short line {number}." for number in range(300)) + " b" * 3_000
    pieces = chunk(text, QuarterCounter())
    assert max(len(piece) // 4 for piece in pieces) <= 254
    assert "".join("".join(pieces).split()) == "".join(text.split())
