"""Store the slots of naps' memories: a later nap replaces the memory in a slot.

A slot is the subject of a nap's memory within its session. If a slot has several rows, the last one
counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from memd.domain.enums import VISIBLE, MemoryState
from memd.domain.sleep.consolidation import EVERYWHERE_TAG
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.memory.filters import BoundFilter

DIGEST = "digest"
"""The slot of a session's digest; a session has at most one."""


class SlotRow(NamedTuple):
    """The memory in a slot.

    *as_written* tells that it is unchanged since it was put there. *made_by_nap* is False for a
    person's turn with the same text as a nap's memory, which fills the slot as well.
    """

    memory_key: int
    memory_id: str
    state: str
    content: str
    content_hash: bytes
    at_us: int
    as_written: bool
    made_by_nap: bool

    @property
    def is_visible(self) -> bool:
        """Whether the memory is active or pending."""
        return self.state in VISIBLE

    @property
    def is_closed(self) -> bool:
        """Whether somebody has deleted or rewritten the memory, so that naps must not change it."""
        return self.state == MemoryState.TRASHED or not self.as_written


class DecidedRow(NamedTuple):
    """A memory that a nap made of another session; *origin* is that of its words.

    *is_elsewhere* tells that it belongs to another project and applies everywhere.
    """

    memory_key: int
    content: str
    origin: str
    at_us: int
    is_elsewhere: bool


_COLUMNS = """
       t.slot, m.memory_key, m.memory_id, m.state, m.content, m.content_hash,
       coalesce(m.occurred_at_us, m.created_at_us), t.row_hash IS m.row_hash,
       EXISTS (SELECT 1 FROM run AS r WHERE r.run_id = m.batch AND r.kind = 'nap')
  FROM nap_slot AS t
"""
# ruff: noqa: S608  # constants of this module only


def list_digests(
    conn: Reading, condition: BoundFilter, limit: int, *, project_id: str | None = None
) -> list[int]:
    """Return the latest matching digests, newest first; only those of *project_id* if given."""
    return conn.list_ints(
        f"""
        SELECT m.memory_key
          FROM nap_slot AS t INDEXED BY nap_slot_by_name
               CROSS JOIN memory AS m ON m.memory_key = t.memory_key
               LEFT JOIN project AS p ON p.project_key = m.project_key
         WHERE t.slot = '{DIGEST}' AND {condition.where}
           AND (:of_project IS NULL OR p.project_id = :of_project)
         ORDER BY coalesce(m.occurred_at_us, m.created_at_us) DESC, m.memory_key DESC
         LIMIT :limit
        """,
        {**condition.params, "of_project": project_id, "limit": limit},
    )


def of_session(conn: Reading, session_key: int) -> dict[str, SlotRow | None]:
    """Return the memory in each slot of a session, None for a slot whose memory was forgotten.

    Slots of damaged memories are left out, as if they were empty.
    """
    rows = conn.execute(
        f"""
        SELECT {_COLUMNS}
               LEFT JOIN memory AS m ON m.memory_key = t.memory_key
         WHERE t.session_key = :session_key
         ORDER BY t.slot_key
        """,
        {"session_key": session_key},
    )
    return {slot: None if row[0] is None else _row(row) for slot, *row in _intact(conn, rows)}


def of_project(
    conn: Reading, agent_key: int, project_key: int, slots: Sequence[str]
) -> dict[str, list[SlotRow]]:
    """Return the visible memories in each of *slots* in all sessions of a project, latest last.

    Damaged ones are left out.
    """
    rows = conn.execute(
        f"""
        SELECT {_COLUMNS}
               JOIN memory AS m ON m.memory_key = t.memory_key
         WHERE t.slot IN (SELECT value FROM json_each(:slots))
           AND m.agent_key = :agent_key AND m.project_key = :project_key
           AND m.state IN ('active', 'pending')
         ORDER BY coalesce(m.occurred_at_us, m.created_at_us), t.slot_key
        """,
        {"slots": json.dumps(slots), "agent_key": agent_key, "project_key": project_key},
    )
    by_slot: dict[str, list[SlotRow]] = {}
    for slot, *row in _intact(conn, rows):
        by_slot.setdefault(slot, []).append(_row(row))
    return by_slot


