"""What each way of retrieval finds: ``python -m tests.bench.topologies FILE --json OUT``.

FILE is in the LoCoMo format. The rooms run in this process over a throw-away file, once
with each dialogue under an agent of its own (scoped), once with all under one (global);
texts and questions are embedded once, before anything is timed. ``recall`` rows are
answers of ``memory.recall``, ``inject`` rows the memories of one prompt, in their order;
each row differs from the product's defaults in what its name says, and says in ``+-``
how much more it finds among the first ten than its default. The weight of the re-ranker is
then chosen anew with each dialogue left out in turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench import locomo
from bench.bench_daemon import installed_model, model_dir, save_result
from bench.locomo import Asked, Dialogue
from bench.samples import Remembered
from bench.scores import Graded, block, quantile, recall_at, reciprocal_rank
from memd.backends.rooms import Rooms, open_rooms
from memd.base.clock import SystemClock
from memd.base.limits import INGEST_ITEMS_MAX, RECALL_BUDGET_TOKENS_MAX
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.domain.enums import SearchMode
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.inject import PrepareRequest
from memd.domain.recall import RecallRequest
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.settings.settings import Settings
from memd.embedding.cross_encoder import RerankerThread
from memd.embedding.embed import EmbedderThread
from memd.inject.inject import Inject
from memd.inject.multi.hierarchical import retriever_for
from memd.inject.own_memories import MemoryRooms
from memd.inject.reranker import CrossEncoderReranker
from memd.recall.ranking.weights import logistic
from memd.recall.rerank import logit

TOP_K = 20
LOOKED_AT = (10, 20, 30)
WEIGHTS = tuple(n / 50 for n in range(1, 31))
EVERYBODY = "everybody"
FIGURES = ("R@5", "R@10", "R@20", "MRR", "p50_ms", "cpu_ms")
RECALL_DEFAULT = f"recall, {SearchMode.HYBRID}"
PROMPT_DEFAULT = "inject, flat, linear (default)"
RRF = {"fusion_strategy": "rrf"}
HIERARCHICAL = {"retriever": "hierarchical"}
PROMPTS: dict[str, dict[str, Any]] = {
    PROMPT_DEFAULT: {},
    "inject, flat, rrf": RRF,
    "inject, MMR": {"diversity_penalty_enabled": True},
    "inject, hierarchical": HIERARCHICAL,
    "inject, hierarchical, rrf": {**HIERARCHICAL, **RRF},
    "inject, non_inferable_only": {"non_inferable_only": True},
    "inject, re-ranker": {"query_specific_rerank_enabled": True},
    "inject, flat, linear, min_relevance 0.3": {"min_relevance": 0.3},
}

Find = Callable[[str, str], Awaitable[Sequence[str]]]
"""Given an agent and a question, returns the ids found, best first."""


@dataclass
class Measured:
    """One row of the table."""

    graded: list[Graded] = field(default_factory=list)
    taken_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        return {
            **block(self.graded),
            "p50_ms": round(quantile(self.taken_ms, 0.5), 1),
            "cpu_ms": round(sum(self.cpu_ms) / len(self.cpu_ms), 1),
        }


@dataclass(frozen=True)
class Pair:
    """One question's candidates: who they are, the ranker's score, the re-ranker's logit."""

    fold: str
    gold: tuple[str, ...]
    places: tuple[str, ...]
    scores: tuple[float, ...]
    logits: tuple[float, ...]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.topologies", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--every", type=int, default=1, help="ask every N-th question only")
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    result = asyncio.run(measure(locomo.read(options.file), options.every))
    print(table(result["rows"]))
    print(json.dumps(result["left_out"]))
    save_result(result, options.out)


