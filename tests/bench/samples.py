"""What the ranker is fitted on: every question with all its candidates, as recall measured them.

The rooms run in this process over three throw-away files: each dialogue under an
agent of its own, all under one, and the small stores. Every text is embedded once.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench import small_stores, unanswerable
from bench.bench_daemon import installed_model, model_dir
from bench.locomo import Dialogue
from memd.backends.rooms import Rooms, open_store
from memd.base.clock import SystemClock
from memd.base.limits import INGEST_ITEMS_MAX
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.domain.encoding import Encoding, ModelFingerprint
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.memory import MemoryFilter
from memd.domain.settings.settings import Settings
from memd.embedding.embed import EmbedderThread
from memd.recall.pipeline import Search, return_candidates
from memd.recall.ranking.features import MeasuredCandidate
from memd.recall.recall import Recall
from memd.recall.scope import RecallFilter, caller_scopes
from memd.serve.rooms import DaemonRooms
from memd.store.memory import memories

EVERYBODY = "everybody"


@dataclass(frozen=True)
class Sample:
    """One question. *candidates* are all of it, *right* those that answer it.

    *kind* is H for an honest question to its own store, G for one to the store of
    everybody, A, B, O and U as in ``bench.unanswerable``, S for one to a small store; C and
    CX are honest and foreign questions to what naps composed (``bench.beds``).
    *fold* is the dialogue, or group of memories, that is left out together.
    """

    kind: str
    fold: str
    name: str
    gold: int
    candidates: list[MeasuredCandidate]
    right: list[bool]
    bed: str = "dialogues"
    prompt: tuple[bool, ...] | None = None
    """Of each entry of a default prompt whether it answers; None where none was prepared."""


class Remembered:
    """The embedder, with every encoding kept: the same texts go into three stores."""

    def __init__(self, thread: EmbedderThread, kept: dict[str, Encoding] | None = None) -> None:
        self._thread = thread
        self._kept: dict[str, Encoding] = {} if kept is None else kept

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        return self._thread.fingerprint

    @property
    def loaded(self) -> bool:
        return self._thread.loaded

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        return [encoding.vector for encoding in await self.encode(texts, bulk=bulk)]

    async def encode(self, texts: Sequence[str], *, bulk: bool = False) -> list[Encoding]:
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        self._kept.update(zip(new, await self._thread.encode(new, bulk=bulk), strict=True))
        return [self._kept[text] for text in texts]

    def serve(self, name: str | None) -> None:
        """Do nothing: there is one model."""

    async def close(self) -> None:
        await self._thread.close()


async def collect(
    dialogues: Sequence[Dialogue], kept: dict[str, Encoding] | None = None
) -> list[Sample]:
    """Return the samples of *dialogues*, of the foreign questions, and of the small stores.

    Encodings in *kept* are not made again, and new ones are added to it.
    """
    embedder = Remembered(EmbedderThread(installed_model()), kept)
    try:
        async with house_with(embedder) as house:
            for dialogue in dialogues:
                await ingested(house, dialogue.name, [turn.item() for turn in dialogue.turns])
            await house.queue.drain()
            samples = [s async for s in _honest(house, dialogues, "H")]
            samples += [s async for s in _foreign(house, dialogues)]
        async with house_with(embedder) as house:
            for dialogue in dialogues:
                await ingested(house, EVERYBODY, [turn.item() for turn in dialogue.turns])
            await house.queue.drain()
            samples += [s async for s in _honest(house, dialogues, "G")]
        async with house_with(embedder) as house:
            for store, texts in small_stores.stores().items():
                await ingested(house, store, [{"text": text} for text in texts])
            await house.queue.drain()
            samples += [s async for s in _small(house)]
    finally:
        await embedder.close()
    return samples


@asynccontextmanager
async def house_with(embedder: Remembered) -> AsyncIterator[DaemonRooms]:
    """Open the daemon's rooms over a new file, without a re-ranker."""
    with tempfile.TemporaryDirectory(prefix="memd-fit-") as home:
        async with AsyncExitStack() as stack:
            paths = replace(Paths.resolve(home=Path(home), environ={}), model_dir=model_dir())
            paths.data_dir.mkdir()
            clock, settings = SystemClock(), Settings()
            db = await open_store(paths.database, clock, stack, mmap=False)
            models: tuple[Any, Any] = embedder, None
            yield await DaemonRooms(settings, db, clock, stack, paths, models).begin()


async def ingested(house: Rooms, agent: str, items: Sequence[dict[str, Any]]) -> None:
    for start in range(0, len(items), INGEST_ITEMS_MAX):
        batch = [IngestRequest.model_validate(i) for i in items[start : start + INGEST_ITEMS_MAX]]
        request = IngestManyRequest(items=tuple(batch))
        await house.ingest.ingest_many(Caller(agent_id=agent, method="fit"), request)


async def _honest(house: Rooms, dialogues: Sequence[Dialogue], kind: str) -> AsyncIterator[Sample]:
    for dialogue in dialogues:
        agent = dialogue.name if kind == "H" else EVERYBODY
        for asked in dialogue.honest:
            candidates, sources = await candidates_of(house.recall, agent, asked.text)
            right = [source in asked.gold for source in sources]
            yield Sample(kind, dialogue.name, "", len(asked.gold), candidates, right)


async def _foreign(house: Rooms, dialogues: Sequence[Dialogue]) -> AsyncIterator[Sample]:
    for kind, asked in unanswerable.questions(dialogues).items():
        for agent, text in asked:
            candidates, _ = await candidates_of(house.recall, agent, text)
            yield Sample(kind, agent, "", 0, candidates, [False] * len(candidates))


async def _small(house: Rooms) -> AsyncIterator[Sample]:
    for asked in small_stores.questions():
        candidates, _ = await candidates_of(house.recall, asked.store, asked.text)
        right = [item.candidate.own == asked.memory for item in candidates]
        name = f"{asked.kind}, {asked.store.partition('-')[0]}"
        gold = int(asked.memory is not None)
        yield Sample("S", f"small-{asked.fold}", name, gold, candidates, right, bed="small")


async def candidates_of(
    recall: Recall, agent: str, text: str
) -> tuple[list[MeasuredCandidate], list[str | None]]:
    """Return the candidates of a question, unranked by the gate, and where they came from."""
    caller = Caller(agent_id=agent, method="fit")
    where = RecallFilter(MemoryFilter(), recall.clock.now_us())
    scopes = partial(caller_scopes, caller=caller, where=where, also_shared=False)
    ranked = await recall.pipeline.run(scopes, Search(text), return_candidates)
    if ranked is None:
        return [], []
    measured = [item.measured for item in ranked.items]
    keys = [item.candidate.memory_key for item in measured]
    rows = await recall.db.read(memories.by_keys, keys)
    return measured, [rows[key].reference for key in keys]


def folds(samples: Sequence[Sample]) -> Iterator[tuple[list[Sample], list[Sample]]]:
    """Yield what to fit on and what to test on: of each bed one part is left out, in turn.

    A part is a dialogue, a day of coding sessions, a topic of the household; the small stores'
    are shared out among the dialogues'.
    """
    parts: dict[str, list[str]] = {}
    for bed in dict.fromkeys(sample.bed for sample in samples):
        parts[bed] = sorted({sample.fold for sample in samples if sample.bed == bed})
    small = parts.pop("small", [])
    rounds = max(map(len, parts.values()))
    for at in range(rounds):
        out = {fold for its in parts.values() for fold in its[at : at + 1]} | {*small[at::rounds]}
        yield (
            [sample for sample in samples if sample.fold not in out],
            [sample for sample in samples if sample.fold in out],
        )
