"""Add an embedding model, any encoder as ONNX, to the models folder.

The source is a folder as sentence-transformers lays it out (``model.onnx`` or
``onnx/model.onnx``, ``tokenizer.json``, its small JSON files), or one that memd wrote. The
model must run and give vectors of its dimension before one rename moves the folder into
its place. If anything fails, nothing is changed.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from memd.base.errors import InvalidError, MemdError, ModelError
from memd.base.paths import MODEL_NAME
from memd.domain.encoding import ModelFingerprint
from memd.embedding.embed import folder_of
from memd.embedding.encoders import CENTRE_FILE, OnnxEncoder
from memd.embedding.install import references, storage_error
from memd.embedding.model_files import (
    MANIFEST_FILE,
    ONNX_FILE,
    Manifest,
    check_hashes,
    read_manifest,
    sha256_of,
    write_manifest,
)
from memd.text.tokens import TOKENIZER_FILE

WINDOW_DEFAULT = 256
LANGUAGES_FILE = "languages.json"
DIMENSIONS_PER_DIRECTION = 16
"""The dimensions of a model per direction that may be removed from its vectors."""
LANGUAGE_SPREAD_MIN = 1e-3
"""Below this the languages do not differ, as in a model that knows only one."""
_WINDOW_MAX = 512
_HINT = "give a folder with model.onnx, tokenizer.json and config.json"
_E5_PREFIX = "query: "  # by its model card, for texts that are compared with each other


def add(default: Path, source: Path, name: str | None = None) -> Path:
    """Add the model in the folder *source* next to *default* and return its folder.

    Raises ModelError naming what is missing, damaged or does not run, InvalidError for a
    name that is taken or invalid, StorageError when the disk refuses.
    """
    target = folder_of(default, name or source.name)
    if target == default or target.name == MODEL_NAME:
        raise InvalidError(f"{target.name} is memd's own model", hint="memd model install")
    if target.exists():
        raise InvalidError(f"{target} exists already", field="name", hint="choose another --name")
    if not source.is_dir():
        raise ModelError(f"{source} is no folder", hint=_HINT)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".memd-model-", dir=target.parent) as work:
            new = Path(work) / "new"
            new.mkdir()
            _check_model(new, _copy_model(source, new, target.name))
            new.rename(target)
    except OSError as error:
        raise storage_error(error, target) from error
    return target


def _copy_model(source: Path, new: Path, name: str) -> Manifest:
    """Copy the model's files into *new*; a folder that memd wrote is copied unchanged."""
    manifest_of_source = read_manifest(source)
    if manifest_of_source is not None:
        for file in manifest_of_source.files:
            shutil.copyfile(source / file.name, new / file.name)
        shutil.copyfile(source / MANIFEST_FILE, new / MANIFEST_FILE)
        check_hashes(new, manifest_of_source)
        return manifest_of_source
    graph = next(
        (folder for folder in (source, source / "onnx") if (folder / ONNX_FILE).is_file()), None
    )
    for path, missing in ((graph, ONNX_FILE), (source / TOKENIZER_FILE, TOKENIZER_FILE)):
        if path is None or not path.exists():
            raise ModelError(f"{source} lacks {missing}", hint=_HINT)
    assert graph is not None
    for path in (*sorted(graph.glob(f"{ONNX_FILE}*")), source / TOKENIZER_FILE):
        shutil.copyfile(path, new / path.name)
    for extra in ("config.json", "LICENSE", "NOTICE"):
        if (source / extra).is_file():
            shutil.copyfile(source / extra, new / extra)
    model = ModelFingerprint(
        name,
        sha256_of(new / ONNX_FILE),
        _window(source),
        f"{_pooling(source)}-neutral",
        _dimension(source),
    )
    prefix = _E5_PREFIX if "e5" in name.lower().replace("_", "-").split("-") else ""
    manifest = write_manifest(new, model, {"folder": source.name}, prefix)
    _write_centre(new, manifest)
    return write_manifest(new, model, {"folder": source.name}, prefix)


def _write_centre(new: Path, manifest: Manifest) -> None:
    """Measure the mean of the model's vectors, and the directions in which languages differ.

    The same sentences in five languages: their means differ by the language and
    nothing else.
    """
    import numpy as np

    raw = resources.files("memd.embedding").joinpath(LANGUAGES_FILE).read_text("utf-8")
    texts_by_language: dict[str, list[str]] = json.loads(raw)
    with _as_model_errors(manifest):
        encoder = OnnxEncoder(new, manifest)
        means = np.stack([encoder.pool(texts).mean(axis=0) for texts in texts_by_language.values()])
    centre = means.mean(axis=0)
    _, spreads, directions = np.linalg.svd(means - centre, full_matrices=False)
    number = min(
        int((spreads > LANGUAGE_SPREAD_MIN).sum()),
        manifest.fingerprint.dimension // DIMENSIONS_PER_DIRECTION,
    )
    np.vstack([centre, directions[:number]]).astype("<f4").tofile(new / CENTRE_FILE)


def _check_model(new: Path, manifest: Manifest) -> None:
    """Raise ModelError unless the model runs and gives different texts different vectors."""
    import numpy as np

    with _as_model_errors(manifest):
        rows = OnnxEncoder(new, manifest).pool([reference.text[:400] for reference in references()])
    if float(np.linalg.norm(rows - rows[0])) < 1e-3:  # noqa: PLR2004
        raise ModelError(f"{manifest.fingerprint.name} gives every text the same vector")


@contextmanager
def _as_model_errors(manifest: Manifest) -> Iterator[None]:
    """Raise whatever a model raises that does not run as ModelError."""
    try:
        yield
    except ModelError:
        raise
    except (MemdError, Exception) as error:  # onnxruntime raises bare Exceptions
        why = error.message if isinstance(error, MemdError) else type(error).__name__
        raise ModelError(f"{manifest.fingerprint.name} does not run: {why}", hint=_HINT) from error


def _dimension(source: Path) -> int:
    dimension = _json(source / "config.json").get("hidden_size")
    if not isinstance(dimension, int) or not 0 < dimension <= 8192:  # noqa: PLR2004  # the bound in the schema
        raise ModelError(f"{source / 'config.json'} does not say hidden_size", hint=_HINT)
    return dimension


def _window(source: Path) -> int:
    tokens = _json(source / "sentence_bert_config.json").get("max_seq_length")
    window = tokens or _json(source / "tokenizer_config.json").get("model_max_length")
    return min(window, _WINDOW_MAX) if isinstance(window, int) and window > 8 else WINDOW_DEFAULT  # noqa: PLR2004


def _pooling(source: Path) -> str:
    flags = _json(source / "1_Pooling" / "config.json")
    return "cls" if flags.get("pooling_mode_cls_token") is True else "mean"


def _json(path: Path) -> dict[str, Any]:
    """Return the object in *path*, {} without the file; ModelError if it is no JSON object."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ModelError(f"{path} is damaged") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path} is damaged")
    return value
