"""Embed texts with the model in use; each model runs in a thread of its own.

``model_thread`` loads the model at the first text and releases it after a quarter of an hour
without one. Nothing here uses the network: a missing model is a DegradedError that names the
command to install it, and the libraries are set to offline mode before their import.

Texts go through the model shortest first, in batches of at most EMBED_BATCH_TEXTS. A batch costs
as much as its longest text, so sorting saves a third. ``model_thread`` schedules the requests
between batches. The vector of a text longer than the model's window is the mean of its windows,
weighted by their lengths, so all of the text counts (SPEC D3).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memd.base.errors import DegradedError, EmbeddingError, InvalidError, MemdError
from memd.base.limits import (
    CLASSIFY_CACHE_MESSAGES_MAX,
    EMBED_BATCH_TEXTS,
    EMBED_BATCH_TOKENS,
    EMBED_CACHE_TEXTS_MAX,
    EMBED_CUT_CHARS,
    EMBED_QUEUE_TEXTS_MAX,
    EMBED_TOKEN_VECTORS_MAX,
    MODEL_IDLE_MS_MAX,
)
from memd.domain.encoding import TOKEN_BYTES, Encoding, ModelFingerprint, SentenceLogits
from memd.embedding.encoders import EncodedBatch, FastembedEncoder, OnnxEncoder
from memd.embedding.model_files import FINGERPRINT, INSTALL_HINT, Manifest, check_hashes
from memd.embedding.model_thread import (
    ModelKind,
    ModelRequest,
    ModelThread,
    seconds_left,
)
from memd.embedding.sentence_states import ClassifyRequest
from memd.text.tokens import TextWindow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]


class Encoder(Protocol):
    """A model in memory."""

    def windows(self, text: str) -> list[TextWindow]:
        """Return the parts of *text* that fit the model's window; at least one."""
        ...

    def encode(self, texts: list[str]) -> EncodedBatch:
        """Return vector and token vectors of each text that fits the window, in order."""
        ...


