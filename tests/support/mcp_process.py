"""Run ``memd mcp`` as an assistant does: a process with lines in and out."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from support.daemon import ROOT, WAIT_S

NEWEST = "2026-07-28"
MODERN = {"io.modelcontextprotocol/protocolVersion": NEWEST}


def bare(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what a sparing assistant passes on, and where this test's daemon is."""
    own = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb"}
    return {**own, "PYTHONPATH": str(ROOT), "MEMD_HOME": str(home), **(more or {})}


class Pumped:
    """One running pump."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._ids = 0
        self._pending = b""

    def send(self, message: Any) -> None:
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def post(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request and return its id, without waiting."""
        self._ids += 1
        request = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params or {}}
        self.send(request)
        return self._ids

    def line(self) -> Any:
        """Return the next line; fails when none comes."""
        assert self.process.stdout is not None
        handle = self.process.stdout.fileno()
        while b"\n" not in self._pending:
            ready, _, _ = select.select([handle], [], [], WAIT_S)
            assert ready, "the pump says nothing"
            chunk = os.read(handle, 65_536)
            assert chunk, "the pump has left"
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return json.loads(line)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer to a request."""
        request_id = self.post(method, params)
        answer: dict[str, Any] = self.line()
        assert answer["id"] == request_id
        return answer

    def tool(self, name: str, *, use: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Return the result of a tool."""
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        if use is not None:
            params["_meta"] = {"claudecode/toolUseId": use}
        result: dict[str, Any] = self.ask("tools/call", params)["result"]
        return result

    def unread(self) -> int:
        """Return how many bytes the pump has not taken yet."""
        assert self.process.stdin is not None
        waiting = fcntl.ioctl(self.process.stdin.fileno(), termios.FIONREAD, b"\0" * 4)
        return int.from_bytes(waiting, sys.byteorder)

    def leave(self) -> int:
        """Close stdin, as an assistant that ends, and return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(WAIT_S)


@contextlib.contextmanager
def pumped(
    home: Path, *arguments: str, environ: Mapping[str, str] | None = None
) -> Iterator[Pumped]:
    """Start ``memd mcp``; kills what is left of it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "memd", "mcp", *arguments],
        env=bare(home) if environ is None else dict(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield Pumped(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
