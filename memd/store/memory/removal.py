"""Archive, trash, restore and erase memories (SPEC D21).

Archive and trash change only a memory's state and record the reason, so that a restore only has to
set the earlier state. ``erase`` is the only function that destroys data. It does so everywhere:
rows, vectors, postings, contexts (of neighbours too), versions and preferences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memd.domain.enums import VISIBLE, ArchiveReason, MemoryState, TrashReason
from memd.store.access import names, replies
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.memory import lineage, memories, preferences, sources
from memd.store.org import statements
from memd.store.run import runs
from memd.store.search import caches, centroids, fulltext
from memd.store.session import session_messages, slots, turns

_NOT_TRASHED = frozenset(MemoryState) - {MemoryState.TRASHED}


class TrashRow(NamedTuple):
    """One memory in the trash."""

    memory_key: int
    memory_id: str
    reason: str
    deleted_at_us: int
    erase_after_us: int


def archive(
    conn: Writing,
    keys: Sequence[int],
    reason: ArchiveReason,
    now_us: int,
    *,
    new_id: Callable[[], str],
    state: MemoryState = MemoryState.ARCHIVED,
) -> None:
    """Hide memories with the state ARCHIVED or COMPRESSED; ``include_compressed`` finds them.

    Memories in the trash stay there.
    """
    keys = memories.filter_states(conn, keys, _NOT_TRASHED)
    record_archived(conn, keys, reason, now_us, new_id=new_id)
    memories.set_state(conn, keys, state, now_us)


def archive_new(
    conn: Writing, keys: Sequence[int], now_us: int, *, new_id: Callable[[], str]
) -> None:
    """Archive new memories that are below the importance threshold, before they are indexed."""
    record_archived(conn, keys, ArchiveReason.LOW_IMPORTANCE, now_us, new_id=new_id)
    memories.set_state_unindexed(conn, keys, MemoryState.ARCHIVED, now_us)


def record_archived(
    conn: Writing,
    keys: Sequence[int],
    reason: ArchiveReason,
    now_us: int,
    *,
    new_id: Callable[[], str],
    run: str | None = None,
) -> None:
    """Record memories in the archive; call it before their state changes.

    A memory that is already recorded keeps its row.
    """
    conn.executemany(
        """
        INSERT INTO archive (memory_key, archival_id, reason, state_before, run, archived_at_us)
        SELECT :key, :archival_id, :reason, iif(state = 'pending', 'active', state), :run, :now_us
          FROM memory
         WHERE memory_key = :key
            ON CONFLICT (memory_key) DO NOTHING
        """,
        (
            {"key": key, "archival_id": new_id(), "reason": reason, "run": run, "now_us": now_us}
            for key in keys
        ),
    )


def restore(conn: Writing, key: int, now_us: int) -> bool:
    """Restore an archived memory to the state it had; False when it is not in the archive.

    A memory that is in the trash or has expired is not in the archive.
    """
    row = conn.execute(
        """
        SELECT r.state_before, r.reason, m.session_key
          FROM archive AS r
               JOIN memory AS m ON m.memory_key = r.memory_key
         WHERE r.memory_key = :key AND m.state IN ('archived', 'compressed')
           AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
        """,
        {"key": key, "now_us": now_us},
    ).fetchone()
    if row is None:
        return False
    before, reason, session_key = row
    # Set the state first: to leave its part of the caches, the memory needs its archive row.
    memories.set_state(conn, [key], MemoryState(before), now_us)
    conn.execute("DELETE FROM archive WHERE memory_key = :key", {"key": key})
    if reason == ArchiveReason.LOW_IMPORTANCE:  # it did not count for novelty until now
        centroids.add_memories(conn, [key])
    if reason == ArchiveReason.COMPRESSED and session_key is not None:
        names.set_compressed(conn, session_key)
    return True


def promote(conn: Writing, keys: Sequence[int]) -> int:
    """Turn those of *keys* that are turns in passing into ordinary memories; returns how many.

    From then on every search reads them, and their vectors count for novelty.
    """
    passing_keys = conn.list_ints(
        "SELECT memory_key FROM passing WHERE memory_key IN (SELECT value FROM carray(?))",
        (keys_array(keys),),
    )
    if not passing_keys:
        return 0
    with caches.reindexing(conn, passing_keys):
        conn.execute(
            "DELETE FROM passing WHERE memory_key IN (SELECT value FROM carray(?))",
            (keys_array(passing_keys),),
        )
    centroids.add_memories(conn, passing_keys)
    return len(passing_keys)


def trash(
    conn: Writing, keys: Sequence[int], reason: TrashReason, now_us: int, undo_us: int
) -> None:
    """Move memories to the trash; they are due for erasure after *undo_us* (:func:`list_due`).

    Summaries made from them are trashed too, and the other sources of these are restored.
    """
    summaries = restore_sources(conn, keys, now_us)
    keys = memories.filter_states(conn, [*keys, *summaries], _NOT_TRASHED)
    conn.execute(
        """
        INSERT INTO trash (memory_key, reason, state_before, deleted_at_us, erase_after_us)
        SELECT memory_key, :reason, state, :now_us, :now_us + :undo_us
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys), "reason": reason, "now_us": now_us, "undo_us": undo_us},
    )
    memories.set_state(conn, keys, MemoryState.TRASHED, now_us)


