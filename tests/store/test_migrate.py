"""Migration of an older file to this schema: exactly, once, after a backup, or not at all (P9)."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from support.clocks import HeldClock
from support.fakes import HashEmbedder
from support.nights import Bed, a_bed, settled
from support.store import (
    ADA,
    a_house,
    a_writer,
    plain_sql,
    source_hash,
    stored,
    tampering,
    visible,
)

from memd.base.errors import DamagedError
from memd.domain.caller import LOCAL, OPERATOR
from memd.domain.enums import ArchiveReason, MemoryCategory
from memd.domain.ingest import IngestRequest
from memd.store.file.connect import APPLICATION_ID, SCHEMA_VERSION, Reading, Writing
from memd.store.file.database import open_database
from memd.store.file.migrate import STEPS
from memd.store.search import caches
from memd.store.session import message_index, turns, windows
from memd.store.session.windows import WindowRow

SEALED = ("client", "preference", "learning", "playbook")
UNSEALED = "".join(
    f"DROP TRIGGER {table}_sealed; DROP TRIGGER {table}_resealed; "
    f"ALTER TABLE {table} DROP COLUMN row_hash;"
    for table in SEALED
)

WITHOUT_TOKENS = "DROP INDEX embedding_without_tokens; ALTER TABLE embedding DROP COLUMN tokens;"

# As if there had been a version 0: no weights, another name for a column, no index for the trash.
OLDER = f"""
{UNSEALED}
{WITHOUT_TOKENS}
ALTER TABLE preference DROP COLUMN origin;
ALTER TABLE preference DROP COLUMN client_key;
ALTER TABLE preference DROP COLUMN confirmed_at_us;
DROP VIEW cache_part;
DROP INDEX memory_by_event;
DROP TABLE passing;
CREATE VIEW cache_part (memory_key, part) AS SELECT memory_key, 'a' FROM memory;
DROP TABLE fts_session;
DROP TABLE forgotten_text;
DROP TABLE deletion;
DROP TABLE injection;
DROP TABLE session_window;
DROP VIEW session_words;
DROP TABLE memory_turn;
DROP TABLE nap_slot;
ALTER TABLE session_message DROP COLUMN said_at_us;
DROP TABLE weights;
DROP INDEX trash_by_time;
ALTER TABLE trash RENAME COLUMN deleted_at_us TO thrown_at_us;
PRAGMA user_version = 0;
"""


def to_1(conn: Writing) -> None:
    conn.execute(
        """
        CREATE TABLE weights (
            weights_key INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            body TEXT NOT NULL CHECK (json_valid(body)),
            active INTEGER NOT NULL DEFAULT 0 CHECK (active IN (0, 1)),
            created_at_us INTEGER NOT NULL
        ) STRICT;
        ALTER TABLE trash RENAME COLUMN thrown_at_us TO deleted_at_us;
        CREATE INDEX trash_by_time ON trash (erase_after_us);
        """
    )


def breaks_off(conn: Writing) -> None:
    to_1(conn)
    raise RuntimeError("planted")


def loses_an_agent(conn: Writing) -> None:
    to_1(conn)
    conn.execute("DELETE FROM agent")


GOLDEN = Path(__file__).parents[1] / "golden"

# A file of version 1 after a nap: two messages, a fact made of the second one, and a memory
# that is no nap's although it has a source.
FILLED_1 = """
INSERT INTO agent (agent_key, agent_id, created_at_us) VALUES (1, 'ada', 1);
INSERT INTO session (session_key, session_id, agent_key, started_at_us, last_activity_us, heard)
VALUES (1, 's', 1, 1, 1, 2);
INSERT INTO source (source_key, agent_key, session_key, sha256, zlib, created_at_us)
VALUES (1, 1, 1, x'01', :first, 5), (2, 1, 1, x'02', :second, 5), (3, 1, NULL, x'03', :third, 5);
INSERT INTO session_message (session_key, ordinal, source_key, nth, role)
VALUES (1, 0, 1, 0, 'user'), (1, 1, 2, 0, 'assistant');
INSERT INTO run (run_id, kind, state, asked, started_at_us) VALUES ('r', 'nap', 'done', '{}', 1);
"""
MEMORY_1 = """
INSERT INTO memory (memory_key, memory_id, agent_key, session_key, source_key, namespace, category,
                    level, origin, trust, content, batch, token_count, confidence, content_hash,
                    created_at_us, row_hash, salt, state)
