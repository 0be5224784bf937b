"""How fast it is and what it costs: ``python -m tests.bench.latency [--rows N ...] --json OUT``.

A real daemon with its defaults over its real socket. For each size: one agent's
memories (:mod:`bench.filler`), recall with the model warm, memory, file size.
Before that, on an empty store: the start to the first ``system.hello``, memory
before the model is used, and ``memd search`` as a person types it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from support.daemon import environment

from bench.filler import fill
from bench.scores import quantile
from bench.stage import Stage, model_dir, staged
from memd.base.paths import Paths

AGENT = "default"
STARTS = 7
SEARCHES = 9
QUESTIONS = 200
ARRIVALS = 40
TICK_HZ = os.sysconf("SC_CLK_TCK")
HELLO = b'{"jsonrpc":"2.0","id":1,"method":"system.hello"}\n'


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.latency", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--json", type=Path, dest="out")
    said = parser.parse_args(argv)
    result: dict[str, Any] = {"start": starts(), "search": searches(), "recall": {}}
    print(json.dumps(result["start"]), json.dumps(result["search"]), sep="\n", flush=True)
    for rows in said.rows:
        result["recall"][str(rows)] = measured = recalls(rows)
        print(f"{rows:>8} memories {json.dumps(measured)}", flush=True)
    if said.out is not None:
        said.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


def starts() -> dict[str, float]:
    """Return the median time, CPU and memory of a start up to the answer to the first hello."""
    took: list[tuple[float, float, float, float]] = []
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        home = Path(made)
        for number in range(STARTS + 1):
            one = _one_start(home)
            if number:  # the first one creates the file
                took.append(one)
    wall, cpu, rss, anon = zip(*took, strict=True)
    return {
        "hello_ms": round(median(wall)),
        "hello_cpu_ms": round(median(cpu)),
        "vm_rss_mb": round(median(rss), 1),
        "rss_anon_mb": round(median(anon), 1),
    }


def _one_start(home: Path) -> tuple[float, float, float, float]:
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "memd", "serve"],
        env=environment(home, {"MEMD_MODEL_DIR": str(model_dir())}),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _hello(Paths.resolve(home=home, environ={}).socket)
        wall_ms = 1000 * (time.perf_counter() - began)
        fields = Path(f"/proc/{process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        cpu_ms = 1000 * (int(fields[11]) + int(fields[12])) / TICK_HZ
        status = Path(f"/proc/{process.pid}/status").read_text("ascii")
        return wall_ms, cpu_ms, _mb(status, "VmRSS"), _mb(status, "RssAnon")
    finally:
        process.terminate()
        process.wait()


def _hello(path: Path) -> None:
    while True:
        with socket.socket(socket.AF_UNIX) as sock:
            try:
                sock.connect(str(path))
            except OSError:
                time.sleep(0.002)
                continue
            sock.sendall(HELLO)
            if sock.recv(65_536):
                return


def _mb(status: str, name: str) -> float:
    line = next(line for line in status.splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) / 1000


def searches() -> dict[str, float]:
    """Return the median time of ``memd search`` from the shell, the daemon warm."""
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made, staged(Path(made)) as stage:
        stage.ingest(AGENT, [{"text": "The deploy server stands in Frankfurt, behind the VPN."}])
        stage.settle()
        stage.recall(AGENT, "warm the model")
        took = []
        for _ in range(SEARCHES):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "memd", "search", "where is the deploy server?"],
                env=environment(Path(made)),
                check=True,
                capture_output=True,
            )
            took.append(1000 * (time.perf_counter() - began))
    return {"search_ms": round(median(took)), "search_ms_max": round(max(took))}


def recalls(rows: int) -> dict[str, float]:
    """Return latencies of recall and arrival, memory and file size with *rows* memories."""
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        paths = Paths.resolve(home=Path(made), environ={})
        paths.data_dir.mkdir(parents=True, mode=0o700)
        questions = fill(paths.database, AGENT, rows)
        file_mb = paths.database.stat().st_size / 1e6
        with staged(Path(made)) as stage:
            for question in questions[:10]:
                stage.recall(AGENT, f"warm {question}")
            took = [_recall(stage, question) for question in questions[:QUESTIONS]]
            findable = [_arrival(stage, number) for number in range(ARRIVALS)]
            return {
                "p50_ms": round(median(took), 1),
                "p95_ms": round(quantile(took, 0.95), 1),
                "findable_by_meaning_p95_ms": round(quantile(findable, 0.95)),
                "rss_mb": round(stage.rss_mb(), 1),
                "rss_anon_mb": round(stage.status_kb("RssAnon") / 1000, 1),
                "file_mb": round(file_mb, 1),
            }


def _recall(stage: Stage, question: str) -> float:
    began = time.perf_counter()
    stage.recall(AGENT, question)
    return 1000 * (time.perf_counter() - began)


def _arrival(stage: Stage, number: int) -> float:
    """Return how long a text of several chunks takes until it is found by meaning."""
    chance = random.Random(number)
    paragraph = " ".join(f"Tonight number {chance.randint(0, 10**6)} rang." for _ in range(12))
    text = "\n\n".join([f"The {number}th lighthouse keeper counts ships.", *[paragraph] * 3])
    began = time.perf_counter()
    stage.ingest(AGENT, [{"text": text, "source": f"arrival/{number}"}])
    stage.settle()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
