"""The log: one line an event, fields beside it, on stderr.

An event is a constant and everything that varies is a field, so that no sentence
can carry a memory's text. Under journald each line starts with its syslog
priority, ``<4>``. structlog is loaded with the first line that is written, not
with this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}


class _State:
    """What ``configure`` set for the process."""

    level = _LEVELS["info"]
    json = False
    journal = False
    stream: TextIO | None = None
    logger: Any = None


def configure(
    *,
    level: str = "info",
    json: bool = False,
    stream: TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Choose what is written and how; raises KeyError for a level that is none."""
    _State.level = _LEVELS[level]
    _State.json = json
    _State.stream = stream
    _State.journal = under_journald(environ, (stream or sys.stderr))
    _State.logger = None


def under_journald(environ: Mapping[str, str], stream: TextIO) -> bool:
    """Return whether *stream* is the journal's, as JOURNAL_STREAM (device:inode) says."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return (device, inode) == (str(found.st_dev), str(found.st_ino))


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

    told: list[str] = []
    known: set[int] = set()  # "raise error from error" makes an error its own cause
    seen: BaseException | None = error
    while seen is not None and id(seen) not in known:
        known.add(id(seen))
        calls = traceback.extract_tb(seen.__traceback__)
        lines = [f"{call.filename}:{call.lineno} in {call.name}" for call in calls]
        told.append("\n".join([*lines, type(seen).__qualname__]))
        seen = seen.__cause__ or seen.__context__
    return "\nthen\n".join(reversed(told))


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
        structlog.PrintLogger(_State.stream or sys.stderr),
        processors=processors,
        wrapper_class=structlog.BoundLogger,
    )


def _prioritised(_: Any, name: str, line: str) -> str:
    return f"<{_PRIORITIES.get(name, 6)}>{line}"
