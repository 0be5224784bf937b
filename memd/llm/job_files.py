"""Job files: what a command was sent as language model, and what it answered.

A folder for each job, 0600 in 0700, named by its time: ``prompt`` as it was sent, ``job.json``
with purpose, command, schema, ending, exit code and duration, then ``answer`` and ``errors``.
``work`` is there while the command runs, as its working directory. They hold memories' texts,
so whatever erases one memory erases all job files (docs/decisions/0220); a job that runs
then is killed and its answer is none.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from memd.base.clock import DAY_US, Clock, from_us
from memd.base.errors import StorageError
from memd.base.limits import JOBS_KEPT_MAX

_STAMP: Final = "%Y%m%dT%H%M%S.%fZ"
_RECORD = "job.json"
_WORK = "work"
IN_A_JOB: Final = "MEMD_JOB"
"""Set for the command: memd's hooks do nothing in a session that is one of its jobs."""


class Ending(NamedTuple):
    """How a job ended; *why* names what went wrong."""

    answer: str = ""
    errors: str = ""
    why: str | None = None
    exit_code: int | None = None


@dataclass
class Job:
    """One job under way."""

    folder: Path
    began_us: int
    record: dict[str, Any]
    stop: Callable[[], None] = lambda: None
    """Kills the command."""
    erased: bool = False

    @property
    def prompt(self) -> Path:
        return self.folder / "prompt"

    @property
    def work(self) -> Path:
        return self.folder / _WORK


@dataclass
class JobFiles:
    """The job files of one profile; nothing is created before the first job."""

    folder: Path
    clock: Clock
    days: int = 7
    _running: list[Job] = field(default_factory=list)

    def begin(
        self, purpose: str, command: Sequence[str], schema: Mapping[str, Any] | None, prompt: str
    ) -> Job:
        """Write down what is about to be sent; raises OSError."""
        self.trim()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = self._new()
        record = {
            "id": folder.name,
            "purpose": purpose,
            "command": list(command),
            "began_at": from_us(self.clock.now_us()).isoformat(),
            "schema": None if schema is None else dict(schema),
            "state": "running",
        }
        job = Job(folder, self.clock.monotonic_us(), record)
        _write(job.prompt, prompt)
        _note(job.folder, record)
        job.work.mkdir(mode=0o700)
        self._running.append(job)
        return job

    def started(self, job: Job, pid: int, created: float, stop: Callable[[], None]) -> None:
        """Note the process of *job*, which *stop* kills."""
        job.stop = stop
        job.record |= {"pid": pid, "pid_created": created}
        _note(job.folder, job.record)

    def finish(self, job: Job, ending: Ending) -> None:
        """Note how *job* ended; of one that was erased meanwhile nothing is written."""
        self._running.remove(job)
        if job.erased:
            return
        _remove(job.work)
        _write(job.folder / "answer", ending.answer)
        _write(job.folder / "errors", ending.errors)
        job.record |= {
            "state": "answered" if ending.why is None else "failed",
            "why": ending.why,
            "exit_code": ending.exit_code,
            "duration_ms": (self.clock.monotonic_us() - job.began_us) // 1_000,
        }
        _note(job.folder, job.record)

    def erase(self) -> None:
        """Kill what runs and remove every job file; raises StorageError where one stays."""
        for job in self._running:
            job.erased = True
            job.stop()
        try:
            for folder in _folders(self.folder):
                _remove(folder)
            _settle(self.folder)
        except OSError as error:
            raise StorageError(
                f"job files cannot be erased: {self.folder} ({error.strerror})",
                hint="remove the folder and ask again",
            ) from None

    def recover(self) -> None:
        """Mend what a killed daemon left: its commands are killed, their jobs have failed."""
        for folder in _folders(self.folder):
            if not (folder / _WORK).exists():
                continue
            with suppress(OSError):
                record = _record(folder)
                _kill_left(record)
                _remove(folder / _WORK)
                _note(folder, record | {"state": "failed", "why": "memd ended before the command"})
        self.trim()

    def trim(self) -> None:
        """Remove jobs older than *days*, and the oldest of more than JOBS_KEPT_MAX."""
        folders = sorted(_folders(self.folder), key=lambda each: each.name)
        oldest = from_us(self.clock.now_us() - self.days * DAY_US).strftime(_STAMP)
        running = {job.folder for job in self._running}
        for number, folder in enumerate(folders):
            too_many = number <= len(folders) - JOBS_KEPT_MAX
            if (too_many or folder.name < oldest) and folder not in running:
                with suppress(OSError):
                    _remove(folder)

    def _new(self) -> Path:
        now_us = self.clock.now_us()
        while True:
            folder = self.folder / from_us(now_us).strftime(_STAMP)
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                now_us += 1
            else:
                return folder


