"""The errors that memd raises on purpose.

The base class says who must act: for a ``CallerError`` the caller (change the request), for
an ``UnavailableError`` nobody (send the same request again later), for a ``StorageError`` the
owner (free the disk, restore a backup). A family base (``MemdMemoryError``) lets one except
clause catch the documented family. Each class has one ``kind``; a client raises the class of
the kind it receives. Anything but a ``MemdError`` is a bug and leaves the daemon as
``internal`` with an incident id.

Messages are for the owner of the desktop: lower case, naming the thing, saying what to do,
never with a memory's text.
"""

from __future__ import annotations

import importlib
import os
from typing import ClassVar


class MemdError(Exception):
    """The base of all errors raised on purpose.

    *field* names the wrong parameter, *hint* says what to do next.
    """

    kind: ClassVar[str] = "error"
    retry: ClassVar[bool] = False
    family: ClassVar[str | None] = None

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


class ParseError(CallerError):
    """The frame is not the JSON that memd reads."""

    kind = "parse"


class InvalidRequestError(CallerError):
    """The frame is JSON, but not a JSON-RPC 2.0 request."""

    kind = "invalid_request"


class TooLargeError(CallerError):
    """The frame, the batch or the text is over its limit."""

    kind = "too_large"


class UnknownMethodError(CallerError):
    """No such method."""

    kind = "unknown_method"


class InvalidError(CallerError):
    """A parameter is missing, unknown or out of its range; *field* names it."""

    kind = "invalid"


class NotFoundError(CallerError):
    """The named item does not exist, or is not the caller's."""

    kind = "not_found"


class DeniedError(CallerError):
    """The caller may not do this."""

    kind = "denied"


class ConflictError(CallerError):
    """The same idempotency key came with another request."""

    kind = "conflict"


class InvalidStateError(CallerError):
    """The request does not fit the present state."""

    kind = "invalid_state"


class QuotaError(CallerError):
    """A configured limit of the store is reached."""

    kind = "quota"


class SecretRefusedError(CallerError):
    """The text contains a secret, and the settings refuse those."""

    kind = "secret_refused"


class QuarantinedError(CallerError):
    """The text looks like a prompt injection and is not stored (PROMISES H46)."""

    kind = "quarantined"


class CancelledError(MemdError):
    """The request was cancelled by the client that sent it."""

    kind = "cancelled"


# Temporary errors.


class BusyError(UnavailableError):
    """A queue or a connection limit is full, or the file is locked."""

    kind = "busy"


class TimeoutError(UnavailableError):  # noqa: A001  # the documented kind is "timeout"; always imported qualified
    """A deadline passed."""

    kind = "timeout"


class StartingError(UnavailableError):
    """The daemon is not ready yet."""

    kind = "starting"


class StoppingError(UnavailableError):
    """The daemon is stopping."""

    kind = "stopping"


class DegradedError(UnavailableError):
    """A capability is missing for now, such as the embedding model."""

    kind = "degraded"


class AlreadyRunningError(InvalidStateError):
    """Another daemon holds this profile."""

    kind = "already_running"


# Errors that the owner must fix.


class ReadOnlyError(StorageError):
    """The file or its file system is read-only."""

    kind = "read_only"


class DiskFullError(StorageError):
    """The disk is full; reading still works."""

    kind = "disk_full"


class DamagedError(StorageError):
    """The file fails a check."""

    kind = "damaged"


class NewerSchemaError(StorageError):
    """The file was written by a newer memd; it is left untouched."""

    kind = "newer_schema"


class ForeignFileError(StorageError):
    """The file is not a memd store; it is left untouched."""

    kind = "foreign_file"


class UnsafePathError(StorageError):
    """A directory or socket could be read or replaced by another user."""

    kind = "unsafe_path"


class ModelError(StorageError):
    """The embedding model's folder is missing, incomplete or not the expected one."""

    kind = "model"


# Errors of the optional language model (SPEC D8).


class ProviderError(MemdError):
    """Base of the errors of a language model's provider; ``retry`` distinguishes the two."""

    kind = "provider"
    family = "provider"


class ProviderBusyError(ProviderError, UnavailableError):
    """The model did not answer: overloaded, too slow, out of reach."""

    kind = "provider_busy"


