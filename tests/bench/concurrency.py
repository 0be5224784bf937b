"""What one client's requests cost the others: ``python -m tests.bench.concurrency [--part PART]``.

A real daemon with the real model. While each method is called with its largest params, honest
and made to be slow (``support.largest_params``), a second process asks ``system.status`` without a
pause; its p99 and longest are told, and the methods beside which it was slowest. Nobody waits
longer than ``--patience`` for a large one: the model takes minutes for a megabyte of a made up
text, and the next is called while it is at it. What a question waits beside nothing is told,
too: where that is long, the machine was busy. Then recalls are asked one after the other,
beside nothing and beside a bulk ingest. For an idle machine with two cores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from support.daemon import environment
from support.largest_params import HONEST, calls, honest, hostile

from bench.bench_daemon import Stage, staged, write_result
from bench.scores import quantile
from memd.base.errors import MemdError

RECALLS = 60
BULK_TEXTS = 4_096
PATIENCE_S = 8.0
ALONE_S = 10.0
SHOWN = 12
PARTS = ("recall", "honest", "hostile")
_ASKING = """
import sys, time
from pathlib import Path
from memd.client import Client
with Client(Path(sys.argv[1]), timeout=600) as client, open(sys.argv[2], "w", buffering=1) as out:
    while True:
        begun = time.monotonic()
        client.call("system.status")
        print(begun, time.monotonic(), file=out)
"""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.concurrency", description=__doc__)
    parser.add_argument("--json", type=Path, dest="out")
    parser.add_argument("--part", choices=PARTS, nargs="*", default=PARTS)
    parser.add_argument("--patience", type=float, default=PATIENCE_S, metavar="SECONDS")
    parser.add_argument("--method", nargs="*", help="only these; default: every one")
    options = parser.parse_args(argv)
    result: dict[str, Any] = {}
    if "recall" in options.part:
        with staged() as stage:
            result["recall"] = recalls(stage)
        print(json.dumps(result), file=sys.stderr, flush=True)  # the rest takes minutes
    for name, made in (("honest", honest), ("hostile", hostile)):
        if name not in options.part:
            continue
        with staged() as stage, tempfile.TemporaryDirectory() as folder:
            ids = {
                "id": stage.client.call("memory.store", {"content": "a", "category": "semantic"})
            }
            asked = [
                each for each in calls(made, ids) if not options.method or each[0] in options.method
            ]
            result[name] = beside(stage, asked, Path(folder) / "asked", options.patience)
        print(json.dumps({name: result[name]}), file=sys.stderr, flush=True)
    write_result(result, options.out)


def beside(
    stage: Stage, asked: Sequence[tuple[str, dict[str, Any]]], log: Path, patience_s: float
) -> dict[str, Any]:
    """Make every call while another process asks ``system.status``; return its times in ms."""
    home = stage.daemon.paths.data_dir
    command = [sys.executable, "-c", _ASKING, str(stage.daemon.paths.socket), str(log)]
    other = subprocess.Popen(command, env=environment(home))
    spans: list[tuple[str, float, float]] = []
    try:
        while not log.exists() or not log.stat().st_size:
            time.sleep(0.05)
        time.sleep(ALONE_S)
        for number, (name, params) in enumerate(asked, 1):
            begun = time.monotonic()
            # Each on a connection of its own: the daemon drops what nobody waits for any more.
            with suppress(MemdError), stage.daemon.client(timeout=patience_s) as client:
                client.call(name, params)
            spans.append((name, begun, time.monotonic()))
            took_s = spans[-1][2] - begun
            print(f"{number} of {len(asked)}  {took_s:6.1f} s  {name}", file=sys.stderr, flush=True)
    finally:
        other.kill()
        other.wait()
    late = sum(end - begun >= patience_s for _, begun, end in spans)
    times = [tuple(map(float, line.split())) for line in log.read_text("utf-8").splitlines()[:-1]]
    first = spans[0][1]
    alone = sorted(1_000 * (end - begun) for begun, end in times if end <= first)
    took = sorted(1_000 * (end - begun) for begun, end in times if end > first)
    worst: dict[str, float] = {}
    for name, begun, end in spans:
        met = [1_000 * (until - since) for since, until in times if until > begun and since < end]
        worst[name] = max([worst.get(name, 0.0), *met])
    slowest = sorted(worst, key=lambda name: -worst[name])[:SHOWN]
    return {
        "calls": len(spans),
        "not_waited_for": late,
        "alone_p99_ms": round(quantile(alone, 0.99), 1),
        "alone_longest_ms": round(alone[-1], 1),
        "asked": len(took),
        "p50_ms": round(statistics.median(took), 1),
        "p99_ms": round(quantile(took, 0.99), 1),
        "longest_ms": round(took[-1], 1),
        "slowest_ms": {name: round(worst[name]) for name in slowest},
    }


def recalls(stage: Stage) -> dict[str, float]:
    """Return the p50 of a recall in ms, beside nothing and while texts are embedded in bulk."""
    stage.ingest("bench", [{"text": f"{number} {HONEST}"} for number in range(512)])
    stage.settle()
    idle = [_recall_ms(stage, number) for number in range(RECALLS)]
    stage.ingest("bulk", [{"text": f"bulk {number} {HONEST}"} for number in range(BULK_TEXTS)])
    busy: list[float] = []
    while len(busy) < RECALLS and stage.client.call("system.status")["pending"]:
        busy.append(_recall_ms(stage, RECALLS + len(busy)))
    p50, during = statistics.median(idle), statistics.median(busy)
    return {
        "idle_p50_ms": round(p50, 1),
        "bulk_p50_ms": round(during, 1),
        "factor": round(during / p50, 2),
        "asked_during_bulk": len(busy),
    }


def _recall_ms(stage: Stage, number: int) -> float:
    begun = time.perf_counter()
    stage.recall("bench", f"which database does service number {number} use?")
    return 1_000 * (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
