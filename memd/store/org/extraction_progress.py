"""How far relations were extracted from the organisation's log, and the log to extract from."""

from __future__ import annotations

import json
from typing import NamedTuple

from memd.domain.enums import AutonomyLevel, OperationType, OrgFactCategory, SeniorityLevel
from memd.domain.org.org import OrgFactAuthor
from memd.store.file.connect import Reading, Writing
from memd.store.org.org import Operation


class ExtractionProgress(NamedTuple):
    """The version of the extraction rules, and the operation reached; None: all, and those to come.

    -1: the earlier statements are being erased.
    """

    version: int
    upto: int | None


_KEY = "statements"


def progress(conn: Reading) -> ExtractionProgress | None:
    """Return how far extraction is, None before the first."""
    value = conn.execute("SELECT value FROM meta WHERE key = :key", {"key": _KEY}).get
    return ExtractionProgress(*json.loads(str(value))) if value is not None else None


def set_progress(conn: Writing, position: ExtractionProgress) -> None:
    """Set how far extraction is."""
    conn.execute(
        """
        INSERT INTO meta (key, value)
        VALUES (:key, :value)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value
        """,
        {"key": _KEY, "value": json.dumps(position)},
    )


def has_operations(conn: Reading, *, before: int | None = None) -> bool:
    """Return whether there is an operation to extract from, *before* one if it is given."""
    return bool(
        conn.execute(
            """
            SELECT EXISTS (SELECT 1
                             FROM org_operation
                            WHERE :before IS NULL OR operation_key < :before)
            """,
            {"before": before},
        ).get
    )


def previous_operation(conn: Reading, fact_id: str, version: int) -> int | None:
    """Return the operation before *version* of a fact, None for the first."""
    operation_key = conn.execute(
        """
        SELECT operation_key
          FROM org_operation
         WHERE fact_id = :fact_id AND version = :version - 1
        """,
        {"fact_id": fact_id, "version": version},
    ).get
    return operation_key if isinstance(operation_key, int) else None


def list_operations(conn: Reading, after_key: int, limit: int) -> list[Operation]:
    """Return the operations after *after_key* in the order in which they were written."""
    rows = conn.execute(
        """
        SELECT operation_key, operation_id, fact_id, version, kind, category, content, is_human,
               author_id, seniority, autonomy_level, at_us, valid_from_us, valid_to_us
          FROM org_operation
         WHERE operation_key > :after_key
         ORDER BY operation_key
         LIMIT :limit
        """,
        {"after_key": after_key, "limit": limit},
    )
    page: list[Operation] = []
    for row in rows:
        key, name, fact_id, version, kind, category, content, human, author_id, *remaining = row
        seniority, autonomy, *times = remaining
        author = OrgFactAuthor(
            is_human=bool(human),
            agent_id=author_id,
            seniority=SeniorityLevel(seniority) if seniority else None,
            autonomy_level=AutonomyLevel(autonomy) if autonomy else None,
        )
        page.append(
            Operation(
                key,
                name,
                fact_id,
                version,
                OperationType(kind),
                OrgFactCategory(category),
                content,
                author,
                *times,
            )
        )
    return page
