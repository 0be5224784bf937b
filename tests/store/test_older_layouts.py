"""A file with another page layout works like a new one; a repair gives it today's layout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest
from support.damage import a_full_file, has_sums, repaired, texts
from support.store import ADA, a_house, stored, told

from memd.domain.recall import RecallRequest
from memd.store.file.backup import make_from_outside
from memd.store.file.connect import PAGE_BYTES

INCREMENTAL = 2


@contextmanager
def laid_out(page_bytes: int, auto_vacuum: int) -> Iterator[None]:
    """Lay new files out so, without room for checksums."""

    def lay_out(conn: apsw.Connection) -> None:
        conn.pragma("page_size", page_bytes)
        conn.pragma("auto_vacuum", auto_vacuum)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memd.store.file.connect._set_layout", lay_out)
        patch.setattr("memd.store.file.page_sums.vfs", lambda: None)
        patch.setattr("support.store.empty_store", bytes)  # no copy: it is laid out here
        yield


def layout(path: Path) -> tuple[int, int]:
    with closing(apsw.Connection(str(path))) as conn:
        return conn.pragma("page_size"), conn.pragma("auto_vacuum")


@pytest.mark.parametrize(
    ("page_bytes", "auto_vacuum"), [(4_096, 0), (4_096, 1), (16_384, 0), (65_536, INCREMENTAL)]
)
async def test_a_file_of_another_layout_is_opened_kept_so_and_repaired_to_that_of_today(
    tmp_path: Path, page_bytes: int, auto_vacuum: int
) -> None:
    path = tmp_path / "memd.db"
    with laid_out(page_bytes, auto_vacuum):
        said = await a_full_file(path)
    assert layout(path) == (page_bytes, auto_vacuum)
    assert not has_sums(path)
    async with a_house(path) as house:
        assert not house.db.read_only
        (secret,) = await stored(house, "The password of the safe is Xylophanes.")
        more = await told(house, "Dora paints boats in Faro.")
        found = await house.recall.recall(ADA, RecallRequest(query="Who sails to Faro?", top_k=3))
        assert "Bob sails to Faro on Sunday." in {item.content for item in found.memories}
        await house.archive.forget(ADA, ids=[secret])
        await house.queue.drain()
        assert (await house.upkeep.check(ADA)).problems == ()
        make_from_outside(path, tmp_path / "copy.db")
    assert layout(path) == (page_bytes, auto_vacuum)
    assert has_sums(path)
    assert layout(tmp_path / "copy.db") == (page_bytes, auto_vacuum)
    assert b"Xylophanes" not in path.read_bytes()
    assert set(texts(path)) == {*said, *more}

    done = repaired(path)
    assert (done.lost, done.remaining) == ((), ())
    assert layout(path) == (PAGE_BYTES, INCREMENTAL)
    assert has_sums(path)
    assert set(texts(path)) == {*said, *more}