def restore_sources(
    conn: Writing, keys: Sequence[int], now_us: int, *, excluding: Sequence[int] = ()
) -> list[int]:
    """Restore the hidden sources of the summaries made from *keys*, except those in *excluding*.

    Returns the summaries, which the caller must remove: they contain words of *keys*.
    """
    summaries, sources = lineage.find_lineage(conn, keys)
    excluded = frozenset(excluding)
    for source in sources:
        if source not in excluded:
            restore(conn, source, now_us)
    return summaries


def restore_from_trash(conn: Writing, key: int, now_us: int) -> bool:
    """Restore a memory from the trash to the state it had; False when it is not there.

    A memory that has expired in the meantime loses its expiry; otherwise it would stay invisible.
    """
    before = conn.get_text("SELECT state_before FROM trash WHERE memory_key = ?", (key,))
    if before is None:
        return False
    conn.execute("DELETE FROM trash WHERE memory_key = :key", {"key": key})
    conn.execute(
        """
        UPDATE memory
           SET expires_at_us = NULL
         WHERE memory_key = :key AND expires_at_us <= :now_us
        """,
        {"key": key, "now_us": now_us},
    )
    memories.set_state(conn, [key], MemoryState(before), now_us)
    return True


def list_trash(
    conn: Reading, agent_key: int | None, after: str | None, limit: int
) -> list[TrashRow]:
    """Return up to *limit* memories of the agent's trash, ordered by id.

    *after* is the memory id that the previous page ended with; InvalidError if it is not an id.
    """
    names.check_cursor(conn, after)
    return conn.list_rows(
        TrashRow,
        """
        SELECT t.memory_key, m.memory_id, t.reason, t.deleted_at_us, t.erase_after_us
          FROM trash AS t
               JOIN memory AS m ON m.memory_key = t.memory_key
         WHERE m.agent_key = :agent_key AND (:after IS NULL OR m.memory_id > :after)
         ORDER BY m.memory_id
         LIMIT :limit
        """,
        {"agent_key": agent_key, "after": after, "limit": limit},
    )


def list_due(conn: Reading, now_us: int, limit: int) -> list[int]:
    """Return up to *limit* memories in the trash that are due for erasure, oldest first."""
    return conn.list_ints(
        """
        SELECT memory_key
          FROM trash
         WHERE erase_after_us <= :now_us
         ORDER BY erase_after_us
         LIMIT :limit
        """,
        {"now_us": now_us, "limit": limit},
    )


