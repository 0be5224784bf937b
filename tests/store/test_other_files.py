"""Foreign or empty files: refused and left untouched, or used as new ones (H69-H71)."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from support.clocks import HeldClock
from support.store import ADA, a_house, a_writer, told

from memd.base.errors import DamagedError, ForeignFileError, MemdError, NewerSchemaError
from memd.domain.memory import MemoryFilter
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
    tmp_path: Path, make: Callable[[Path], None], error: type[MemdError]
) -> None:
    path = tmp_path / "memd.db"
    make(path)
    before = (path.read_bytes(), logged(path))
    with pytest.raises(error, match="left"):
        async with open_database(path, HeldClock()):
            pass
    assert (path.read_bytes(), logged(path)) == before
    assert not list(tmp_path.glob("*.backup.db"))


async def test_an_empty_file_is_a_new_one(tmp_path: Path) -> None:
    """A first start that was killed leaves nothing else."""
    path = tmp_path / "memd.db"
    path.touch()
    async with a_house(path) as house:
        await told(house, "Ann keeps bees in Lisbon.")
        assert (await house.upkeep.check(ADA)).ok


async def a_file_with_one_memory(path: Path) -> None:
    async with a_house(path) as house:
        await told(house, "Ann keeps bees in Lisbon.")


async def its_memory_is_there(path: Path) -> None:
    async with a_house(path) as house:
        (found,), _ = await house.recall.list(ADA, MemoryFilter(), None, 10)
        assert found.content == "Ann keeps bees in Lisbon."
        assert (await house.upkeep.check(ADA)).ok


async def test_a_log_of_noise_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "memd.db"
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
