"""Chinese, Japanese and Korean are found by their words, which no space parts (decision 0380)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.nights import nap_over
from support.store import ADA, a_house, stored, tampering

from memd.backends.rooms import Rooms
from memd.domain.enums import SearchMode
from memd.domain.ingest import SessionQuery
from memd.domain.recall import RecallRequest
from memd.store.file.connect import Writing
from memd.store.org import fact_index
from memd.store.search.fts import FtsTable
from memd.store.session import message_index

GOLDEN = Path(__file__).parents[1] / "golden"
MEMORIES = (
    "猫の名前はミケです。",
    "歯医者は駅前の田中歯科で、木曜日は休みです。",
    "生产数据库用的端口是5433。",
    "회의는 매주 화요일에 있습니다.",
    "The cat sleeps in the shed.",
)
MESSAGES = [
    {"role": "user", "content": "部署脚本放在哪个目录?"},
    {"role": "assistant", "content": "部署脚本在 deploy/prod 目录里。"},
]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Rooms]:
    async with a_house(tmp_path / "memd.db") as opened:
        await stored(opened, *MEMORIES)
        yield opened


async def recalled(house: Rooms, query: str) -> list[str]:
    request = RecallRequest(query=query, search_mode=SearchMode.WORDS)
    return [memory.content for memory in (await house.recall.recall(ADA, request)).memories]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("うちの猫の名前は何?", 0),
        ("猫は何歳?", 0),
        ("猫", 0),
        ("田中歯科はいつ休み?", 1),
        ("数据库端口是多少", 2),
        ("회의는 언제야?", 3),
        ("where is the cat", 4),
    ],
)
async def test_a_question_in_other_words_finds_what_has_one_of_its_pairs(
    house: Rooms, query: str, place: int
) -> None:
    assert (await recalled(house, query))[0] == MEMORIES[place]


async def test_what_shares_only_particles_is_not_recalled(house: Rooms) -> None:
    assert await recalled(house, "天気はどうですか") == []


async def test_a_message_is_found_by_a_part_of_its_clause_and_quoted_as_it_was(
    house: Rooms,
) -> None:
    await nap_over(house, MESSAGES, "s", ADA, last=True)
    exact = await house.sessions.search(ADA, SessionQuery(query="脚本在"))
    assert [hit.snippet for hit in exact] == ["部署脚本在 deploy/prod 目录里。"]
    any_pair = await house.sessions.search(ADA, SessionQuery(query="脚本的目录"))
    assert {hit.ordinal for hit in any_pair} == {0, 1}


def to_version_6(conn: Writing) -> None:
    """Make the views of *conn* those of schema 6, and the indexes what these give."""
    old = (GOLDEN / "schema-6.sql").read_text("utf-8")
    for name in ("memory_words", "session_words", "org_fact_words"):
        start = old.index(f"CREATE VIEW {name} ")
        conn.execute(f"DROP VIEW {name}; {old[start : old.index(';', start)]}")
    for table in ("fts_1", "fts_org", "fts_session"):
        conn.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
    conn.execute("DROP TABLE forgotten_text; DROP TABLE deletion; PRAGMA user_version = 6")


async def test_a_file_of_before_is_indexed_anew_where_it_has_signs(tmp_path: Path) -> None:
    path = tmp_path / "memd.db"
    async with a_house(path) as house:
        await stored(house, *MEMORIES)
        await nap_over(house, MESSAGES, "s", ADA, last=True)
    with tampering(path) as conn:
        to_version_6(conn)
        index = FtsTable("fts_1", "memory_words", "memory_key", "own, context, owner")
        assert index.is_intact(conn)
    async with a_house(path) as house:
        assert (await house.upkeep.check(ADA)).problems == ()
        assert (await recalled(house, "うちの猫の名前は何?"))[0] == MEMORIES[0]
        assert await house.sessions.search(ADA, SessionQuery(query="脚本在"))
    with tampering(path) as conn:
        assert message_index.is_intact(conn)
        assert fact_index.TABLE.is_intact(conn)


async def test_a_file_without_an_index_of_sessions_gets_one_with_pairs(tmp_path: Path) -> None:
    path = tmp_path / "memd.db"
    async with a_house(path) as house:
        await stored(house, *MEMORIES)
        await nap_over(house, MESSAGES, "s", ADA, last=True)
    with tampering(path) as conn:
        to_version_6(conn)
        conn.execute("DROP TABLE fts_session")  # as schema 1 had none
    async with a_house(path) as house:
        assert (await house.upkeep.check(ADA)).problems == ()
        assert await house.sessions.search(ADA, SessionQuery(query="脚本在"))
