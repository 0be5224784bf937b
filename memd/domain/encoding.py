"""Protocols of models that embed, score and count texts; the sizes of chunks.

A vector is ``bytes``: little-endian float32, L2-normalised, ready for the file. So only
``embedding`` needs an array library. Token vectors are ``bytes``, too: ``TOKEN_BYTES`` of int8 for
each token of content, in the order of the text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self, runtime_checkable

from pydantic import Field, model_validator

from memd.base.limits import WINDOW_TOKENS_MAX
from memd.domain.settings.consolidation import warn
from memd.domain.values import Value


@dataclass(frozen=True)
class ModelFingerprint:
    """What makes vectors comparable: weights, window and pooling, not a name."""

    name: str
    weights_sha256: str
    window_tokens: int
    pooling: str
    dimension: int

    @cached_property
    def text(self) -> str:
        """It in one text, as the store has it."""
        return f"{self.weights_sha256[:16]}/{self.window_tokens}/{self.pooling}/{self.dimension}"

    def __str__(self) -> str:
        return self.text


TOKEN_BYTES = 64
"""Of one token's vector: as many numbers of 8 bits, of length 127."""


class Encoding(NamedTuple):
    """What a model makes of a text."""

    vector: bytes
    tokens: bytes = b""
    """Its token vectors, for late interaction; none of a model that gives none."""


class TokenCounter(Protocol):
    """A counter of tokens."""

    def count(self, text: str) -> int:
        """Return how many tokens *text* has, without special ones; 0 for an empty text."""
        ...


class InstalledModel(Protocol):
    """A model on this computer, installed or not."""

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        """Return the model's identity, or None when no model is installed. Never loads it."""
        ...

    @property
    def loaded(self) -> bool:
        """Return whether the model is in memory now."""
        ...


class Embedder(InstalledModel, Protocol):
    """A model that embeds texts, in its own thread."""

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        """Return one vector for each text, in order; raises as :meth:`encode`."""
        ...

    async def encode(self, texts: Sequence[str], *, bulk: bool = False) -> list[Encoding]:
        """Return of each text its vector and its token vectors, in order.

        Interactive texts go before *bulk* ones. Loads the model if needed. Raises
        DegradedError if no model is installed, BusyError if the queue is full,
        EmbeddingError if the model fails.
        """
        ...


class SentenceLogits(NamedTuple):
    """What a model tells of a sentence, in log-odds."""

    worth: float
    """That it is worth remembering, as the user's."""
    kinds: tuple[float, ...]
    """A score for each kind: preference, constraint, decision, correction, environment."""
    statement: float
    """That it is worth remembering, as the agent's."""
    in_memory: float
    """What it adds to the worth of a memory that tells it, as the agent's."""
    plain: float
    """That it plainly states what lasts: a fact, a decision, a rule, who somebody is.

    As a wish, it is told of the user's sentences alone, and -inf of an agent's."""
    wish: float
    """That it says how somebody wants the work done from now on."""
    answer: float
    """That it plainly tells what is worth remembering, in an answer of the agent's."""
    everywhere: float
    """That a wish holds in whatever project; great, too, where somebody tells of themselves."""
    life: float
    """That it tells an event or a change of somebody's life: "we broke up", "I got the job"."""


@runtime_checkable
class SentenceClassifier(Protocol):
    """A model that judges the sentences of messages, in its own thread."""

    async def classify(
        self, messages: Sequence[Sequence[str]], agents: Collection[int] = ()
    ) -> list[list[SentenceLogits]]:
        """Return of each message, given as its sentences, what the model tells of each of them.

        *agents* are the places of those messages that an agent wrote. Raises DegradedError if no
        model is installed that can, and as ``Embedder.embed``.
        """
        ...


class PairScorer(Protocol):
    """A cross-encoder that scores how well texts answer a question, in its own thread."""

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one raw logit for each text, in order; above 0 means a likely answer.

        Loads the model if needed. Raises DegradedError if none is installed, BusyError if
        too many questions wait, EmbeddingError if it fails or is too slow.
        """
        ...


MIN_CHUNK_TOKENS = 50
MAX_CHUNK_TOKENS = 300
"""The documents' bounds (SPEC 1.3.1)."""


class ChunkingConfig(Value):
    """The sizes of chunks: longer paragraphs are split, shorter ones joined to a neighbour.

    The documents' maximum is accepted and taken as the window of the embedding model (SPEC
    D3, docs/decisions/0063), because dense retrieval sees nothing beyond it.
    """

    min_tokens: int = Field(default=MIN_CHUNK_TOKENS, ge=1)
    """Paragraphs with fewer tokens are joined to a neighbour."""
    max_tokens: int = Field(default=min(MAX_CHUNK_TOKENS, WINDOW_TOKENS_MAX), ge=1)
    """Paragraphs with more tokens are split; at most the embedding model's window, 254."""

    @model_validator(mode="after")
    def _check_window(self) -> Self:
        if self.max_tokens > MAX_CHUNK_TOKENS:
            raise ValueError(
                f"max_tokens = {self.max_tokens}: a chunk has at most {WINDOW_TOKENS_MAX} tokens, "
                "the window of the embedding model"
            )
        if self.max_tokens > WINDOW_TOKENS_MAX:
            warn(
                f"memory.chunking.max_tokens = {self.max_tokens} is taken as {WINDOW_TOKENS_MAX}, "
                "the window of the embedding model"
            )
            # The model is frozen, but a validator may still complete it.
            self.__dict__["max_tokens"] = WINDOW_TOKENS_MAX
        if self.min_tokens > self.max_tokens:
            raise ValueError(
                f"min_tokens = {self.min_tokens} is above max_tokens = {self.max_tokens}"
            )
        return self
