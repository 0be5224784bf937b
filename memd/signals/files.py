"""Safely open files that other programs write for memd.

A usage file names a transcript, so whoever writes one could make memd read any file of this user.
Therefore memd reads a transcript only below the folders where assistants keep them, and only if it
is a regular file of this user. Each component of the path is opened relative to the one before,
without following links, so that the checked file is the one that is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memd.signals.usage import MissingSignal, UnreadableSignal

# O_NONBLOCK: opening a pipe must not wait for its writer.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


def transcript_roots(
    environ: Mapping[str, str], home: Path, extra: Sequence[Path] = ()
) -> tuple[Path, ...]:
    """Return the folders in which assistants keep transcripts, *extra* ones last.

    Where an environment variable can move a folder, both places are included, because the daemon
    may not have the variables of the assistant's terminal.
    """
    claude = [home / ".claude", *_from_variable(environ, "CLAUDE_CONFIG_DIR")]
    codex = [home / ".codex", *_from_variable(environ, "CODEX_HOME")]
    gemini = [home, *_from_variable(environ, "GEMINI_CLI_HOME")]
    roots = [folder / "projects" for folder in claude]
    roots += [folder / name for folder in codex for name in ("sessions", "archived_sessions")]
    roots += [folder / ".gemini" / "tmp" for folder in gemini]
    copilot = [home / ".copilot", *_from_variable(environ, "COPILOT_HOME")]
    roots += [folder / "session-state" for folder in copilot]
    roots.append(home / ".cursor" / "projects")
    return tuple(dict.fromkeys([*roots, *extra]))


def _from_variable(environ: Mapping[str, str], name: str) -> list[Path]:
    path = Path(environ.get(name, ""))
    return [path] if path.is_absolute() else []


def read_own(
    path: Path, bytes_max: int, roots: Sequence[Path] = (), *, tail: bool = False
) -> bytes:
    """Return the content of *path*, a regular file of this user below one of *roots*.

    A file of more than *bytes_max* bytes is refused; with *tail*, only its last *bytes_max* bytes
    are read, from the first line that begins in them. Without *roots* the file may be anywhere,
    and only the file itself must not be a link. Raises MissingSignal if it does not exist,
    UnreadableSignal if it may not be read.
    """
    with ExitStack() as stack:
        fd = stack.enter_context(_open_file(path, roots))
        size = _check_file(fd).st_size
        if size > bytes_max and not tail:
            raise UnreadableSignal(f"it has more than {bytes_max} bytes")
        start = max(0, size - bytes_max)
        # From one byte earlier, so that a line that begins exactly at *start* is kept below.
        raw = _read(fd, max(0, start - 1), bytes_max + 1)
    if start:
        _, _, raw = raw.partition(b"\n")
    if len(raw) > bytes_max:
        if not tail:
            raise UnreadableSignal(f"it has more than {bytes_max} bytes")  # it has grown meanwhile
        raw = raw[:bytes_max]
    return raw


@contextmanager
def _open_file(path: Path, roots: Sequence[Path]) -> Iterator[int]:
    if not path.is_absolute() or ".." in path.parts or "\0" in str(path):
        raise UnreadableSignal("its path must be absolute and without '..'")
    root, parts = _split_root(path, roots)
    with ExitStack() as stack:
        try:
            fd = _open(stack, root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for part in parts[:-1]:
                fd = _open(stack, part, _FOLDER_FLAGS, fd)
            fd = _open(stack, parts[-1], _FILE_FLAGS, fd)
        except FileNotFoundError:
            raise MissingSignal("there is no such file") from None
        except OSError:
            raise UnreadableSignal("it cannot be opened, or a part of its path is a link") from None
        except ValueError:  # a lone surrogate, impossible in a file name
            raise UnreadableSignal("its path is not a valid file name") from None
        yield fd


def _open(stack: ExitStack, part: Path | str, flags: int, parent: int | None = None) -> int:
    fd = os.open(part, flags, dir_fd=parent)
    stack.callback(os.close, fd)
    return fd


def _split_root(path: Path, roots: Sequence[Path]) -> tuple[Path, tuple[str, ...]]:
    """Return the root that contains *path*, and the parts of the path below it.

    A root that is reached through a link also matches by its real path.
    """
    if not roots:
        return path.parent, path.parts[-1:]
    for root in roots:
        for candidate in (root, Path(os.path.realpath(root))):
            if candidate.is_absolute() and candidate != path and path.is_relative_to(candidate):
                return candidate, path.relative_to(candidate).parts
    raise UnreadableSignal("it is not in a folder that memd reads from")


def _check_file(fd: int) -> os.stat_result:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableSignal("it is not a regular file")
    if status.st_uid != os.getuid():
        raise UnreadableSignal("it belongs to another user")
    return status


def _read(fd: int, start: int, bytes_max: int) -> bytes:
    parts: list[bytes] = []
    remaining = bytes_max
    try:
        os.lseek(fd, start, os.SEEK_SET)
        while remaining and (part := os.read(fd, min(remaining, 1 << 20))):
            parts.append(part)
            remaining -= len(part)
    except OSError:
        raise UnreadableSignal("it cannot be read") from None
    return b"".join(parts)
