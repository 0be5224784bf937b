"""Files that other programs write for memd: opened so that nothing else can be slipped in.

A usage file names a transcript, and whoever can write the one could name any
file of this user. So a file is read only below the folders in which assistants
keep their transcripts, only when it is a regular file of this user, and every
step below that folder is opened from the one before it without following links:
what was checked is what is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memd.signals.usage import MissingSignal, UnreadableSignal

# O_NONBLOCK: opening a pipe must not wait for its writer.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_STEP = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


def known_roots(
    environ: Mapping[str, str], home: Path, extra: Sequence[Path] = ()
) -> tuple[Path, ...]:
    """Return the folders in which the assistants keep transcripts, *extra* ones last.

    Both the place that a variable names and the usual one: the daemon may run
    without the variables of the terminal in which the assistant does.
    """
    claude = [home / ".claude", *_named(environ, "CLAUDE_CONFIG_DIR")]
    codex = [home / ".codex", *_named(environ, "CODEX_HOME")]
    gemini = [home, *_named(environ, "GEMINI_CLI_HOME")]
    roots = [folder / "projects" for folder in claude]
    roots += [folder / name for folder in codex for name in ("sessions", "archived_sessions")]
    roots += [folder / ".gemini" / "tmp" for folder in gemini]
    copilot = [home / ".copilot", *_named(environ, "COPILOT_HOME")]
    roots += [folder / "session-state" for folder in copilot]
    roots.append(home / ".cursor" / "projects")
    return tuple(dict.fromkeys([*roots, *extra]))


def _named(environ: Mapping[str, str], name: str) -> list[Path]:
    path = Path(environ.get(name, ""))
    return [path] if path.is_absolute() else []


def read_own(
    path: Path, bytes_max: int, roots: Sequence[Path] = (), *, tail: bool = False
) -> bytes:
    """Return the bytes of *path*, a regular file of this user below one of *roots*.

    A longer file is refused, or with *tail* read from the first line that begins
    in its last *bytes_max* bytes. Without *roots* only the file itself may not be
    a link. Raises MissingSignal when there is none, UnreadableSignal otherwise.
    """
    with ExitStack() as stack:
        fd = stack.enter_context(_opened(path, roots))
        size = _checked(fd).st_size
        if size > bytes_max and not tail:
            raise UnreadableSignal(f"it has more than {bytes_max} bytes")
        start = max(0, size - bytes_max)
        # One byte earlier, so that a line that begins exactly there is kept.
        raw = _read(fd, max(0, start - 1), bytes_max + 1)
    if start:
        _, _, raw = raw.partition(b"\n")
    if len(raw) > bytes_max:
        if not tail:
            raise UnreadableSignal(f"it has more than {bytes_max} bytes")  # it grew meanwhile
        raw = raw[:bytes_max]
    return raw


@contextmanager
def _opened(path: Path, roots: Sequence[Path]) -> Iterator[int]:
    if not path.is_absolute() or ".." in path.parts or "\0" in str(path):
        raise UnreadableSignal("its path must be absolute and without '..'")
    root, steps = _below(path, roots)
    with ExitStack() as stack:
        try:
            fd = _open(stack, root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for step in steps[:-1]:
                fd = _open(stack, step, _STEP, fd)
            fd = _open(stack, steps[-1], _FLAGS, fd)
        except FileNotFoundError:
            raise MissingSignal("there is no such file") from None
        except OSError:
            raise UnreadableSignal("it cannot be opened, or a part of its path is a link") from None
        except ValueError:  # a lone surrogate that no file name can hold
            raise UnreadableSignal("its path is no path of a file") from None
        yield fd


def _open(stack: ExitStack, step: Path | str, flags: int, parent: int | None = None) -> int:
    fd = os.open(step, flags, dir_fd=parent)
    stack.callback(os.close, fd)
    return fd


def _below(path: Path, roots: Sequence[Path]) -> tuple[Path, tuple[str, ...]]:
    """Return the root that *path* is below, and the steps from there.

    A root that is itself reached through a link is also known by its real name.
    """
    if not roots:
        return path.parent, path.parts[-1:]
    for root in roots:
        for known in (root, Path(os.path.realpath(root))):
            if known.is_absolute() and known != path and path.is_relative_to(known):
                return known, path.relative_to(known).parts
    raise UnreadableSignal("it is not in a folder that memd reads from")


def _checked(fd: int) -> os.stat_result:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableSignal("it is not a regular file")
    if status.st_uid != os.getuid():
        raise UnreadableSignal("it belongs to another user")
    return status


def _read(fd: int, start: int, bytes_max: int) -> bytes:
    parts: list[bytes] = []
    left = bytes_max
    try:
        os.lseek(fd, start, os.SEEK_SET)
        while left and (part := os.read(fd, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
    except OSError:
        raise UnreadableSignal("it cannot be read") from None
    return b"".join(parts)
