"""Takes another embedding model into the folder of models: any encoder as ONNX.

What is taken is a folder as sentence-transformers lays it out (``model.onnx`` or
``onnx/model.onnx``, ``tokenizer.json``, its small JSON files), or one that memd wrote. The
model must run and give vectors of its dimension before the folder stands in its place, with
one rename. Whatever fails, nothing is changed.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base.errors import InvalidError, MemdError, ModelError
from memd.base.paths import MODEL_NAME
from memd.domain.encoding import ModelFingerprint
from memd.embedding.chosen import folder_of
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
from memd.embedding.onnx_encoder import CENTRE_FILE, OnnxEncoder
from memd.text.tokens import TOKENIZER_FILE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WINDOW_DEFAULT = 256
LANGUAGES_FILE = "languages.json"
SHARE_KEPT = 16
"""At most one direction in so many is taken off a model's vectors."""
APART_MIN = 1e-3
"""By less, languages do not differ: a model that knows one of them."""
_WINDOW_MAX = 512
_HINT = "give a folder with model.onnx, tokenizer.json and config.json"
_E5_PREFIX = "query: "  # its card: for texts that are compared with each other


def add(default: Path, source: Path, name: str | None = None) -> Path:
    """Put the model of the folder *source* beside *default* and return its folder.

    Raises ModelError naming what is missing, damaged or does not run, InvalidError for a
    name that is taken or is none, StorageError when the disk refuses.
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
            _prove(new, _taken(source, new, target.name))
            new.rename(target)
    except OSError as error:
        raise storage_error(error, target) from error
    return target


def _taken(source: Path, new: Path, name: str) -> Manifest:
    """Copy the model's files into *new*; a folder that memd wrote comes as it is."""
    known = read_manifest(source)
    if known is not None:
        for file in known.files:
            shutil.copyfile(source / file.name, new / file.name)
        shutil.copyfile(source / MANIFEST_FILE, new / MANIFEST_FILE)
        check_hashes(new, known)
        return known
    graph = next((at for at in (source, source / "onnx") if (at / ONNX_FILE).is_file()), None)
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
    _centre(new, manifest)
    return write_manifest(new, model, {"folder": source.name}, prefix)


def _centre(new: Path, manifest: Manifest) -> None:
    """Measure where the model's vectors lie on average, and which way they differ by language.

    The same sentences in five languages: what their means differ by tells the language and
    nothing else.
    """
    import numpy as np

    raw = resources.files("memd.embedding").joinpath(LANGUAGES_FILE).read_text("utf-8")
    centres: dict[str, list[str]] = json.loads(raw)
    with _running(manifest):
        encoder = OnnxEncoder(new, manifest)
        means = np.stack([encoder.pooled(texts).mean(axis=0) for texts in centres.values()])
    centre = means.mean(axis=0)
    _, apart, directions = np.linalg.svd(means - centre, full_matrices=False)
    number = min(int((apart > APART_MIN).sum()), manifest.fingerprint.dimension // SHARE_KEPT)
    np.vstack([centre, directions[:number]]).astype("<f4").tofile(new / CENTRE_FILE)


def _prove(new: Path, manifest: Manifest) -> None:
    """Raise ModelError unless the model runs and tells texts apart."""
    import numpy as np

    rows = _pooled(new, manifest)
    if float(np.linalg.norm(rows - rows[0])) < 1e-3:  # noqa: PLR2004
        raise ModelError(f"{manifest.fingerprint.name} gives every text the same vector")


def _pooled(new: Path, manifest: Manifest) -> NDArray[np.float32]:
    with _running(manifest):
        return OnnxEncoder(new, manifest).pooled([each.text[:400] for each in references()])


@contextmanager
def _running(manifest: Manifest) -> Iterator[None]:
    """Raise ModelError for whatever a model does that does not run."""
    try:
        yield
    except ModelError:
        raise
    except (MemdError, Exception) as error:  # onnxruntime raises bare Exceptions
        why = error.message if isinstance(error, MemdError) else type(error).__name__
        raise ModelError(f"{manifest.fingerprint.name} does not run: {why}", hint=_HINT) from error


def _dimension(source: Path) -> int:
    dimension = _json(source / "config.json").get("hidden_size")
    if not isinstance(dimension, int) or not 0 < dimension <= 8192:  # noqa: PLR2004  # the schema's bound
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
    """Return the object in *path*, empty without the file; ModelError for what is none."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ModelError(f"{path} is damaged") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path} is damaged")
    return value
