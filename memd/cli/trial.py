"""A real daemon on a throw-away home: started, waited for, stopped, gone without a trace."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memd.base.errors import NotRunningError, StartingError
from memd.base.paths import Paths
from memd.cli.reach import LONG_SECONDS_MAX

if TYPE_CHECKING:
    from memd.client import Client

START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 10.0
_POLL_S = 0.05
_LOG_LINES_SHOWN = 5


class Trial(NamedTuple):
    """A running daemon of our own and the way to it."""

    client: Client
    pid: int
    started_s: float


@contextmanager
def daemon(model_dir: Path) -> Iterator[Trial]:
    """Yield a new daemon with an empty memory and the model in *model_dir*.

    Whatever happens inside, the process has ended and its folder is gone
    afterwards. Raises NotRunningError, with the end of its log, when it does not start.
    """
    from memd.client import Client

    with tempfile.TemporaryDirectory(prefix="memd-demo-") as name:
        home = Path(name)
        environ = {key: value for key, value in os.environ.items() if not key.startswith("MEMD_")}
        environ |= {"MEMD_HOME": name, "MEMD_MODEL_DIR": str(model_dir)}
        paths = Paths.resolve(environ=environ)
        log = home / "daemon.log"
        began = time.monotonic()
        with log.open("wb") as sink:
            process = subprocess.Popen(
                [sys.executable, "-m", "memd", "serve"],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,  # Ctrl-C is for us; we stop the daemon ourselves
            )
        try:
            client = Client(socket=paths.socket, timeout=LONG_SECONDS_MAX)
            _await(client, process, log, began)
            yield Trial(client, process.pid, time.monotonic() - began)
            client.close()
        finally:
            _stop(process)


def _await(client: Client, process: subprocess.Popen[bytes], log: Path, began: float) -> None:
    while True:
        try:
            client.call("system.hello", {})
        except (NotRunningError, StartingError):
            if process.poll() is not None:
                tail = log.read_text(encoding="utf-8", errors="replace").splitlines()
                said = " | ".join(tail[-_LOG_LINES_SHOWN:]) or "nothing"
                raise NotRunningError(f"the daemon ended at once; it said: {said}") from None
            if time.monotonic() - began > START_SECONDS_MAX:
                raise
            time.sleep(_POLL_S)
        else:
            return


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
