"""A model folder: its files, their hashes, its identity.

A folder counts as installed when its manifest, ``memd-model.json``, lists files
that exist with the listed sizes. Hashes are compared when the model is
loaded and by ``status``, as a vector of damaged weights looks like any
other. Reading the identity costs a few ``stat`` calls, so a daemon can check often
and notices a model that is installed while it runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memd.base.errors import DegradedError, ModelError
from memd.base.paths import MODEL_NAME
from memd.domain.encoding import ModelFingerprint

MANIFEST_FILE = "memd-model.json"
MANIFEST_VERSION = 2
_FIRST_VERSION = 1
"""Its model file lacks the output by which naps judge sentences; it embeds as well as any."""
ONNX_FILE = "model.onnx"
WEIGHTS_FILE = "model.safetensors"
REPOSITORY = f"sentence-transformers/{MODEL_NAME}"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
SOURCE_SHA256 = {
    WEIGHTS_FILE: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
DIMENSION = 384
WINDOW_TOKENS = 256  # with [CLS] and [SEP]; the model's definition, its files say 128 and 512
POOLING = "mean"
FINGERPRINT = ModelFingerprint(
    MODEL_NAME, SOURCE_SHA256[WEIGHTS_FILE], WINDOW_TOKENS, POOLING, DIMENSION
)
INSTALL_HINT = "run: memd model install"
RERANKER_HINT = "run: memd model install --reranker"
NOT_INSTALLED = "no model is installed"
"""The problem of a folder without any model, even a damaged one."""
_OLD = "an earlier memd installed it: naps judge sentences by rules alone"

Stamp = tuple[int, int, int]
"""Inode, time and size of a manifest, which identify an installation."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of the folder, as the manifest lists it."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a folder by its manifest."""

    fingerprint: ModelFingerprint
    files: tuple[ModelFile, ...]
    prefix: str = ""
    """The prefix of every text for the model."""
    version: int = MANIFEST_VERSION

    @property
    def has_states(self) -> bool:
        """Whether the model gives the states of its fourth layer, too (``onnx_graph``)."""
        return self.fingerprint == FINGERPRINT and self.version > _FIRST_VERSION


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The state of a model folder. *problem* is None when all is well.

    An installed model may have one, too: what it lacks beside a newer one.
    """

    folder: Path
    installed: bool
    fingerprint: ModelFingerprint | None = None
    files: tuple[ModelFile, ...] = ()
    problem: str | None = None


class ModelFolder:
    """A model folder whose manifest is read again only after a change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._manifest = path / MANIFEST_FILE
        self._cached: tuple[Manifest, Stamp] | None = None
        self._damaged: tuple[Stamp, ModelError] | None = None

    def read(self) -> tuple[Manifest, Stamp] | None:
        """Return manifest and stamp, None when there is no model, or raise ModelError."""
        try:
            stat = self._manifest.stat()
        except OSError:
            return None
        stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if self._damaged and self._damaged[0] == stamp:
            error = self._damaged[1]
            raise ModelError(error.message, hint=error.hint)
        cached = self._cached
        if cached is None or cached[1] != stamp:
            manifest = read_manifest(self.path)
            if manifest is None:
                return None
            self._cached = cached = (manifest, stamp)
        return cached

    def mark_damaged(self, stamp: Stamp, error: ModelError) -> None:
        """Let every ``read`` raise *error* until another model is installed.

        Otherwise each request would hash the same damaged 90 MB again.
        """
        self._damaged = (stamp, error)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal. 90 MB take 60 to 300 ms."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of *folder*, None when it has none.

    Raises ModelError when the manifest is damaged, or a listed file is
    missing or has another size; the message names the file. Compares no hashes.
    """
    path = folder / MANIFEST_FILE
    try:
        manifest = _parse(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is damaged", hint=INSTALL_HINT) from error
    for file in manifest.files:
        _check_size(folder / file.name, file.size_bytes)
    return manifest


def check_hashes(folder: Path, manifest: Manifest) -> None:
    """Raise ModelError, naming the file, unless every file has the hash in *manifest*.

    Raises DegradedError when a file cannot be read now.
    """
    for file in manifest.files:
        path = folder / file.name
        try:
            digest = sha256_of(path)
        except FileNotFoundError as error:
            raise ModelError(f"{path} is missing", hint=INSTALL_HINT) from error
        except OSError as error:
            raise DegradedError(f"{path} cannot be read: {error.strerror}") from error
        if digest != file.sha256:
            raise ModelError(
                f"{path} is damaged: its sha256 is {digest[:12]}, not {file.sha256[:12]}",
                hint=INSTALL_HINT,
            )


def write_manifest(
    folder: Path,
    fingerprint: ModelFingerprint = FINGERPRINT,
    source: Mapping[str, str] = MappingProxyType({"repository": REPOSITORY, "revision": REVISION}),
    prefix: str = "",
) -> Manifest:
    """Write the manifest of all files in *folder*, and return it.

    *source* is where the weights were published.
    """
    files = tuple(
        ModelFile(path.name, path.stat().st_size, sha256_of(path))
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST_FILE
    )
    document = {
        "version": MANIFEST_VERSION,
        "source": dict(source),
        "fingerprint": asdict(fingerprint),
        **({"prefix": prefix} if prefix else {}),
        "files": {
            file.name: {"size_bytes": file.size_bytes, "sha256": file.sha256} for file in files
        },
    }
    text = json.dumps(document, indent=2) + "\n"
    (folder / MANIFEST_FILE).write_text(text, encoding="utf-8")
    return Manifest(fingerprint, files, prefix)


def status(model_dir: Path) -> ModelStatus:
    """Return the state of *model_dir*, comparing every hash; raises nothing."""
    manifest: Manifest | None = None
    try:
        manifest = read_manifest(model_dir)
        if manifest is None:
            return ModelStatus(model_dir, installed=False, problem=NOT_INSTALLED)
        check_hashes(model_dir, manifest)
    except (ModelError, DegradedError) as error:
        files = manifest.files if manifest else ()
        return ModelStatus(model_dir, installed=False, files=files, problem=error.message)
    is_old = manifest.fingerprint == FINGERPRINT and not manifest.has_states
    problem = _OLD if is_old else None
    return ModelStatus(model_dir, True, manifest.fingerprint, manifest.files, problem)


def _parse(raw: bytes) -> Manifest:
    document: dict[str, Any] = json.loads(raw)
    version = document["version"]
    if version not in {_FIRST_VERSION, MANIFEST_VERSION}:
        raise ValueError("unknown version")
    fields = document["fingerprint"]
    fingerprint = ModelFingerprint(
        name=str(fields["name"]),
        weights_sha256=str(fields["weights_sha256"]),
        window_tokens=int(fields["window_tokens"]),
        pooling=str(fields["pooling"]),
        dimension=int(fields["dimension"]),
    )
    files = tuple(
        ModelFile(_check_name(name), int(entry["size_bytes"]), str(entry["sha256"]))
        for name, entry in document["files"].items()
    )
    if not any(file.name == ONNX_FILE for file in files):
        raise ValueError("no model is listed")
    return Manifest(fingerprint, files, str(document.get("prefix", "")), version)


def _check_name(name: str) -> str:
    """Return *name* unless it could lead out of the folder."""
    if name in {"", ".", ".."} or Path(name).name != name:
        raise ValueError("not a file name")
    return name


def _check_size(path: Path, size_bytes: int) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ModelError(f"{path} is missing", hint=INSTALL_HINT) from error
    if size != size_bytes:
        raise ModelError(
            f"{path} is damaged: it has {size} bytes, not {size_bytes}", hint=INSTALL_HINT
        )
