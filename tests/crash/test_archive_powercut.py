"""The power may go at any operation: a memory is in the archive, or it is not (P3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from support.fakes import fingerprint, hash_vector
from support.powercut import outcomes
from support.rows import a_row, an_id_source
from support.store import ADA

from memd.archive.archive import archive_memory, restore_memory
from memd.domain.encoding import Encoding
from memd.domain.enums import TrashReason
from memd.store.access import changes, names
from memd.store.file.connect import Writing
from memd.store.file.connections import run_write
from memd.store.memory import memories, removal
from memd.store.search import vectors

Pass = Callable[[Writing, Callable[[], Any], int], Any]

OUTCOME = (
    "SELECT state FROM memory WHERE memory_key = 1",
    "SELECT count(*) FROM archive",
    "SELECT count(*) FROM trash",
)
HOT, AWAY, TRASHED = ("active", 0, 0), ("archived", 1, 0), ("trashed", 0, 1)


def one_transaction(conn: Writing, work: Callable[[], Any], now_us: int) -> Any:
    """Do *work* as the daemon does."""
    return run_write(conn, work, ADA, None, now_us)


def statement_by_statement(conn: Writing, work: Callable[[], Any], now_us: int) -> Any:
    """Do *work* with a transaction for each statement: what the test must find out."""
    conn.touched.clear()
    done = work()
    changes.record(conn, ADA, now_us, None)
    return done


def away_and_back(conn: Writing, done: Pass, *, trashed: bool) -> None:
    """Put the first memory into the archive, from the trash if *trashed*, and bring it back."""
    ids = an_id_source(1_000)
    if trashed:
        done(conn, lambda: removal.trash(conn, [1], TrashReason.DELETED, 7, 99), 7)
    archival_id = done(conn, lambda: archive_memory(conn, 1, 8, ids), 8)
    done(conn, lambda: restore_memory(conn, ADA, archival_id, 9), 9)


def fill(conn: Writing) -> None:
    run_write(conn, lambda: two_memories(conn), ADA, None, 1)


def two_memories(conn: Writing) -> None:
    agent_key = names.ensure_agent(conn, "ada", 1)
    model_key = vectors.ensure_cache(conn, fingerprint(), 1)
    rows = [a_row(SOURCE, text, agent_key=agent_key) for text in ("Ann keeps bees.", "Bob sails.")]
    keys = memories.insert_bare(conn, rows, 1)
    assert keys == [1, 2]
    encodings = [Encoding(hash_vector(row.content)) for row in rows]
    vectors.store(conn, model_key, list(zip(keys, encodings, strict=True)))
    memories.index_new(conn, keys)


SOURCE = an_id_source()


def test_a_power_cut_while_putting_away_and_bringing_back_leaves_one_or_the_other(
    tmp_path: Path,
) -> None:
    work = partial(away_and_back, done=one_transaction, trashed=False)

    assert outcomes(tmp_path, work, OUTCOME, fill=fill) == {HOT, AWAY}


def test_from_the_trash_into_the_archive_is_one_step(tmp_path: Path) -> None:
    work = partial(away_and_back, done=one_transaction, trashed=True)

    assert outcomes(tmp_path, work, OUTCOME, fill=fill) == {HOT, TRASHED, AWAY}


def test_the_same_statement_by_statement_would_have_been_found_out(tmp_path: Path) -> None:
    """The control: some image holds half of it."""
    work = partial(away_and_back, done=statement_by_statement, trashed=False)

    assert outcomes(tmp_path, work, OUTCOME, fill=fill, until_not={HOT, AWAY}) - {HOT, AWAY}