class ProviderRefusedError(ProviderError, StorageError):
    """The model will never answer this: wrong key, unknown model. The owner must fix it."""

    kind = "provider_refused"


class InternalError(MemdError):
    """A bug in memd; the log has the trace under the incident id."""

    kind = "internal"

    def __init__(self, message: str, *, incident: str | None = None, **more: str | None) -> None:
        super().__init__(message, **more)
        self.incident = incident


# The documented family (SPEC 7.16, D20). Never called MemoryError: that is a built-in.


class MemdMemoryError(MemdError):
    """Base of all memory operations' errors."""

    kind = "memory"
    family = "memory"


class MemoryConnectionError(MemdMemoryError, UnavailableError):
    """A backend is not connected, or its connection is lost."""

    kind = "memory_connection"


class NotRunningError(MemoryConnectionError):
    """No daemon answers on the socket."""

    kind = "not_running"


class MemoryStoreError(MemdMemoryError, CallerError):
    """A store, update or delete was refused."""

    kind = "memory_store"


class MemoryRetrievalError(MemdMemoryError, CallerError):
    """A retrieve, get or count was refused."""

    kind = "memory_retrieval"


class MemoryNotFoundError(MemdMemoryError, CallerError):
    """No memory that the caller may see has this id."""

    kind = "memory_not_found"


class MemoryConfigError(MemdMemoryError, CallerError):
    """The configuration is invalid: key, value, what is allowed."""

    kind = "config"


class MemoryCapabilityError(MemdMemoryError, CallerError):
    """The backend does not support the operation."""

    kind = "capability"


class IngestionError(MemdMemoryError, CallerError):
    """A text could not become memories."""

    kind = "ingestion"


class EmbeddingError(MemdMemoryError, UnavailableError):
    """The model failed or returned something that is not a vector."""

    kind = "embedding"


class FineTuneDependencyError(MemdMemoryError, CallerError):
    """The packages for training an encoder are not installed."""

    kind = "fine_tune_dependency"


class FineTuneCancelledError(MemdMemoryError, CallerError):
    """A run of fine-tuning was cancelled."""

    kind = "fine_tune_cancelled"


# Organisational memory (SPEC 15.6).


class OrgMemoryError(MemdError):
    """Base of all organisational memory errors."""

    kind = "org_memory"
    family = "org_memory"


class OrgMemoryConnectionError(OrgMemoryError, UnavailableError):
    """The organisational memory is not connected."""

    kind = "org_connection"


class OrgMemoryWriteError(OrgMemoryError, CallerError):
    """A fact could not be written or retracted."""

    kind = "org_write"


class OrgMemoryQueryError(OrgMemoryError, CallerError):
    """A query over facts failed, or a stored fact cannot be read."""

    kind = "org_query"


class OrgMemoryAccessDeniedError(OrgMemoryError, DeniedError):
    """The author may not write this category."""

    kind = "org_denied"


class HumanFactError(OrgMemoryAccessDeniedError):
    """Only a human may change the fact; an agent may propose a change."""

    kind = "org_human"


class OrgMemoryConfigError(OrgMemoryError, CallerError):
    """The ``org_memory`` settings are invalid: key, value, what is allowed."""

    kind = "org_config"


def unusable(error: OSError) -> StorageError:
    """Return the error for a file or folder that the system refuses.

    >>> unusable(PermissionError(13, "Permission denied", "/etc/memd")).message
    '/etc/memd: permission denied'
    """
    why = (error.strerror or type(error).__name__).lower()
    return StorageError(
        f"{os.fsdecode(error.filename)}: {why}",
        hint="see who may write there; MEMD_HOME moves all of memd to another folder",
    )


def kinds() -> dict[str, type[MemdError]]:
    """Return every kind with its class, so that a client can raise what the daemon raised."""
    importlib.import_module(
        "memd.base.record_errors"
    )  # defines the family of records, unless imported already
    classes: dict[str, type[MemdError]] = {}
    waiting: list[type[MemdError]] = [MemdError]
    while waiting:
        for cls in waiting.pop().__subclasses__():
            waiting.append(cls)
            if "kind" in cls.__dict__:
                classes[cls.kind] = cls
    return classes