def jobs_in(folder: Path) -> list[dict[str, Any]]:
    """Return what is known of each job in *folder*, the newest first, without the texts."""
    folders = sorted(_folders(folder), key=lambda each: each.name, reverse=True)
    return [_read_record(each) for each in folders]


def job_in(folder: Path, job_id: str) -> dict[str, Any] | None:
    """Return the one job whose id begins with *job_id*, with its texts; None for none or many."""
    folders = [each for each in _folders(folder) if each.name.startswith(job_id)]
    if len(folders) != 1:
        return None
    record = _record(folders[0])
    texts = {name: _read(folders[0] / name) for name in ("prompt", "answer", "errors")}
    return {**_read_record(folders[0]), "schema": record.get("schema"), **texts}


def _read_record(folder: Path) -> dict[str, Any]:
    record = _record(folder)
    names = ("purpose", "state", "why", "command", "began_at", "exit_code", "duration_ms")
    sizes = {f"{name}_bytes": _size(folder / name) for name in ("prompt", "answer")}
    return {"id": folder.name, **{name: record.get(name) for name in names}, **sizes}


def _folders(folder: Path) -> Iterator[Path]:
    """Yield the jobs in *folder*; what has another name is not ours to touch."""
    for each in list(folder.iterdir()) if folder.is_dir() else ():
        with suppress(ValueError):
            datetime.strptime(each.name, _STAMP).replace(tzinfo=UTC)
            yield each


def _record(folder: Path) -> dict[str, Any]:
    try:
        fields = json.loads((folder / _RECORD).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {"state": "unreadable"}
    return fields if isinstance(fields, dict) else {"state": "unreadable"}


def _note(folder: Path, record: Mapping[str, Any]) -> None:
    """Replace the record in one step: who reads it, or is killed, sees the old or the new."""
    fresh = folder / f"{_RECORD}.new"
    _write(fresh, json.dumps(record, ensure_ascii=False, indent=1))
    fresh.replace(folder / _RECORD)


def _write(path: Path, text: str) -> None:
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(number, "wb") as stream:  # noqa: PTH123  # a descriptor has no path
        stream.write(text.encode("utf-8", "replace"))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _remove(folder: Path) -> None:
    """Remove *folder* whatever modes a command left in it."""
    if not folder.exists():
        return
    for place, names, _ in os.walk(folder):
        for name in names:
            inner = Path(place, name)
            if not inner.is_symlink():
                inner.chmod(0o700)
    shutil.rmtree(folder)


def _settle(folder: Path) -> None:
    """Make the disk remember what was removed from *folder*."""
    if folder.is_dir():
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _kill_left(record: Mapping[str, Any]) -> None:
    """Kill what is left of the group of a job's command, and no other that got its number."""
    import psutil

    pid, created = record.get("pid"), record.get("pid_created")
    if not isinstance(pid, int) or pid <= 1:
        return
    with suppress(psutil.NoSuchProcess):
        if psutil.Process(pid).create_time() == created:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        return
    for each in psutil.process_iter():  # the first has gone, and left others
        with suppress(psutil.Error, OSError):
            if os.getpgid(each.pid) == pid and each.environ().get(IN_A_JOB):
                each.kill()
