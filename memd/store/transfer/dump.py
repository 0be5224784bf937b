"""Export a profile as records that another store can import, page by page.

A record refers to others by public ids, never by keys, and comes after the records that it refers
to. Not exported are data that can be rebuilt or that belong to this computer: caches, vectors, the
ledger of naps and nights, replies, the audit, and clients' keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from memd.base.clock import from_us
from memd.store.check import integrity
from memd.store.file.connect import Reading


class _RecordKind(NamedTuple):
    """One kind of record.

    The first columns of *select* are the record's position; its parameters k0, k1 are the position
    to continue after. *first* is a position before all records.
    """

    select: str
    first: tuple[int | str, ...] = (-1,)


# The suffix of a column tells its format (see _record): _us is a time, _json JSON.
_KINDS: Final[Mapping[str, _RecordKind]] = {
    "agent": _RecordKind(
        """
        SELECT agent_key, agent_id, level, retention_days,
               retention_overrides AS retention_overrides_json, created_at_us
          FROM agent
         WHERE agent_key > :k0
         ORDER BY agent_key
        """
    ),
    "client": _RecordKind(
        """
        SELECT c.client_key, c.client_id AS name, a.agent_id, c.seniority, c.autonomy_level,
               c.scopes AS scopes_json, c.created_at_us, c.revoked_at_us
          FROM client AS c
               LEFT JOIN agent AS a ON a.agent_key = c.agent_key
         WHERE c.key_hash IS NOT NULL AND c.client_key > :k0
         ORDER BY c.client_key
        """
    ),
    "session": _RecordKind(
        """
        SELECT s.session_key, a.agent_id, s.session_id, p.project_id, c.client_id AS client,
               s.started_at_us, s.last_activity_us AS last_activity_at_us, s.ended_at_us,
               s.compressed, s.heard
          FROM session AS s
               JOIN agent AS a ON a.agent_key = s.agent_key
               LEFT JOIN project AS p ON p.project_key = s.project_key
               LEFT JOIN client AS c ON c.client_key = s.client_key
         WHERE s.session_key > :k0
         ORDER BY s.session_key
        """
    ),
    "text": _RecordKind(
        """
        SELECT o.source_key, a.agent_id, s.session_id, lower(hex(o.sha256)) AS sha256,
               o.zlib, o.created_at_us
          FROM source AS o
               JOIN agent AS a ON a.agent_key = o.agent_key
               LEFT JOIN session AS s ON s.session_key = o.session_key
         WHERE o.source_key > :k0
         ORDER BY o.source_key
        """
    ),
    "message": _RecordKind(
        """
        SELECT g.session_key, g.ordinal AS place, a.agent_id, s.session_id, g.ordinal, g.role,
               g.nth, g.said_at_us, lower(hex(o.sha256)) AS sha256
          FROM session_message AS g
               JOIN session AS s ON s.session_key = g.session_key
               JOIN agent AS a ON a.agent_key = s.agent_key
               JOIN source AS o ON o.source_key = g.source_key
         WHERE (g.session_key, g.ordinal) > (:k0, :k1)
         ORDER BY g.session_key, g.ordinal
        """,
        (-1, -1),
    ),
    "memory": _RecordKind(
        """
        SELECT m.memory_key, m.memory_id AS id, a.agent_id, c.client_id AS client, s.session_id,
               p.project_id, lower(hex(o.sha256)) AS sha256, m.namespace, m.category, m.level,
               m.origin, m.trust, m.speaker, m.content, m.caption, m.reference, m.ordinal, m.part,
               m.batch, m.token_count, m.importance, m.confidence,
               (SELECT json_group_array(t.tag ORDER BY t.ordinal)
                  FROM memory_tag AS t WHERE t.memory_key = m.memory_key) AS tags_json,
               m.created_at_us, m.occurred_at_us, m.state, m.updated_at_us, m.expires_at_us,
               m.is_summary, m.as_is, u.access_count, u.last_access_us AS last_access_at_us,
               r.archival_id, r.reason AS archive_reason, r.state_before AS archive_state_before,
               r.run AS archive_run, r.archived_at_us,
               x.reason AS trash_reason, x.state_before AS trash_state_before, x.deleted_at_us,
               x.erase_after_us AS erase_after_at_us,
               f.flags AS flags_json, f.state_before AS flagged_state_before, f.flagged_at_us,
               f.released_at_us, h.agent_id AS publisher, q.kind AS passing
          FROM memory AS m
               JOIN agent AS a ON a.agent_key = m.agent_key
               LEFT JOIN client AS c ON c.client_key = m.client_key
               LEFT JOIN session AS s ON s.session_key = m.session_key
               LEFT JOIN project AS p ON p.project_key = m.project_key
               LEFT JOIN source AS o ON o.source_key = m.source_key
               LEFT JOIN memory_use AS u ON u.memory_key = m.memory_key
               LEFT JOIN archive AS r ON r.memory_key = m.memory_key
               LEFT JOIN trash AS x ON x.memory_key = m.memory_key
               LEFT JOIN flagged AS f ON f.memory_key = m.memory_key
               LEFT JOIN passing AS q ON q.memory_key = m.memory_key
               LEFT JOIN shared AS w ON w.memory_key = m.memory_key
               LEFT JOIN agent AS h ON h.agent_key = w.publisher_key
         WHERE m.memory_key > :k0
         ORDER BY m.memory_key
        """
    ),
    # The snapshot of an earlier version has the columns of rows.HASHED_NAMES and the tags.
    "version": _RecordKind(
        """
        SELECT v.memory_key, v.version AS place, m.memory_id AS id, v.version, v.replaced_at_us,
               c.client_id AS client, s.session_id, p.project_id,
               v.snapshot ->> 5 AS namespace, v.snapshot ->> 6 AS category,
               v.snapshot ->> 7 AS level, v.snapshot ->> 8 AS origin, v.snapshot ->> 9 AS trust,
               v.snapshot ->> 10 AS speaker, v.snapshot ->> 11 AS content,
               v.snapshot ->> 12 AS caption, v.snapshot ->> 13 AS reference,
               v.snapshot ->> 14 AS ordinal, v.snapshot ->> 15 AS part, v.snapshot ->> 16 AS batch,
               v.snapshot ->> 17 AS token_count, v.snapshot ->> 18 AS importance,
               v.snapshot ->> 19 AS confidence, v.snapshot ->> 20 AS created_at_us,
               v.snapshot ->> 21 AS occurred_at_us, v.snapshot ->> 22 AS is_summary,
               v.snapshot ->> 23 AS as_is, v.snapshot -> 24 AS tags_json
          FROM memory_version AS v
               JOIN memory AS m ON m.memory_key = v.memory_key
               LEFT JOIN client AS c ON c.client_key = v.snapshot ->> 2
               LEFT JOIN session AS s ON s.session_key = v.snapshot ->> 3
               LEFT JOIN project AS p ON p.project_key = v.snapshot ->> 4
         WHERE (v.memory_key, v.version) > (:k0, :k1)
         ORDER BY v.memory_key, v.version
        """,
        (-1, -1),
    ),
    "derived": _RecordKind(
        """
        SELECT d.to_key, d.from_key, s.memory_id AS summary, m.memory_id AS source
          FROM derived AS d
               JOIN memory AS s ON s.memory_key = d.to_key
               JOIN memory AS m ON m.memory_key = d.from_key
         WHERE (d.to_key, d.from_key) > (:k0, :k1)
         ORDER BY d.to_key, d.from_key
        """,
        (-1, -1),
    ),
    "turn": _RecordKind(
        """
        SELECT t.memory_key, t.ordinal AS place, m.memory_id, t.ordinal,
               lower(hex(o.sha256)) AS sha256
          FROM memory_turn AS t
               JOIN memory AS m ON m.memory_key = t.memory_key
               LEFT JOIN source AS o ON o.source_key = t.source_key
         WHERE (t.memory_key, t.ordinal) > (:k0, :k1)
         ORDER BY t.memory_key, t.ordinal
        """,
        (-1, -1),
    ),
    "slot": _RecordKind(
        """
        SELECT t.slot_key, a.agent_id, s.session_id, t.slot, m.memory_id,
               m.memory_key IS NOT NULL AND t.row_hash IS m.row_hash AS as_written
          FROM nap_slot AS t
               JOIN session AS s ON s.session_key = t.session_key
               JOIN agent AS a ON a.agent_key = s.agent_key
               LEFT JOIN memory AS m ON m.memory_key = t.memory_key
         WHERE t.slot_key > :k0
         ORDER BY t.slot_key
        """
    ),
    "preference": _RecordKind(
        """
        SELECT p.preference_key, a.agent_id, p.name, p.value, p.confidence, p.token_count,
               m.memory_id, p.created_at_us, p.updated_at_us, p.origin,
               c.client_id AS client, p.confirmed_at_us
          FROM preference AS p
               JOIN agent AS a ON a.agent_key = p.agent_key
               LEFT JOIN client AS c ON c.client_key = p.client_key
               LEFT JOIN memory AS m ON m.memory_key = p.memory_key
         WHERE p.preference_key > :k0
         ORDER BY p.preference_key
        """
    ),
    "file": _RecordKind(
        """
        SELECT f.agent_key, f.path AS place, a.agent_id, f.path, m.memory_id, f.blank
          FROM memory_file AS f
               JOIN agent AS a ON a.agent_key = f.agent_key
               LEFT JOIN memory AS m ON m.memory_key = f.memory_key
         WHERE (f.agent_key, f.path) > (:k0, :k1)
         ORDER BY f.agent_key, f.path
        """,
        (-1, ""),
    ),
    "learning": _RecordKind(
        """
        SELECT l.learning_key, l.learning_id AS id, a.agent_id, l.task_type,
               l.approach AS approach_json, l.outcome, l.lesson, l.at_us
          FROM learning AS l
               JOIN agent AS a ON a.agent_key = l.agent_key
         WHERE l.learning_key > :k0
         ORDER BY l.learning_key
        """
    ),
    "pattern": _RecordKind(
        """
        SELECT b.agent_key, b.pattern_id AS place, a.agent_id, b.pattern_id AS id, b.task_type,
               b.description, b.tool_sequence AS tool_sequence_json, b.prompt_template,
               b.success_count, b.promoted, b.created_at_us, b.updated_at_us
          FROM playbook AS b
               JOIN agent AS a ON a.agent_key = b.agent_key
         WHERE (b.agent_key, b.pattern_id) > (:k0, :k1)
         ORDER BY b.agent_key, b.pattern_id
        """,
        (-1, ""),
    ),
    "rules": _RecordKind(
        """
        SELECT rules_key, rules AS rules_json, at_us
          FROM org_rules
         WHERE rules_key > :k0
         ORDER BY rules_key
        """
    ),
    "owner_key": _RecordKind(
        """
        SELECT owner_key, lower(hex(public_key)) AS public_key, created_at_us, revoked_at_us
          FROM owner_key
         WHERE owner_key > :k0
         ORDER BY owner_key
        """
    ),
    "operation": _RecordKind(
        """
        SELECT operation_key, operation_id AS id, fact_id, version, kind AS operation, category,
               content, tags AS tags_json, is_human, author_id, seniority, autonomy_level, client,
               lower(hex(signature)) AS signature, at_us, valid_from_us AS valid_from_at_us,
               valid_to_us AS valid_to_at_us
          FROM org_operation
         WHERE operation_key > :k0
         ORDER BY operation_key
        """
    ),
    "proposal": _RecordKind(
        """
        SELECT proposal_key, proposal_id AS id, fact_id, kind AS operation, category, content,
               tags AS tags_json, valid_from_us AS valid_from_at_us, valid_to_us AS valid_to_at_us,
               author_id, client, at_us, state, decided_at_us, operation_id
          FROM org_proposal
         WHERE proposal_key > :k0
         ORDER BY proposal_key
        """
    ),
    "forgotten": _RecordKind(
        """
        SELECT memory_id AS place, memory_id AS id, forgotten_at_us
          FROM forgotten
         WHERE memory_id > :k0
         ORDER BY memory_id
        """,
        ("",),
    ),
}


def is_position(kind: str, keys: Sequence[object]) -> bool:
    """Return whether *kind* and *keys* have the form of a position, for :func:`iter_records`."""
    return kind in _KINDS and list(map(type, keys)) == list(map(type, _KINDS[kind].first))


def iter_records(
    conn: Reading, start_kind: str | None, keys: Sequence[int | str]
) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """Yield (position, record) of each record after the position *start_kind* and *keys*.

    *start_kind* None starts at the beginning. A text that is damaged is a record without its text.
    A row that cannot be read is a record of its kind alone, at the position None.
    """
    for name, kind in _KINDS.items():
        if start_kind is not None and name != start_kind:
            continue
        first = kind.first if start_kind is None else keys
        start_kind = None
        rows = conn.execute(kind.select, {f"k{n}": value for n, value in enumerate(first)})
        for row in integrity.iter_decoded(conn, rows, name):
            if row is None:
                yield None, {"kind": name}
                continue
            names = [column[0] for column in rows.get_description()]
            position = json.dumps([name, *row[: len(kind.first)]])
            columns: dict[str, Any] = dict(
                zip(names[len(kind.first) :], row[len(kind.first) :], strict=True)
            )
            if (packed := columns.pop("zlib", None)) is not None:
                sha256 = bytes.fromhex(columns["sha256"])
                columns["text"] = integrity.read_source(conn, cast("int", row[0]), packed, sha256)
            yield position, {"kind": name, **_record(columns)}


def _record(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as a record: without NULL columns, with times as RFC 3339."""
    record: dict[str, Any] = {}
    for name, value in columns.items():
        if value is None or (value == "" and name in {"sha256", "signature"}):
            continue
        field, _, suffix = name.rpartition("_")
        if suffix == "us":
            record[field] = from_us(value).isoformat()
        elif suffix == "json":
            record[field] = json.loads(value)
        else:
            record[name] = value
    return record