VALUES (:key, :id, 1, 1, :source_key, 'default', 'semantic', 'persistent', 'person', 2, 'text',
        :batch, 1, 1.0, x'00', 1, x'00', x'00', 'active')
"""


def a_file_of_version_1(path: Path) -> None:
    texts = ("Where do the kilns stand?", "The kilns stand in the north barn.", "A letter.")
    packed = [zlib.compress(text.encode()) for text in texts]
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute((GOLDEN / "schema-1.sql").read_text("utf-8"))
        conn.execute(FILLED_1, dict(zip(("first", "second", "third"), packed, strict=True)))
        conn.execute(MEMORY_1, {"key": 1, "id": "fact", "source_key": 2, "batch": "r"})
        conn.execute(MEMORY_1, {"key": 2, "id": "told", "source_key": 3, "batch": None})
        conn.pragma("application_id", APPLICATION_ID)
        conn.pragma("user_version", 1)


async def test_a_file_of_version_1_becomes_exactly_this_schema(tmp_path: Path) -> None:
    path, new = tmp_path / "memd.db", tmp_path / "new.db"
    a_file_of_version_1(path)
    async with open_database(path, HeldClock()):
        pass
    with a_writer(path) as conn, a_writer(new) as other:
        assert schema(conn) == schema(other)


async def test_sessions_of_version_1_are_searched_and_their_facts_know_their_messages(
    path: Path,
) -> None:
    a_file_of_version_1(path)
    async with open_database(path, HeldClock()) as db:
        match = message_index.match_query(["north", "barn"], 1, all_terms=True)
        where = message_index.MessageFilter(1, match)
        (hit,) = await db.read(message_index.search, where, 10)
        assert (hit.session_id, hit.ordinal, hit.role, hit.at_us) == ("s", 1, "assistant", 5)
        (turn,) = await db.read(turns.turns_of, 1)
        assert (turn.place, turn.role, turn.at_us) == (1, "assistant", 5)
        assert await db.read(turns.turns_of, 2) == []


def cache_part_of_version_2() -> str:
    frozen = (GOLDEN / "schema-2.sql").read_text("utf-8")
    begin = frozen.index("CREATE VIEW cache_part")
    return frozen[begin : frozen.index(";", begin)]


def to_version_5(conn: Writing) -> None:
    """Rebuild the archive as it was: what somebody archived by hand was "consolidated", too."""
    keys = conn.list_ints("SELECT memory_key FROM archive WHERE reason = 'manual'")
    frozen = (GOLDEN / "schema-5.sql").read_text("utf-8")
    with caches.reindexing(conn, keys):
        conn.pragma("legacy_alter_table", True)
        conn.execute("ALTER TABLE archive RENAME TO later_archive; DROP VIEW behind")
        for start in ("CREATE TABLE archive", "CREATE VIEW behind"):
            begin = frozen.index(start)
            conn.execute(frozen[begin : frozen.index(";", begin)])
        conn.execute(
            """
            INSERT INTO archive
            SELECT memory_key, archival_id, replace(reason, 'manual', 'consolidated'),
                   state_before, run, archived_at_us
              FROM later_archive;
            DROP TABLE later_archive;
            UPDATE run_change
               SET before = replace(before, '"manual"', '"consolidated"'),
                   after = replace(after, '"manual"', '"consolidated"');
            DROP TABLE forgotten_text;
            DROP TABLE deletion;
            PRAGMA user_version = 5
            """
        )
        conn.pragma("legacy_alter_table", False)
    conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


async def test_what_version_5_archived_by_hand_says_so_and_its_nights_are_undone(
    tmp_path: Path,
) -> None:
    path, new = tmp_path / "memd.db", tmp_path / "new.db"
    async with a_bed(tmp_path) as bed:
        ids = await bed.tell(*(f"The ferry leaves at {hour}." for hour in range(5)))
        (alone,) = await bed.tell("Ann keeps bees.", category="social", session_id=None)
        bed.clock.advance(days=2)
        await bed.night.run(ADA, steps=frozenset({"consolidation"}))
        (left,) = {*ids} - {*await reasons(bed)}  # the summary names it, too
        for memory_id in (left, alone):
            assert await bed.house.archive.move_to_archive(ADA, memory_id)
        bed.clock.advance(days=2)
        by_age = {"rules": [{"category": "social", "retention_days": 3}]}
        late = bed.other_night(settled(retention=by_age))
        night = await late.run(ADA, steps=frozenset({"retention"}))
        at, expected = bed.clock.now, await reasons(bed)
        assert (expected[left], expected[alone]) == ("manual", "manual")
        assert list(expected.values()).count("consolidated") == 4
    with tampering(path) as conn:
        to_version_5(conn)
    async with a_bed(tmp_path, HeldClock(at)) as bed:
        assert await reasons(bed) == expected
        assert await bed.is_sound()
        await bed.night.undo(ADA, night.run_id)
        assert (await bed.house.archive.restore(ADA, alone)).reason is ArchiveReason.MANUAL
        assert await bed.is_sound()
    with a_writer(path) as conn, a_writer(new) as other:
        assert schema(conn) == schema(other)


async def reasons(bed: Bed) -> dict[str, str]:
    return dict(
        await bed.rows("SELECT memory_id, reason FROM archive JOIN memory USING (memory_key)")
    )


def to_version_4(conn: Writing) -> None:
    to_version_5(conn)
    conn.execute(WITHOUT_TOKENS)
    conn.execute("PRAGMA user_version = 4")
    conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


async def test_memories_of_version_4_get_token_vectors(tmp_path: Path) -> None:
    path, new = tmp_path / "memd.db", tmp_path / "new.db"
    embedder = HashEmbedder(with_tokens=True)
    async with a_house(path, embedder=embedder) as house:
        await stored(house, "Ann keeps bees in Lisbon.", "Bob sails.", session_id="s")
        await house.queue.drain()
        encodings = await house.db.read(encodings_of)
    with tampering(path) as conn:
        to_version_4(conn)
    async with a_house(path, embedder=embedder) as house:
        assert await house.db.read(encodings_of) == [(*each[:-1], None) for each in encodings]
        assert await house.queue.drain() == 2
        assert await house.db.read(encodings_of) == encodings
        assert await house.queue.drain() == 0
        assert (await house.upkeep.check(ADA)).problems == ()
    with a_writer(path) as conn, a_writer(new) as other:
        assert schema(conn) == schema(other)


def encodings_of(conn: Reading) -> list[tuple[object, ...]]:
    """Return the vectors and token vectors, and the centroid that the vectors are summed up in."""
    return conn.execute(
        """
        SELECT e.memory_key, e.vector, c.vectors, c.total, e.tokens
          FROM embedding AS e, centroid AS c
         ORDER BY e.memory_key
        """
    ).fetchall()


def to_version_3(conn: Writing) -> None:
    """Rebuild the windows as they were, and fill them: of bob's one ada has the session."""
    to_version_4(conn)
    frozen = (GOLDEN / "schema-3.sql").read_text("utf-8")
    begin = frozen.index("CREATE TABLE usage_window")
    conn.execute("DROP TABLE usage_window")
    conn.execute(frozen[begin : frozen.index(";", begin)])
    conn.execute(
        """
        INSERT OR IGNORE INTO agent (agent_id, created_at_us) VALUES ('bob', 1);
        INSERT INTO usage_window (source, session_id, agent_key, used_tokens, model, cwd,
                                  transcript_path, armed, seen_at_us, napped_at_us)
        SELECT 'codex', value, agent_key, 7, 'm', '/w', '/t.jsonl', 0, 2, 1
          FROM agent
               JOIN json_each('["s", "t"]')
         WHERE agent_id = 'bob';
        PRAGMA user_version = 3
        """
    )
    conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