def list_decided(
    conn: Reading, scope: tuple[int, int | None, int | None], kinds: Iterable[str], most: int
) -> list[DecidedRow]:
    """Return the latest visible memories with tags *kinds* of other sessions of the project.

    *scope* is the keys of agent, project and session; project None means sessions without one.
    Includes those of other projects that apply everywhere. Only intact memories in slots that
    nobody rewrote, without those stored with ``memory.store``.
    """
    rows = _decision_rows(conn, scope, kinds, most)
    return integrity.list_rows(conn, DecidedRow, rows, integrity.memories)


def list_texts_to_compare(
    conn: Reading, scope: tuple[int, int | None, int | None], kinds: Iterable[str], most: int
) -> list[tuple[int, str]]:
    """Return keys and texts of :func:`list_decided`, in a tenth of its time.

    Nothing checks whether they are intact, so no text of them may be shown or stored.
    """
    rows: Iterator[Any] = integrity.skip_undecodable(
        conn, _decision_rows(conn, scope, kinds, most), "memory"
    )
    return [(memory_key, content) for memory_key, content, *_ in rows]


def _decision_rows(
    conn: Reading, scope: tuple[int, int | None, int | None], kinds: Iterable[str], most: int
) -> Iterator[Any]:
    """Yield the columns of :func:`list_decided`."""
    agent_key, project_key, session_key = scope
    return conn.execute(
        """
        SELECT m.memory_key, m.content, m.origin, coalesce(m.occurred_at_us, m.created_at_us),
               m.project_key IS NOT :project_key
          FROM (SELECT t.memory_key
                  FROM session AS s
                       JOIN nap_slot AS t ON t.session_key = s.session_key
                 WHERE s.agent_key = :agent_key AND s.project_key IS :project_key
                UNION
                SELECT g.memory_key
                  FROM memory_tag AS g
                 WHERE g.tag = :everywhere) AS k
               CROSS JOIN nap_slot AS t ON t.memory_key = k.memory_key
               CROSS JOIN memory AS m ON m.memory_key = k.memory_key
         WHERE t.session_key IS NOT :session_key
           AND m.agent_key = :agent_key AND m.state IN ('active', 'pending')
           AND t.row_hash IS m.row_hash AND NOT m.as_is
           AND EXISTS (SELECT 1
                         FROM memory_tag AS g
                        WHERE g.memory_key = m.memory_key
                          AND g.tag IN (SELECT value FROM json_each(:kinds)))
         ORDER BY 4 DESC, 1 DESC
         LIMIT :most
        """,
        {
            "agent_key": agent_key,
            "project_key": project_key,
            "session_key": session_key,
            "kinds": json.dumps(sorted(kinds)),
            "everywhere": EVERYWHERE_TAG,
            "most": most,
        },
    )


def find_stored_elsewhere(
    conn: Reading,
    agent_key: int,
    project_key: int | None,
    session_key: int | None,
    hashes: Iterable[bytes],
) -> frozenset[bytes]:
    """Return those text *hashes* that a nap has stored in another session of the project.

    Digests, hidden and rewritten memories do not count.
    """
    query = """
        SELECT 1
          FROM memory AS m INDEXED BY memory_by_content JOIN nap_slot AS t USING (memory_key)
         WHERE m.agent_key = :agent_key AND m.content_hash = :content_hash
           AND m.project_key IS :project_key AND t.session_key IS NOT :session_key
           AND m.state IN ('active', 'pending') AND t.row_hash IS m.row_hash
           AND t.slot <> :digest
         LIMIT 1
        """
    place = {"agent_key": agent_key, "project_key": project_key, "session_key": session_key}
    return frozenset(
        content_hash
        for content_hash in hashes
        if conn.exists(query, {**place, "content_hash": content_hash, "digest": DIGEST})
    )


