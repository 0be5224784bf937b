"""Check facts against their log, and references that foreign keys cannot express.

Findings contain ids of memories, facts and proposals, never a text or a path.
"""

from __future__ import annotations

from collections.abc import Iterator

from memd.store.check import integrity
from memd.store.file.connect import Reading, hash_columns
from memd.store.org import proofs


def check_facts(conn: Reading) -> Iterator[str]:
    """Yield operations that fail their hash or signature, and facts that differ from the log."""
    columns = ", ".join(integrity.OPERATION.columns)
    operations = conn.execute(
        f"SELECT {columns}, row_hash FROM org_operation ORDER BY operation_key"  # noqa: S608
    )
    keys = proofs.owner_keys(conn)
    for *columns_of_row, row_hash in operations:
        _, fact_id, version, *_ = columns_of_row
        if hash_columns(*columns_of_row) != row_hash:
            yield f"fact {fact_id}: its version {version} does not match its hash"
        elif not integrity.is_signed(keys, columns_of_row):
            yield integrity.signature_finding(columns_of_row)
    yield from _compare_with_log(conn)


def _compare_with_log(conn: Reading) -> Iterator[str]:
    facts = conn.execute(
        """
        WITH replayed AS (
            SELECT fact_id, max(version) AS version, min(at_us) AS created_at_us,
                   count(*) AS operations,
                   max(CASE WHEN kind = 'PUBLISH' THEN version END) AS published
              FROM org_operation
             GROUP BY fact_id
        )
        SELECT coalesce(f.fact_id, r.fact_id)
          FROM replayed AS r
               FULL JOIN org_fact AS f ON f.fact_id = r.fact_id
               LEFT JOIN org_operation AS o ON o.fact_id = r.fact_id AND o.version = r.version
               LEFT JOIN org_operation AS p ON p.fact_id = r.fact_id AND p.version = r.published
         WHERE r.operations IS NOT r.version  -- a version is missing
            OR f.operation_key IS NOT o.operation_key
            OR f.version IS NOT r.version
            OR f.category IS NOT o.category
            OR f.tags IS NOT o.tags
            OR f.content IS NOT p.content
            OR f.created_at_us IS NOT r.created_at_us
            OR f.retracted_at_us IS NOT CASE WHEN o.kind = 'RETRACT' THEN o.at_us END
        """
    )
    for (fact_id,) in facts:
        yield f"fact {fact_id}: it does not match its log"


def check_references(conn: Reading) -> Iterator[str]:
    """Yield the problems of statements, proposals, files, and references between memories."""
    for problem, query in _FINDINGS:
        for (name,) in conn.execute(query):
            yield problem.format(name)


_FINDINGS = (
    (
        "fact {}: a statement quotes words that its text does not have",
        """
        SELECT DISTINCT o.fact_id
          FROM statement AS s
               JOIN org_operation AS o ON o.operation_key = s.operation_key
         WHERE o.content IS NULL OR s.span_from < 0 OR s.span_to > length(o.content)
        """,
    ),
    (
        "proposal {}: it is approved, and what that wrote is not in the log",
        """
        SELECT p.proposal_id
          FROM org_proposal AS p
         WHERE p.state = 'approved'
           AND NOT EXISTS (SELECT 1 FROM org_operation AS o WHERE o.operation_id = p.operation_id)
        """,
    ),
    (
        "memory {}: it is the text of another agent's file",
        """
        SELECT m.memory_id
          FROM memory_file AS f
               JOIN memory AS m ON m.memory_key = f.memory_key
         WHERE m.agent_key <> f.agent_key
        """,
    ),
    (
        "memory {}: it has a publisher and is not shared",
        """
        SELECT m.memory_id
          FROM shared AS h
               JOIN memory AS m ON m.memory_key = h.memory_key
               JOIN agent AS a ON a.agent_key = m.agent_key
         WHERE a.agent_id <> '__shared__'
        """,
    ),
    (
        "memory {}: it was made of a message of another agent",
        """
        SELECT DISTINCT m.memory_id
          FROM memory_turn AS t
               JOIN memory AS m ON m.memory_key = t.memory_key
               JOIN source AS o ON o.source_key = t.source_key
         WHERE o.agent_key <> m.agent_key
        """,
    ),
    (
        "memory {}: a session was given it under the id of another",
        """
        SELECT DISTINCT m.memory_id
          FROM injection AS i
               JOIN memory AS m ON m.memory_key = i.memory_key
         WHERE m.memory_id <> i.item_id
        """,
    ),
    (
        "memory {}: it is in quarantine, and nothing says why",
        """
        SELECT m.memory_id
          FROM memory AS m
         WHERE m.state = 'quarantined'
           AND NOT EXISTS (SELECT 1 FROM flagged AS f WHERE f.memory_key = m.memory_key)
        """,
    ),
)
