"""The embedder of the model in use, among the models in the models folder.

Everything that embeds shares this one embedder, so that a switch of the model takes effect
everywhere at once. Each model is a folder of its name; memd's own is in use until the owner
chooses another (docs/models.md). A model's thread starts with its first text and releases
the model when idle, so an unused model costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from memd.base.errors import InvalidError
from memd.domain.encoding import ModelFingerprint
from memd.embedding.embed import EmbedderThread

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class SwitchableEmbedder:
    """The embedder of a daemon (:class:`memd.domain.encoding.Embedder`), for any model."""

    def __init__(self, default: Path, make: Callable[[Path], EmbedderThread]) -> None:
        self._default = default
        self._create = make
        self._threads: dict[str, EmbedderThread] = {}
        self.name = default.name
        """The folder's name of the model in use."""

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        return self.embedder_of(self.name).fingerprint

    @property
    def loaded(self) -> bool:
        return self.embedder_of(self.name).loaded

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        """Return one vector for each text, all of the model in use."""
        return await self.embedder_of(self.name).embed(texts, bulk=bulk)

    def warm(self) -> None:
        """Start to load the model for the next caller, without waiting."""
        self.embedder_of(self.name).warm()

    def serve(self, name: str | None) -> None:
        """Use the model in the folder *name* from now on; None for memd's own."""
        self.name = name or self._default.name

    def embedder_of(self, name: str) -> EmbedderThread:
        """Return the embedder of the model in the folder *name*, in use or not."""
        if name not in self._threads:
            self._threads[name] = self._create(folder_of(self._default, name))
        return self._threads[name]

    def folder(self, name: str) -> Path:
        """Return the folder of the model *name*, which may not exist; InvalidError for no name."""
        return folder_of(self._default, name)

    async def close(self) -> None:
        """End every thread and release the models."""
        for thread in self._threads.values():
            await thread.close()


def folder_of(default: Path, name: str) -> Path:
    """Return the folder of the model *name*, beside *default*; InvalidError for an invalid name.

    The folder of *default* was chosen by the owner and may have any name.
    """
    if name == default.name:
        return default
    if not _NAME.fullmatch(name):
        raise InvalidError(
            f"{name!r} is not the name of a model", field="name", hint="see: memd model list"
        )
    return default.with_name(name)
