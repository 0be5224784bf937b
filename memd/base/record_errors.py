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
    """The records' tables could not be created."""

    kind = "migration"


class RecordNotFoundError(PersistenceError, CallerError):
    """No record has this key."""

    kind = "record_not_found"


class DuplicateRecordError(PersistenceError, CallerError):
    """A record that may be written only once exists already."""

    kind = "duplicate_record"


class QueryError(PersistenceError, CallerError):
    """The query over records failed or is invalid."""

    kind = "record_query"
    retry = True


class ConstraintViolationError(QueryError):
    """A record refers to a missing one, or others refer to it."""

    kind = "constraint_violation"
    retry = False


class VersionConflictError(QueryError):
    """The record was changed since it was read."""

    kind = "version_conflict"
    retry = False


class MalformedRowError(QueryError):
    """A stored record is not valid for its entity."""

    kind = "malformed_row"
    retry = False
