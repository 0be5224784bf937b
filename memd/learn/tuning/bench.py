"""Compare embedding models on the owner's own memories (SPEC 18.1, 18.2.4).

The questions are those of tuning (``evaluation``). Each model embeds questions and memories, and
models are compared by the rank of the right memory, by vectors alone. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memd.base.work import Work
from memd.embedding.embed import SwitchableEmbedder
from memd.learn.tuning.evaluation import LabelledQuestion, label_questions, ndcg, recall
from memd.store.file.database import Database
from memd.store.learn import tunings
from memd.store.learn.tunings import MemoryText

BENCH_MEMORIES_MAX = 500
"""How many of the latest memories each model embeds."""
BENCH_PAIRS_MAX = 200
BENCH_TEXTS = 64
"""Texts in one batch; interactive requests may run between two batches."""


async def measure(
    db: Database, work: Work, embedder: SwitchableEmbedder, names: Sequence[str]
) -> dict[str, Any]:
    """Return recall@10 and nDCG@10 of each model in *names*, over the same pairs.

    Without pairs no model is measured. Raises DegradedError or ModelError for a model that is
    missing or does not run.
    """
    texts = await db.read(tunings.list_texts, BENCH_MEMORIES_MAX)
    questions = await work.run(label_questions, texts)
    if len(questions) > BENCH_PAIRS_MAX:
        step = len(questions) / BENCH_PAIRS_MAX
        questions = [questions[int(at * step)] for at in range(BENCH_PAIRS_MAX)]
    report: dict[str, Any] = {"pairs": len(questions), "memories": len(texts), "models": []}
    for name in names if questions else ():
        ranks = await rank_answers(embedder, work, name, questions, texts)
        ndcgs = [ndcg(rank) for rank in ranks]
        report["models"].append(
            {
                "name": name,
                "recall_10": round(recall(ranks), 4),
                "ndcg_10": round(sum(ndcgs) / len(ndcgs), 4),
            }
        )
    return report


async def rank_answers(
    embedder: SwitchableEmbedder,
    work: Work,
    name: str,
    questions: Sequence[LabelledQuestion],
    texts: Sequence[MemoryText],
) -> list[int]:
    """Return the rank of each question's answer among *texts*, by the vectors of model *name*."""
    place = {text.memory_key: at for at, text in enumerate(texts)}
    passages = await embed_with(embedder, name, [text.content for text in texts])
    vectors = await embed_with(embedder, name, [question.text for question in questions])
    right = [place[question.memory_key] for question in questions]
    question_rows = [place.get(question.question_key or 0) for question in questions]
    return await work.run(ranks_of, vectors, passages, right, question_rows)


async def embed_with(embedder: SwitchableEmbedder, name: str, texts: Sequence[str]) -> list[bytes]:
    model = embedder.embedder_of(name)
    vectors: list[bytes] = []
    for at in range(0, len(texts), BENCH_TEXTS):
        vectors += await model.embed(texts[at : at + BENCH_TEXTS], bulk=True)
    return vectors


def ranks_of(
    questions: Sequence[bytes],
    passages: Sequence[bytes],
    right: Sequence[int],
    question_rows: Sequence[int | None],
) -> list[int]:
    """Return the rank, from 1, of each question's right passage.

    *right* and *question_rows* are rows of *passages*: the answer, and the memory that contains the
    question, which is ignored. Ties rank before the answer, so that a model for which all texts
    are equal gets the worst rank.
    """
    from memd.learn.tuning import adapter

    cosines = adapter.to_matrix(questions) @ adapter.to_matrix(passages).T
    for row, question_row in enumerate(question_rows):
        if question_row is not None:
            cosines[row, question_row] = -2.0  # below any cosine
    return adapter.ranks_among(cosines, right)
