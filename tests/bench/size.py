"""What a large store does to recall and to the gate: ``python -m tests.bench.size FILE``.

All dialogues under one agent, alone and among thousands of made-up memories of the
same agent (``bench.filled``). Every second question is asked.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import foreign, locomo
from bench.filled import AGENT
from bench.filled import main as filled
from bench.locomo import Dialogue
from bench.recall import places
from bench.scores import Graded, block
from bench.stage import Stage, new_places, staged

SIZES = (0, 1_000, 20_000, 100_000)
EVERY = 2


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.size", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int, nargs="*", default=SIZES)
    options = parser.parse_args(argv)
    dialogues = locomo.read(options.file)
    for rows in options.rows:
        print(f"{rows:>7} more memories: {measured(dialogues, rows)}", flush=True)


def measured(dialogues: Sequence[Dialogue], rows: int) -> dict[str, float]:
    """Return R@10 with and without the gate, and the shares answered, beside *rows* others."""
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        home = Path(made)
        paths = new_places(home)
        if rows:
            filled(paths.database, rows)
        with staged(home) as stage:
            for dialogue in dialogues:
                stage.ingest(AGENT, [turn.item() for turn in dialogue.turns])
            stage.settle()
            return {**_honest(stage, dialogues), **_foreign(stage, dialogues)}


def _honest(stage: Stage, dialogues: Sequence[Dialogue]) -> dict[str, float]:
    gated, past = [], []
    for asked in [asked for each in dialogues for asked in each.honest][::EVERY]:
        sources = places(stage.recall(AGENT, asked.text, top_k=10))
        gated.append(Graded(asked.category, asked.gold, sources))
        rows = stage.client.call(
            "memory.retrieve", {"text": asked.text, "agent_id": AGENT, "limit": 10}
        )
        sources = tuple(str(row["metadata"]["source"]) for row in rows)
        past.append(Graded(asked.category, asked.gold, sources))
    answered = sum(bool(row.places) for row in gated) / len(gated)
    return {
        "R@10": block(gated)["R@10"],
        "R@10 without gate": block(past)["R@10"],
        "honest answered": round(100 * answered, 1),
    }


def _foreign(stage: Stage, dialogues: Sequence[Dialogue]) -> dict[str, float]:
    kinds = foreign.questions(dialogues)
    shares = {}
    for kind in ("O", "U"):
        texts = list(dict.fromkeys(text for _, text in kinds[kind]))
        answered = [bool(stage.recall(AGENT, text)["memories"]) for text in texts]
        shares[f"{kind} answered"] = round(100 * sum(answered) / len(answered), 1)
    return shares


if __name__ == "__main__":
    main()
