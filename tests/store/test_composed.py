"""Memories that a nap composed, by their kind tags, are ranked as such (0099)."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.store import ADA, a_house

from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryFilter, MemoryMetadata, MemoryStoreRequest
from memd.domain.sleep.consolidation import COMPOSED_TAGS, is_composed
from memd.sleep.distil.exchanges import NapKind
from memd.store.access.names import find_agent
from memd.store.file.connect import Reading
from memd.store.memory.filters import bind
from memd.store.search.candidate_rows import SearchCandidate, read_candidates

NOW_US = 2**60


@pytest.mark.parametrize(
    ("tags", "composed"),
    [
        ((), False),
        (("nap",), False),
        (("decision",), False),
        (("nap", "lesson"), False),
        *((("nap", kind), True) for kind in sorted(COMPOSED_TAGS)),
        (("fix", "mine", "nap"), True),
    ],
)
async def test_a_memory_of_a_nap_and_a_kind_is_a_composed_one(
    tmp_path: Path, tags: tuple[str, ...], composed: bool
) -> None:
    async with a_house(tmp_path / "memd.db") as house:
        request = MemoryStoreRequest(
            category=MemoryCategory.SEMANTIC,
            content="The nginx port is 8080.",
            metadata=MemoryMetadata(tags=tags),
        )
        await house.ingest.store(ADA, request)

        (candidate,) = await house.db.read(_every_candidate)

    assert bool(candidate.is_composed) is composed
    assert is_composed(tags) is composed


def test_every_kind_of_what_a_nap_distils_is_known_to_recall() -> None:
    assert set(NapKind) == COMPOSED_TAGS


def _every_candidate(conn: Reading) -> list[SearchCandidate]:
    agent_key = find_agent(conn, ADA.agent_id)
    assert agent_key is not None
    keys = [key for (key,) in conn.execute("SELECT memory_key FROM memory")]
    return list(read_candidates(conn, bind(agent_key, MemoryFilter(), NOW_US), keys))
