"""How fast a prompt is prepared: ``python -m tests.bench.inject [--rows 10000] [--json OUT]``.

As ``bench.latency`` measures a recall: a real daemon, a real socket, default
settings, one agent, questions asked one after the other. The store, the
questions and the model are the same, and a recall is timed beside each prompt,
so that what a prompt costs more can be seen on any machine.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.corpus import made
from bench.filled import AGENT, SEED
from bench.filled import main as filled
from bench.scores import quantile
from bench.stage import Stage, staged
from memd.base.paths import Paths

QUESTIONS = 200
WARM_UP = 10
SHARED = 200
STRATEGIES = ("context", "tool_based", "self_editing")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.inject", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000])
    parser.add_argument("--json", type=Path, dest="out")
    said = parser.parse_args(argv)
    result = {str(rows): of_size(rows) for rows in said.rows}
    print(json.dumps(result, indent=1))
    if said.out is not None:
        said.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


def of_size(rows: int) -> dict[str, Any]:
    """Return the figures of a store of *rows* memories, alone and with some that are shared."""
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made_dir:
        home = Path(made_dir)
        paths = Paths.resolve(home=home, environ={})
        paths.data_dir.mkdir(parents=True, mode=0o700)
        texts = filled(paths.database, rows)
        each = QUESTIONS + WARM_UP
        sample = random.Random(SEED).sample(texts, each * 5)
        # Questions of their own for each figure: what was asked before is embedded already.
        asked = [[one.asked for one in sample[each * n : each * (n + 1)]] for n in range(5)]
        with staged(home) as stage:
            figures: dict[str, Any] = {"recall": timed(asked[0], lambda q: stage.recall(AGENT, q))}
            for strategy, questions in zip(STRATEGIES, asked[1:], strict=False):
                figures[strategy] = timed(questions, _preparing(stage, strategy))
            for one in made(random.Random(SEED + 2), SHARED):
                stage.client.call(
                    "shared.publish",
                    {"agent_id": "other", "content": one.text, "category": "semantic"},
                )
            stage.settle()
            figures["context, 200 shared"] = timed(asked[4], _preparing(stage, "context"))
            return figures


def timed(asked: Sequence[str], ask: Callable[[str], dict[str, Any]]) -> dict[str, float]:
    """Return the quantiles of asking, in milliseconds, and how often there was an answer."""
    for text in asked[:WARM_UP]:
        ask(text)
    taken_ms, answered = [], 0
    for text in asked[WARM_UP:]:
        begun = time.perf_counter()
        answered += bool(ask(text)["memories"])
        taken_ms.append(1_000 * (time.perf_counter() - begun))
    return {
        "p50_ms": round(quantile(taken_ms, 0.5), 1),
        "p95_ms": round(quantile(taken_ms, 0.95), 1),
        "answered": answered,
        "questions": len(taken_ms),
    }


def _preparing(stage: Stage, strategy: str) -> Callable[[str], dict[str, Any]]:
    def prepare(query: str) -> dict[str, Any]:
        prompt: dict[str, Any] = stage.client.call(
            "inject.prepare", {"agent_id": AGENT, "query": query, "strategy": strategy}
        )
        return prompt

    return prepare


if __name__ == "__main__":
    main()
