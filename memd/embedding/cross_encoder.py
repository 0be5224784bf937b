"""Score how well texts answer a question, with a cross-encoder (decision 0058).

The re-ranker is optional: without its folder every call raises DegradedError, and recall works
without it. Like the embedding model it runs in a thread of its own (``model_thread``), on one core,
and is never downloaded by this module.

Pairs go through the model shortest first, a few at a time, so a request that timed out costs at
most one more batch.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from memd.base.errors import EmbeddingError
from memd.base.limits import (
    MODEL_IDLE_MS_MAX,
    RERANK_BATCH_PAIRS,
    RERANK_LOAD_MS_MAX,
    RERANK_MS_MAX,
    RERANK_QUERY_CHARS_MAX,
    RERANK_TEXT_CHARS_MAX,
    RERANK_WAITING_MAX,
)
from memd.base.paths import RERANKER_NAME
from memd.embedding.model_files import RERANKER_HINT, Manifest, check_hashes
from memd.embedding.model_thread import (
    ModelKind,
    ModelRequest,
    ModelThread,
    keep_libraries_quiet,
    load_fastembed,
)

NAME = f"cross-encoder/{RERANKER_NAME}"
_KIND = ModelKind("re-ranker", unit="questions", hint=RERANKER_HINT, thread="memd-rerank")


class PairModel(Protocol):
    """A cross-encoder in memory."""

    def logits(self, query: str, texts: list[str]) -> list[float]:
        """Return one logit for each text."""
        ...


Loader = Callable[[Path, Manifest], PairModel]


def load_pair_model(folder: Path, manifest: Manifest) -> PairModel:
    """Load the model in *folder*. Raises ModelError for a file that does not match *manifest*."""
    check_hashes(folder, manifest)
    return _FastembedPairs(folder)


class _ScoreRequest(ModelRequest[PairModel, list[float]]):
    """The texts of one request, each to be scored with its question."""

    def __init__(self, query: str, texts: Sequence[str]) -> None:
        super().__init__()
        self._query = query[:RERANK_QUERY_CHARS_MAX]
        self._texts = [text[:RERANK_TEXT_CHARS_MAX] for text in texts]
        self._pending = deque(sorted(range(len(texts)), key=lambda at: len(self._texts[at])))
        self._scores: dict[int, float] = {}

    def step(self, model: PairModel) -> bool:
        count = min(RERANK_BATCH_PAIRS, len(self._pending))
        indexes = [self._pending.popleft() for _ in range(count)]
        logits = model.logits(self._query, [self._texts[at] for at in indexes])
        if len(logits) != len(indexes) or any(score - score != 0.0 for score in logits):
            raise EmbeddingError("the re-ranker gave no number for a text")
        self._scores.update(zip(indexes, logits, strict=True))
        return not self._pending

    def result(self) -> list[float]:
        return [self._scores[at] for at in range(len(self._texts))]


class RerankerThread(ModelThread[PairModel]):
    """The cross-encoder of a daemon (:class:`memd.domain.encoding.PairScorer`)."""

    def __init__(
        self,
        reranker_dir: Path,
        *,
        loader: Loader = load_pair_model,
        idle_ms: int = MODEL_IDLE_MS_MAX,
        answer_ms: int = RERANK_MS_MAX,
    ) -> None:
        super().__init__(
            reranker_dir, loader, _KIND, idle_ms=idle_ms, waiting_max=RERANK_WAITING_MAX
        )
        self._answer_s = answer_ms / 1_000
        self._load_s = (answer_ms + RERANK_LOAD_MS_MAX) / 1_000

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one raw logit for each text, in order.

        Only the beginning of a long query or text is read. The first request gets extra time
        for loading the model.

        Raises DegradedError when no model is installed, ModelError when its folder is damaged,
        BusyError when too many wait, EmbeddingError when the model fails or takes longer than
        *answer_ms*, StoppingError after ``close``.
        """
        if not texts:
            return []
        self._read_manifest()
        try:
            async with asyncio.timeout(self._answer_s if self.loaded else self._load_s):
                return await self._ask(_ScoreRequest(query, texts))
        except TimeoutError:
            raise EmbeddingError("the re-ranker took too long") from None


class _FastembedPairs:
    """The model run by ``fastembed``: one thread, raw logits."""

    def __init__(self, folder: Path) -> None:
        keep_libraries_quiet()
        from fastembed.common.model_description import ModelSource
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        supported = {model["model"] for model in TextCrossEncoder.list_supported_models()}
        if NAME not in supported:  # the library has one list per process
            TextCrossEncoder.add_custom_model(
                model=NAME, sources=ModelSource(hf="local/none"), model_file="model.onnx"
            )
        self._model = load_fastembed(TextCrossEncoder, NAME, folder, "re-ranker", RERANKER_HINT)

    def logits(self, query: str, texts: list[str]) -> list[float]:
        return [float(score) for score in self._model.rerank(query, texts, batch_size=len(texts))]
