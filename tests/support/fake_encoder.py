"""A small encoder in place of the real one: each word is a token, each text has its own vector."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from support.daemon import WAIT_S
from support.fakes import hash_tokens

from memd.embedding.encoders import EncodedBatch
from memd.embedding.model_files import ONNX_FILE, Manifest, write_manifest
from memd.text.tokens import TextWindow

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIMENSION = 8


def a_model_folder(path: Path, *, weights: bytes = b"weights") -> Path:
    """Write a folder that counts as installed."""
    path.mkdir(parents=True, exist_ok=True)
    (path / ONNX_FILE).write_bytes(weights)
    (path / "config.json").write_text("{}")
    write_manifest(path)
    return path


def the_vector(text: str) -> NDArray[np.float32]:
    """Return the unit vector that the fake gives *text*."""
    seed = hashlib.sha256(text.encode()).digest()
    raw = np.frombuffer(seed[:DIMENSION], dtype=np.uint8).astype(np.float32) + 1.0
    return raw / np.linalg.norm(raw)


class FakeEncoder:
    """Remembers its batches; a test may hold it at the gate or make it fail at a text."""

    def __init__(self, *, window: int = 4, fails_at: str | None = None) -> None:
        self.batches: list[list[str]] = []
        self.cut: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.loads = 0
        self._window = window
        self._fails_at = fails_at

    def load(self, _folder: Path, _manifest: Manifest) -> FakeEncoder:
        self.loads += 1
        return self

    def windows(self, text: str) -> list[TextWindow]:
        self.cut.append(text)
        words = text.split()
        if len(words) <= self._window:
            return [TextWindow(text, len(words))]
        parts = [words[at : at + self._window] for at in range(0, len(words), self._window)]
        return [TextWindow(" ".join(part), len(part)) for part in parts]

    def encode(self, texts: list[str]) -> EncodedBatch:
        self.entered.set()
        assert self.gate.wait(WAIT_S)
        self.batches.append(texts)
        if self._fails_at in texts:
            raise RuntimeError("planted")
        vectors = np.stack([the_vector(text) for text in texts])
        return EncodedBatch(vectors, [hash_tokens(text) for text in texts])
