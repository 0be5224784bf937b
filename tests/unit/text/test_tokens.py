"""Counting tokens, with the model's vocabulary and without."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from memd.base.errors import ModelError
from memd.text.tokens import DefaultTokenEstimator, ModelTokens, counter_for, model_tokens

_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "a", "b", "cat", "##s", "##a", "##b", "."]


def a_tokenizer(path: Path) -> Path:
    """Write a word-piece tokenizer of twelve pieces that asks to truncate and pad, as MiniLM's."""
    document: dict[str, object] = {
        "version": "1.0",
        "truncation": {
            "max_length": 3,
            "strategy": "LongestFirst",
            "stride": 0,
            "direction": "Right",
        },
        "padding": {
            "strategy": {"Fixed": 3},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: at for at, piece in enumerate(_VOCABULARY)},
        },
    }
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> ModelTokens:
    return ModelTokens(a_tokenizer(tmp_path_factory.mktemp("tokens") / "tokenizer.json"))


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a", 1), ("abc", 1), ("abcdefgh", 2), ("x" * 11, 2)]
)
def test_the_estimate_is_a_quarter_of_the_characters_and_at_least_one(
    text: str, count: int
) -> None:
    assert DefaultTokenEstimator().estimate_tokens(text) == count
    assert DefaultTokenEstimator().count(text) == count


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), (" ", 0), ("a", 1), ("the cats.", 4), ("The cat the cat the", 5)]
)
def test_pieces_are_counted_without_special_ones_and_without_a_limit(
    tokens: ModelTokens, text: str, count: int
) -> None:
    assert tokens.count(text) == count


@given(
    st.lists(
        st.sampled_from(
            ["the", "Cats", "cat", "ab" * 60, "[UNK]", "[unk]", "[", "_", ".", "$", "é"]
        )
        | st.sampled_from(
            [" ", "\t", "\n", "\r", "\x00", "\x0b", "\x1c", "\x7f", "\u200b", "한", "7"]
        )
        | st.text(max_size=5),
        max_size=20,
    ),
    st.sampled_from(["[UNK]", None]),
)
def test_counting_by_words_is_counting(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], added: str | None
) -> None:
    path = a_tokenizer(tmp_path_factory.mktemp("tokens") / "tokenizer.json")
    if added is not None:
        document = json.loads(path.read_text())
        token = {"id": 1, "content": added, "single_word": False, "lstrip": False, "rstrip": False}
        document["added_tokens"] = [{**token, "normalized": False, "special": True}]
        path.write_text(json.dumps(document))
    text = "".join(words)
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    long = sum(len(word) // 4 for word in re.findall(r"\w{101,}", text))
    counted = ModelTokens(path).count(text)
    assert counted == len(tokenizer.encode(text, add_special_tokens=False)) + long


def test_a_text_that_fits_is_one_window_unchanged(tokens: ModelTokens) -> None:
    assert tokens.windows("  the cat ", tokens_max=4) == [("  the cat ", 2)]
    assert tokens.windows("", tokens_max=4) == [("", 0)]


def test_windows_end_between_words(tokens: ModelTokens) -> None:
    assert tokens.windows("the cats the cats the", tokens_max=5) == [
        ("the cats the", 4),
        ("cats the", 3),
    ]


def test_a_word_longer_than_a_window_is_cut(tokens: ModelTokens) -> None:
    windows = tokens.windows("a" * 10, tokens_max=4)
    assert "".join(window.text for window in windows) == "a" * 10
    assert all(window.pieces <= 4 for window in windows)


@given(st.text(alphabet="ab cats.é\n한", max_size=120), st.integers(6, 20))
def test_windows_lose_nothing_but_white_space_and_fit_when_read_again(
    tokens: ModelTokens, text: str, tokens_max: int
) -> None:
    windows = tokens.windows(text, tokens_max=tokens_max)
    assert "".join("".join(w.text for w in windows).split()) == "".join(text.split())
    assert sum(window.pieces for window in windows) == tokens.count(text)
    # No word of this alphabet is longer than a window only if its pieces are few.
    if all(tokens.count(word) <= tokens_max for word in text.replace(".", " . ").split()):
        assert all(tokens.count(window.text) == window.pieces for window in windows)
    assert all(window.pieces <= tokens_max for window in windows)


def test_a_missing_or_damaged_vocabulary_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        ModelTokens(path).count("text")
    path.write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json is not a tokenizer"):
        ModelTokens(path).count("text")


def test_users_of_one_file_share_its_vocabulary_until_it_is_replaced(tmp_path: Path) -> None:
    path = a_tokenizer(tmp_path / "tokenizer.json")
    first = model_tokens(path)
    assert model_tokens(path) is first
    os.utime(path, ns=(0, 0))
    assert model_tokens(path) is not first
    assert model_tokens(tmp_path / "missing.json") is not model_tokens(tmp_path / "missing.json")


def test_the_counter_estimates_until_a_model_is_installed(tmp_path: Path) -> None:
    counter = counter_for(tmp_path)
    assert counter.count("the cats.") == 2
    a_tokenizer(tmp_path / "tokenizer.json")
    assert counter.count("the cats.") == 4
    assert counter_for(tmp_path).count("the cats.") == 4


@pytest.mark.parametrize("read", ["count", "windows"])
def test_other_threads_have_their_turns_while_a_long_text_is_read(
    tokens: ModelTokens, read: str
) -> None:
    """One that keeps the interpreter to itself leaves a handful, however long it takes."""
    tokens.count("the first count reads the vocabulary")
    text = "".join(
        f"eyJ{number}aa-[{number}](caf\u00e9_{number}) \u2028\n" for number in range(9_000)
    )
    calls: dict[str, Callable[[], object]] = {"count": partial(tokens.count, text),
             "windows": partial(tokens.windows, text, tokens_max=256)}  # fmt: skip
    reading = threading.Thread(target=calls[read])
    turns = 0
    reading.start()
    while reading.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 30
