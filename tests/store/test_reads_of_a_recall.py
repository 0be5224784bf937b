"""How often one recall goes to the file: each read is a transaction in another thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.house import a_house
from support.store import ADA, told

from memd.domain.memory import MemoryQuery
from memd.domain.recall import RecallRequest

TEXTS = ("The spare key hangs under the blue lantern.", "I prefer tea.", "Ulla keeps bees in Faro.")


@pytest.mark.parametrize(("how", "most"), [("recall", 6), ("retrieve", 6), ("count", 2)])
async def test_a_recall_takes_at_most_six_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, most: int
) -> None:
    async with a_house(tmp_path) as house:
        await told(house, *TEXTS)
        while await house.queue.drain():
            pass
        await house.ingest.set_preference(ADA, "editor", "Helix")
        read, reads = house.db.read, []

        async def counted(work: Any, *args: Any, **more: Any) -> Any:
            reads.append(work)
            return await read(work, *args, **more)

        monkeypatch.setattr(house.db, "read", counted)
        match how:
            case "recall":
                answer = await house.recall.recall(ADA, RecallRequest(query="where is the key?"))
                texts = [chunk.content for chunk in answer.memories]
                assert TEXTS[0] in texts
                assert any("Helix" in text for text in texts)
            case "retrieve":
                found = await house.recall.retrieve(ADA, MemoryQuery(text="spare key", limit=1))
                assert found[0].content == TEXTS[0]
            case _:
                assert await house.recall.count(ADA, None) == len(TEXTS)
    assert 1 <= len(reads) <= most, reads
