"""How well embedding models find the owner's own memories (SPEC 18.1, 18.2.4).

The questions are those that tuning learns from: what somebody asked, and the turn that answered
it. Each model embeds questions and memories itself, and
all are compared by the rank of the right memory, by meaning alone. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from memd.base.work import Work
from memd.embedding.chosen import ChosenEmbedder
from memd.learn.tuning.questions import questions
from memd.learn.tuning.verdict import ndcg, recall
from memd.store.file.database import Database
from memd.store.learn import tunings

BENCH_MEMORIES_MAX = 500
"""Each model embeds as many anew, the latest."""
BENCH_PAIRS_MAX = 200
BENCH_TEXTS = 64  # embedded at once, after whatever a person asks


class BenchGround(Protocol):
    """What a measurement stands on."""

    @property
    def db(self) -> Database: ...
    @property
    def work(self) -> Work: ...


async def measured(
    ground: BenchGround, embedder: ChosenEmbedder, names: Sequence[str]
) -> dict[str, Any]:
    """Return recall@10 and nDCG@10 of each model in *names*, over the same pairs.

    Without pairs nothing is measured. Raises DegradedError or ModelError for a model that is
    not there or does not run.
    """
    texts = await ground.db.read(tunings.texts, BENCH_MEMORIES_MAX)
    asked = await ground.work.run(questions, texts)
    if len(asked) > BENCH_PAIRS_MAX:
        step = len(asked) / BENCH_PAIRS_MAX
        asked = [asked[int(at * step)] for at in range(BENCH_PAIRS_MAX)]
    place = {each.memory_key: at for at, each in enumerate(texts)}
    report: dict[str, Any] = {"pairs": len(asked), "memories": len(texts), "models": []}
    for name in names if asked else ():
        passages = await embedded(embedder, name, [each.content for each in texts])
        vectors = await embedded(embedder, name, [each.text for each in asked])
        right = [place[each.memory_key] for each in asked]
        apart = [place.get(each.apart or 0) for each in asked]
        ranks = await ground.work.run(ranks_of, vectors, passages, right, apart)
        ndcgs = [ndcg(rank) for rank in ranks]
        report["models"].append(
            {
                "name": name,
                "recall_10": round(recall(ranks), 4),
                "ndcg_10": round(sum(ndcgs) / len(ndcgs), 4),
            }
        )
    return report


async def embedded(embedder: ChosenEmbedder, name: str, texts: Sequence[str]) -> list[bytes]:
    model = embedder.of(name)
    made: list[bytes] = []
    for at in range(0, len(texts), BENCH_TEXTS):
        made += await model.embed(texts[at : at + BENCH_TEXTS], bulk=True)
    return made


def ranks_of(
    asked: Sequence[bytes],
    passages: Sequence[bytes],
    right: Sequence[int],
    apart: Sequence[int | None],
) -> list[int]:
    """Return at which place, from 1, each question has its right passage.

    What is as near as the right one stands before it: a model to which all texts are the same
    finds nothing.
    *apart*: the passage that is the question itself and is passed over.
    """
    import numpy as np

    near = _matrix(asked) @ _matrix(passages).T
    for row, itself in enumerate(apart):
        if itself is not None:
            near[row, itself] = -2.0
    own = near[np.arange(len(right)), list(right)]
    return [int(rank) for rank in (near >= own[:, None]).sum(axis=1)]


def _matrix(vectors: Sequence[bytes]) -> Any:
    import numpy as np

    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