async def measure(dialogues: Sequence[Dialogue], every: int) -> dict[str, Any]:
    """Return a row for each way, scoped and global, over the same questions."""
    asked = [(dialogue.name, each) for dialogue in dialogues for each in dialogue.honest]
    asked = asked[::every]
    thread = RerankerThread(Paths.resolve().reranker_dir, answer_ms=60_000)
    embedder = Remembered(EmbedderThread(installed_model()))
    if thread.fingerprint is None:
        _say("no re-ranker, its rows are left out; run: memd model install --reranker")
    left_out: dict[str, Any] = {}
    try:
        await embedder.embed([question.text for _, question in asked])
        async with _house(dialogues, embedder) as (house, sources):
            rows = {"scoped": await _rows(house, thread, asked, sources)}
            if thread.fingerprint is not None:
                _say(f"the weight of the re-ranker, over {len(asked)} questions")
                pairs = [await _pair(house, thread, sources, *each) for each in asked]
                left_out = {str(many): chosen(pairs, many) for many in LOOKED_AT}
        everybody = [replace(dialogue, name=EVERYBODY) for dialogue in dialogues]
        async with _house(everybody, embedder) as (house, sources):
            of_all = [(EVERYBODY, question) for _, question in asked]
            rows["global"] = await _rows(house, thread, of_all, sources)
    finally:
        await thread.close()
        await embedder.close()
    return {"questions": len(asked), "rows": rows, "left_out": left_out}


