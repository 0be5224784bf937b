"""The stages of a tuning run (SPEC 18.2.2).

A stage takes the results of earlier stages and returns its own, which are stored before the next
stage begins, so a killed run repeats no completed stage. Results are ids and numbers only. Texts
and vectors are read again from the memories; memories forgotten meanwhile are skipped.
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
from memd.embedding.embed import SwitchableEmbedder
from memd.learn.tuning.evaluation import LabelledQuestion, compare_ranks, label_questions
from memd.learn.tuning.ranker import RankedQuestion
from memd.recall.question import name_candidates, without_names
from memd.recall.ranking.weights import RankerTuning, TuningTrial, parse_tuning, shipped_weights
from memd.recall.recall import Recall
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.learn import tunings
from memd.store.search import vectors as store

MEMORIES_MAX = 5_000
"""How many of the latest memories are read, for pairs and as passages."""
PAIRS_MIN = 50
"""The fewest pairs on which memd is tuned."""
HELD_OUT_PAIRS_MIN, HELD_OUT_PAIRS_MAX = 20, 100
"""Bounds of the number of held-out pairs, and of those used to choose the best result."""
FIT_PAIRS_MAX = 200
"""The most pairs to which the ranker is fitted, since each costs a recall."""
EMBED_TEXTS = 64
"""Texts in one batch; a run can be cancelled between two batches."""

FIT = "fit"
"""The use of pairs to train the matrix or the encoder."""
WEIGH = "weigh"
"""The use of pairs to fit the ranker's weights; not FIT, to which the matrix is adapted already."""
CHOOSE = "choose"
"""The use of pairs to choose the best of several results."""
HELD_OUT = "held_out"
"""The use of pairs for the verdict."""

RunWork = Mapping[str, Any]
Progress = Callable[[float], None]
"""Called with the share of a stage that is done, in any thread; raises if the run is cancelled."""


class Pair(NamedTuple):
    """A question of a run, and its use."""

    question: LabelledQuestion
    part: str


