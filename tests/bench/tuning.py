"""What tuning gains: ``python -m tests.bench.tuning FILE``. FILE is in the LoCoMo format.

All dialogues are stored in this process, each under an agent of its own. Two kinds of pairs:
the dialogues' questions with their evidence, trained on all dialogues but one and tested on that
one, in turn (what feedback would be at its best); and the pairs that ``memd tune run`` makes by
itself, tested on all questions. Tested is R@10 past the gate of the questions of categories 1-4.
The shipped weights were fitted on these dialogues: they have seen what they are tested on.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import locomo
from bench.bench_daemon import model_dir, write_result
from bench.locomo import Dialogue
from bench.samples import Remembered, house_with, ingested
from bench.scores import quantile
from memd.backends.rooms import Rooms
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.learn import TuneRequest, TuneStage
from memd.embedding.embed import EmbedderThread
from memd.learn.tuning.evaluation import LabelledQuestion
from memd.learn.tuning.ranker import mean_entries
from memd.learn.tuning.stages import FIT_PAIRS_MAX, Stages
from memd.recall.ranking.weights import RankerTuning, TuningTrial, parse_tuning
from memd.recall.recall import Recall
from memd.store.file.connect import Reading

TOP = 10
LATENCY_QUESTIONS = 100


@dataclass(frozen=True)
class Put:
    """A question, and the memories that answer it."""

    dialogue: str
    text: str
    gold: tuple[int, ...]
    evidence: int


@dataclass
class Gains:
    """R@10 by what was trained, question by question, and how long training took."""

    recall: dict[str, list[float]] = field(default_factory=dict)
    answered: dict[str, list[float]] = field(default_factory=dict)
    entries: dict[str, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    def rows(self) -> dict[str, Any]:
        """Return the means."""
        return {
            "R@10": {name: round(100 * mean(shares), 2) for name, shares in self.recall.items()},
            "told": {name: round(100 * mean(shares), 2) for name, shares in self.answered.items()},
            "entries": {name: round(mean(shares), 2) for name, shares in self.entries.items()},
            "questions": len(next(iter(self.recall.values()))),
            "train_s_max": round(max(self.seconds), 1),
        }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.tuning", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", type=Path, dest="out")
    parser.add_argument("--folds", type=int, help="only the first so many dialogues are left out")
    parser.add_argument("--only", choices=("labelled", "own", "latency"))
    options = parser.parse_args(argv)
    result = asyncio.run(measured(locomo.read(options.file), options.only, options.folds))
    write_result(result, options.out)


async def measured(
    dialogues: Sequence[Dialogue], only: str | None = None, some: int | None = None
) -> dict[str, Any]:
    """Return all figures of *dialogues*."""
    embedder = Remembered(EmbedderThread(model_dir()))
    result: dict[str, Any] = {}
    try:
        async with house_with(embedder) as house:
            for dialogue in dialogues:
                await ingested(house, dialogue.name, [turn.item() for turn in dialogue.turns])
            await house.queue.drain()
            put = await house.db.read(_put, dialogues)
            work = Work("bench")
            stages = Stages(house.recall, embedder, work)
            if only in (None, "labelled"):
                result["labelled"] = (await labelled(stages, put, some)).rows()
            if only in (None, "own"):
                result["own"] = await own(stages, put)
            if only in (None, "latency"):
                result["latency"] = await latency(house, stages, put)
            work.close()
    finally:
        await embedder.close()
    return result


async def labelled(stages: Stages, put: Sequence[Put], some: int | None = None) -> Gains:
    """Return what is gained on each dialogue by training on the questions of the others."""
    gains = Gains()
    for name in [*dict.fromkeys(one.dialogue for one in put)][:some]:
        fit = [
            LabelledQuestion(key, one.dialogue, one.text)
            for one in put
            if one.dialogue != name
            for key in one.gold
        ]
        began = time.perf_counter()
        made = await trained(stages, fit)
        gains.seconds.append(time.perf_counter() - began)
        await _test(stages, [one for one in put if one.dialogue == name], made, gains)
    return gains


async def trained(stages: Stages, fit: Sequence[LabelledQuestion]) -> dict[str, RankerTuning]:
    """Return what a run would make of *fit*."""
    request = TuneRequest()
    negatives = await stages.mine_negatives(fit, request, _unheard)
    weigh, fit = fit[::3], [one for at, one in enumerate(fit) if at % 3]
    adapter = await stages.train_adapter(fit, weigh, negatives, request, _unheard)
    some = weigh[:: max(1, -(-len(weigh) // FIT_PAIRS_MAX))]
    ruled = await stages.fit_bar(some, adapter, _unheard)
    weights = await stages.fit_weights(some, await stages.shipped_tuning(), _unheard)
    both = await stages.fit_weights(some, adapter, _unheard)
    return {"adapter": ruled, "weights": weights, "both": both}


async def own(stages: Stages, put: Sequence[Put]) -> dict[str, Any]:
    """Return what a run's own pairs gain, and what the run decides."""
    gains = Gains()
    began = time.perf_counter()
    work: dict[str, Any] = {}
    for stage in (
        TuneStage.GENERATING_DATA,
        TuneStage.MINING_NEGATIVES,
        TuneStage.TRAINING,
        TuneStage.EVALUATING,
    ):
        work |= await stages.run(stage, work, TuneRequest(weights=True), _unheard)
    gains.seconds.append(time.perf_counter() - began)
    made = {name: parse_tuning(body) for name, body in work["made"].items()}
    await _test(stages, put, made, gains)
    decided = {"best": work["best"], "verdict": work["verdict"], "pairs": len(work["pairs"])}
    return {**gains.rows(), **decided}


