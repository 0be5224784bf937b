"""Store proposals: facts from callers without the right to write them, for the owner to decide.

Equal proposals of one client are one, whatever author it names: an assistant can name any number of
agents, but counts once (PROMISES H60).
"""

from __future__ import annotations

import hashlib
import json
from itertools import islice
from typing import NamedTuple

from memd.base.errors import cursor_error
from memd.domain.enums import ProposalState
from memd.domain.trust import Screened
from memd.store.access import changes
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing

# The statements below are built from a constant of this module.
# ruff: noqa: S608


class NewProposal(NamedTuple):
    """A new proposal, with sorted *tags*; *content* None proposes to retract the fact."""

    proposal_id: str
    fact_id: str | None
    kind: str
    category: str
    content: Screened | None
    tags: tuple[str, ...]
    valid_from_us: int | None
    valid_to_us: int | None
    author_id: str
    client: str
    salt: bytes


class ProposalRow(NamedTuple):
    """A proposal, and the number of clients with an equal one."""

    proposal_id: str
    fact_id: str | None
    kind: str
    category: str
    content: str | None
    tags: str
    valid_from_us: int | None
    valid_to_us: int | None
    author_id: str
    client: str
    at_us: int
    state: str
    decided_at_us: int | None
    operation_id: str | None
    clients: int


_IS_SAME = """
               state = 'open' AND kind = :kind AND category = :category AND fact_id IS :fact_id
           AND content IS :content AND tags = :tags
           AND valid_from_us IS :valid_from_us AND valid_to_us IS :valid_to_us
"""


def find_same(conn: Reading, new: NewProposal) -> str | None:
    """Return the id of the client's open proposal equal to *new*, None for none."""
    return conn.get_text(
        f"""
        SELECT proposal_id
          FROM org_proposal
         WHERE client = :client AND {_IS_SAME}
        """,
        _columns(new),
    )


def count_open(conn: Reading, client: str) -> int:
    return conn.get_count(
        "SELECT count(*) FROM org_proposal WHERE state = 'open' AND client = :client",
        {"client": client},
    )


def insert(conn: Writing, new: NewProposal, now_us: int) -> None:
    row = {**_columns(new), "at_us": now_us}
    conn.insert("org_proposal", row)
    changes.touch(conn, new.salt, hashlib.sha256(json.dumps(row).encode()).digest())


def _columns(new: NewProposal) -> dict[str, str | int | None]:
    fields = new._asdict()
    del fields["salt"]
    return {**fields, "tags": json.dumps(new.tags)}


def get(conn: Reading, proposal_id: str) -> ProposalRow | None:
    rows = _rows(conn, proposal_id=proposal_id)
    return rows[0] if rows else None


def list_open(conn: Reading, after: str | None, limit: int) -> list[ProposalRow]:
    """Return up to *limit* open proposals, oldest first, without those that cannot be read.

    *after* is the id of the proposal that the previous page ended with; InvalidError if unknown.
    """
    if after is not None and get(conn, after) is None:
        raise cursor_error()
    return _rows(conn, state=ProposalState.OPEN.value, after=after, limit=limit)


def _rows(
    conn: Reading,
    *,
    proposal_id: str | None = None,
    state: str | None = None,
    after: str | None = None,
    limit: int = 1,
) -> list[ProposalRow]:
    rows = conn.execute(
        """
        SELECT p.proposal_id, p.fact_id, p.kind, p.category, p.content, p.tags,
               p.valid_from_us, p.valid_to_us, p.author_id, p.client, p.at_us,
               p.state, p.decided_at_us, p.operation_id,
               (SELECT count(DISTINCT q.client)
                  FROM org_proposal AS q
                 WHERE q.state = p.state AND q.kind = p.kind AND q.category = p.category
                   AND q.fact_id IS p.fact_id AND q.content IS p.content AND q.tags = p.tags
                   AND q.valid_from_us IS p.valid_from_us AND q.valid_to_us IS p.valid_to_us)
          FROM org_proposal AS p
         WHERE (:proposal_id IS NULL OR p.proposal_id = :proposal_id)
           AND (:state IS NULL OR p.state = :state)
           AND (:after IS NULL OR p.proposal_id > :after)
         ORDER BY p.proposal_id
        """,
        {"proposal_id": proposal_id, "state": state, "after": after},
    )
    readable = integrity.skip_undecodable(conn, rows, "proposal")
    return [ProposalRow._make(row) for row in islice(readable, limit)]


def decide(
    conn: Writing,
    row: ProposalRow,
    state: ProposalState,
    *,
    operation_id: str | None,
    salt: bytes,
    now_us: int,
) -> int:
    """Close *row* and every open proposal equal to it; returns how many."""
    conn.execute(
        f"""
        UPDATE org_proposal
           SET state = :state, decided_at_us = :now_us, operation_id = :operation_id
         WHERE {_IS_SAME}
        """,
        {**row._asdict(), "state": state.value, "now_us": now_us, "operation_id": operation_id},
    )
    closed = conn.changes()
    changes.touch(conn, salt, f"{row.proposal_id} {state.value} {operation_id}".encode())
    return closed
