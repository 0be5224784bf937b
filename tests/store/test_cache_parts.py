"""The cache part that contains a memory, and the parts that a search reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.nights import ADA, Bed, a_bed, move_to_archive

from memd.domain.enums import ArchiveReason, MemoryCategory, SearchMode
from memd.domain.recall import RecallRequest
from memd.store.file.connect import Reading
from memd.store.search import fulltext, vectors
from memd.store.search.fulltext import CachePart

TURNS = tuple(f"the bees of hive {number} fly at {number + 6}" for number in range(12))
SLEEP = frozenset({"consolidation"})


async def slept(bed: Bed) -> list[str]:
    """Tell a session and something beside it, put one of these away, and consolidate."""
    ids = await bed.tell(*TURNS)
    (away,) = await bed.tell("bees, hm", session_id=None)
    await move_to_archive(bed, ADA, away, ArchiveReason.LOW_IMPORTANCE)
    bed.clock.advance(days=2)
    await bed.night.run(ADA, steps=SLEEP)
    await bed.house.queue.drain()
    return ids


async def in_parts(bed: Bed) -> dict[str, set[str]]:
    """Return what lies in each part: visible, behind a summary, away by itself, a summary."""
    rows = await bed.rows(
        """
        SELECT p.part, iif(m.is_summary, 'summary', coalesce(r.reason, 'visible'))
          FROM cache_part AS p
               JOIN memory AS m ON m.memory_key = p.memory_key
               LEFT JOIN archive AS r ON r.memory_key = p.memory_key
        """
    )
    names: dict[str, set[str]] = {part: set() for part in CachePart}
    for part, what in rows:
        names[str(part)].add(str(what))
    return names


async def test_a_night_leaves_summaries_and_what_was_put_away_by_itself_in_parts_of_their_own(
    bed: Bed,
) -> None:
    await slept(bed)
    assert await in_parts(bed) == {
        CachePart.SEARCHED: {"visible", "consolidated"},
        CachePart.HIDDEN: {"low_importance"},
        CachePart.SUMMARY: {"summary"},
        CachePart.PASSING: set(),
    }
    assert (await bed.house.upkeep.check(ADA)).problems == ()


async def test_what_an_archival_store_put_away_stands_behind_no_summary(bed: Bed) -> None:
    (memory_id,) = await bed.tell(TURNS[0], session_id=None)
    await move_to_archive(bed, ADA, memory_id, ArchiveReason.CONSOLIDATED)
    assert (await in_parts(bed))[CachePart.HIDDEN] == {"consolidated"}
    assert (await bed.house.upkeep.check(ADA)).problems == ()


class Counted:
    """Counts what the caches are asked for and what they find."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.keys: set[int] = set()
        search, near = fulltext.search, vectors.search

        def counted_words(conn: Reading, match: str, limit: int) -> list[int]:
            keys = search(conn, match, limit)
            self._note(keys)
            return keys

        def counted_vectors(
            conn: Reading, vector: bytes, partitions: Sequence[int], limit: int
        ) -> list[vectors.DenseMatch]:
            hits = near(conn, vector, partitions, limit)
            self._note([hit.memory_key for hit in hits])
            return hits

        monkeypatch.setattr(fulltext, "search", counted_words)
        monkeypatch.setattr(vectors, "search", counted_vectors)

    def _note(self, keys: Sequence[int]) -> None:
        self.calls += 1
        self.keys.update(keys)


@pytest.mark.parametrize(
    ("conditions", "parts"),
    [({}, "a"), ({"include_compressed": True}, "ah"), ({"since": 1, "session_id": "s"}, "as")],
    ids=str,
)
async def test_after_a_night_an_arm_asks_its_cache_once_and_finds_nothing_that_it_drops(
    bed: Bed, conditions: dict[str, Any], parts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many match as an arm wants; a row to be dropped among them would make it ask again."""
    await slept(bed)
    if "since" in conditions:
        conditions = conditions | {"since": bed.clock.now.replace(year=2000)}
    monkeypatch.setattr("memd.recall.recall.RETRIEVED_ROWS", 8)
    monkeypatch.setattr("memd.recall.scope.LISTED_ROWS_MAX", 0)
    counted = Counted(monkeypatch)
    request = RecallRequest.model_validate(
        {"query": "when do the bees of hive 4 fly", "search_mode": SearchMode.HYBRID} | conditions
    )
    assert (await bed.house.recall.recall(ADA, request)).memories
    assert counted.calls == 2
    rows = await bed.rows("SELECT memory_key, part FROM cache_part")
    assert {part for key, part in rows if key in counted.keys} <= set(parts)


async def test_a_summary_that_is_put_away_takes_what_stands_behind_it_out_of_sight(
    bed: Bed,
) -> None:
    await slept(bed)
    request = RecallRequest(query="bees of hive 4", search_mode=SearchMode.WORDS, top_k=20)
    before = (await bed.house.recall.recall(ADA, request)).memories
    for (summary,) in await bed.rows("SELECT memory_id FROM memory WHERE is_summary"):
        await move_to_archive(bed, ADA, summary, ArchiveReason.CAP)
    after = (await bed.house.recall.recall(ADA, request)).memories
    assert {memory.content for memory in after} < {memory.content for memory in before}
    assert all(memory.memory_type is MemoryCategory.EPISODIC for memory in after)
    assert (await bed.house.upkeep.check(ADA)).problems == ()


async def test_a_night_writes_the_segments_of_the_words_cache_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "SEGMENTS_MAX", 1)
    monkeypatch.setattr(fulltext, "MERGE_PAGES", 1)
    async with a_bed(tmp_path) as bed:
        await slept(bed)
        for number in range(40):
            await bed.tell(f"a hive of {number}", session_id=None)
        generation = await bed.house.db.read(fulltext.generation)
        count = f"SELECT count(DISTINCT segid) FROM fts_{generation}_idx"
        ((many,),) = await bed.rows(count)
        bed.clock.advance(days=2)
        await bed.night.run(ADA)
        ((few,),) = await bed.rows(count)
        assert few == 1 < many
        assert (await bed.house.upkeep.check(ADA)).problems == ()