async def test_windows_of_version_3_stay_without_what_may_be_another_agents(path: Path) -> None:
    async with a_house(path) as house:
        await stored(house, "Ann keeps bees in Lisbon.", session_id="s")
    with tampering(path) as conn:
        to_version_3(conn)
    async with a_house(path) as house:
        kept = WindowRow(
            "bob", "codex", "t", 7, None, None, None, "m", "/w", "/t.jsonl", None, False, 2, 1
        )
        shared = kept._replace(session_id="s", model=None, cwd=None, transcript_path=None)
        assert await house.db.read(windows.list_windows) == [shared, kept]


async def test_a_file_of_version_3_becomes_exactly_this_schema(tmp_path: Path) -> None:
    path, new = tmp_path / "memd.db", tmp_path / "new.db"
    async with a_house(path) as house:
        await stored(house, "Ann keeps bees in Lisbon.", session_id="s")
    with tampering(path) as conn:
        to_version_3(conn)
    async with a_house(path) as house:
        assert (await house.upkeep.check(ADA)).problems == ()
    with a_writer(path) as conn, a_writer(new) as other:
        assert schema(conn) == schema(other)
    assert apsw.Connection(str(tmp_path / "memd-v3.backup.db")).pragma("user_version") == 3


def to_version_2(conn: Writing) -> None:
    to_version_3(conn)
    conn.execute(UNSEALED)
    for column in ("origin", "client_key", "confirmed_at_us"):
        conn.execute(f"ALTER TABLE preference DROP COLUMN {column}")
    conn.execute("DROP VIEW cache_part; DROP INDEX memory_by_event; DROP TABLE passing")
    conn.execute("DROP TABLE injection; DROP TABLE session_window; PRAGMA user_version = 2")
    conn.execute(cache_part_of_version_2())
    conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


