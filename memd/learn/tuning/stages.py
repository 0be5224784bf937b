"""What each stage of a run makes, from what the stages before it made (SPEC 18.2.2).

A stage takes the run's work, which is ids and numbers, and returns what is added to it; it is
stored before the next one begins, so a run that was killed does none twice. Texts and vectors
are read anew from the memories; one that was forgotten meanwhile is passed over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from memd.base.errors import InvalidStateError
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.encoding import Embedder
from memd.domain.learn import TuneRequest, TuneStage, Verdict
from memd.embedding.chosen import ChosenEmbedder
from memd.learn.tuning.questions import Asked, questions
from memd.learn.tuning.ranker import Examined
from memd.recall.question import name_candidates, without_names
from memd.recall.ranking.weights import HYBRID
from memd.recall.recall import Recall
from memd.recall.tuned import Tuned, TuningTrial, tuned_of
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.learn import tunings

MEMORIES_MAX = 5_000
"""Read for pairs and as passages, the latest."""
PAIRS_MIN = 50
JUDGE_PAIRS_MIN, JUDGE_PAIRS_MAX = 20, 100
"""How many are held out, whatever share was asked for, and as many to choose by."""
EXAMINED_MAX = 200
"""How many pairs the ranker is fitted on: each is a recall."""
EMBED_TEXTS = 64
"""Embedded at once; between two batches a run can be cancelled."""

FIT, WEIGH, CHOOSE, HELD_OUT = "fit", "weigh", "choose", "held_out"
"""What pairs are for: the matrix; what is fitted on top of it, which must not have seen them; which
result is judged; the verdict."""

RunWork = Mapping[str, Any]
Progress = Callable[[float], None]
"""Hears which share of a stage is done; raises when the run was cancelled. Any thread's."""


class Pair(NamedTuple):
    """A question of a run, and what it is for."""

    asked: Asked
    part: str


