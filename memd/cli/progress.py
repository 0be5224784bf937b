"""Show the progress of a long command: a bar on a terminal, otherwise a line every few seconds.

It is written to stderr, so that stdout has only data. The library for bars is imported only on a
terminal.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from memd.base.clock import Clock, SystemClock
from memd.cli import console

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

LINE_EVERY_US = 5_000_000
"""Time between two lines without a terminal."""


class Progress:
    """Progress of one task, a context manager; ``at`` may be called at any rate."""

    def __init__(self, what: str, *, unit: str = "", clock: Clock | None = None) -> None:
        self._what = what
        self._unit = unit
        self._clock = clock or SystemClock()
        self._line_us = self._clock.monotonic_us()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if console.has_colour(sys.stderr):
            self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def at(self, done: int, total: int | None = None, what: str | None = None) -> None:
        """Report that *done* of *total* is done; *what* renames the task."""
        if what is not None:
            self._what = what
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, description=self._what)
            return
        now_us = self._clock.monotonic_us()
        if now_us - self._line_us >= LINE_EVERY_US:
            self._line_us = now_us
            if total == 1:  # "0 of 1 files" would tell nothing; the text has the progress
                console.note(self._what)
                return
            total_text = f" of {self._amount(total)}" if total and self._unit != "%" else ""
            console.note(f"{self._what}: {self._amount(done)}{total_text}")

    def share(self, what: str, share: float) -> None:
        """Report the current step and its progress as a share from 0 to 1."""
        self.at(round(share * 100), 100, what)

    def _amount(self, number: int) -> str:
        return f"{number:,} {self._unit}".rstrip()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(self._unit),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            redirect_stdout=False,  # stdout may be a file or a pipe
        )
        self._bar.start()
        self._task = self._bar.add_task(self._what, total=None)
