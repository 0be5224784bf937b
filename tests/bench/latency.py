"""How fast and how large: ``python -m tests.bench.latency [--rows 10000 100000] --json OUT``.

A real daemon, a real socket, default settings, one agent; memories and questions
of ``bench.corpus``. Questions are embedded by the real model. Latencies are of
questions asked one after the other; start-up and command line are medians.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.daemon import environment

from bench.bench_daemon import Stage, model_dir, new_places, staged, write_result
from bench.corpus import made
from bench.large_store import AGENT, SEED
from bench.large_store import main as filled
from bench.scores import p50_p95
from memd.base.limits import CHUNKS_INLINE_MAX
from memd.embedding.embed import EmbedderThread
from memd.serve.rooms import LOAD_PROMPTS_AFTER_S

QUESTIONS = 200
WARM_UP = 10
STARTS = 7
SEARCHES = 7
INGESTED = 512
ROUNDS = 5
TEXTS_FOUND = 40
CHUNK_TEXTS = 4  # of about 25 words: a chunk has a hundred


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.latency", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    result: dict[str, Any] = {
        "start": start(),
        "memory_mb": memory(),
        "ingest": ingest(),
        "findable_ms": findable(),
        "rows": {},
    }
    for rows in options.rows:
        result["rows"][str(rows)] = of_size(rows)
    write_result(result, options.out)


def start() -> dict[str, float]:
    """Return how long a daemon takes to say hello."""
    wall_ms, cpu_ms = [], []
    for _ in range(STARTS):
        begun = time.perf_counter()
        with staged() as stage:
            wall_ms.append(1_000 * (time.perf_counter() - begun))
            cpu_ms.append(_cpu_ms(stage))
    return {
        "hello_ms": round(statistics.median(wall_ms), 1),
        "hello_cpu_ms": round(statistics.median(cpu_ms), 1),
    }


def memory() -> dict[str, tuple[float, float]]:
    """Return how large a daemon of an empty store is, resident and anonymous, in its states."""
    with staged(MEMD_DAEMON__MODEL_IDLE_MINUTES="1") as stage:
        measured = {"first answer": _memory(stage)}
        time.sleep(3 * LOAD_PROMPTS_AFTER_S)
        measured["before the model"] = _memory(stage)
        stage.ingest(AGENT, [{"text": "We deploy with blue-green since March."}])
        stage.settle()
        stage.recall(AGENT, "how do we deploy?")
        measured["with the model"] = _memory(stage)
        while stage.client.call("system.status")["model"]["loaded"]:
            time.sleep(1)
        measured["when it is unloaded"] = _memory(stage)
    return measured


def _memory(stage: Stage) -> tuple[float, float]:
    return round(stage.status_mb("VmRSS"), 1), round(stage.status_mb("RssAnon"), 1)


def _cpu_ms(stage: Stage) -> float:
    fields = Path(f"/proc/{stage.daemon.process.pid}/stat").read_text("ascii").rsplit(")", 1)[1]
    user, system = fields.split()[11:13]
    return 1_000 * (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def ingest() -> dict[str, float]:
    """Return how many memories a second are ingested, and how many the bare model embeds.

    In turns, on equal numbers of texts of the same kind; medians.
    """
    chance = random.Random(SEED + 1)
    ours, bare = [], []
    with staged() as stage:
        stage.ingest("warm", [{"text": "warm up"}])
        stage.settle()
        for _ in range(ROUNDS):
            texts = [each.text for each in made(chance, INGESTED)]
            begun = time.perf_counter()
            stage.ingest(AGENT, [{"text": text} for text in texts])
            stage.settle()
            ours.append(INGESTED / (time.perf_counter() - begun))
            bare.append(asyncio.run(_bare([each.text for each in made(chance, INGESTED)])))
    return {
        "per_second": round(statistics.median(ours), 1),
        "bare_model_per_second": round(statistics.median(bare), 1),
        "share": round(statistics.median(ours) / statistics.median(bare), 3),
    }


def findable() -> dict[str, float]:
    """Return how long it takes until a text of eight chunks was found by its meaning, in ms."""
    chance = random.Random(SEED + 2)
    took_ms = []
    with staged() as stage:
        stage.ingest(AGENT, [{"text": "warm up"}])
        stage.settle()
        for _ in range(TEXTS_FOUND):
            texts = [each.text for each in made(chance, CHUNKS_INLINE_MAX * CHUNK_TEXTS)]
            chunks = [" ".join(texts[at::CHUNKS_INLINE_MAX]) for at in range(CHUNKS_INLINE_MAX)]
            begun = time.perf_counter()
            receipt = stage.client.call(
                "memory.ingest", {"text": "\n\n".join(chunks), "agent_id": AGENT}
            )
            answer = stage.recall(AGENT, chunks[0], search_mode="dense")
            took_ms.append(1_000 * (time.perf_counter() - begun))
            ids = {item["id"] for item in receipt["stored"]}
            assert ids & {memory["id"] for memory in answer["memories"]}, "not found by its meaning"
    return {
        "p50": round(statistics.median(took_ms), 1),
        "p95": round(statistics.quantiles(took_ms, n=20)[-1], 1),
    }


async def _bare(texts: list[str]) -> float:
    thread = EmbedderThread(model_dir())
    try:
        await thread.embed(["warm up"])
        begun = time.perf_counter()
        await thread.embed(texts, bulk=True)
        return len(texts) / (time.perf_counter() - begun)
    finally:
        await thread.close()


def of_size(rows: int) -> dict[str, float]:
    """Return the figures of a store of *rows* memories."""
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made_dir:
        home = Path(made_dir)
        paths = new_places(home)
        begun = time.perf_counter()
        texts = filled(paths.database, rows)
        built_s = time.perf_counter() - begun
        asked = [each.asked for each in random.Random(SEED).sample(texts, QUESTIONS + WARM_UP)]
        with staged(home) as stage:
            for text in asked[:WARM_UP]:
                stage.recall(AGENT, text)
            taken_ms, answered = [], 0
            for text in asked[WARM_UP:]:
                begun = time.perf_counter()
                answered += bool(stage.recall(AGENT, text)["memories"])
                taken_ms.append(1_000 * (time.perf_counter() - begun))
            return {
                **p50_p95(taken_ms),
                "answered": answered,
                "questions": len(taken_ms),
                "search_ms": round(_search_ms(home), 1),
                "rss_mb": round(stage.status_mb("VmRSS"), 1),
                "rss_anon_mb": round(stage.status_mb("RssAnon"), 1),
                "file_mb": round(paths.database.stat().st_size / 1e6, 1),
                "built_s": round(built_s, 1),
            }


def _search_ms(home: Path) -> float:
    """Return the median of ``memd search``, from the process's start to its end."""
    taken_ms = []
    for _ in range(SEARCHES):
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "memd", "search", "why was the deploy server moved"],
            env=environment(home),
            check=True,
            capture_output=True,
        )
        taken_ms.append(1_000 * (time.perf_counter() - begun))
    return statistics.median(taken_ms)


if __name__ == "__main__":
    main()
