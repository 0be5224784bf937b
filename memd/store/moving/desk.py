"""What every record that arrives needs: the connection, the screen, and keys by public ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from memd.domain.trust import Screened
from memd.store.access import names
from memd.store.file.connect import Reading, Writing

Fate = Literal["stored", "known", "skipped"]


@dataclass
class Desk:
    """Where records arrive, inside one transaction."""

    conn: Writing
    screen: Callable[[str], Screened]
    salt: Callable[[], bytes]
    fresh: list[int] = field(default_factory=list)
    """New memories that have no place among their neighbours and in the caches yet."""


def memory_key(conn: Reading, memory_id: str | None) -> int | None:
    """Return the key of a memory, whosever it is; None when it is not there."""
    key = conn.execute("SELECT memory_key FROM memory WHERE memory_id = ?", (memory_id,)).get
    return key if isinstance(key, int) else None


def find_session(conn: Reading, agent_key: int | None, session_id: str | None) -> int | None:
    """Return the key of an agent's session, None when it is not there."""
    session_key = conn.execute(
        "SELECT session_key FROM session WHERE agent_key = ? AND session_id = ?",
        (agent_key, session_id),
    ).get
    return session_key if isinstance(session_key, int) else None


def find_source(conn: Reading, agent_key: int | None, sha256: str | None) -> int | None:
    """Return the key of an agent's text as it arrived, None when it is not there."""
    if sha256 is None:
        return None
    source_key = conn.execute(
        "SELECT source_key FROM source WHERE agent_key = ? AND sha256 = ?",
        (agent_key, bytes.fromhex(sha256)),
    ).get
    return source_key if isinstance(source_key, int) else None


def client_key(conn: Writing, client_id: str | None, at_us: int) -> int | None:
    """Return the key of the client that wrote; makes it. None for None."""
    return None if client_id is None else names.ensure_client(conn, client_id, at_us)
