"""Count the functions and files of memd that one request enters in a warm daemon.

By hand: ``python -m tests.bench.trace``; ``--list recall`` prints them file by file. Lambdas,
comprehensions and generated methods are not counted. The daemon runs in this process and the client
in a thread of its own; ``search`` counts the client's thread, every other request the rest.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.daemon import wait_until

import memd
from bench.bench_daemon import installed_model, running_with_model
from memd.base.paths import Paths
from memd.client import Client

HOME = str(Path(memd.__file__).parent)
QUIET_S = 2.0
SAYINGS = ("We deploy with blue-green since March.", "The API listens on port 8443.")
LINES = [
    {"role": "user", "content": "Always run the linter before you commit, please."},
    {"role": "assistant", "content": "Done: the cause was a KeyError in Lexer.next_token."},
]


class Recorder:
    """The code that the chosen threads enter while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.client = 0
        self.client_only = False
        self.codes: set[CodeType] = set()

    def __call__(self, frame: FrameType, event: str, _arg: object) -> None:
        if self.on and event == "call":
            is_client = threading.get_ident() == self.client
            if is_client == self.client_only:
                self.codes.add(frame.f_code)

    def entered(self) -> list[tuple[str, str]]:
        """Return file and function of each code of memd."""
        return sorted(
            (code.co_filename[len(HOME) + 1 :], code.co_qualname)
            for code in self.codes
            if code.co_filename.startswith(HOME) and "<" not in code.co_name
        )


def trace(paths: Paths, recorder: Recorder) -> dict[str, list[tuple[str, str]]]:
    """Send each request twice and record the second."""
    recorder.client = threading.get_ident()
    with Client(paths.socket, timeout=60, key=paths.operator_key) as client:
        for text in SAYINGS:
            client.call("memory.ingest", {"text": text})
        settle(client)
        requests: dict[str, Callable[[int], object]] = {
            "ingest": lambda n: client.call(
                "memory.ingest", {"text": f"The deploy {n} took 5 minutes."}
            ),
            "recall": lambda _: client.call("memory.recall", {"query": "How do we deploy?"}),
            "prepare": lambda _: client.call("inject.prepare", {"query": "How do we deploy?"}),
            "nap": lambda n: client.call(
                "sleep.consolidate", {"session_id": f"s{n}", "messages": LINES}
            ),
            "search": lambda _: _search(),
        }
        entered = {}
        for name, call in requests.items():
            call(0)
            settle(client)
            recorder.codes, recorder.client_only, recorder.on = set(), name == "search", True
            call(1)
            recorder.on = False
            entered[name] = recorder.entered()
    return entered


def settle(client: Client) -> None:
    """Wait until nothing of the requests before is left to do in the background."""
    wait_until(lambda: client.call("system.status")["pending"] == 0, "all vectors are there")
    time.sleep(QUIET_S)  # what texts say is extracted after their vectors


def _search() -> None:
    from memd.cli.cli import run

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        run(["search", "deploy"])


async def _measured(
    home: Path, model: Path, recorder: Recorder
) -> dict[str, list[tuple[str, str]]]:
    threading.setprofile(recorder)  # for the threads of the store and the model
    sys.setprofile(recorder)
    async with running_with_model(home, model) as paths:
        return await asyncio.to_thread(trace, paths, recorder)


def main() -> None:
    """Print a line a request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", metavar="REQUEST", help="print what this one enters")
    chosen = parser.parse_args()
    model = installed_model()  # of the person's home, not of the one that is made here
    with tempfile.TemporaryDirectory(prefix="memd-trace-") as made:
        os.environ["MEMD_HOME"] = made
        entered = asyncio.run(_measured(Path(made), model, Recorder()))
    print(f"{'request':<10} functions  files")
    for name, each in entered.items():
        print(f"{name:<10} {len(each):>9}  {len({file for file, _ in each}):>5}")
    if chosen.list:
        counts = Counter(file for file, _ in entered[chosen.list])
        for file, count in sorted(counts.items()):
            functions = ", ".join(name for its, name in entered[chosen.list] if its == file)
            print(f"{count:>3} {file}: {functions}")


if __name__ == "__main__":
    main()
