"""A daemon to test against: in this process (``running``), or a real one (``spawned``)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from support import forked

from memd.base.clock import Clock
from memd.base.errors import MemdError
from memd.base.paths import Paths
from memd.client import Client
from memd.daemon import Build, run
from memd.domain.settings.settings import Settings

WAIT_S = 60.0
"""The ceiling of every wait: no machine that still works is ever that slow, and who polls
waits no longer than it takes."""
ROOT = Path(__file__).resolve().parents[2]


def wait_until(true: Callable[[], bool], what: str, seconds: float = WAIT_S) -> None:
    """Poll until *true* holds; fails, naming *what*, when it does not in time."""
    began = time.monotonic()
    while not true():
        if (waited := time.monotonic() - began) > seconds:
            raise AssertionError(f"waited {seconds:g} s in vain: {what}")
        time.sleep(_pause(waited))


async def until(true: Callable[[], bool], what: str, seconds: float = WAIT_S) -> None:
    """Poll as ``wait_until`` does, letting the loop run."""
    began = time.monotonic()
    while not true():
        if (waited := time.monotonic() - began) > seconds:
            raise AssertionError(f"waited {seconds:g} s in vain: {what}")
        await asyncio.sleep(_pause(waited))


def _pause(waited: float) -> float:
    """Return how long to wait before the next look: a twentieth of the wait, 5 to 50 ms.

    A look is often a call: 200 in a second would take from the daemon what it works with.
    """
    return min(max(waited / 20, 0.005), 0.05)


@contextlib.asynccontextmanager
async def running(
    home: Path,
    build: Build | None = None,
    settings: Settings | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Paths]:
    """Run the daemon in this loop under *home*; yields its places when it answers."""
    paths = Paths.resolve(home=home, environ={})
    ready = asyncio.Event()
    work = run(settings or Settings(), paths, clock=clock, ready=ready.set, build=build)
    task = asyncio.create_task(work)
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if task.done():
        await task
    try:
        yield paths
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@dataclass
class Spawned:
    """A real daemon process."""

    process: subprocess.Popen[bytes] | forked.Process
    paths: Paths
    log: Path

    @property
    def home(self) -> Path:
        return self.log.parent

    def client(self, timeout: float = WAIT_S) -> Client:
        """Return a client with the operator's key, as the owner's own commands have it."""
        key = self.paths.operator_key
        return Client(self.paths.socket, timeout=timeout, key=key if key.exists() else None)

    def stop(self, number: int = signal.SIGTERM, seconds: float = WAIT_S) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a daemon that sees nothing of the person who runs the tests."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("MEMD_", "XDG_", "LISTEN_"))}
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    return {**keep, "PYTHONPATH": path, "MEMD_HOME": str(home), **(more or {})}


@contextlib.contextmanager
def spawned(
    home: Path, more: Mapping[str, str] | None = None, *, fresh: bool = False
) -> Iterator[Spawned]:
    """Run ``memd serve`` under *home*; yields it when it answers, and kills what is left.

    It is forked (``support/forked.py``), with *fresh* started by a new interpreter.
    """
    log = home / "daemon.log"
    environ = environment(home, more)
    process: subprocess.Popen[bytes] | forked.Process
    with log.open("ab") as stream, Path(os.devnull).open("rb") as nothing:
        if fresh:
            process = subprocess.Popen(
                [sys.executable, "-m", "memd", "serve"],
                env=environ,
                stdin=nothing,
                stdout=stream,
                stderr=stream,
            )
        else:
            streams = (nothing.fileno(), stream.fileno(), stream.fileno())
            process = forked.start(["serve"], env=environ, streams=streams)
    daemon = Spawned(process, Paths.resolve(home=home, environ={}), log)
    try:
        wait_until(lambda: _answers(daemon), f"the daemon answers: {log.read_text('utf-8')}")
        yield daemon
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _answers(daemon: Spawned) -> bool:
    if daemon.process.poll() is not None:
        raise AssertionError(f"the daemon left: {daemon.log.read_text('utf-8')}")
    try:
        with daemon.client() as client:
            client.call("system.hello")
    except MemdError:
        return False
    return True
