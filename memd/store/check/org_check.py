"""A check of organisational memory: the log is as written, and the facts are its replay."""

from __future__ import annotations

from collections.abc import Iterator

from memd.store.check import intact
from memd.store.file.connect import Reading
from memd.store.org import proofs
from memd.store.org.org import hash_row

_SIGNATURE = 12


def check_rows(conn: Reading) -> Iterator[str]:
    """Yield operations that fail their hash or signature, and facts that differ from the log.

    Findings name a fact, never its text.
    """
    operations = conn.execute(
        """
        SELECT operation_id, fact_id, version, kind, category, content, tags, is_human, author_id,
               seniority, autonomy_level, client, signature, at_us, valid_from_us, valid_to_us,
               row_hash
          FROM org_operation
         ORDER BY operation_key
        """
    )
    keys = proofs.owner_keys(conn)
    for *columns, row_hash in operations:
        if hash_row(tuple(columns)) != row_hash:
            yield f"fact {columns[1]}: its version {columns[2]} does not match its hash"
        elif not proofs.is_valid(keys, columns[_SIGNATURE], intact.columns_to_sign(columns)):
            yield intact.signature_finding(columns)
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
