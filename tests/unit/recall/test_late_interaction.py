"""Late interaction: which memory holds the question's tokens, in whatever form."""

from __future__ import annotations

import pytest
from support.fakes import hash_tokens

from memd.domain.encoding import TOKEN_BYTES
from memd.recall.ranking.features import maxsims


def near(question: str, *memories: str, own: int | None = None) -> list[float]:
    tokens = dict(enumerate(map(hash_tokens, memories)))
    return [match.mean for match in maxsims(hash_tokens(question), tokens, own).values()]


def test_a_memory_that_holds_all_tokens_has_one_and_one_that_holds_none_hardly_any() -> None:
    held, half, none = near("red kite", "the red kite flew", "a red hat", "no such thing")

    assert held == pytest.approx(1.0, abs=0.02)
    assert none < 0.5 < half < held


def test_the_order_and_number_of_tokens_do_not_count() -> None:
    assert near("red kite", "kite red") == pytest.approx(near("red kite", "red red kite kite"))


def test_the_rarer_token_weighs_more() -> None:
    others = [f"a kite of number {place}" for place in range(30)]

    rare, common = near("red kite", "a red hat", "a kite hat", *others)[:2]

    assert rare > common


def test_memories_of_others_change_nothing_among_the_own() -> None:
    alone = near("red kite", "a red hat", "a kite hat")
    among = near("red kite", "a red hat", "a kite hat", *["red kites"] * 20, own=2)

    assert among[:2] == pytest.approx(alone)


def test_the_keys_are_those_given_and_without_memories_there_are_none() -> None:
    assert maxsims(hash_tokens("kite"), {7: hash_tokens("kite")}).keys() == {7}
    assert maxsims(hash_tokens("kite"), {}) == {}


def test_a_cosine_is_that_of_the_stored_numbers() -> None:
    one, other = bytes([127]) + bytes(TOKEN_BYTES - 1), bytes(TOKEN_BYTES - 1) + bytes([127])

    matches = maxsims(one + other, {1: one, 2: other, 3: other + one})

    assert [match.mean for match in matches.values()] == pytest.approx([0.5, 0.5, 1.0])
    assert [match.spread for match in matches.values()] == pytest.approx([0.5, 0.5, 0.0])