async def test_preferences_of_version_2_wait_for_the_owner_unless_his_client_brought_them(
    path: Path,
) -> None:
    async with a_house(path) as house:
        request = IngestRequest(text="I prefer green tea.", category=MemoryCategory.PROCEDURAL)
        await house.ingest.ingest(replace(ADA, client=OPERATOR, method="memory.ingest"), request)
        request = IngestRequest(text="I prefer black coffee.", category=MemoryCategory.PROCEDURAL)
        await house.ingest.ingest(replace(ADA, client=LOCAL, method="memory.ingest"), request)
        await house.preferences.set(ADA, "editor", "vim")
    with tampering(path) as conn:
        to_version_2(conn)
    async with a_house(path) as house:
        preferences = {
            preference.value: preference for preference in await house.recall.preferences(ADA)
        }
        assert {value: each.confirmed for value, each in preferences.items()} == {
            "I prefer green tea.": True,
            "I prefer black coffee.": False,
            "vim": False,
        }
        assert preferences["I prefer black coffee."].origin == "person"
        assert (preferences["vim"].origin, preferences["vim"].client) == ("assistant", None)


async def test_a_file_of_version_2_becomes_exactly_this_schema_and_its_caches_stay_sound(
    tmp_path: Path,
) -> None:
    path, new = tmp_path / "memd.db", tmp_path / "new.db"
    async with a_house(path) as house:
        await stored(house, "Ann keeps bees in Lisbon.", "Bob sails.", session_id="s")
        ids = await visible(house)
    with tampering(path) as conn:
        to_version_2(conn)
    async with a_house(path) as house:
        assert await visible(house) == ids
        assert (await house.upkeep.check(ADA)).problems == ()
    with a_writer(path) as conn, a_writer(new) as other:
        assert schema(conn) == schema(other)


