"""Which rules were in force when: who could write and read which category (table org_rules).

Written when a daemon starts with other rules than the last. A row's time never lies
before an operation that was judged by the rules before it, whatever the clock does.
"""

from __future__ import annotations

from typing import cast

from memd.store.file.connect import Reading, Writing
from memd.store.org import org


def logged(conn: Reading) -> list[tuple[int, str]]:
    """Return every set of rules as (since when, JSON), the first one first."""
    rows = conn.execute("SELECT at_us, rules FROM org_rules ORDER BY rules_key")
    return cast("list[tuple[int, str]]", rows.fetchall())


def latest(conn: Reading) -> str | None:
    """Return the rules in force now, None before the first."""
    text = conn.execute("SELECT rules FROM org_rules ORDER BY rules_key DESC LIMIT 1").get
    return text if isinstance(text, str) else None


def log(conn: Writing, rules: str, now_us: int) -> bool:
    """Note *rules* as in force from now on; False when they are already."""
    if latest(conn) == rules:
        return False
    before = conn.execute("SELECT max(at_us) FROM org_rules").get
    last_us = org.last_at_us(conn)
    at_us = max([now_us, *(at + 1 for at in (before, last_us) if isinstance(at, int))])
    conn.execute(
        "INSERT INTO org_rules (rules, at_us) VALUES (:rules, :at_us)",
        {"rules": rules, "at_us": at_us},
    )
    return True
