"""The errors of operational records (SPEC 19.1.5): a family beside those of ``errors.py``."""

from __future__ import annotations

from memd.base.errors import CallerError, MemdError, StorageError, UnavailableError


class PersistenceError(MemdError):
    """Base of all errors of operational records."""

    kind = "persistence"
    family = "persistence"


class PersistenceConnectionError(PersistenceError, UnavailableError):
    """The records' backend is not connected, or its file cannot be opened."""

    kind = "persistence_connection"


class MigrationError(PersistenceError, StorageError):
    """The records' tables could not be made."""

    kind = "migration"


class RecordNotFoundError(PersistenceError, CallerError):
    """No record has this key."""

    kind = "record_not_found"


class DuplicateRecordError(PersistenceError, CallerError):
    """A record that is written once is there already."""

    kind = "duplicate_record"


class QueryError(PersistenceError, CallerError):
    """Records could not be asked for as asked."""

    kind = "record_query"
    retry = True


class ConstraintViolationError(QueryError):
    """A record refers to none, or others refer to it."""

    kind = "constraint_violation"
    retry = False


class VersionConflictError(QueryError):
    """Another wrote it since it was read."""

    kind = "version_conflict"
    retry = False


class MalformedRowError(QueryError):
    """A stored record is none of its entity's."""

    kind = "malformed_row"
    retry = False
