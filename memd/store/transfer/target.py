"""Define the target of an import: the connection, screening of texts, and look-ups of keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from memd.domain.trust import Screened
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import sources
from memd.store.org.org import Operation

ImportOutcome = Literal["stored", "known", "skipped"]
Learn = Callable[[Writing, Operation], None]


@dataclass
class ImportTarget:
    """The store that records are imported into, inside one transaction."""

    conn: Writing
    screen: Callable[[str], Screened]
    salt: Callable[[], bytes]
    learn: Learn
    """Extracts the statements of an operation."""
    now_us: int
    unindexed: list[int] = field(default_factory=list)
    """Keys of new memories whose contexts are not written and which are not indexed yet."""

    def insert(self, table: str, row: Mapping[str, Any]) -> ImportOutcome:
        """Insert *row*; "known" when a constraint, such as an existing key, forbids it."""
        return "stored" if self.conn.insert(table, row, ignore=True) else "known"


def find_source(conn: Reading, agent_key: int | None, sha256: str | None) -> int | None:
    """Return the key of an agent's source text, None when there is none."""
    return None if sha256 is None else sources.find(conn, agent_key, bytes.fromhex(sha256))


def ensure_client(conn: Writing, client_id: str | None, at_us: int) -> int | None:
    """Return the key of a client, creating the client if needed; None for None."""
    return None if client_id is None else names.ensure_client(conn, client_id, at_us)
