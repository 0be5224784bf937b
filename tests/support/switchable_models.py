"""Embedding models of different dimensions, one of which can replace the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from support.fakes import HashEmbedder, fingerprint

from memd.base.errors import EmbeddingError
from memd.embedding.embed import SwitchableEmbedder
from memd.embedding.model_files import ONNX_FILE, write_manifest

DIMENSIONS = {"A": 32, "B": 16, "C": 24}


class SwitchedModel(HashEmbedder):
    """A model of another dimension, that may fail at its nth call."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder.name, dimension=DIMENSIONS[folder.name])
        self.calls_left: int | None = None
        self.meanwhile: Any = None

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        if self.calls_left is not None:
            self.calls_left -= 1
            if self.calls_left < 0:
                raise EmbeddingError("the model failed")
        if any("poison" in text for text in texts) and self.name == "B":
            raise EmbeddingError("the model failed")
        if self.meanwhile is not None:
            await self.meanwhile()
        return await super().embed(texts, bulk=bulk)


def a_folder(path: Path, name: str, *, tokenizer: bool = True) -> Path:
    folder = path / "models" / name
    folder.mkdir(parents=True)
    (folder / ONNX_FILE).write_bytes(b"weights")
    if tokenizer:
        (folder / "tokenizer.json").write_text("{}")
    write_manifest(folder, fingerprint(name, DIMENSIONS[name]))
    return folder


def a_chooser(path: Path) -> SwitchableEmbedder:
    """Return an embedder over all of the models in *path*; A is the one memd came with."""
    for name in DIMENSIONS:
        if not (path / "models" / name).exists():
            a_folder(path, name)
    return SwitchableEmbedder(path / "models" / "A", cast("Any", SwitchedModel))