@dataclass(frozen=True)
class Stages:
    """The stages over one store. *work* is a thread of tuning's own: it computes for seconds."""

    recall: Recall
    embedder: Embedder
    work: Work
    chosen: ChosenEmbedder | None = None
    """The models there are, for a run that trains one."""

    async def do(
        self, stage: TuneStage, done: RunWork, request: TuneRequest, progress: Progress
    ) -> dict[str, Any]:
        """Return what *stage* adds to the work that is *done*. Deploying is the caller's."""
        each = {
            TuneStage.GENERATING_DATA: self._generated,
            TuneStage.MINING_NEGATIVES: self._mined,
            TuneStage.TRAINING: self._trained,
            TuneStage.EVALUATING: self._evaluated,
        }
        return await each[stage](done, request, progress)

    async def _generated(
        self, _done: RunWork, request: TuneRequest, _progress: Progress
    ) -> dict[str, Any]:
        texts = await self.recall.db.read(tunings.texts, MEMORIES_MAX)
        asked_all = await self.work.run(questions, texts)
        if len(asked_all) > request.pairs:
            asked_all = [
                asked_all[at * len(asked_all) // request.pairs] for at in range(request.pairs)
            ]
        if len(asked_all) < PAIRS_MIN:
            raise InvalidStateError(
                f"too few pairs to tune on: {len(texts)} memories answer {len(asked_all)} questions"
                f" that somebody asked, {PAIRS_MIN} are needed",
                hint="pairs come from conversations: tune when memd remembers more of them",
            )
        parts = parted(len(asked_all), request.validation_split)
        pairs = [[one.memory_key, part] for one, part in zip(asked_all, parts, strict=True)]
        return {"pairs": pairs}

    async def _mined(
        self, done: RunWork, request: TuneRequest, progress: Progress
    ) -> dict[str, Any]:
        fit = [pair.asked for pair in await self._pairs(done) if pair.part == FIT]
        negatives = await self.negatives(fit, request, progress)
        return {"negatives": {str(key): keys for key, keys in negatives.items()}}

    async def negatives(
        self, fit: Sequence[Asked], request: TuneRequest, progress: Progress
    ) -> dict[int, list[int]]:
        """Return for each memory that is asked for which others look as if they answered."""
        from memd.learn.tuning import training

        asked = await self._embedded(fit, progress)
        texts = await self.recall.db.read(tunings.texts, MEMORIES_MAX)
        vectors = await self.recall.db.read(tunings.vectors_of, [each.memory_key for each in texts])
        return await self.work.run(training.negatives, fit, asked, vectors, request.top_k)

    async def _trained(
        self, done: RunWork, request: TuneRequest, progress: Progress
    ) -> dict[str, Any]:
        pairs = await self._pairs(done)
        fit = [pair.asked for pair in pairs if pair.part == FIT]
        if request.encoder:
            return await self._trained_encoder(done, pairs, request, progress)
        weigh = [pair.asked for pair in pairs if pair.part == WEIGH]
        negatives = {int(key): keys for key, keys in done["negatives"].items()}
        part = 0.4 if request.weights else 0.8
        matrix = await self.adapter(
            fit, weigh, negatives, request, lambda share: progress(part * share)
        )
        some = weigh[:: max(1, -(-len(weigh) // EXAMINED_MAX))]
        made = {"adapter": await self.ruled(some, matrix, lambda _share: progress(part))}
        if request.weights:
            shipped = Tuned(matrix.fingerprint)
            made["weights"] = await self.fitted(some, shipped, lambda _share: progress(0.6))
            made["both"] = await self.fitted(some, matrix, lambda _share: progress(0.8))
        return {"made": {name: tuned.body() for name, tuned in made.items()}}

    async def _trained_encoder(
        self, done: RunWork, pairs: Sequence[Pair], request: TuneRequest, progress: Progress
    ) -> dict[str, Any]:
        from memd.learn.tuning import encoder_stages

        assert self.chosen is not None
        texts = await self.recall.db.read(tunings.texts, MEMORIES_MAX)
        negatives = {int(key): keys for key, keys in done["negatives"].items()}
        fit = [pair.asked for pair in pairs if pair.part in {FIT, WEIGH}]
        triples = encoder_stages.triples_of(fit, negatives, texts)
        name = done["model"]
        await encoder_stages.trained(self.chosen, self.work, name, triples, request, progress)
        return {"made": {}}

    async def adapter(
        self,
        fit: Sequence[Asked],
        unseen: Sequence[Asked],
        negatives: Mapping[int, Sequence[int]],
        request: TuneRequest,
        progress: Progress,
    ) -> Tuned:
        """Return a matrix that brings each question of *fit* nearer to the memory that answers it.

        Its cosines are brought to their old scale by *unseen*, which it was not trained on.
        """
        from memd.learn.tuning import training

        asked = await self._embedded(fit, progress)
        keys = {one.memory_key for one in fit}.union(*negatives.values())
        vectors = await self.recall.db.read(tunings.vectors_of, sorted(keys))
        others = await self._embedded(unseen, progress)
        pairs = training.TrainingPairs(fit, asked, vectors, negatives, others)
        shipped = Tuned(str(self.embedder.fingerprint))
        return await self.work.run(training.adapter_of, pairs, shipped, request, progress)

    async def fitted(self, asked: Sequence[Asked], tuned: Tuned, progress: Progress) -> Tuned:
        """Return *tuned* with the weights and the rule that fit what is *asked*."""
        from memd.learn.tuning import ranker

        seen = await self.examined(asked, tuned, progress)
        weights = await self.work.run(ranker.fitted, seen, HYBRID.features, progress)
        fitted = replace(tuned.weights, features=MappingProxyType(weights))
        return await self.ruled(asked, replace(tuned, weights=fitted), progress)

    async def ruled(self, asked: Sequence[Asked], tuned: Tuned, progress: Progress) -> Tuned:
        """Return *tuned* with the bar that leaves answers as long as the shipped rule does."""
        from memd.learn.tuning import ranker

        before = await self.examined(asked, Tuned(tuned.fingerprint), progress)
        after = await self.examined(asked, tuned, progress)
        bar = ranker.bar_for(after, tuned.weights, ranker.entries_told(before))
        return replace(tuned, weights=replace(tuned.weights, bar=bar))

    async def _evaluated(
        self, done: RunWork, request: TuneRequest, progress: Progress
    ) -> dict[str, Any]:
        pairs = await self._pairs(done)
        if request.encoder:
            return await self._evaluated_encoder(done, pairs)
        made = {name: tuned_of(body) for name, body in done["made"].items()}
        chosen = [pair.asked for pair in pairs if pair.part == CHOOSE]
        best, most = "", -1.0
        for at, (name, tuned) in enumerate(made.items()):
            progress(0.2 * at)
            verdict = await self.verdict(chosen, None, tuned)
            if verdict.tuned_ndcg > most:
                best, most = name, verdict.tuned_ndcg
        held = [pair.asked for pair in pairs if pair.part == HELD_OUT]
        progress(0.6)
        now = await self.recall.tuned()
        verdict = await self.verdict(held, now, made[best])
        return {"best": best, "verdict": verdict.model_dump(mode="json")}

    async def _evaluated_encoder(self, done: RunWork, pairs: Sequence[Pair]) -> dict[str, Any]:
        from memd.learn.tuning import encoder_stages

        assert self.chosen is not None
        texts = await self.recall.db.read(tunings.texts, MEMORIES_MAX)
        held = [pair.asked for pair in pairs if pair.part in {CHOOSE, HELD_OUT}]
        report = await encoder_stages.judged(self.chosen, self.work, done["model"], held, texts)
        return {"best": "encoder", "verdict": report.model_dump(mode="json")}

    async def verdict(self, asked: Sequence[Asked], now: Tuned | None, tuned: Tuned) -> Verdict:
        """Return how *tuned* does on what is *asked*, beside what is in use *now*."""
        from memd.learn.tuning import ranker, verdict

        before = await self.examined(asked, now, _unheard)
        after = await self.examined(asked, tuned, _unheard)
        shares = ranker.share_told(before), ranker.share_told(after)
        return verdict.judged(list(map(rank_of, before)), list(map(rank_of, after)), shares)

    async def examined(
        self, asked: Sequence[Asked], tuned: Tuned | None, progress: Progress
    ) -> list[Examined]:
        """Return what recall would choose from for each question if *tuned* were in use."""
        seen = []
        for at, one in enumerate(asked):
            progress(at / len(asked))
            ranks = await self.recall.examined(
                Caller(agent_id=one.agent_id, method="tune.start"),
                one.text,
                TuningTrial(tuned, one.apart),
            )
            keys = [item.measured.candidate.memory_key for item in ranks.items]
            seen.append(Examined(ranks.items, [key == one.memory_key for key in keys]))
            await asyncio.sleep(0)  # whoever asks comes first
        return seen

    async def _pairs(self, done: RunWork) -> list[Pair]:
        """Return the run's pairs, asked again of the memories that are still there."""
        parts = dict(done["pairs"])
        texts = await self.recall.db.read(tunings.texts, MEMORIES_MAX)
        some = [each for each in texts if each.memory_key in parts]
        pairs = await self.work.run(questions, some)
        return [Pair(one, parts[one.memory_key]) for one in pairs]

    async def _embedded(self, asked: Sequence[Asked], progress: Progress) -> list[bytes]:
        """Return the vectors of questions as recall embeds them: without the names it knows."""
        dense = await self.recall.db.read(_dense, asked)
        vectors: list[bytes] = []
        for start in range(0, len(dense), EMBED_TEXTS):
            progress(0.0)
            vectors += await self.embedder.embed(dense[start : start + EMBED_TEXTS], bulk=True)
        return vectors


def parted(count: int, split: float) -> list[str]:
    """Return what each of *count* pairs is for, in their order: the newest are held out.

    >>> [parted(100, 0.1).count(part) for part in (FIT, WEIGH, CHOOSE, HELD_OUT)]
    [40, 20, 20, 20]
    """
    held = min(max(round(split * count), JUDGE_PAIRS_MIN), JUDGE_PAIRS_MAX, count // 4)
    weigh = (count - 2 * held) // 3
    fit = count - 2 * held - weigh
    return [FIT] * fit + [WEIGH] * weigh + [CHOOSE] * held + [HELD_OUT] * held


def rank_of(seen: Examined) -> int:
    """Return at which place, from 1 on, the right one stands; 0 when it was not found."""
    return seen.right.index(True) + 1 if True in seen.right else 0


def _dense(conn: Reading, asked: Sequence[Asked]) -> list[str]:
    texts = []
    for one in asked:
        agent_key = names.find_agent(conn, one.agent_id)
        keys = [] if agent_key is None else [agent_key]
        known = names.known_speakers(conn, keys, name_candidates(one.text))
        texts.append(without_names(one.text, known))
    return texts


def _unheard(_share: float) -> None:
    """Tell nobody."""