def table(rows: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return the rows as text: what each way finds, and what its default does not."""
    lines = []
    for scope, ways in rows.items():
        heads = " ".join(f"{head:>7}" for head in (*FIGURES, "+-"))
        lines += ["", f"{scope:40} {heads}"]
        for name, row in ways.items():
            default = ways[PROMPT_DEFAULT if name.startswith("inject") else RECALL_DEFAULT]
            figures = " ".join(f"{row[key]:7}" for key in FIGURES)
            lines.append(f"{name:40} {figures} {row['R@10'] - default['R@10']:+7.2f}")
    return "\n".join(lines)


async def _rows(
    house: Rooms,
    thread: RerankerThread,
    asked: Sequence[tuple[str, Asked]],
    sources: dict[str, str],
) -> dict[str, dict[str, float]]:
    rows = {}
    ways = _ways(house, thread)
    for at, (name, find) in enumerate(ways.items(), 1):
        start = time.perf_counter()
        rows[name] = (await _measured(find, asked, sources)).figures()
        took = time.perf_counter() - start
        _say(f"{at} of {len(ways)}: {name}, R@10 {rows[name]['R@10']}, {took:.0f} s")
    return rows


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def chosen(pairs: Sequence[Pair], many: int) -> dict[str, Any]:
    """Return the weight chosen with each dialogue left out, and what it finds in that dialogue."""
    folds = sorted({pair.fold for pair in pairs})
    graded: list[Graded] = []
    weights = {}
    for out in folds:
        rest = [pair for pair in pairs if pair.fold != out]
        weights[out] = max(WEIGHTS, key=lambda weight: _worth(rest, weight, many))
        graded += [_again(pair, weights[out], many) for pair in pairs if pair.fold == out]
    alone = block([_again(pair, 1.0, many) for pair in pairs])
    return {"weights": weights, "blended": block(graded), "alone": alone}


def _worth(pairs: Sequence[Pair], weight: float, many: int) -> float:
    """Return what is maximised: recall at 5 and 10, and the reciprocal rank."""
    graded = [_again(pair, weight, many) for pair in pairs]
    return sum(recall_at(g, 5) + recall_at(g, 10) + reciprocal_rank(g) for g in graded)


def _again(pair: Pair, weight: float, many: int) -> Graded:
    first = range(min(many, len(pair.logits)))
    score = [
        logistic((1 - weight) * logit(pair.scores[at]) + weight * pair.logits[at]) for at in first
    ]
    order = [*sorted(first, key=lambda at: -score[at]), *range(len(first), len(pair.places))]
    return Graded(0, pair.gold, tuple(pair.places[at] for at in order))


def _ways(house: Rooms, thread: RerankerThread) -> dict[str, Find]:
    """Return every way to find; those of the re-ranker only where it is installed."""
    ways: dict[str, Find] = {
        f"recall, {mode}": partial(_recalled, house, {"search_mode": mode}) for mode in SearchMode
    }
    again = copy(house)
    again.recall = replace(house.recall, scorer=thread)
    for name, config in PROMPTS.items():
        if not config.get("query_specific_rerank_enabled"):
            ways[name] = partial(_injected, _room(house, config))
        elif thread.fingerprint is not None:
            room = replace(_room(house, config), reranker=CrossEncoderReranker(thread))
            ways[name] = partial(_injected, room)
    if thread.fingerprint is not None:
        ways["recall, re-ranker"] = partial(_recalled, again, {"reranker_enabled": True})
    return ways


def _room(house: Rooms, config: dict[str, Any]) -> Inject:
    return Inject(
        rooms=MemoryRooms(house.recall, house.ingest, house.trash),
        config=MemoryRetrievalConfig.model_validate(config),
        clock=house.clock,
        retriever=retriever_for,
    )


async def _recalled(
    house: Rooms, more: dict[str, Any], agent: str, text: str, top_k: int = TOP_K
) -> list[str]:
    request = RecallRequest(query=text, top_k=top_k, token_budget=RECALL_BUDGET_TOKENS_MAX, **more)
    answer = await house.recall.recall(Caller(agent_id=agent, method="bench"), request)
    return [chunk.id for chunk in answer.memories if not chunk.preference]


async def _injected(room: Inject, agent: str, text: str) -> list[str]:
    request = PrepareRequest(query=text, token_budget=RECALL_BUDGET_TOKENS_MAX)
    prompt = await room.prepare(Caller(agent_id=agent, method="bench"), request)
    return [memory.id for memory in prompt.memories]


async def _measured(
    find: Find, questions: Sequence[tuple[str, Asked]], sources: dict[str, str]
) -> Measured:
    measured = Measured()
    await find(questions[0][0], "warm up")
    for agent, asked in questions:
        wall, cpu = time.perf_counter(), time.process_time()
        ids = await find(agent, asked.text)
        measured.taken_ms.append(1_000 * (time.perf_counter() - wall))
        measured.cpu_ms.append(1_000 * (time.process_time() - cpu))
        places = tuple(sources[each] for each in ids)
        measured.graded.append(Graded(asked.category, asked.gold, places))
    return measured


async def _pair(
    house: Rooms, thread: RerankerThread, sources: dict[str, str], agent: str, asked: Asked
) -> Pair:
    request = RecallRequest(query=asked.text, top_k=40, token_budget=RECALL_BUDGET_TOKENS_MAX)
    answer = await house.recall.recall(Caller(agent_id=agent, method="bench"), request)
    chunks = [chunk for chunk in answer.memories if not chunk.preference]
    texts = [f"{chunk.speaker}: {chunk.content}" for chunk in chunks[: max(LOOKED_AT)]]
    return Pair(
        agent,
        asked.gold,
        tuple(sources[chunk.id] for chunk in chunks),
        tuple(chunk.relevance_score or 0.0 for chunk in chunks),
        tuple(await thread.score(asked.text, texts)),
    )


@asynccontextmanager
async def _house(
    dialogues: Sequence[Dialogue], embedder: Remembered
) -> AsyncIterator[tuple[Rooms, dict[str, str]]]:
    """Yield the rooms with every turn in them, and where each memory came from."""
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as home:
        async with AsyncExitStack() as stack:
            path = Path(home) / "memd.db"
            house = await open_rooms(
                Settings(), path, SystemClock(), stack, embedder=embedder, model_dir=model_dir()
            )
            for dialogue in dialogues:
                await _fill(house, dialogue)
            await house.queue.drain()
            agents = {dialogue.name for dialogue in dialogues}
            yield house, {key: place for a in agents async for key, place in _listed(house, a)}


async def _fill(house: Rooms, dialogue: Dialogue) -> None:
    items = [IngestRequest.model_validate(turn.item()) for turn in dialogue.turns]
    cuts = [*range(0, len(items), INGEST_ITEMS_MAX), len(items)]
    for begin, end in pairwise(cuts):
        request = IngestManyRequest(items=tuple(items[begin:end]))
        await house.ingest.ingest_many(Caller(agent_id=dialogue.name, method="bench"), request)


async def _listed(house: Rooms, agent: str) -> AsyncIterator[tuple[str, str]]:
    caller, after = Caller(agent_id=agent, method="bench"), None
    while True:
        page, after = await house.recall.list(caller, RecallRequest(query="x"), after, 1_000)
        for entry in page:
            yield entry.id, str(entry.metadata.source)
        if after is None:
            return


if __name__ == "__main__":
    main()
