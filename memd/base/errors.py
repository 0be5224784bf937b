"""The errors that memd raises deliberately.

The base class says who must act. ``CallerError``: the caller must change the request.
``UnavailableError``: the same request may be sent again later. ``StorageError``: the owner
must act, for example free some disk space. A family base such as ``MemdMemoryError`` lets one
except clause catch a documented family.

Each class has one ``kind``; a client raises the class of the kind it receives. Any other
exception is a bug: it reaches the client as ``internal`` with an incident id.

Messages are written for the owner of the computer: in lower case, naming the thing, saying
what to do, and never containing the text of a memory.
"""

from __future__ import annotations

import errno
import os
from typing import ClassVar, Final


class MemdError(Exception):
    """Base of all deliberate errors.

    *field* names the wrong parameter, *hint* says what to do next. A subclass sets its *kind*
    as a class argument: ``class BusyError(UnavailableError, kind="busy")``.
    """

    kind: ClassVar[str] = "error"
    retry: ClassVar[bool] = False
    family: ClassVar[str | None] = None

    def __init_subclass__(cls, *, kind: str | None = None) -> None:
        if kind is not None:
            cls.kind = kind

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.hint = hint


# Who must act.


class CallerError(MemdError, ValueError):
    """The caller must change the request."""


class UnavailableError(MemdError):
    """The same request may succeed later."""

    retry = True


class StorageError(MemdError):
    """The owner must act on the file or the disk."""


# Errors of the request.


class ParseError(CallerError, kind="parse"):
    """The frame is not the JSON that memd reads."""


class InvalidRequestError(CallerError, kind="invalid_request"):
    """The frame is JSON, but not a JSON-RPC 2.0 request."""


class TooLargeError(CallerError, kind="too_large"):
    """The frame, the batch or the text is over its limit."""


class UnknownMethodError(CallerError, kind="unknown_method"):
    """No such method."""


class InvalidError(CallerError, kind="invalid"):
    """A parameter is missing, unknown or out of its range; *field* names it."""


def cursor_error() -> InvalidError:
    """Return the error for an invalid ``after``, the cursor of a paged list."""
    return InvalidError(
        "after: is not a place in this list",
        field="after",
        hint="pass the next of the last page, or leave it out to begin",
    )


class NotFoundError(CallerError, kind="not_found"):
    """The named item does not exist, or is not the caller's."""


class DeniedError(CallerError, kind="denied"):
    """The caller may not do this."""


class ConflictError(CallerError, kind="conflict"):
    """The same idempotency key came with another request."""


class InvalidStateError(CallerError, kind="invalid_state"):
    """The request is not possible in the current state."""


class QuotaError(CallerError, kind="quota"):
    """A configured limit of the store is reached."""


class SecretRefusedError(CallerError, kind="secret_refused"):
    """The text contains a secret, and the settings refuse those."""


class QuarantinedError(CallerError, kind="quarantined"):
    """The text looks like a prompt injection and is not stored (PROMISES H46)."""


class CancelledError(MemdError, kind="cancelled"):
    """The request was cancelled by the client that sent it."""


# Temporary errors.


class BusyError(UnavailableError, kind="busy"):
    """A queue or a connection limit is full, or the file is locked."""


class TimeoutError(UnavailableError, kind="timeout"):  # noqa: A001  # the documented kind is "timeout"; always imported qualified
    """A deadline passed."""


class StartingError(UnavailableError, kind="starting"):
    """The daemon is not ready yet."""


class StoppingError(UnavailableError, kind="stopping"):
    """The daemon is stopping."""


class DegradedError(UnavailableError, kind="degraded"):
    """A capability is missing for now, such as the embedding model."""


class AlreadyRunningError(InvalidStateError, kind="already_running"):
    """Another daemon holds this profile."""


# Errors that the owner must fix.


class ReadOnlyError(StorageError, kind="read_only"):
    """The file or its file system is read-only."""


class DiskFullError(StorageError, kind="disk_full"):
    """The disk is full; reading still works."""


class DamagedError(StorageError, kind="damaged"):
    """The file fails a check."""


class NewerSchemaError(StorageError, kind="newer_schema"):
    """The file was written by a newer memd; it is left untouched."""


class ForeignFileError(StorageError, kind="foreign_file"):
    """The file is not a memd store; it is left untouched."""


class UnsafePathError(StorageError, kind="unsafe_path"):
    """A directory or socket could be read or replaced by another user."""


class ModelError(StorageError, kind="model"):
    """The embedding model's folder is missing, incomplete or not the expected one."""


# Errors of the optional language model (SPEC D8).


class ProviderError(MemdError, kind="provider"):
    """Base of the errors of a language model's provider; ``retry`` distinguishes the two."""

    family = "provider"


class ProviderBusyError(ProviderError, UnavailableError, kind="provider_busy"):
    """The model did not answer: overloaded, too slow, out of reach."""


class ProviderRefusedError(ProviderError, StorageError, kind="provider_refused"):
    """The model will never answer this: wrong key, unknown model. The owner must fix it."""


