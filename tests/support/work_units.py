"""Measure work in a unit that does not depend on the machine or its load.

A limit in seconds fails on a slow or busy machine, and detects nothing on a fast one. Here CPU
time is divided by that of a fixed piece of plain Python, which runs right before and after.
"""

from __future__ import annotations

import contextlib
import gc
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

_WORDS = re.compile(r"(\w+) (\d+)")


@dataclass
class Effort:
    """What a block has cost: ``units`` stands when the block is left."""

    units: float = 0.0
    """Of plain Python that takes about 10 ms on a desktop of 2024."""
    unit_s: float = 0.0
    """The CPU seconds of one unit, here and now."""


@contextlib.contextmanager
def effort(pid: int | None = None) -> Iterator[Effort]:
    """Count the CPU time of the block, in all threads of this process or of process *pid*.

    Garbage is not looked for meanwhile: that takes as long as the whole heap of a test worker
    is large, whatever the block did.
    """
    spent = Effort()
    unit = _reference()
    with _no_garbage_collection():
        before = _cpu(pid)
        yield spent
        used = _cpu(pid) - before
    spent.unit_s = max(unit, _reference())
    spent.units = used / spent.unit_s


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _cpu(pid: int | None) -> float:
    if pid is None:
        return time.process_time()
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def _reference() -> float:
    """Return the CPU seconds of one unit: the better of two tries at half of it."""
    return 2 * min(_half_a_unit() for _ in range(2))


def _half_a_unit() -> float:
    before = time.thread_time()
    counted: dict[str, int] = {}
    for number in range(6_000):
        match = _WORDS.match(f"crate {number} of {number * 7}")
        assert match is not None
        counted[match[2]] = counted.get(match[1], 0) + len(match[0])
    assert len(counted) == 6_000
    return time.thread_time() - before
