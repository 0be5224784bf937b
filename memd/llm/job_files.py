"""Job files: the prompts and answers of a language model's command.

Each job has a folder named by its time (mode 0700, files 0600). ``prompt`` is the text as sent,
``job.json`` has purpose, command, schema, state, exit code and duration, ``answer`` and ``errors``
are the output. ``work``, the command's working directory, exists while it runs. As these files
contain texts of memories, forgetting any memory erases all of them (docs/decisions/0220), kills
running jobs and discards their answers.
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
"""An environment variable of the command; memd's hooks do nothing in a session that has it."""


class Ending(NamedTuple):
    """The end of a job; *why* is the reason of a failure, None for a success."""

    answer: str = ""
    errors: str = ""
    why: str | None = None
    exit_code: int | None = None


@dataclass
class Job:
    """A running job."""

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
        """Create the job's files before the prompt is sent. Raises OSError."""
        self.trim()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = self._make_folder()
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
        _write_record(job.folder, record)
        job.work.mkdir(mode=0o700)
        self._running.append(job)
        return job

    def note_process(self, job: Job, pid: int, created: float, stop: Callable[[], None]) -> None:
        """Record the process of *job*, which *stop* kills."""
        job.stop = stop
        job.record |= {"pid": pid, "pid_created": created}
        _write_record(job.folder, job.record)

    def finish(self, job: Job, ending: Ending) -> None:
        """Record the end of *job*; write nothing if it was erased meanwhile."""
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
        _write_record(job.folder, job.record)

    def erase(self) -> None:
        """Kill running jobs and delete all job files. Raises StorageError if one remains."""
        for job in self._running:
            job.erased = True
            job.stop()
        try:
            for folder in _folders(self.folder):
                _remove(folder)
            _sync(self.folder)
        except OSError as error:
            raise StorageError(
                f"job files cannot be erased: {self.folder} ({error.strerror})",
                hint="remove the folder and ask again",
            ) from None

    def recover(self) -> None:
        """Clean up after a killed daemon: kill its commands and mark their jobs failed."""
        for folder in _folders(self.folder):
            if not (folder / _WORK).exists():
                continue
            with suppress(OSError):
                record = _record(folder)
                _kill_remaining(record)
                _remove(folder / _WORK)
                _write_record(
                    folder, record | {"state": "failed", "why": "memd ended before the command"}
                )
        self.trim()

    def trim(self) -> None:
        """Remove jobs older than *days*, and the oldest until fewer than JOBS_KEPT_MAX remain."""
        folders = sorted(_folders(self.folder), key=lambda job: job.name)
        oldest = from_us(self.clock.now_us() - self.days * DAY_US).strftime(_STAMP)
        running = {job.folder for job in self._running}
        for number, folder in enumerate(folders):
            too_many = number <= len(folders) - JOBS_KEPT_MAX
            if (too_many or folder.name < oldest) and folder not in running:
                with suppress(OSError):
                    _remove(folder)

    def _make_folder(self) -> Path:
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
    """Return the records of the jobs in *folder*, newest first, without the texts."""
    folders = sorted(_folders(folder), key=lambda job: job.name, reverse=True)
    return [_describe(job, _record(job)) for job in folders]


def job_in(folder: Path, job_id: str) -> dict[str, Any] | None:
    """Return the job whose id begins with *job_id*, with its texts; None unless there is one."""
    folders = [job for job in _folders(folder) if job.name.startswith(job_id)]
    if len(folders) != 1:
        return None
    record = _record(folders[0])
    texts = {name: _read(folders[0] / name) for name in ("prompt", "answer", "errors")}
    return {**_describe(folders[0], record), "schema": record.get("schema"), **texts}


def _describe(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    names = ("purpose", "state", "why", "command", "began_at", "exit_code", "duration_ms")
    sizes = {f"{name}_bytes": _size(folder / name) for name in ("prompt", "answer")}
    return {"id": folder.name, **{name: record.get(name) for name in names}, **sizes}


def _folders(folder: Path) -> Iterator[Path]:
    """Yield the jobs in *folder*; other names are ignored."""
    for job in list(folder.iterdir()) if folder.is_dir() else ():
        with suppress(ValueError):
            datetime.strptime(job.name, _STAMP).replace(tzinfo=UTC)
            yield job


def _record(folder: Path) -> dict[str, Any]:
    try:
        fields = json.loads((folder / _RECORD).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {"state": "unreadable"}
    return fields if isinstance(fields, dict) else {"state": "unreadable"}


def _write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Replace the record atomically: a reader, or a kill, leaves the old or the new one."""
    temporary = folder / f"{_RECORD}.new"
    _write(temporary, json.dumps(record, ensure_ascii=False, indent=1))
    temporary.replace(folder / _RECORD)


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
    """Remove *folder*, whatever a command left of it: other file modes, or a link in its place."""
    if folder.is_symlink():
        folder.unlink()
    if not folder.exists():
        return
    for place, names, _ in os.walk(folder):
        for name in names:
            inner = Path(place, name)
            if not inner.is_symlink():
                inner.chmod(0o700)
    shutil.rmtree(folder)


def _sync(folder: Path) -> None:
    """Sync the deletions in *folder* to the disk."""
    if folder.is_dir():
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _kill_remaining(record: Mapping[str, Any]) -> None:
    """Kill the remaining processes of a job's group, but no other process that has its id now."""
    import psutil

    pid, created = record.get("pid"), record.get("pid_created")
    if not isinstance(pid, int) or pid <= 1:
        return
    with suppress(psutil.NoSuchProcess):
        if psutil.Process(pid).create_time() == created:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        return
    for member in psutil.process_iter():  # the group's leader has ended; others may remain
        with suppress(psutil.Error, OSError):
            if os.getpgid(member.pid) == pid and member.environ().get(IN_A_JOB):
                member.kill()
