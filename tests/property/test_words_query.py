"""Any text is a question: never a syntax error, never SQL, never another's rows (H26, H27, H30)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.gate import drawn
from support.store import ADA, BOB, a_house, stored

from memd.backends.rooms import Rooms
from memd.domain.memory import MemoryFilter, MemoryQuery
from memd.domain.recall import RecallRequest

HOSTILE = (
    '"', "(" * 3000, "NOT", "x:y", "*", "NEAR(", 'a"b', "own:bees", "owner:a2",
    "{own context}: bees",
    "OR " * 2000, "AND", "bees NOT bees", "bees^", "+bees", "-bees", "col : bees", "bee*", "'",
    "'; drop table memory;--", "a1", "h1", '"a1" OR "a2"', "%", "_", "\\", "{", "}", "^",
    "NEAR(a b, 3)",
    "\u202e bees", "🐝" * 500, "x" * 8000,
)  # fmt: skip
QUERIES = st.text(min_size=1, max_size=200).filter(
    lambda text: text.strip() and "\x00" not in text and text.isprintable()
) | st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=3).map(lambda p: " ".join(p)[:8000])


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[asyncio.Runner, Rooms]]:
    with asyncio.Runner() as runner:
        house_of = a_house(tmp_path_factory.mktemp("words") / "memd.db")
        house = runner.run(house_of.__aenter__())
        runner.run(stored(house, "Ann keeps bees.", *HOSTILE))
        runner.run(stored(house, "Bob keeps a secret among bees.", caller=BOB))
        yield runner, house
        runner.run(house_of.__aexit__(None, None, None))


@drawn(gate=30, long=150)
@given(text=QUERIES)
@example(text='owner:a2 OR "a2"')
def test_any_text_is_a_question_about_ones_own_memories(
    house: tuple[asyncio.Runner, Rooms], text: str
) -> None:
    runner, rooms = house
    entries = runner.run(rooms.recall.retrieve(ADA, MemoryQuery(text=text, limit=100)))
    assert len(entries) == 1 + len(HOSTILE)
    assert all(entry.agent_id == "ada" for entry in entries)
    runner.run(rooms.recall.recall(ADA, RecallRequest(query=text)))
    runner.run(rooms.archive.search(ADA, MemoryQuery(text=text)))


def test_syntax_told_as_a_text_is_kept_as_a_text(house: tuple[asyncio.Runner, Rooms]) -> None:
    runner, rooms = house
    entries, _ = runner.run(rooms.recall.list(ADA, MemoryFilter(), None, 1000))
    assert {entry.content for entry in entries} == {"Ann keeps bees.", *HOSTILE}
    assert runner.run(rooms.upkeep.check(ADA)).ok
