"""How large the chunks of a text are: a setting, bounded by the embedding model's window."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from memd.base.limits import WINDOW_TOKENS_MAX
from memd.domain.settings_consolidation import warn
from memd.domain.values import Value

MIN_CHUNK_TOKENS = 50
MAX_CHUNK_TOKENS = 300
"""The documents' bounds (SPEC 1.3.1)."""


class ChunkingConfig(Value):
    """A paragraph above *max_tokens* is cut, one below *min_tokens* joins a neighbour.

    The documents' maximum is accepted, and is the window of the embedding model
    (SPEC D3, docs/decisions/0063): what is beyond it no search by meaning would see.
    """

    min_tokens: int = Field(default=MIN_CHUNK_TOKENS, ge=1)
    """A paragraph of fewer tokens joins a neighbour."""
    max_tokens: int = Field(default=min(MAX_CHUNK_TOKENS, WINDOW_TOKENS_MAX), ge=1)
    """A paragraph of more is cut; at most the embedding model's window, 254."""

    @model_validator(mode="after")
    def _within_the_window(self) -> Self:
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
            # The model is frozen for everybody else; a validator may still complete it.
            self.__dict__["max_tokens"] = WINDOW_TOKENS_MAX
        if self.min_tokens > self.max_tokens:
            raise ValueError(
                f"min_tokens = {self.min_tokens} is above max_tokens = {self.max_tokens}"
            )
        return self
