"""Configuration of the persistence backend (SPEC 19.1). Imports no database library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field

from memd.base.clock import Clock, SystemClock
from memd.domain.values import SafePath, Value

if TYPE_CHECKING:
    from memd.records.backend import SQLitePersistenceBackend

JOURNAL_BYTES: Final = 64 * 1_048_576


class SQLiteConfig(Value):
    """The file. ``:memory:`` is a temporary file, deleted with its backend."""

    path: SafePath = "synthorg.db"
    wal_mode: bool = Field(default=True, description="A file of memd has a WAL; false only warns.")
    journal_size_limit: int = Field(default=JOURNAL_BYTES, ge=0, lt=2**63)


class PersistenceConfig(Value):
    """The backend of the records, and its file."""

    backend: Literal["sqlite"] = "sqlite"
    sqlite: SQLiteConfig = SQLiteConfig()


def create_backend(
    config: PersistenceConfig, *, clock: Clock | None = None
) -> SQLitePersistenceBackend:
    """Return a disconnected backend that shares nothing with others (SPEC D18)."""
    from memd.records.backend import SQLitePersistenceBackend

    return SQLitePersistenceBackend(config, clock or SystemClock())