def list_expired(conn: Reading, now_us: int, limit: int) -> list[int]:
    """Return up to *limit* memories that expired and are not in the trash yet, oldest first."""
    return conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE expires_at_us IS NOT NULL AND expires_at_us <= :now_us AND state <> 'trashed'
         ORDER BY expires_at_us
         LIMIT :limit
        """,
        {"now_us": now_us, "limit": limit},
    )


def erase(conn: Writing, keys: Sequence[int], now_us: int, *, doubtful: bool = False) -> None:
    """Destroy memories everywhere, and the summaries made from them, which contain their words.

    The other sources of these summaries are restored. With *doubtful*, messages that may contain
    the words because one of the two is damaged are destroyed, too. The WAL keeps the old pages
    until it is truncated: checkpoint with ``truncate=True`` after the commit.
    """
    if not keys:
        return
    keys = list(dict.fromkeys([*keys, *restore_sources(conn, keys, now_us, excluding=keys)]))
    array = {"keys": keys_array(keys), "now_us": now_us}
    memories.touch(conn, keys)
    quoting_keys = caches.find_quoting(conn, keys)
    source_keys = {
        *_sources_of(conn, keys),
        *turns.sources_of(conn, slots.without_digests(conn, keys)),
        *session_messages.find_repeating(conn, keys, doubtful=doubtful),
    }
    preferences.erase_of(conn, keys, now_us)
    centroids.subtract(conn, keys)
    session_keys = _subtract_counts(conn, keys)
    thing_keys = statements.things_of(conn, keys)
    runs.forget(conn, keys)
    slots.forget(conn, keys)
    replies.scrub(conn, _procedural_ids(conn, keys))
    conn.execute(
        """
        INSERT OR IGNORE INTO forgotten (memory_id, forgotten_at_us)
        SELECT memory_id, :now_us FROM memory WHERE memory_key IN (SELECT value FROM carray(:keys))
        """,
        array,
    )
    _renew_words(conn, [*keys, *quoting_keys])
    with caches.reindexing_words(conn, quoting_keys):
        with caches.reindexing(conn, keys):
            conn.execute(
                "DELETE FROM memory WHERE memory_key IN (SELECT value FROM carray(:keys))", array
            )
        caches.write_contexts(conn, quoting_keys)
    statements.drop_unused(conn, thing_keys)
    sources.erase(conn, list(source_keys))
    for session_key in session_keys:
        names.set_compressed(conn, session_key)


def _renew_words(conn: Writing, keys: Sequence[int]) -> None:
    """Rebuild the full-text index if one of *keys* is damaged: its words in it are not known."""
    existing = memories.filter_states(conn, keys, frozenset(MemoryState))
    if len(integrity.memories(conn, existing)) < len(existing):
        fulltext.rebuild(conn)


def supersede(
    conn: Writing, keys: Sequence[int], now_us: int, *, new_id: Callable[[], str]
) -> None:
    """Archive memories and those that naps made of them; erase summaries that include them.

    The other sources of such a summary are restored, so that only its wording is lost.
    """
    if not keys:
        return
    derived_keys = restore_sources(conn, keys, now_us)
    # Damaged rows are included: those of naps must be archived, not erased like summaries.
    nap_keys = conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND NOT is_summary
        """,
        {"keys": keys_array(derived_keys)},
    )
    erase(conn, [key for key in derived_keys if key not in nap_keys], now_us)
    visible_nap_keys = memories.filter_states(conn, nap_keys, VISIBLE)
    archive(conn, [*keys, *visible_nap_keys], ArchiveReason.SUPERSEDED, now_us, new_id=new_id)


def are_stated_by_others(
    conn: Reading, keys: Sequence[int], client: str | None, *, is_known: bool
) -> bool:
    """Return whether a person stated one of the memories through another client than *client*.

    Summaries do not count. For a client that is not *is_known*, a preference that the owner said or
    confirmed counts even if the client itself stored the text.
    """
    return conn.exists(
        """
        SELECT 1
          FROM memory AS m
               LEFT JOIN client AS c ON c.client_key = m.client_key
         WHERE m.memory_key IN (SELECT value FROM carray(:keys))
           AND m.origin = 'person' AND NOT m.is_summary
           AND (:client IS NULL OR c.client_id IS NOT :client
                OR NOT :is_known AND EXISTS (SELECT 1
                                               FROM preference AS p
                                              WHERE p.memory_key = m.memory_key
                                                AND p.confirmed_at_us IS NOT NULL))
        """,
        {"keys": keys_array(keys), "client": client, "is_known": is_known},
    )


def _procedural_ids(conn: Reading, keys: Sequence[int]) -> list[str]:
    return conn.list_texts(
        """
        SELECT memory_id
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND category = 'procedural'
        """,
        {"keys": keys_array(keys)},
    )


def _sources_of(conn: Reading, keys: Sequence[int]) -> list[int]:
    # A source is erased with any of its chunks, since it contains the erased words as well.
    return conn.list_ints(
        """
        SELECT DISTINCT source_key
          FROM memory
         WHERE source_key IS NOT NULL AND memory_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys)},
    )


def _subtract_counts(conn: Writing, keys: Sequence[int]) -> list[int]:
    """Subtract the memories from their sessions' and speakers' counters; returns the sessions."""
    rows = conn.execute(
        """
        SELECT agent_key, session_key, speaker, token_count
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND NOT is_summary
        """,
        {"keys": keys_array(keys)},
    )
    session_keys: dict[int, None] = {}
    for agent_key, session_key, speaker, token_count in list(rows):
        if session_key is not None:
            names.count_session(conn, session_key, -1, -token_count, 0)
            session_keys[session_key] = None
        if speaker is not None:
            names.count_speaker(conn, agent_key, speaker, -1)
    return list(session_keys)