async def an_older_file(path: Path) -> set[str]:
    async with a_house(path) as house:
        await stored(house, "Ann keeps bees in Lisbon.", "Bob sails.", session_id="s")
        ids = await visible(house)
    with tampering(path) as conn:
        conn.execute(OLDER)
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return ids


async def test_an_older_file_becomes_exactly_this_schema_and_keeps_its_memories(
    tmp_path: Path,
) -> None:
    path, new = tmp_path / "memd.db", tmp_path / "new.db"
    ids = await an_older_file(path)
    async with open_database(path, HeldClock(), steps={0: to_1, **STEPS}):
        pass
    with a_writer(path) as conn, a_writer(new) as other:
        assert schema(conn) == schema(other)
        assert conn.pragma("user_version") == SCHEMA_VERSION
        assert conn.pragma("foreign_keys") == 1
    async with a_house(path) as house:
        assert await visible(house) == ids
        assert (await house.upkeep.check(ADA)).ok


def schema(conn: apsw.Connection) -> dict[str, str]:
    rows = conn.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return {name: plain_sql(sql) for name, sql in rows if not name.startswith(("fts_", "vec_"))}


async def test_the_older_file_is_kept_as_a_backup_that_can_be_opened(
    path: Path, tmp_path: Path
) -> None:
    await an_older_file(path)
    async with open_database(path, HeldClock(), steps={0: to_1, **STEPS}):
        pass
    saved = apsw.Connection(str(tmp_path / "memd-v0.backup.db"))
    assert saved.pragma("user_version") == 0
    assert saved.execute("SELECT count(*) FROM memory").get == 2
    assert saved.pragma("integrity_check") == "ok"
    saved.close()
    async with open_database(path, HeldClock(), steps={0: to_1, **STEPS}):  # nothing is left to do
        assert len(list(tmp_path.glob("*.backup.db"))) == 1


@pytest.mark.parametrize(
    ("step", "error"), [(breaks_off, RuntimeError), (loses_an_agent, DamagedError)]
)
async def test_a_migration_that_fails_leaves_the_older_file(
    path: Path, step: Callable[[Writing], None], error: type[Exception]
) -> None:
    await an_older_file(path)
    before = apsw.Connection(str(path))
    schema_before = schema(before)
    before.close()
    with pytest.raises(error):
        async with open_database(path, HeldClock(), steps={0: step, **STEPS}):
            pass
    after = apsw.Connection(str(path))
    assert schema(after) == schema_before
    assert after.pragma("user_version") == 0
    after.close()
    async with open_database(
        path, HeldClock(), steps={0: to_1, **STEPS}
    ) as db:  # and it can be tried again
        assert await db.read(lambda conn: conn.execute("SELECT count(*) FROM memory").get) == 2


async def test_rebuilding_a_table_does_not_empty_those_that_point_to_it(path: Path) -> None:
    """With foreign keys on, DROP TABLE agent would delete every memory."""
    await an_older_file(path)

    def rebuilds(conn: Writing) -> None:
        to_1(conn)
        sql = conn.execute("SELECT sql FROM sqlite_schema WHERE name = 'agent'").get
        assert isinstance(sql, str)
        conn.execute(sql.replace("TABLE agent", "TABLE fresh"))
        conn.execute("INSERT INTO fresh SELECT * FROM agent; DROP TABLE agent")
        conn.execute("ALTER TABLE fresh RENAME TO agent")

    async with open_database(path, HeldClock(), steps={0: rebuilds, **STEPS}) as db:
        assert await db.read(lambda conn: conn.execute("SELECT count(*) FROM memory").get) == 2
        assert await db.read(source_hash)
