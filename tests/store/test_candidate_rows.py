"""What the ranker reads of a candidate: its neighbours, without the next question."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.store import ADA, a_house

from memd.domain.enums import Origin
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryFilter
from memd.store.access.names import find_agent
from memd.store.file.connect import Reading
from memd.store.memory.filters import bind
from memd.store.search.candidate_rows import SearchCandidate, read_candidates

NOW_US = 2**60
WORK = "Where does my husband work?"
LONG = f"Does anybody of us have a dog?{' Is it a very large dog?' * 40}"


@pytest.mark.parametrize("asked", ["Does anybody of us have a dog?", LONG])
@pytest.mark.parametrize("origin", [Origin.ASSISTANT, Origin.PERSON])
async def test_the_question_after_an_assistants_answer_is_none_of_its_context(
    tmp_path: Path, origin: Origin, asked: str
) -> None:
    turns = [
        (WORK, Origin.PERSON),
        ("He works for ASML in Veldhoven.", origin),
        (asked, Origin.PERSON),
        ("Our neighbours have a dog.", origin),
        ("We moved to Delft in May.", Origin.PERSON),
    ]
    async with a_house(tmp_path / "memd.db") as house:
        for text, by in turns:
            await house.ingest.ingest(ADA, IngestRequest(text=text, session_id="s", origin=by))
        work, dog = (
            candidate
            for candidate in await house.db.read(_candidates)
            if candidate.own in {turns[1][0], turns[3][0]}
        )

    if origin is Origin.ASSISTANT:
        assert (work.context, work.after_key) == (WORK, None)
    else:
        assert work.context.startswith(f"{WORK}\nDoes anybody of us have a dog")
        assert work.after_key is not None
    assert dog.context.endswith("\nWe moved to Delft in May.")
    assert dog.after_key is not None


def _candidates(conn: Reading) -> list[SearchCandidate]:
    agent_key = find_agent(conn, ADA.agent_id)
    assert agent_key is not None
    keys = [key for (key,) in conn.execute("SELECT memory_key FROM memory ORDER BY memory_key")]
    return list(read_candidates(conn, bind(agent_key, MemoryFilter(), NOW_US), keys))
