"""The log: one line an event, fields beside it, on stderr or in a file that is cut off in time.

An event is a constant and everything that varies is a field, so that no sentence
can carry a memory's text. Under journald each line starts with its syslog
priority, ``<4>``. structlog is loaded with the first line that is written, not
with this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from memd.base.errors import MemoryConfigError

if TYPE_CHECKING:
    from logging.handlers import RotatingFileHandler

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}


class _State:
    """What ``configure`` set for the process."""

    level = _LEVELS["info"]
    json = False
    journal = False
    stream: TextIO | None = None
    file: RotatingFileHandler | None = None
    logger: Any = None


class LogFile(NamedTuple):
    """A file for the log: when it has *bytes_max* it is renamed, and so many are *kept*."""

    path: Path
    bytes_max: int
    kept: int

    def check(self) -> None:
        """Raise MemoryConfigError for a file that could not be written now; none is made."""
        if not self.path.is_absolute():
            raise self.refusal("must be absolute")
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except FileNotFoundError:
            self._try_to_make()
        except OSError as error:
            raise self.refusal(str(error.strerror)) from error

    def _try_to_make(self) -> None:
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            self.path.unlink()
        except OSError as error:
            raise self.refusal(str(error.strerror)) from error

    def refusal(self, why: str) -> MemoryConfigError:
        """Return the error for this file, as a person is told it."""
        return MemoryConfigError(
            f"daemon.log_file = {os.fspath(self.path)!r} cannot be used: {why}",
            field="daemon.log_file",
            hint="name a file in a folder of yours, or leave the key away",
        )


def configure(
    *,
    level: str = "info",
    json: bool = False,
    stream: TextIO | None = None,
    file: LogFile | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Choose what is written and how; raises KeyError for a level that is none.

    Raises OSError for a *file* that cannot be opened; the log stays as it was then.
    """
    opened = None if file is None else _opened(file)
    if _State.file is not None:
        _State.file.close()
    _State.file = opened
    _State.level = _LEVELS[level]
    _State.json = json
    _State.stream = stream
    _State.journal = file is None and under_journald(environ, (stream or sys.stderr))
    _State.logger = None


def _opened(file: LogFile) -> RotatingFileHandler:
    """Open *file*, for its owner alone, and see now whether it can be written."""
    from logging.handlers import RotatingFileHandler  # loaded where a setting asks for it

    os.close(os.open(file.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
    handler = RotatingFileHandler(
        file.path, maxBytes=file.bytes_max, backupCount=file.kept, encoding="utf-8"
    )
    handler.handleError = _lost  # type: ignore[method-assign, assignment]  # or it prints the line
    return handler


def _lost(_record: object) -> None:
    """Let a line go that a full disk refuses: nobody waits for a log, or fails with it."""


class _FileLogger:
    """Writes structlog's lines through the handler, which knows when a file is full."""

    def __init__(self, handler: RotatingFileHandler) -> None:
        self._handler = handler

    def msg(self, line: str) -> None:
        from logging import makeLogRecord

        self._handler.handle(makeLogRecord({"msg": line}))

    debug = info = warning = error = msg


def under_journald(environ: Mapping[str, str], stream: TextIO) -> bool:
    """Return whether *stream* is the journal's, as JOURNAL_STREAM (device:inode) says."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return (device, inode) == (str(status.st_dev), str(status.st_ino))


def debug(event: str, **fields: Any) -> None:
    _write("debug", event, fields)


def info(event: str, **fields: Any) -> None:
    _write("info", event, fields)


def warning(event: str, **fields: Any) -> None:
    _write("warning", event, fields)


def error(event: str, **fields: Any) -> None:
    """Write an error; a bug's has ``trace=trace_of(exception)``."""
    _write("error", event, fields)


def trace_of(error: BaseException) -> str:
    """Return where *error* came from: its class and the calls that led there, causes first.

    Messages are left out: that of a bug may quote the value it stumbled over,
    which may be a memory's text.
    """
    import traceback

    causes: list[str] = []
    known: set[int] = set()  # "raise error from error" makes an error its own cause
    seen: BaseException | None = error
    while seen is not None and id(seen) not in known:
        known.add(id(seen))
        calls = traceback.extract_tb(seen.__traceback__)
        lines = [f"{call.filename}:{call.lineno} in {call.name}" for call in calls]
        causes.append("\n".join([*lines, type(seen).__qualname__]))
        seen = seen.__cause__ or seen.__context__
    return "\nthen\n".join(reversed(causes))


def _write(level: str, event: str, fields: dict[str, Any]) -> None:
    if _LEVELS[level] < _State.level:
        return
    if _State.logger is None:
        _State.logger = _make()
    getattr(_State.logger, level)(event, **fields)


def _structlog() -> Any:
    """Import structlog without rich, which it would load to draw traces in colour.

    The log has no colours; without rich the daemon starts 20 ms sooner and is
    3 MB smaller.
    """
    known = sys.modules.get("rich")
    modules: dict[str, Any] = sys.modules
    modules["rich"] = None  # importing it fails now, which structlog takes for "not installed"
    try:
        import structlog
    finally:
        if known is None:
            del modules["rich"]
        else:
            modules["rich"] = known
    return structlog


def _make() -> Any:
    structlog = _structlog()
    processors: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if _State.json:
        processors.append(structlog.processors.JSONRenderer())
    else:
        processors.append(
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"])
        )
    if _State.journal:
        processors.append(_prioritised)
    return structlog.wrap_logger(
        structlog.PrintLogger(_State.stream or sys.stderr)
        if _State.file is None
        else _FileLogger(_State.file),
        processors=processors,
        wrapper_class=structlog.BoundLogger,
    )


def _prioritised(_: Any, name: str, line: str) -> str:
    return f"<{_PRIORITIES.get(name, 6)}>{line}"
