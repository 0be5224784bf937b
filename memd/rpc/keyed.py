"""Which methods take an idempotency key, for a client that loads no models to find out.

A test holds this list against the table of methods.
"""

from __future__ import annotations

from typing import Final

KEYED: Final = frozenset(
    {
        "agent.set",
        "archive.restore",
        "memory.delete",
        "memory.forget",
        "memory.ingest",
        "memory.ingest_many",
        "memory.store",
        "memory.update",
        "preference.delete",
        "preference.set",
        "trash.restore",
    }
)
