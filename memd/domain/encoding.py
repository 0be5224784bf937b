"""Protocols of models that embed, judge, score and count texts; the sizes of chunks.

A vector is ``bytes``: little-endian float32, L2-normalised, as it is stored. So only
``embedding`` needs an array library. Token vectors are ``bytes`` too: for each token of
content, in the order of the text, ``TOKEN_BYTES`` numbers of type int8.
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
    """The identity of an embedding model: vectors are comparable if all but *name* is equal."""

    name: str
    weights_sha256: str
    window_tokens: int
    pooling: str
    dimension: int

    @cached_property
    def text(self) -> str:
        """The identity as text, the form in which the store has it."""
        return f"{self.weights_sha256[:16]}/{self.window_tokens}/{self.pooling}/{self.dimension}"

    def __str__(self) -> str:
        return self.text


TOKEN_BYTES = 64
"""The size of one token vector: 64 numbers of type int8, scaled to length 127."""


class Encoding(NamedTuple):
    """A text as encoded by a model: its vector and its token vectors."""

    vector: bytes
    tokens: bytes = b""
    """Token vectors for late interaction; empty if the model does not compute them, or knows none
    that carries content."""


class TokenCounter(Protocol):
    """A counter of tokens."""

    def count(self, text: str) -> int:
        """Return the number of tokens of *text*, without special tokens."""
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
        """Return the vector of each text, in order. Raises the errors of :meth:`encode`."""
        ...

    async def encode(self, texts: Sequence[str], *, bulk: bool = False) -> list[Encoding]:
        """Return the vector and the token vectors of each text, in order.

        Interactive texts are encoded before *bulk* ones. Loads the model if needed. Raises
        DegradedError if no model is installed, BusyError if the queue is full,
        EmbeddingError if the model fails.
        """
        ...


class SentenceLogits(NamedTuple):
    """A model's judgement of a sentence: the log-odds of several properties."""

    worth: float
    """Said by the user, it is worth remembering."""
    kinds: tuple[float, ...]
    """One score per kind: preference, constraint, decision, correction, environment."""
    statement: float
    """Said by the agent, it is worth remembering."""
    in_memory: float
    """Said by the agent: how much it adds to the worth of a memory that contains it."""
    plain: float
    """It plainly states something lasting: a fact, a decision, a rule, who somebody is.

    As for *wish*, only the user's sentences are judged; it is -inf for the agent's."""
    wish: float
    """It says how the user wants the work to be done from now on."""
    answer: float
    """In an answer of the agent, it plainly states something worth remembering."""
    everywhere: float
    """As a wish it applies in all projects; also high for what people say about themselves."""
    life: float
    """It tells an event or change in somebody's life: "we broke up", "I got the job"."""


@runtime_checkable
class SentenceClassifier(Protocol):
    """A model that judges the sentences of messages, in its own thread."""

    async def classify(
        self, messages: Sequence[Sequence[str]], agents: Collection[int] = ()
    ) -> list[list[SentenceLogits]]:
        """Return the judgements of the sentences of each message, in order.

        *messages* are lists of sentences, *agents* the indexes of the messages that an agent
        wrote. Raises DegradedError if the installed model cannot judge sentences, and the
        errors of ``Embedder.encode``.
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
"""The bounds of the documents (SPEC 1.3.1)."""


class ChunkingConfig(Value):
    """The sizes of chunks: longer paragraphs are split, shorter ones joined to a neighbour.

    The documents allow up to 300 tokens. A value above the window of the embedding model is
    accepted and lowered to the window, because dense retrieval ignores what is beyond it (SPEC
    D3, docs/decisions/0063).
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
            # The model is frozen, so its validator sets the field through __dict__.
            self.__dict__["max_tokens"] = WINDOW_TOKENS_MAX
        if self.min_tokens > self.max_tokens:
            raise ValueError(
                f"min_tokens = {self.min_tokens} is above max_tokens = {self.max_tokens}"
            )
        return self
