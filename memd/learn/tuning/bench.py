"""Compare embedding models on the owner's own memories (SPEC 18.1, 18.2.4).

The questions are those of tuning (``questions``). Each model embeds questions and memories, and
models are compared by the rank of the right memory, by vectors alone. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from memd.base.work import Work
from memd.embedding.embed import SwitchableEmbedder
from memd.learn.tuning.questions import label_questions
from memd.learn.tuning.verdict import ndcg, recall
from memd.store.file.database import Database
from memd.store.learn import tunings

BENCH_MEMORIES_MAX = 500
"""The latest; each model embeds all of them anew."""
BENCH_PAIRS_MAX = 200
BENCH_TEXTS = 64  # in one batch; interactive requests come between two batches


class BenchRooms(Protocol):
    """The rooms that a measurement needs."""

    @property
    def db(self) -> Database: ...
    @property
    def work(self) -> Work: ...


async def measure(
    rooms: BenchRooms, embedder: SwitchableEmbedder, names: Sequence[str]
) -> dict[str, Any]:
    """Return recall@10 and nDCG@10 of each model in *names*, over the same pairs.

    Without pairs no model is measured. Raises DegradedError or ModelError for a model that is
    missing or does not run.
    """
    texts = await rooms.db.read(tunings.list_texts, BENCH_MEMORIES_MAX)
    questions = await rooms.work.run(label_questions, texts)
    if len(questions) > BENCH_PAIRS_MAX:
        step = len(questions) / BENCH_PAIRS_MAX
        questions = [questions[int(at * step)] for at in range(BENCH_PAIRS_MAX)]
    place = {each.memory_key: at for at, each in enumerate(texts)}
    report: dict[str, Any] = {"pairs": len(questions), "memories": len(texts), "models": []}
    for name in names if questions else ():
        passages = await embed_with(embedder, name, [each.content for each in texts])
        vectors = await embed_with(embedder, name, [each.text for each in questions])
        right = [place[each.memory_key] for each in questions]
        own = [place.get(each.question_key or 0) for each in questions]
        ranks = await rooms.work.run(ranks_of, vectors, passages, right, own)
        ndcgs = [ndcg(rank) for rank in ranks]
        report["models"].append(
            {
                "name": name,
                "recall_10": round(recall(ranks), 4),
                "ndcg_10": round(sum(ndcgs) / len(ndcgs), 4),
            }
        )
    return report


async def embed_with(embedder: SwitchableEmbedder, name: str, texts: Sequence[str]) -> list[bytes]:
    """Return the vectors of *texts* by the model *name*."""
    model = embedder.embedder_of(name)
    vectors: list[bytes] = []
    for at in range(0, len(texts), BENCH_TEXTS):
        vectors += await model.embed(texts[at : at + BENCH_TEXTS], bulk=True)
    return vectors


def ranks_of(
    questions: Sequence[bytes],
    passages: Sequence[bytes],
    right: Sequence[int],
    own: Sequence[int | None],
) -> list[int]:
    """Return the rank, from 1, of each question's right passage.

    Ties rank before it, so that a model to which all texts are equal finds nothing. *own* is the
    passage of the question itself, which is ignored.
    """
    import numpy as np

    cosines = _matrix(questions) @ _matrix(passages).T
    for row, itself in enumerate(own):
        if itself is not None:
            cosines[row, itself] = -2.0
    of_right = cosines[np.arange(len(right)), list(right)]
    return [int(rank) for rank in (cosines >= of_right[:, None]).sum(axis=1)]


def _matrix(vectors: Sequence[bytes]) -> Any:
    import numpy as np

    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
