"""Full and read-only file systems, made with means of the operating system."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


def _mounted(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this user may not mount anything")


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a disk of 24 MB over *folder*; skips where that is not allowed."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    _mounted("-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Callable[[], None]:
    """Use up the disk of *folder* to the last byte; returns what gives it back."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as stream, suppress(OSError):
        for size in (1_048_576, 4096, 1):
            with suppress(OSError):
                while stream.write(bytes(size)) == size:
                    pass
    return filler.unlink


def limit_files(size: int) -> Callable[[], None]:
    """Let no file of this process grow beyond *size* bytes; returns what lifts the limit."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make *folder* and what is in it unwritable."""
    if os.geteuid() == 0:  # whom no mode keeps out
        _mounted("--bind", str(folder), str(folder))
        try:
            _mounted("-o", "remount,ro,bind", str(folder))
            yield
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        return
    files = [folder, *folder.iterdir()]
    modes = [path.stat().st_mode for path in files]
    for path in reversed(files):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        yield
    finally:
        for path, mode in zip(files, modes, strict=True):
            path.chmod(mode)


_LINUX_CAPABILITIES_3 = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@contextmanager
def kept_out() -> Iterator[None]:
    """Let modes keep this thread, and those it starts, out as they keep anybody but root."""
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("root is kept out by no mode")
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_LINUX_CAPABILITIES_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then those above 31
    if libc.capget(header, sets):
        pytest.skip("capabilities cannot be read")
    before = sets[0]
    sets[0] = before & ~_OVERRIDES
    if libc.capset(header, sets):
        pytest.skip("capabilities cannot be changed")
    try:
        yield
    finally:
        sets[0] = before
        libc.capset(header, sets)
