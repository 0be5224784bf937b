"""How fast a prompt is prepared: ``python -m tests.bench.inject [--rows 10000] [--json OUT]``.

As ``bench.latency`` measures a recall: a real daemon, a real socket, default
settings, one agent, questions asked one after the other. The store, the
questions and the model are the same, and a recall is timed beside each prompt,
so that what a prompt costs more can be seen on any machine. A small store is asked
fewer questions: none twice.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.bench_daemon import Stage, new_places, staged, write_result
from bench.corpus import made
from bench.large_store import AGENT, SEED
from bench.large_store import main as filled
from bench.scores import p50_p95

QUESTIONS = 200
WARM_UP = 10
SHARED = 200
STRATEGIES = ("context", "tool_based", "self_editing")
WAYS = 1 + len(STRATEGIES)

Ask = Callable[[str], dict[str, Any]]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.inject", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000])
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    result = {str(rows): of_size(rows) for rows in options.rows}
    write_result(result, options.out)


def of_size(rows: int) -> dict[str, Any]:
    """Return the figures of a store of *rows* memories, alone and with some that are shared."""
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made_dir:
        home = Path(made_dir)
        paths = new_places(home)
        texts = filled(paths.database, rows)
        chance = random.Random(SEED)
        questions = min(QUESTIONS + WARM_UP, rows // (2 * WAYS))
        if questions <= WARM_UP:
            raise SystemExit(f"--rows: at least {2 * WAYS * (WARM_UP + 1)}, or questions recur")
        asked = [one.asked for one in chance.sample(texts, 2 * questions * WAYS)]
        with staged(home) as stage:
            ways: dict[str, Ask] = {"recall": lambda q: stage.recall(AGENT, q)}
            ways |= {name: _preparing(stage, name) for name in STRATEGIES}
            alone = timed(ways, asked[: len(asked) // 2])
            for one in made(random.Random(SEED + 2), SHARED):
                stage.client.call(
                    "shared.publish",
                    {"agent_id": "other", "content": one.text, "category": "semantic"},
                )
            stage.settle()
            return {"alone": alone, "200 shared": timed(ways, asked[len(asked) // 2 :])}


def timed(ways: dict[str, Ask], asked: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the quantiles of each way, in milliseconds, and how often there was an answer.

    The ways take turns, so that whatever else the machine does meets all of them,
    and each has questions of its own: what was asked before is embedded already.
    """
    taken_ms: dict[str, list[float]] = {name: [] for name in ways}
    answered = dict.fromkeys(ways, 0)
    for turn, text in enumerate(asked):
        name = list(ways)[turn % len(ways)]
        begun = time.perf_counter()
        answer = ways[name](text)
        if turn >= WARM_UP * len(ways):
            taken_ms[name].append(1_000 * (time.perf_counter() - begun))
            answered[name] += bool(answer["memories"])
    return {
        name: {**p50_p95(taken), "answered": answered[name], "questions": len(taken)}
        for name, taken in taken_ms.items()
    }


def _preparing(stage: Stage, strategy: str) -> Ask:
    def prepare(query: str) -> dict[str, Any]:
        prompt: dict[str, Any] = stage.client.call(
            "inject.prepare", {"agent_id": AGENT, "query": query, "strategy": strategy}
        )
        return prompt

    return prepare


if __name__ == "__main__":
    main()