async def _test(
    stages: Stages, put: Sequence[Put], made: dict[str, RankerTuning], gains: Gains
) -> None:
    for name, tuned in {"shipped": None, **made}.items():
        asked = [LabelledQuestion(0, one.dialogue, one.text) for one in put]
        seen = await stages.rank_questions(asked, tuned, _unheard)
        for one, each in zip(put, seen, strict=True):
            keys = [item.measured.candidate.memory_key for item in each.items]
            recall = len(set(keys[:TOP]) & set(one.gold)) / one.evidence
            gains.recall.setdefault(name, []).append(recall)
            entries = [
                item.measured.candidate.memory_key
                for item in each.items
                if item.passes and item.relevance >= item.bar
            ]
            gains.answered.setdefault(name, []).append(
                len(set(entries) & set(one.gold)) / one.evidence
            )
            gains.entries.setdefault(name, []).append(mean_entries([each]))


async def latency(house: Rooms, stages: Stages, put: Sequence[Put]) -> dict[str, Any]:
    """Return how long a recall takes without and with an adapter, one after the other in turn."""
    some = put[:LATENCY_QUESTIONS]
    fit = [LabelledQuestion(key, one.dialogue, one.text) for one in some for key in one.gold]
    negatives = await stages.mine_negatives(fit, TuneRequest(), _unheard)
    tuned = await stages.train_adapter(fit, fit, negatives, TuneRequest(), _unheard)
    times: dict[str, list[float]] = {"shipped": [], "adapter": []}
    for one in [*some, *some]:
        for name, use in (("shipped", None), ("adapter", tuned)):
            times[name].append(await _timed(house.recall, one, use))
    return {
        name: {"p50_ms": round(quantile(taken, 0.5), 2), "p95_ms": round(quantile(taken, 0.95), 2)}
        for name, taken in times.items()
    }


async def _timed(recall: Recall, one: Put, tuned: RankerTuning | None) -> float:
    began = time.perf_counter()
    await recall.evaluate(
        Caller(agent_id=one.dialogue, method="bench"), one.text, TuningTrial(tuned)
    )
    return 1_000 * (time.perf_counter() - began)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _put(conn: Reading, dialogues: Sequence[Dialogue]) -> list[Put]:
    """Return the honest questions with the keys of their evidence."""
    rows = conn.execute("SELECT reference, memory_key FROM memory WHERE reference IS NOT NULL")
    keys = {str(reference): int(str(key)) for reference, key in rows}
    return [
        Put(
            dialogue.name,
            asked.text,
            tuple(keys[place] for place in asked.gold if place in keys),
            len(asked.gold),
        )
        for dialogue in dialogues
        for asked in dialogue.honest
    ]


def _unheard(_share: float) -> None:
    """Tell nobody."""


if __name__ == "__main__":
    main()
