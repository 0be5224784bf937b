"""The audit: every write that changes something is a link, and forgetting removes its proof."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from support.store import ADA, a_house

from memd.backends.assembly import Assembly
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.store.access import changes


async def links(house: Assembly) -> list[tuple[Any, ...]]:
    return await house.db.read(
        lambda conn: conn.execute("SELECT batch, rows, digest FROM change ORDER BY seq").fetchall()
    )


async def test_a_preference_that_is_set_changed_or_deleted_is_a_link_of_the_audit(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path / "memd.db") as house:
        await house.preferences.set(ADA, "tea", "green")
        await house.preferences.set(ADA, "tea", "black")
        assert await house.preferences.delete(ADA, "tea")
        assert [rows for _, rows, _ in await links(house)] == [1, 1, 1]
        assert not await house.preferences.delete(ADA, "tea")  # there was none
        assert len(await links(house)) == 3
        assert (await house.upkeep.check(ADA)).problems == ()


async def test_the_audit_of_the_same_preference_is_never_the_same_twice(tmp_path: Path) -> None:
    """It is salted, and what a salt that is gone once keyed can be tried out no more."""
    digests = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        async with a_house(tmp_path / name / "memd.db") as house:
            await house.preferences.set(ADA, "tea", "green")
            digests.add((await links(house))[0][2])
    assert len(digests) == 2


async def test_the_links_of_one_bulk_write_name_their_batch(tmp_path: Path) -> None:
    async with a_house(tmp_path / "memd.db") as house:
        await house.ingest.ingest_many(
            ADA, IngestManyRequest(items=(IngestRequest(text="Bob sails."),))
        )
        ((batch, _, _),) = await links(house)
        of_rows = await house.db.read(lambda conn: conn.execute("SELECT batch FROM memory").get)
        assert batch == of_rows
        assert batch is not None


def test_no_two_links_are_hashed_as_the_same_bytes() -> None:
    digest = hashlib.sha256(b"rows").digest()
    said: list[changes.LinkContent] = [
        (1, "ab", "c", "done", 1, None, 1),
        (1, "a", "bc", "done", 1, None, 1),
        (1, "ab", "c", "denied", 1, None, 1),
        (1, "ab", "c", "done", 11, None, 1),
        (1, "ab", "", "done", 1, "c", 1),
        (1, "ab", "c", "done", 1, "", 1),
        (1, "ab", "c", "done", 1, None, 2),
        (11, "ab", "c", "done", 1, None, 1),
        (1, "ab", "c", "done", 1, "b", 1),
    ]
    assert len({changes.hash_link(changes.GENESIS, one, digest) for one in said}) == len(said)
