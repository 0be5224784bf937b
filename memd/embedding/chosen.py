"""The embedding model that is in use, of those in the folder of models.

Everything that embeds holds this one embedder, so that another model is in use at once and
everywhere. Models lie side by side, each in a folder of its name; the one that memd comes
with is in use until the owner chooses another (docs/models.md). A thread is started by the
first text and its model given back when idle, so a model that is not used costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from memd.base.errors import InvalidError
from memd.domain.encoding import ModelFingerprint
from memd.embedding.embed import EmbedderThread

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class ChosenEmbedder:
    """The embedder of a daemon (:class:`memd.domain.encoding.Embedder`), whichever model it is."""

    def __init__(self, default: Path, make: Callable[[Path], EmbedderThread]) -> None:
        self._default = default
        self._make = make
        self._threads: dict[str, EmbedderThread] = {}
        self.name = default.name
        """The folder's name of the model in use."""

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        return self.of(self.name).fingerprint

    @property
    def loaded(self) -> bool:
        return self.of(self.name).loaded

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        """Return one vector for each text, all of the model that is in use now."""
        return await self.of(self.name).embed(texts, bulk=bulk)

    def warm(self) -> None:
        """Have the model loaded for whoever asks next; nothing is waited for."""
        self.of(self.name).warm()

    def serve(self, name: str | None) -> None:
        """Use the model in the folder *name* from now on; None for the one memd comes with."""
        self.name = name or self._default.name

    def of(self, name: str) -> EmbedderThread:
        """Return the embedder of the model in the folder *name*, in use or not."""
        if name not in self._threads:
            self._threads[name] = self._make(folder_of(self._default, name))
        return self._threads[name]

    def folder(self, name: str) -> Path:
        """Return where the model *name* lies, or would; InvalidError for what is no name."""
        return folder_of(self._default, name)

    async def close(self) -> None:
        """End every thread and give the models back."""
        for thread in self._threads.values():
            await thread.close()


def folder_of(default: Path, name: str) -> Path:
    """Return the folder of the model *name*, beside *default*; InvalidError for what is no name.

    The folder of *default* is the person's choice, and may be called anything.
    """
    if name == default.name:
        return default
    if not _NAME.fullmatch(name):
        raise InvalidError(
            f"{name!r} is not the name of a model", field="name", hint="see: memd model list"
        )
    return default.with_name(name)
