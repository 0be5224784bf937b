"""A raw connection to the socket, for frames that no client would send."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from support.daemon import WAIT_S

from memd.base import client_key
from memd.base.paths import Paths


class Wire:
    """One connection that sends any bytes and reads frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, *frames: bytes | dict[str, Any] | list[Any]) -> None:
        for frame in frames:
            raw = frame if isinstance(frame, bytes) else json.dumps(frame).encode()
            self.writer.write(raw + b"\n")
        await self.writer.drain()

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def frame(self) -> Any:
        """Return the next frame; fails when none comes or the connection is closed."""
        line = await asyncio.wait_for(self.reader.readline(), WAIT_S)
        assert line.endswith(b"\n"), f"closed after {line!r}"
        return json.loads(line)

    async def ask(self, frame: bytes | dict[str, Any] | list[Any]) -> Any:
        await self.send(frame)
        return await self.frame()

    async def closed(self) -> bool:
        """Return whether the daemon closes without another byte."""
        try:
            return await asyncio.wait_for(self.reader.read(1), WAIT_S) == b""
        except ConnectionError:
            return True


@contextlib.asynccontextmanager
async def wire(path: Path) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_unix_connection(path, limit=2**23)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def operating(line: Wire, paths: Paths) -> Wire:
    """Return *line* after it presented the operator's key."""
    key = client_key.read(paths.operator_key)
    answer = await line.ask(req("system.hello", "who", client_key=key))
    assert answer["result"]["caller"]["client"] == "operator"
    return line


def req(method: str, request_id: Any = 1, /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
