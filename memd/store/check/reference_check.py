"""A check of references that foreign keys cannot express.

Findings name a memory, a fact or a proposal, never a text or a path.
"""

from __future__ import annotations

from collections.abc import Iterator

from memd.store.file.connect import Reading


def check_rows(conn: Reading) -> Iterator[str]:
    """Yield what is wrong with statements, proposals, files, shared and quarantined memories."""
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
