"""A person at a terminal of 80 columns, in Tokyo; and the same commands in a pipe."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import tempfile
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from support import forked
from support.commands import Output, run
from support.daemon import environment

_COLOUR = re.compile(r"\x1b\[[012]m")


class Terminal:
    """Types commands for one home."""

    def __init__(self, home: Path, more: Mapping[str, str] | None = None) -> None:
        self.environ = environment(home, {"TERM": "xterm", "TZ": "Asia/Tokyo", **(more or {})})

    def __call__(self, *words: str) -> Output:
        """Return what *words* show on a pseudo-terminal; stderr stands apart."""
        return self._shown(words, keyboard=False)

    def at_a_keyboard(self, *words: str) -> Output:
        """Return the same of a command that may ask, of somebody who types nothing."""
        return self._shown(words, keyboard=True)

    def _shown(self, words: Sequence[str], *, keyboard: bool) -> Output:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        with (
            os.fdopen(ours, "rb", buffering=0) as shown,
            Path(os.devnull).open("rb") as nothing,
            tempfile.TemporaryFile() as errors,
        ):
            given = theirs if keyboard else nothing.fileno()
            streams = (given, theirs, errors.fileno())
            process = forked.start(words, env=self.environ, streams=streams)
            os.close(theirs)
            written = b""
            with contextlib.suppress(OSError):  # how a closed terminal says its end
                while part := shown.read(65_536):
                    written += part
            code = process.wait(forked.TIMEOUT_S)
            errors.seek(0)
            err = errors.read().decode()
        text = _COLOUR.sub("", written.decode()).replace("\r\n", "\n")
        return Output(code, text, err)

    def piped(self, *words: str, text: str = "") -> Output:
        """Return what *words* write into a pipe, with *text* on stdin."""
        return run(words, self.environ, text)
