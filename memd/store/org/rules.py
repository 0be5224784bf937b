"""The history of access rules: who could write and read which category (table org_rules).

Written when a daemon starts with other rules than the last. A row's time is never before an
operation that was judged by the previous rules, whatever the clock does.
"""

from __future__ import annotations

from typing import cast

from memd.store.file.connect import Reading, Writing
from memd.store.org import org


def list_rules(conn: Reading) -> list[tuple[int, str]]:
    """Return every set of rules as (since when, JSON), the first one first."""
    rows = conn.execute("SELECT at_us, rules FROM org_rules ORDER BY rules_key")
    return cast("list[tuple[int, str]]", rows.fetchall())


def current_rules(conn: Reading) -> str | None:
    """Return the rules in force now, None before the first."""
    text = conn.execute("SELECT rules FROM org_rules ORDER BY rules_key DESC LIMIT 1").get
    return text if isinstance(text, str) else None


def record_rules(conn: Writing, rules: str, now_us: int) -> bool:
    """Record *rules* as in force from now on; False when they already are."""
    if current_rules(conn) == rules:
        return False
    before = conn.execute("SELECT max(at_us) FROM org_rules").get
    last_us = org.last_at_us(conn)
    at_us = max([now_us, *(at + 1 for at in (before, last_us) if isinstance(at, int))])
    conn.execute(
        "INSERT INTO org_rules (rules, at_us) VALUES (:rules, :at_us)",
        {"rules": rules, "at_us": at_us},
    )
    return True
