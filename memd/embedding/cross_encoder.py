"""Reads a question and a text together and says how well one answers the other (decision 0058).

Optional: without its folder every call is a DegradedError, and recall does without.
Like the embedding model it lives in a thread of its own (``model_thread``), with one
core, and is never fetched from here.

Pairs go through the model shortest first, a few at a time, so a caller whose time is
over costs one batch at most.
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
from memd.domain.encoding import ModelFingerprint
from memd.embedding.model_files import Manifest, check_hashes
from memd.embedding.model_thread import ModelKind, ModelRequest, ModelThread, keep_libraries_quiet
from memd.embedding.reranker_files import NAME, RERANKER_HINT

_KIND = ModelKind("re-ranker", counted="questions", hint=RERANKER_HINT, thread="memd-rerank")


class PairModel(Protocol):
    """A cross-encoder in memory."""

    def logits(self, query: str, texts: list[str]) -> list[float]:
        """Return one number for each text."""
        ...


Loader = Callable[[Path, Manifest], PairModel]


def load_pair_model(folder: Path, manifest: Manifest) -> PairModel:
    """Load the model of *folder*; ModelError names a file that is not what *manifest* says."""
    check_hashes(folder, manifest)
    return _FastembedPairs(folder)


class _Pairs(ModelRequest[PairModel, list[float]]):
    """The texts of one call, of which each is scored beside its question."""

    def __init__(self, query: str, texts: Sequence[str]) -> None:
        super().__init__()
        self._query = query[:RERANK_QUERY_CHARS_MAX]
        self._texts = [text[:RERANK_TEXT_CHARS_MAX] for text in texts]
        self._left = deque(sorted(range(len(texts)), key=lambda at: len(self._texts[at])))
        self._scores: dict[int, float] = {}

    def step(self, model: PairModel) -> bool:
        many = min(RERANK_BATCH_PAIRS, len(self._left))
        ats = [self._left.popleft() for _ in range(many)]
        logits = model.logits(self._query, [self._texts[at] for at in ats])
        if len(logits) != len(ats) or any(score - score != 0.0 for score in logits):
            raise EmbeddingError("the re-ranker gave no number for a text")
        self._scores.update(zip(ats, logits, strict=True))
        return not self._left

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

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        manifest = self._manifest()
        return manifest.fingerprint if manifest else None

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one raw logit for each text, in order.

        Of a long query or text only the beginning is read. The first question waits
        for the model to be loaded, which it may take longer for. Raises
        DegradedError when no model is installed, ModelError when its folder is damaged,
        BusyError when too many wait, EmbeddingError when the model fails or takes
        longer than *answer_ms*, StoppingError after ``close``.
        """
        if not texts:
            return []
        self._read_manifest()
        try:
            async with asyncio.timeout(self._answer_s if self.loaded else self._load_s):
                return await self._ask(_Pairs(query, texts))
        except TimeoutError:
            raise EmbeddingError("the re-ranker took too long") from None


class _FastembedPairs:
    """The model as ``fastembed`` runs it: one thread, raw logits."""

    def __init__(self, folder: Path) -> None:
        keep_libraries_quiet()
        from fastembed.common.model_description import ModelSource
        from fastembed.rerank.cross_encoder import TextCrossEncoder
        from loguru import logger

        logger.disable("fastembed")  # it writes to stderr; memd says itself what went wrong
        known = {model["model"] for model in TextCrossEncoder.list_supported_models()}
        if NAME not in known:  # the library keeps one list for the process
            TextCrossEncoder.add_custom_model(
                model=NAME, sources=ModelSource(hf="local/none"), model_file="model.onnx"
            )
        try:
            self._model = TextCrossEncoder(
                NAME,
                cache_dir=str(folder),  # nothing goes there, but a default would make a folder
                specific_model_path=str(folder),
                local_files_only=True,
                threads=1,  # two threads spin against each other on a small machine
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:  # onnxruntime raises bare Exceptions
            raise EmbeddingError(
                f"the re-ranker cannot be loaded: {type(error).__name__}", hint=RERANKER_HINT
            ) from error

    def logits(self, query: str, texts: list[str]) -> list[float]:
        return [float(score) for score in self._model.rerank(query, texts, batch_size=len(texts))]
