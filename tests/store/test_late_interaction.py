"""Token vectors in a recall: compared where all candidates have them, or none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.fakes import HashEmbedder
from support.store import ADA, a_house, stored

from memd.backends.rooms import Rooms
from memd.domain.encoding import Encoding
from memd.domain.memory import MemoryFilter
from memd.recall.pipeline import Search, return_candidates
from memd.recall.scope import RecallFilter, caller_scopes
from memd.store.check import renewal
from memd.store.file.connect import Reading

BLANK = "\u2060 blank"
ASKED = "red kite"


class _Blanks(HashEmbedder):
    """A model that finds no token in BLANK."""

    async def encode(self, texts: Sequence[str], *, bulk: bool = False) -> list[Encoding]:
        made = await super().encode(texts, bulk=bulk)
        pairs = zip(texts, made, strict=True)
        return [one._replace(tokens=b"") if text.endswith("blank") else one for text, one in pairs]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Rooms]:
    embedder = _Blanks(with_tokens=True)
    async with a_house(tmp_path / "memd.db", embedder=embedder) as house:
        await stored(house, "a red hat", "the kite is red", "rain in May")
        yield house


async def maxsims(house: Rooms) -> dict[str, float]:
    """Return the feature of each candidate, by its text."""
    where = RecallFilter(MemoryFilter(), house.clock.now_us())
    scopes = partial(caller_scopes, caller=ADA, where=where, also_shared=False)
    ranked = await house.recall.pipeline.run(scopes, Search(ASKED), return_candidates)
    assert ranked is not None
    measured = [item.measured for item in ranked.items]
    return {each.candidate.own: round(each.features["maxsim"], 2) for each in measured}


async def put(house: Rooms, sql: str) -> Any:
    return await house.db.write(ADA, lambda conn: conn.execute(sql))


async def test_what_holds_all_of_the_question_is_nearest(house: Rooms) -> None:
    near = await maxsims(house)

    assert near["the kite is red"] > 0.9 > near["a red hat"] > near["rain in May"]


async def test_a_memory_without_a_token_keeps_no_other_from_being_compared(house: Rooms) -> None:
    await stored(house, BLANK)

    near = await maxsims(house)

    assert near[BLANK] == 0.0
    assert near["the kite is red"] > 0.9


@pytest.mark.parametrize("tokens", ["NULL", "substr(tokens, 2)"], ids=["none yet", "cut"])
async def test_nothing_breaks_where_token_vectors_lack(house: Rooms, tokens: str) -> None:
    await put(house, f"UPDATE embedding SET tokens = {tokens} WHERE memory_key = 2")

    near = await maxsims(house)

    assert near["the kite is red"] == 0.0
    assert (near["a red hat"] > 0.0) is (tokens != "NULL")  # all are measured alike


async def test_with_a_damaged_vector_token_vectors_are_made_anew_too(house: Rooms) -> None:
    before = await house.db.read(encodings)
    await put(house, "UPDATE embedding SET vector = zeroblob(128) WHERE memory_key = 2")
    await house.db.write(ADA, partial(renewal.renew_vectors, keys=[2]))
    house.queue._complete = None

    await house.queue.drain()

    assert await house.db.read(encodings) == before


def encodings(conn: Reading) -> list[tuple[object, ...]]:
    return conn.execute("SELECT vector, tokens FROM embedding ORDER BY memory_key").fetchall()
