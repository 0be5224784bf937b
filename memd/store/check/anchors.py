"""Record the head of the audit outside the database: in a text file and with each backup.

The chain in the database proves that nothing in its middle was changed. It does not prove that its
end was not cut off, or that all links after one were not rewritten; a head that was recorded
elsewhere does (PROMISES 4). A line of the text file is ``seq at_us head sum``. Each sum covers the
sum before it, so that an edited or missing line is detected.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memd.store.access.changes import Head

MANIFEST = ".manifest"
_SUM_CHARS = 32
_START = ""


class RecordedHead(NamedTuple):
    """A recorded head, and the file that it was recorded in."""

    seq: int
    hash: bytes
    source: str


def append(path: Path, head: Head, now_us: int) -> None:
    """Append *head* to the file at *path*, mode 0600; durable once this returns."""
    handle = os.open(
        path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        note = f"{head.seq} {now_us} {head.hash.hex()}"
        os.write(handle, f"{note} {_sum(_last_sum(handle), note)}\n".encode("ascii"))
        os.fsync(handle)
    finally:
        os.close(handle)


def _last_sum(handle: int) -> str:
    size = os.fstat(handle).st_size
    tail = os.pread(handle, 4_096, max(0, size - 4_096)).decode("ascii", "replace")
    lines = tail.split("\n")[:-1]
    return lines[-1].rpartition(" ")[2] if lines else _START


def _sum(before: str, line: str) -> str:
    return hashlib.sha256(f"{before} {line}".encode()).hexdigest()[:_SUM_CHARS]


def read(path: Path) -> tuple[list[RecordedHead], list[str]]:
    """Return the heads recorded in *path*, and the problems of the file.

    After a line that does not match its sum, checking continues with that line's sum.
    """
    heads: list[RecordedHead] = []
    problems: list[str] = []
    before: str | None = _START
    with suppress(FileNotFoundError):
        for number, line in enumerate(path.read_text("ascii", "replace").splitlines(), 1):
            note, _, check = line.rpartition(" ")
            if before is not None and check != _sum(before, note):
                problems.append(f"{path.name}: line {number} was changed, or one before it is gone")
            head = _parse(note, path.name)
            if head is not None:
                heads.append(head)
            before = check or None
    return heads, problems


def _parse(line: str, source: str) -> RecordedHead | None:
    try:
        seq, _, head = line.split(" ")
        return RecordedHead(int(seq), bytes.fromhex(head), source)
    except ValueError:
        return None


def manifest_of(backup: Path) -> Path:
    return backup.with_name(f"{backup.name}{MANIFEST}")


def write_manifest(backup: Path, head: Head) -> None:
    """Write the manifest of *backup*: its size and the head of its audit."""
    fields = {
        "v": 1,
        "file": backup.name,
        "bytes": backup.stat().st_size,
        "audit": {"seq": head.seq, "head": head.hash.hex()},
    }
    handle = os.open(
        manifest_of(backup),
        os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW,
        0o600,
    )
    try:
        os.write(handle, f"{json.dumps(fields)}\n".encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def read_manifests(backups: Iterable[Path]) -> Iterator[RecordedHead]:
    for backup in backups:
        with suppress(OSError, ValueError, KeyError, TypeError):
            fields = json.loads(manifest_of(backup).read_text("utf-8"))["audit"]
            yield RecordedHead(
                int(fields["seq"]), bytes.fromhex(fields["head"]), manifest_of(backup).name
            )
