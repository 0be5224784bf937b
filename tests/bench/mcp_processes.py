"""What the pumps of many assistants cost: ``python -m tests.bench.mcp_processes [--pumps 16]``.

A real daemon and real pumps, each of which has been answered ``initialize``, ``tools/list`` and a
search. ``pss_mb`` is what all of them take together, shared pages counted once; ``rss_mb`` is
the largest one by itself. ``call_ms`` is a search through the pump, ``daemon_ms`` the same by a
client that speaks with the daemon. ``cold_ms`` is from the start of a daemon to the first search
that it answers through a pump, its model not loaded. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.mcp_process import Pumped, bare

from bench.bench_daemon import Stage, staged
from bench.scores import quantile

PUMPS = 16
CALLS = 50
COLD = 5
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
SEARCH = {"name": "memory_search", "arguments": {"query": "which port does the proxy use"}}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.mcp_processes", description=__doc__
    )
    parser.add_argument("--pumps", type=int, default=PUMPS)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as folder:
        home = Path(folder)
        with staged(home) as stage:
            result = measured(home, stage, options.pumps)
        result["cold_ms"] = _p50([_first_search_ms(home) for _ in range(COLD)])
        print(json.dumps(result, indent=1))


def measured(home: Path, stage: Stage, count: int) -> dict[str, Any]:
    stage.client.call("memory.ingest", {"text": "The proxy uses port 8443.", "agent_id": "default"})
    stage.settle()
    with contextlib.ExitStack() as stack:
        pumps = [_started(stack, home) for _ in range(count)]
        for pump in pumps:
            pump.ask("initialize", HELLO)
            pump.ask("tools/list")
            pump.ask("tools/call", SEARCH)
        asked = {"query": "which port does the proxy use", "agent_id": "default"}
        return {
            "pumps": count,
            "pss_mb": round(sum(_kb(pump, "Pss") for pump in pumps) / 1_000, 1),
            "rss_mb": max(_kb(pump, "Rss") for pump in pumps) / 1_000,
            "private_mb": max(_kb(pump, "Private_Dirty") for pump in pumps) / 1_000,
            "cpu_ms": round(sum(_cpu_ms(pump) for pump in pumps) / count, 1),
            "call_ms": _p50(
                [_ms(lambda: pumps[0].ask("tools/call", SEARCH)) for _ in range(CALLS)]
            ),
            "daemon_ms": _p50(
                [_ms(lambda: stage.client.call("memory.recall", asked)) for _ in range(CALLS)]
            ),
        }


def _first_search_ms(home: Path) -> float:
    begun = time.perf_counter()
    with staged(home), contextlib.ExitStack() as stack:
        pump = _started(stack, home)
        pump.ask("initialize", HELLO)
        assert "8443" in json.dumps(pump.ask("tools/call", SEARCH))
        return 1_000 * (time.perf_counter() - begun)


def _started(stack: contextlib.ExitStack, home: Path) -> Pumped:
    """Start a pump by the command that settings files name."""
    script = Path(sys.executable).with_name("memd")
    words = [str(script)] if script.exists() else ["-m", "memd"]
    process = subprocess.Popen(
        [sys.executable, *words, "mcp"],
        env=bare(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    stack.callback(process.wait)
    stack.callback(process.kill)
    return Pumped(process)


def _kb(pump: Pumped, name: str) -> int:
    text = Path(f"/proc/{pump.process.pid}/smaps_rollup").read_text("ascii")
    line = next(line for line in text.splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])


def _cpu_ms(pump: Pumped) -> float:
    fields = Path(f"/proc/{pump.process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return 10.0 * (int(fields[11]) + int(fields[12]))  # in hundredths of a second


def _ms(work: Any) -> float:
    begun = time.perf_counter()
    work()
    return 1_000 * (time.perf_counter() - begun)


def _p50(taken: list[float]) -> float:
    return round(quantile(taken, 0.5), 1)


if __name__ == "__main__":
    main()
