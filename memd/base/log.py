"""The log: one line per event with its fields, on stderr or in a rotated file.

An event is a constant text, and everything variable is a field, so that no message contains
the text of a memory. For journald each line starts with its syslog priority, such as ``<4>``.
structlog is imported when the first line is written, not with this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from memd.base.errors import MemoryConfigError

if TYPE_CHECKING:
    from logging.handlers import RotatingFileHandler

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}


class _State:
    """The log's configuration, one per process."""

    level = _LEVELS["info"]
    journal = False
    stream: TextIO | None = None
    file: RotatingFileHandler | None = None
    logger: Any = None


class LogFile(NamedTuple):
    """A log file: its size in bytes at which it is rotated, and how many old files are kept."""

    path: Path
    bytes_max: int
    backups: int

    def check(self) -> None:
        """Raise MemoryConfigError if the file cannot be written; leave no new file behind."""
        if not self.path.is_absolute():
            raise self.refusal("must be absolute")
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except FileNotFoundError:
            self._check_creatable()
        except OSError as error:
            raise self.refusal(str(error.strerror)) from error

    def _check_creatable(self) -> None:
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            self.path.unlink()
        except OSError as error:
            raise self.refusal(str(error.strerror)) from error

    def refusal(self, why: str) -> MemoryConfigError:
        """Return the error for this file."""
        return MemoryConfigError(
            f"daemon.log_file = {os.fspath(self.path)!r} cannot be used: {why}",
            field="daemon.log_file",
            hint="name a file in a folder of yours, or remove the setting",
        )


def configure(
    *,
    level: str = "info",
    stream: TextIO | None = None,
    file: LogFile | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Set the level and the destination: *file*, else *stream*, else stderr.

    Raises KeyError for an unknown level, and OSError if *file* cannot be opened, which leaves
    the configuration unchanged.
    """
    handler = None if file is None else _open_handler(file)
    if _State.file is not None:
        _State.file.close()
    _State.file = handler
    _State.level = _LEVELS[level]
    _State.stream = stream
    _State.journal = file is None and under_journald(environ, (stream or sys.stderr))
    _State.logger = None


def _open_handler(file: LogFile) -> RotatingFileHandler:
    """Open *file*, private to its owner. Raises OSError if it cannot be written."""
    from logging.handlers import RotatingFileHandler  # only with the setting daemon.log_file

    os.close(os.open(file.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
    handler = RotatingFileHandler(
        file.path, maxBytes=file.bytes_max, backupCount=file.backups, encoding="utf-8"
    )
    handler.handleError = _drop_record  # type: ignore[method-assign, assignment]  # the default prints the line to stderr
    return handler


def _drop_record(_record: object) -> None:
    """Drop a line that cannot be written, for example on a full disk: logging never fails."""


class _FileLogger:
    """A logger for structlog that writes through the rotating handler."""

    def __init__(self, handler: RotatingFileHandler) -> None:
        self._handler = handler

    def msg(self, line: str) -> None:
        from logging import makeLogRecord

        self._handler.handle(makeLogRecord({"msg": line}))

    debug = info = warning = error = msg


def under_journald(environ: Mapping[str, str], stream: TextIO) -> bool:
    """Return whether *stream* goes to the journal.

    systemd sets JOURNAL_STREAM to the device and inode of the stream, as ``8:1234``.
    """
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return (device, inode) == (str(status.st_dev), str(status.st_ino))


def trace_of(error: BaseException) -> str:
    """Return the stack and class of *error* and of its causes, causes first.

    Messages are left out: they may quote a value, and so the text of a memory.
    """
    import traceback

    causes: list[str] = []
    visited: set[int] = set()  # "raise error from error" makes an error its own cause
    current: BaseException | None = error
    while current is not None and id(current) not in visited:
        visited.add(id(current))
        calls = traceback.extract_tb(current.__traceback__)
        lines = [f"{call.filename}:{call.lineno} in {call.name}" for call in calls]
        causes.append("\n".join([*lines, type(current).__qualname__]))
        current = current.__cause__ or current.__context__
    return "\nthen\n".join(reversed(causes))


def _write(level: str, event: str, /, **fields: Any) -> None:
    if _LEVELS[level] < _State.level:
        return
    if _State.logger is None:
        _State.logger = _make_logger()
    getattr(_State.logger, level)(event, **fields)


debug, info, warning = (partial(_write, level) for level in ("debug", "info", "warning"))
error = partial(_write, "error")
"""Log an error; for a bug pass ``trace=trace_of(exception)``."""


def _structlog() -> Any:
    """Import structlog without rich, which it would load for coloured traces.

    The log has no colours. Without rich the daemon starts 20 ms sooner and needs 3 MB less.
    """
    modules: dict[str, Any] = sys.modules
    rich = modules.get("rich")
    modules["rich"] = None  # makes its import fail, as if it were not installed
    try:
        import structlog
    finally:
        if rich is None:
            del modules["rich"]
        else:
            modules["rich"] = rich
    return structlog


def _make_logger() -> Any:
    structlog = _structlog()
    processors: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
    ]
    if _State.journal:
        processors.append(_add_priority)
    return structlog.wrap_logger(
        structlog.PrintLogger(_State.stream or sys.stderr)
        if _State.file is None
        else _FileLogger(_State.file),
        processors=processors,
        wrapper_class=structlog.BoundLogger,
    )


def _add_priority(_: Any, name: str, line: str) -> str:
    return f"<{_PRIORITIES.get(name, 6)}>{line}"