@dataclass(frozen=True)
class Stages:
    """The stages over one store. *work* is tuning's own thread, which computes for seconds."""

    recall: Recall
    embedder: Embedder
    work: Work
    models: SwitchableEmbedder | None = None
    """The installed models, for a run that trains one."""

    async def run(
        self, stage: TuneStage, done: RunWork, request: TuneRequest, progress: Progress
    ) -> dict[str, Any]:
        """Return the results of *stage* after the results *done*; TuneStage.DEPLOYING has none."""
        methods = {
            TuneStage.GENERATING_DATA: self._generate,
            TuneStage.MINING_NEGATIVES: self._mine,
            TuneStage.TRAINING: self._train,
            TuneStage.EVALUATING: self._evaluate,
        }
        return await methods[stage](done, request, progress)

    async def _generate(
        self, _done: RunWork, request: TuneRequest, _progress: Progress
    ) -> dict[str, Any]:
        texts = await self._texts()
        questions = await self.work.run(label_questions, texts)
        count = len(questions)
        if count > request.pairs:
            questions = [questions[at * count // request.pairs] for at in range(request.pairs)]
            count = request.pairs
        if count < PAIRS_MIN:
            raise InvalidStateError(
                f"too few pairs to tune on: {PAIRS_MIN} questions with an answer are needed, "
                f"and the memories have {count}",
                hint="pairs come from conversations: tune again when memd has more of them",
            )
        parts = split_pairs(count, request.validation_split)
        keys = [question.memory_key for question in questions]
        return {"pairs": list(map(list, zip(keys, parts, strict=True)))}

    async def _mine(
        self, done: RunWork, request: TuneRequest, progress: Progress
    ) -> dict[str, Any]:
        fit = questions_of(await self._pairs(done), FIT)
        negatives = await self.mine_negatives(fit, request, progress)
        return {"negatives": {str(key): keys for key, keys in negatives.items()}}

    async def mine_negatives(
        self, fit: Sequence[LabelledQuestion], request: TuneRequest, progress: Progress
    ) -> dict[int, list[int]]:
        """Return the hard negatives of each answer: similar memories that are no answers."""
        from memd.learn.tuning import adapter

        question_vectors = await self._embed(fit, progress)
        texts = await self._texts()
        vectors = await self.recall.db.read(store.read, [text.memory_key for text in texts])
        return await self.work.run(
            adapter.mine_negatives, fit, question_vectors, vectors, request.top_k
        )

    async def _train(
        self, done: RunWork, request: TuneRequest, progress: Progress
    ) -> dict[str, Any]:
        pairs = await self._pairs(done)
        fit = questions_of(pairs, FIT)
        if request.encoder:
            return await self._train_encoder(done, pairs, request, progress)
        weigh = questions_of(pairs, WEIGH)
        negatives = {int(key): keys for key, keys in done["negatives"].items()}
        part = 0.4 if request.weights else 0.8  # the matrix's share of the stage's time
        matrix = await self.train_adapter(
            fit, weigh, negatives, request, lambda share: progress(part * share)
        )
        sample = weigh[:: max(1, -(-len(weigh) // FIT_PAIRS_MAX))]
        results = {"adapter": await self.fit_bar(sample, matrix, lambda _share: progress(part))}
        if request.weights:
            shipped = await self.shipped_tuning()
            results["weights"] = await self.fit_weights(
                sample, shipped, lambda _share: progress(0.6)
            )
            results["both"] = await self.fit_weights(sample, matrix, lambda _share: progress(0.8))
        return {"made": {name: tuned.body() for name, tuned in results.items()}}

    async def _train_encoder(
        self, done: RunWork, pairs: Sequence[Pair], request: TuneRequest, progress: Progress
    ) -> dict[str, Any]:
        from memd.learn.tuning import encoder

        assert self.models is not None
        texts = await self._texts()
        negatives = {int(key): keys for key, keys in done["negatives"].items()}
        fit = questions_of(pairs, FIT, WEIGH)
        triples = encoder.triples_of(fit, negatives, texts)
        name = done["model"]
        await encoder.train_model(self.models, self.work, name, triples, request, progress)
        return {"made": {}}

    async def train_adapter(
        self,
        fit: Sequence[LabelledQuestion],
        unseen: Sequence[LabelledQuestion],
        negatives: Mapping[int, Sequence[int]],
        request: TuneRequest,
        progress: Progress,
    ) -> RankerTuning:
        """Return a tuning with a matrix that moves the questions of *fit* nearer to their answers.

        It also scales the cosines, so that those of the *unseen* questions are spread as before.
        """
        from memd.learn.tuning import adapter

        question_vectors = await self._embed(fit, progress)
        keys = {question.memory_key for question in fit}.union(*negatives.values())
        vectors = await self.recall.db.read(store.read, sorted(keys))
        unseen_vectors = await self._embed(unseen, progress)
        pairs = adapter.TrainingPairs(fit, question_vectors, vectors, negatives, unseen_vectors)
        shipped = await self.shipped_tuning()
        return await self.work.run(adapter.train_adapter, pairs, shipped, request, progress)

    async def shipped_tuning(self) -> RankerTuning:
        """Return the shipped weights for the model in use, as a tuning that changes nothing."""
        tokens = await self.recall.db.read(store.has_tokens)
        weights = shipped_weights(vector=True, tokens=tokens)
        return RankerTuning(str(self.embedder.fingerprint), weights)

    async def fit_weights(
        self, questions: Sequence[LabelledQuestion], tuned: RankerTuning, progress: Progress
    ) -> RankerTuning:
        """Return *tuned* with weights and bar fitted to *questions*."""
        from memd.learn.tuning import ranker

        ranked = await self.rank_questions(questions, tuned, progress)
        weights = await self.work.run(ranker.fit, ranked, tuned.weights.features, progress)
        fitted = replace(tuned.weights, features=MappingProxyType(weights))
        return await self.fit_bar(questions, replace(tuned, weights=fitted), progress)

    async def fit_bar(
        self, questions: Sequence[LabelledQuestion], tuned: RankerTuning, progress: Progress
    ) -> RankerTuning:
        """Return *tuned* with the bar at which answers are as long as with the shipped tuning."""
        from memd.learn.tuning import ranker

        before = await self.rank_questions(questions, await self.shipped_tuning(), progress)
        after = await self.rank_questions(questions, tuned, progress)
        bar = ranker.bar_for(after, tuned.weights, ranker.mean_entries(before))
        return replace(tuned, weights=replace(tuned.weights, bar=bar))

    async def _evaluate(
        self, done: RunWork, request: TuneRequest, progress: Progress
    ) -> dict[str, Any]:
        pairs = await self._pairs(done)
        if request.encoder:
            return await self._evaluate_encoder(done, pairs)
        results = {name: parse_tuning(body) for name, body in done["made"].items()}
        choose = questions_of(pairs, CHOOSE)
        best, best_ndcg = "", -1.0
        for at, (name, tuned) in enumerate(results.items()):
            progress(0.2 * at)
            verdict = await self.verdict(choose, None, tuned)
            if verdict.tuned_ndcg > best_ndcg:
                best, best_ndcg = name, verdict.tuned_ndcg
        held_out = questions_of(pairs, HELD_OUT)
        progress(0.6)
        active = await self.recall.active_tuning()
        verdict = await self.verdict(held_out, active, results[best])
        return {"best": best, "verdict": verdict.model_dump(mode="json")}

    async def _evaluate_encoder(self, done: RunWork, pairs: Sequence[Pair]) -> dict[str, Any]:
        from memd.learn.tuning import encoder

        assert self.models is not None
        texts = await self._texts()
        held_out = questions_of(pairs, CHOOSE, HELD_OUT)
        report = await encoder.evaluate_model(
            self.models, self.work, done["model"], held_out, texts
        )
        return {"best": "encoder", "verdict": report.model_dump(mode="json")}

    async def verdict(
        self,
        questions: Sequence[LabelledQuestion],
        active: RankerTuning | None,
        tuned: RankerTuning,
    ) -> Verdict:
        """Return the verdict on *tuned* compared with *active*; None is the defaults."""
        from memd.learn.tuning import ranker

        before = await self.rank_questions(questions, active, _no_progress)
        after = await self.rank_questions(questions, tuned, _no_progress)
        shares = ranker.share_answered(before), ranker.share_answered(after)
        return compare_ranks(list(map(rank_of, before)), list(map(rank_of, after)), shares)

    async def rank_questions(
        self, questions: Sequence[LabelledQuestion], tuned: RankerTuning | None, progress: Progress
    ) -> list[RankedQuestion]:
        """Return the candidates of each question, ranked as if *tuned* were in use."""
        ranked = []
        for at, question in enumerate(questions):
            progress(at / len(questions))
            ranks = await self.recall.evaluate(
                Caller(agent_id=question.agent_id, method="tune.start"),
                question.text,
                TuningTrial(tuned, question.question_key),
            )
            keys = [item.measured.candidate.memory_key for item in ranks.items]
            ranked.append(RankedQuestion(ranks.items, [key == question.memory_key for key in keys]))
            await asyncio.sleep(0)  # let waiting requests run
        return ranked

    async def _texts(self) -> list[tunings.MemoryText]:
        return await self.recall.db.read(tunings.list_texts, MEMORIES_MAX)

    async def _pairs(self, done: RunWork) -> list[Pair]:
        """Return the run's pairs, read again from the memories that still exist."""
        parts = dict(done["pairs"])
        texts = await self._texts()
        used = [text for text in texts if text.memory_key in parts]
        pairs = await self.work.run(label_questions, used)
        return [Pair(question, parts[question.memory_key]) for question in pairs]

    async def _embed(
        self, questions: Sequence[LabelledQuestion], progress: Progress
    ) -> list[bytes]:
        """Return the vectors of questions as recall embeds them, without known names."""
        texts = await self.recall.db.read(_texts_without_names, questions)
        vectors: list[bytes] = []
        for start in range(0, len(texts), EMBED_TEXTS):
            progress(0.0)
            vectors += await self.embedder.embed(texts[start : start + EMBED_TEXTS], bulk=True)
        return vectors


def questions_of(pairs: Sequence[Pair], *parts: str) -> list[LabelledQuestion]:
    """Return the questions of the pairs for these uses."""
    return [pair.question for pair in pairs if pair.part in parts]


def split_pairs(count: int, split: float) -> list[str]:
    """Return the use of each of *count* pairs, in order: the newest are held out.

    >>> [split_pairs(100, 0.1).count(part) for part in (FIT, WEIGH, CHOOSE, HELD_OUT)]
    [40, 20, 20, 20]
    """
    held_out = min(max(round(split * count), HELD_OUT_PAIRS_MIN), HELD_OUT_PAIRS_MAX, count // 4)
    weigh = (count - 2 * held_out) // 3
    fit = count - 2 * held_out - weigh
    return [FIT] * fit + [WEIGH] * weigh + [CHOOSE] * held_out + [HELD_OUT] * held_out


def rank_of(ranked: RankedQuestion) -> int:
    """Return the rank of the right candidate, from 1 on; 0 when it is not among them."""
    return ranked.right.index(True) + 1 if True in ranked.right else 0


def _texts_without_names(conn: Reading, questions: Sequence[LabelledQuestion]) -> list[str]:
    texts = []
    for question in questions:
        keys = [names.agent_key(conn, question.agent_id)]
        known = names.find_speakers(conn, keys, name_candidates(question.text))
        texts.append(without_names(question.text, known))
    return texts


def _no_progress(_share: float) -> None:
    """Ignore the progress."""