def find_filled_elsewhere(
    conn: Reading,
    agent_key: int,
    project_key: int | None,
    session_key: int | None,
    slots: Iterable[str],
) -> frozenset[str]:
    """Return those of *slots* that are filled in another session of the project.

    Hidden and rewritten memories do not count.
    """
    rows = conn.execute(
        """
        SELECT DISTINCT t.slot
          FROM nap_slot AS t INDEXED BY nap_slot_by_name
               JOIN memory AS m USING (memory_key)
         WHERE t.slot IN (SELECT value FROM json_each(:slots))
           AND m.agent_key = :agent_key AND m.project_key IS :project_key
           AND t.session_key IS NOT :session_key
           AND m.state IN ('active', 'pending') AND t.row_hash IS m.row_hash
        """,
        {
            "slots": json.dumps(list(slots)),
            "agent_key": agent_key,
            "project_key": project_key,
            "session_key": session_key,
        },
    )
    return frozenset(slot for (slot,) in rows)


def count_trashed(conn: Reading, agent_id: str, session_id: str) -> int:
    """Return how many memories that naps made of a session are in the trash."""
    return _count(conn, agent_id, session_id, is_trashed=True)


def count_present(conn: Reading, agent_id: str, session_id: str) -> int:
    """Return how many memories that naps made of a session are neither erased nor in the trash."""
    return _count(conn, agent_id, session_id, is_trashed=False)


def _count(conn: Reading, agent_id: str, session_id: str, *, is_trashed: bool) -> int:
    return conn.get_count(
        """
        SELECT count(*)
          FROM agent AS a
               JOIN session AS s USING (agent_key)
               JOIN nap_slot AS t USING (session_key)
               JOIN memory AS m ON m.memory_key = t.memory_key
         WHERE a.agent_id = :agent_id AND s.session_id = :session_id
           AND (m.state = 'trashed') = :is_trashed
        """,
        {"agent_id": agent_id, "session_id": session_id, "is_trashed": is_trashed},
    )


def _intact(conn: Reading, rows: Iterator[Any]) -> list[Sequence[Any]]:
    """Return rows of ``_COLUMNS`` without those of damaged memories."""
    decoded: list[Any] = list(integrity.skip_undecodable(conn, rows, "memory"))
    keys = frozenset(integrity.memories(conn, [row[1] for row in decoded if row[1] is not None]))
    return [row for row in decoded if row[1] is None or row[1] in keys]


def _row(row: Sequence[Any]) -> SlotRow:
    return SlotRow._make((*row[:-2], bool(row[-2]), bool(row[-1])))


def fill(conn: Writing, session_key: int, slot: str, memory_key: int) -> None:
    """Put a memory into a slot, with its current row hash."""
    conn.execute(
        """
        INSERT OR REPLACE INTO nap_slot (session_key, slot, memory_key, row_hash)
        SELECT :session_key, :slot, memory_key, row_hash
          FROM memory
         WHERE memory_key = :memory_key
        """,
        {"session_key": session_key, "slot": slot, "memory_key": memory_key},
    )


def without_digests(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return *keys* without digests.

    Forgetting a digest does not erase the messages of its session.
    """
    rows = conn.execute(
        """
        SELECT memory_key
          FROM nap_slot
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND slot = :digest
        """,
        {"keys": keys_array(keys), "digest": DIGEST},
    )
    digests = {key for (key,) in rows}
    return [key for key in keys if key not in digests]


def forget(conn: Writing, keys: Sequence[int]) -> None:
    """Empty the slots of those of *keys* that are digests, before the memories are erased.

    The empty slot keeps a nap from making the digest again from the session's messages. The slots
    of other memories are deleted with them, since their messages are erased, too.
    """
    conn.execute(
        """
        UPDATE nap_slot
           SET memory_key = NULL, row_hash = NULL
         WHERE memory_key IN (SELECT value FROM carray(:keys)) AND slot = :digest
        """,
        {"keys": keys_array(keys), "digest": DIGEST},
    )