class InternalError(MemdError, kind="internal"):
    """A bug in memd; the log has the trace under the incident id."""

    def __init__(self, message: str, *, incident: str | None = None, **more: str | None) -> None:
        super().__init__(message, **more)
        self.incident = incident


# The documented family (SPEC 7.16, D20). Never called MemoryError: that is a built-in.


class MemdMemoryError(MemdError, kind="memory"):
    """Base of all memory operations' errors."""

    family = "memory"


class MemoryConnectionError(MemdMemoryError, UnavailableError, kind="memory_connection"):
    """A backend is not connected, or its connection is lost."""


class NotRunningError(MemoryConnectionError, kind="not_running"):
    """No daemon answers on the socket."""


class MemoryStoreError(MemdMemoryError, CallerError, kind="memory_store"):
    """A store, update or delete was refused."""


class MemoryRetrievalError(MemdMemoryError, CallerError, kind="memory_retrieval"):
    """A retrieve, get or count was refused."""


class MemoryNotFoundError(MemdMemoryError, CallerError, kind="memory_not_found"):
    """No memory that the caller may see has this id."""


class MemoryConfigError(MemdMemoryError, CallerError, kind="config"):
    """The configuration is invalid: key, value, what is allowed."""


class MemoryCapabilityError(MemdMemoryError, CallerError, kind="capability"):
    """The backend does not support the operation."""


class IngestionError(MemdMemoryError, CallerError, kind="ingestion"):
    """A text could not become memories."""


class EmbeddingError(MemdMemoryError, UnavailableError, kind="embedding"):
    """The model failed or returned something that is not a vector."""


class FineTuneDependencyError(MemdMemoryError, CallerError, kind="fine_tune_dependency"):
    """The packages for training an encoder are not installed."""


class FineTuneCancelledError(MemdMemoryError, CallerError, kind="fine_tune_cancelled"):
    """A run of fine-tuning was cancelled."""


# Organisational memory (SPEC 15.6).


class OrgMemoryError(MemdError, kind="org_memory"):
    """Base of all organisational memory errors."""

    family = "org_memory"


class OrgMemoryConnectionError(OrgMemoryError, UnavailableError, kind="org_connection"):
    """The organisational memory is not connected."""


class OrgMemoryWriteError(OrgMemoryError, CallerError, kind="org_write"):
    """A fact could not be written or retracted."""


class OrgMemoryQueryError(OrgMemoryError, CallerError, kind="org_query"):
    """A query over facts failed, or a stored fact cannot be read."""


class OrgMemoryAccessDeniedError(OrgMemoryError, DeniedError, kind="org_denied"):
    """The author may not write this category."""


class HumanFactError(OrgMemoryAccessDeniedError, kind="org_human"):
    """Only a human may change the fact; an agent may propose a change."""


class OrgMemoryConfigError(OrgMemoryError, CallerError, kind="org_config"):
    """The ``org_memory`` settings are invalid: key, value, what is allowed."""


# Operational records (SPEC 19.1.5).


class PersistenceError(MemdError, kind="persistence"):
    """Base of all errors of operational records."""

    family = "persistence"


class PersistenceConnectionError(PersistenceError, UnavailableError, kind="persistence_connection"):
    """The records' backend is not connected, or its file cannot be opened."""


class MigrationError(PersistenceError, StorageError, kind="migration"):
    """The records' tables could not be created."""


class DuplicateRecordError(PersistenceError, CallerError, kind="duplicate_record"):
    """A record that may be written only once exists already."""


class QueryError(PersistenceError, CallerError, kind="record_query"):
    """The query over records failed."""

    retry = True


class InvalidQueryError(QueryError, kind="invalid_query"):
    """The query over records is invalid, and would fail again."""

    retry = False


class ConstraintViolationError(QueryError, kind="constraint_violation"):
    """A record refers to a missing one, or others refer to it."""

    retry = False


class VersionConflictError(QueryError, kind="version_conflict"):
    """The record was changed since it was read."""

    retry = False


class MalformedRowError(QueryError, kind="malformed_row"):
    """A stored record is not valid for its entity."""

    retry = False


NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Values of errno for a full disk, an exhausted quota, and a file that may not grow."""


def unusable(error: OSError) -> StorageError:
    """Return the StorageError for a file or folder that cannot be used.

    >>> unusable(PermissionError(13, "Permission denied", "/etc/memd")).message
    '/etc/memd: permission denied'
    """
    why = f"{os.fsdecode(error.filename)}: {(error.strerror or type(error).__name__).lower()}"
    if error.errno in NO_ROOM:
        return DiskFullError(why, hint="free some space")
    return StorageError(
        why,
        hint="see who may write there; MEMD_HOME moves all of memd to another folder",
    )


def kinds() -> dict[str, type[MemdError]]:
    """Return the error class of each kind, so that a client can raise what the daemon raised."""
    classes: dict[str, type[MemdError]] = {}
    pending: list[type[MemdError]] = [MemdError]
    while pending:
        for cls in pending.pop().__subclasses__():
            pending.append(cls)
            if "kind" in cls.__dict__:
                classes[cls.kind] = cls
    return classes
