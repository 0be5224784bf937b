"""The log of hooks that did nothing: one line each, never a memory's text."""

from __future__ import annotations

import os
import time

from memd.assist import places

BYTES_MAX = 65_536
"""Of the file; then it is renamed to ``hooks.log.1`` and a new one is started."""
LINE_CHARS_MAX = 300


def note(what: str, why: str) -> None:
    """Append a line; do nothing if it cannot be written."""
    path = places.log_file(dict(os.environ))
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    message = "".join(letter if letter.isprintable() else "?" for letter in f"{what}: {why}")
    try:
        _write(path, f"{at} {message[:LINE_CHARS_MAX]}\n".encode("utf-8", "replace"))
    except OSError:
        return


def _write(path: str, line: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = os.open(path, flags, 0o600)
    try:
        if os.fstat(handle).st_size + len(line) > BYTES_MAX:
            os.replace(path, f"{path}.1")
            os.close(handle)
            handle = os.open(path, flags, 0o600)
        os.write(handle, line)
    finally:
        os.close(handle)