class EmbedRequest(ModelRequest[Encoder, list[Encoding]]):
    """A request to embed texts."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self.size = len(texts)
        self._texts = texts
        self._order = deque(sorted(range(len(texts)), key=lambda at: len(texts[at])))
        self._parts: deque[_Part] = deque()
        self._sums: dict[int, Rows] = {}
        self._tokens: dict[int, dict[int, bytes]] = {}
        """The token vectors by index of the text and position of the window."""

    def step(self, model: Encoder) -> bool:
        if not self._parts:
            self._split_next(model)
        batch = self._next_batch()
        rows, tokens = model.encode([part.window.text for part in batch])
        if len(rows) != len(batch):
            raise EmbeddingError(f"the model gave {len(rows)} vectors for {len(batch)} texts")
        for part, row, part_tokens in zip(batch, rows, tokens, strict=True):
            self._tokens.setdefault(part.text_index, {})[part.place] = part_tokens
            weighted = row * max(1, part.window.pieces)
            self._sums[part.text_index] = (
                self._sums[part.text_index] + weighted
                if part.text_index in self._sums
                else weighted
            )
        return not (self._parts or self._order)

    def result(self) -> list[Encoding]:
        """Return the encodings of the texts, in order."""
        return [
            Encoding(_as_bytes(self._sums[at]), self._join_tokens(at)) for at in range(self.size)
        ]

    def _join_tokens(self, text_index: int) -> bytes:
        by_place = self._tokens[text_index]
        return b"".join(by_place[place] for place in sorted(by_place))[:_TOKENS_BYTES_MAX]

    def _next_batch(self) -> list[_Part]:
        """Take windows up to EMBED_BATCH_TEXTS, and EMBED_BATCH_TOKENS with their padding."""
        batch = [self._parts.popleft()]
        while self._parts and len(batch) < EMBED_BATCH_TEXTS:
            if (len(batch) + 1) * self._parts[0].window.pieces > EMBED_BATCH_TOKENS:
                break
            batch.append(self._parts.popleft())
        return batch

    def _split_next(self, encoder: Encoder) -> None:
        """Split the next few texts into windows, shortest first.

        A long text is split alone: for a megabyte, this takes longer than a batch.
        """
        indexes = [self._order.popleft()]
        chars = len(self._texts[indexes[0]])
        while self._order and len(indexes) < EMBED_BATCH_TEXTS:
            chars += len(self._texts[self._order[0]])
            if chars > EMBED_CUT_CHARS:
                break
            indexes.append(self._order.popleft())
        parts = [
            _Part(at, place, window)
            for at in indexes
            for place, window in enumerate(encoder.windows(self._texts[at]))
        ]
        self._parts.extend(sorted(parts, key=lambda part: part.window.pieces))


_TOKENS_BYTES_MAX = EMBED_TOKEN_VECTORS_MAX * TOKEN_BYTES


class _Part(NamedTuple):
    text_index: int
    place: int
    window: TextWindow


def _as_bytes(total: Rows) -> bytes:
    """Return a sum of vectors as the normalised vector that is stored."""
    import numpy as np

    norm = float(np.linalg.norm(total))
    if not np.isfinite(norm) or norm == 0.0:
        raise EmbeddingError("the windows of a text cancel each other out")
    return (total / norm).astype("<f4").tobytes()


_KIND = ModelKind("embedding model", unit="texts", hint=INSTALL_HINT, thread="memd-model")

Loader = Callable[[Path, Manifest], Encoder]


def load_encoder(folder: Path, manifest: Manifest) -> Encoder:
    """Load the model in *folder*. Raises ModelError for a file that does not match *manifest*."""
    check_hashes(folder, manifest)
    if manifest.fingerprint != FINGERPRINT:
        return OnnxEncoder(folder, manifest)
    return FastembedEncoder(folder, manifest.fingerprint)


class EmbedderThread(ModelThread[Encoder]):
    """The embedder of one model."""

    def __init__(
        self,
        model_dir: Path,
        *,
        loader: Loader = load_encoder,
        idle_ms: int = MODEL_IDLE_MS_MAX,
        queue_texts_max: int = EMBED_QUEUE_TEXTS_MAX,
    ) -> None:
        super().__init__(model_dir, loader, _KIND, idle_ms=idle_ms, waiting_max=queue_texts_max)
        self._cache: OrderedDict[bytes, Encoding] = OrderedDict()
        self._cached_for: ModelFingerprint | None = None
        self._logits: dict[tuple[bool, bytes], list[SentenceLogits]] = {}
        self._warming: asyncio.Task[None] | None = None

    @property
    def has_states(self) -> bool:
        """Whether the installed model can classify sentences."""
        manifest = self.manifest
        return manifest is not None and manifest.has_states

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        """Return one vector for each text, in order; raises as :meth:`encode`."""
        return [encoding.vector for encoding in await self.encode(texts, bulk=bulk)]

    async def encode(self, texts: Sequence[str], *, bulk: bool = False) -> list[Encoding]:
        """Return the encoding of each text, in order; equal texts are computed once.

        Raises DegradedError when no model is installed, ModelError when its folder
        is damaged, BusyError when the queue is full, EmbeddingError when the model
        fails, StoppingError after ``close``. A single request is never too large
        for an idle queue.
        """
        if not texts:
            return []
        fingerprint = self._read_manifest()[0].fingerprint
        if fingerprint != self._cached_for:
            # Never return vectors of different models together.
            self._cache.clear()
            self._cached_for = fingerprint
        keys_by_text = {text: _key(text) for text in texts}
        encodings = {
            text: self._cache[key] for text, key in keys_by_text.items() if key in self._cache
        }
        missing = [text for text in keys_by_text if text not in encodings]
        if missing:
            computed = await self._compute(missing, bulk=bulk)
            encodings.update(zip(missing, computed, strict=True))
        if fingerprint == self._cached_for:
            for text, key in keys_by_text.items():
                self._cache[key] = encodings[text]
                self._cache.move_to_end(key)
            while len(self._cache) > EMBED_CACHE_TEXTS_MAX:
                self._cache.popitem(last=False)
        return [encodings[text] for text in texts]

    async def classify(
        self, messages: Sequence[Sequence[str]], agents: Collection[int] = ()
    ) -> list[list[SentenceLogits]]:
        """Return the logits of each sentence of each message; a message is a list of sentences.

        *agents* holds the indexes of messages that an agent wrote. Runs as bulk work. Raises
        DegradedError for a model that cannot classify, and the errors of :meth:`encode`.
        """
        if not self._read_manifest()[0].has_states:
            raise DegradedError("this model judges no sentences", hint=INSTALL_HINT)
        # Every nap of a session asks again about the messages that earlier naps have read.
        keys = [(at in agents, _key("\n".join(sentences))) for at, sentences in enumerate(messages)]
        new = {
            key: sentences
            for key, sentences in zip(keys, messages, strict=True)
            if key not in self._logits
        }
        logits = dict(self._logits)
        if new:
            of_agents = {at for at, (by_agent, _) in enumerate(new) if by_agent}
            answers = await self._ask(ClassifyRequest(list(new.values()), of_agents), bulk=True)
            logits |= zip(new, answers, strict=True)
        self._logits = dict(list(logits.items())[-CLASSIFY_CACHE_MESSAGES_MAX:])
        return [logits[key] for key in keys]

    def warm(self) -> None:
        """Start to load the model for the next caller, without waiting."""
        if not self.loaded and self._warming is None and self.manifest is not None:
            self._warming = asyncio.create_task(self._warm_up())

    async def _warm_up(self) -> None:
        with suppress(MemdError):  # the next request will raise it
            await self._ask(EmbedRequest(["memd"]))
        self._warming = None

    async def _compute(self, texts: list[str], *, bulk: bool) -> list[Encoding]:
        """Return encodings; raises DegradedError when a load takes longer than the caller waits."""
        answer = self._ask(EmbedRequest(texts), bulk=bulk)
        seconds = seconds_left()
        if seconds is None or self.loaded:
            return await answer
        self.warm()  # keeps loading after the timeout
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            raise DegradedError("the embedding model is being loaded") from None


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # a folder's name


class SwitchableEmbedder:
    """The embedder of a daemon (:class:`memd.domain.encoding.Embedder`), for any model.

    Everything that embeds shares this one, so that a switch of the model takes effect everywhere
    at once. Each model is a folder of its name; memd's own is in use until the owner chooses
    another (docs/models.md). An unused model costs nothing.
    """

    def __init__(self, default: Path, make: Callable[[Path], EmbedderThread]) -> None:
        self._default = default
        self._create = make
        self._threads: dict[str, EmbedderThread] = {}
        self.name = default.name
        """The folder's name of the model in use."""
        self._in_use = self.embedder_of(self.name)

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        return self._in_use.fingerprint

    @property
    def loaded(self) -> bool:
        return self._in_use.loaded

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        """Return one vector for each text, all of the model in use."""
        return await self._in_use.embed(texts, bulk=bulk)

    async def encode(self, texts: Sequence[str], *, bulk: bool = False) -> list[Encoding]:
        """Return the encoding of each text, all of the model in use."""
        return await self._in_use.encode(texts, bulk=bulk)

    async def classify(
        self, messages: Sequence[Sequence[str]], agents: Collection[int] = ()
    ) -> list[list[SentenceLogits]]:
        """Return the logits of each sentence of each message, by memd's own model.

        No other model can classify, so this one is loaded in addition to the model in use.
        """
        in_use = self._in_use
        classifier = in_use if in_use.has_states else self.embedder_of(self._default.name)
        return await classifier.classify(messages, agents)

    def warm(self) -> None:
        """Start to load the model for the next caller, without waiting."""
        self._in_use.warm()

    def serve(self, name: str | None) -> None:
        """Switch to the model in the folder *name* and release the previous one.

        None selects memd's own model.
        """
        self.name = name or self._default.name
        previous, self._in_use = self._in_use, self.embedder_of(self.name)
        if previous is not self._in_use:
            previous.release()

    def embedder_of(self, name: str) -> EmbedderThread:
        """Return the embedder of the model in the folder *name*, in use or not."""
        if name not in self._threads:
            self._threads[name] = self._create(folder_of(self._default, name))
        return self._threads[name]

    def folder(self, name: str) -> Path:
        """Return the folder of the model *name*, which may not exist.

        Raises InvalidError for an invalid name.
        """
        return folder_of(self._default, name)

    async def close(self) -> None:
        """End every thread and release the models."""
        for thread in self._threads.values():
            await thread.close()


def folder_of(default: Path, name: str) -> Path:
    """Return the folder of the model *name*, a sibling of *default*.

    Raises InvalidError for an invalid name.
    The folder of *default* was chosen by the owner and may have any name.
    """
    if name == default.name:
        return default
    if not _NAME.fullmatch(name):
        raise InvalidError(
            f"{name!r} is not the name of a model", field="name", hint="see: memd model list"
        )
    return default.with_name(name)
