"""Foreign, empty or older files, or of no known shape: refused, or used as new ones (H69-H71)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest
from support.clocks import HeldClock
from support.damage import a_full_file, has_sums, repaired, texts
from support.store import ADA, a_house, a_writer, stored, tell

from memd.base.errors import DamagedError, ForeignFileError, MemdError, NewerSchemaError
from memd.domain.memory import MemoryFilter
from memd.domain.recall import RecallRequest
from memd.store.file import page_sums
from memd.store.file.backup import make_from_outside
from memd.store.file.connect import PAGE_BYTES
from memd.store.file.database import open_database


def random_bytes(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(20_000))


def a_text_file(path: Path) -> None:
    path.write_text("dear diary\n" * 100)


def another_program(path: Path) -> None:
    with apsw.Connection(str(path)) as conn:
        conn.pragma("application_id", 0x12345678)
        conn.execute("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')")
    conn.close()


def a_nameless_program(path: Path) -> None:
    conn = apsw.Connection(str(path))
    conn.execute("CREATE TABLE memory (url TEXT); INSERT INTO memory VALUES ('x')")
    conn.close()


def another_program_with_a_log(path: Path) -> None:
    """Leave a database whose last transaction is still in its write-ahead log."""
    conn = apsw.Connection(str(path))
    conn.pragma("journal_mode", "wal")
    conn.wal_autocheckpoint(0)
    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    conn.execute("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')")
    conn.close()
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0


def a_newer_memd(path: Path) -> None:
    with a_writer(path) as conn:
        conn.pragma("user_version", 999)
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def a_memd_nobody_knows(path: Path) -> None:
    with a_writer(path) as conn:
        conn.pragma("user_version", 0)
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def logged(path: Path) -> bytes:
    log = path.with_name(f"{path.name}-wal")
    return log.read_bytes() if log.exists() else b""


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (random_bytes, ForeignFileError),
        (a_text_file, ForeignFileError),
        (another_program, ForeignFileError),
        (a_nameless_program, ForeignFileError),
        (another_program_with_a_log, ForeignFileError),
        (a_newer_memd, NewerSchemaError),
        (a_memd_nobody_knows, DamagedError),
    ],
)
async def test_a_file_that_is_not_ours_is_refused_and_stays_as_it_was(
    path: Path, tmp_path: Path, make: Callable[[Path], None], error: type[MemdError]
) -> None:
    make(path)
    before = (path.read_bytes(), logged(path))
    with pytest.raises(error, match=r"left|not changed"):
        async with open_database(path, HeldClock()):
            pass
    assert (path.read_bytes(), logged(path)) == before
    assert not list(tmp_path.glob("*.backup.db"))


async def test_an_empty_file_is_a_new_one(path: Path) -> None:
    """A first start that was killed leaves nothing else."""
    path.touch()
    async with a_house(path) as house:
        await tell(house, "Ann keeps bees in Lisbon.")
        assert (await house.upkeep.check(ADA)).ok


async def a_file_with_one_memory(path: Path) -> None:
    async with a_house(path) as house:
        await tell(house, "Ann keeps bees in Lisbon.")


async def its_memory_is_there(path: Path) -> None:
    async with a_house(path) as house:
        (entry,), _ = await house.recall.list(ADA, MemoryFilter(), None, 10)
        assert entry.content == "Ann keeps bees in Lisbon."
        assert (await house.upkeep.check(ADA)).ok


async def test_a_log_of_noise_is_passed_over(path: Path) -> None:
    await a_file_with_one_memory(path)
    path.with_name("memd.db-wal").write_bytes(random.Random(2).randbytes(100_000))
    await its_memory_is_there(path)


async def test_a_log_of_another_file_is_refused_and_never_mixed_in(tmp_path: Path) -> None:
    path, other = tmp_path / "memd.db", tmp_path / "other.db"
    await a_file_with_one_memory(path)
    another_program_with_a_log(other)
    log = path.with_name("memd.db-wal")
    log.write_bytes(logged(other))
    before = path.read_bytes()
    with pytest.raises(ForeignFileError):
        async with open_database(path, HeldClock()):
            pass
    assert path.read_bytes() == before
    log.unlink()
    await its_memory_is_there(path)


SHAPES = {
    "a table is missing": ("DROP TABLE org_rules", "table org_rules is missing"),
    "a column is missing": (
        "ALTER TABLE injection RENAME COLUMN at_us TO given_at_us",
        "column injection.at_us is missing",
    ),
    "an index is missing": ("DROP INDEX memory_by_time", "index memory_by_time is missing"),
    "a trigger is somebody else's": (
        "CREATE TRIGGER sneaky AFTER INSERT ON memory BEGIN DELETE FROM forgotten; END",
        "trigger sneaky is none of memd's",
    ),
    "a table is somebody else's": ("CREATE TABLE notes (a)", "table notes is none of memd's"),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_an_unknown_shape_is_refused_in_words(path: Path, tmp_path: Path, shape: str) -> None:
    change, message = SHAPES[shape]
    async with a_house(path) as house:
        await stored(house, "Ann keeps bees.")
    conn = apsw.Connection(str(path), vfs=page_sums.vfs())
    conn.execute(change)
    conn.close()
    before = path.read_bytes()
    with pytest.raises(DamagedError, match=message):
        async with a_house(path):
            pass
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.glob("*.db")) == ["memd.db"]


async def test_a_flipped_letter_of_a_name_is_repaired_at_the_start(
    path: Path, tmp_path: Path
) -> None:
    """It is damage, not another shape: the page does not match its checksum."""
    async with a_house(path) as house:
        await stored(house, "Ann keeps bees.")
    whole = path.read_bytes()
    at = whole.index(b"CREATE INDEX memory_by_time")
    assert at // PAGE_BYTES < 200
    path.write_bytes(whole.replace(b"memory_by_time", b"memory_by_tile"))
    async with a_house(path) as house:
        assert (await house.upkeep.check(ADA)).problems == ()
    assert list(tmp_path.glob("*-damaged.backup.db"))


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
    path: Path, tmp_path: Path, page_bytes: int, auto_vacuum: int
) -> None:
    with laid_out(page_bytes, auto_vacuum):
        ids = await a_full_file(path)
    assert layout(path) == (page_bytes, auto_vacuum)
    assert not has_sums(path)
    async with a_house(path) as house:
        assert not house.db.read_only
        (secret,) = await stored(house, "The password of the safe is Xylophanes.")
        more = await tell(house, "Dora paints boats in Faro.")
        answer = await house.recall.recall(ADA, RecallRequest(query="Who sails to Faro?", top_k=3))
        assert "Bob sails to Faro on Sunday." in {item.content for item in answer.memories}
        await house.trash.forget(ADA, ids=[secret])
        await house.queue.drain()
        assert (await house.upkeep.check(ADA)).problems == ()
        make_from_outside(path, tmp_path / "copy.db")
    assert layout(path) == (page_bytes, auto_vacuum)
    assert has_sums(path)
    assert layout(tmp_path / "copy.db") == (page_bytes, auto_vacuum)
    assert b"Xylophanes" not in path.read_bytes()
    assert set(texts(path)) == {*ids, *more}

    done = repaired(path)
    assert (done.lost, done.remaining) == ((), ())
    assert layout(path) == (PAGE_BYTES, INCREMENTAL)
    assert has_sums(path)
    assert set(texts(path)) == {*ids, *more}
