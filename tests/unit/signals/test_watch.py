"""A usage file that changes is reported once, whatever the system says and the file holds."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
from support.daemon import WAIT_S
from watchdog.observers.api import BaseObserver, EventEmitter

from memd.base.errors import BusyError
from memd.signals import watch
from memd.signals.files import read_own
from memd.signals.usage import Usage
from memd.signals.watch import UsageWatcher

SETTLE_S = 0.02
POLL_S = 0.05
NEVER_S = 600.0
NOBODY = 65_534


class ReportListener:
    """What was reported; *errors* are raised first, one a report."""

    def __init__(self, *errors: Exception) -> None:
        self.reports: list[tuple[str, Usage]] = []
        self.errors = list(errors)

    async def __call__(self, path: Path, usage: Usage) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.reports.append((path.name, usage))

    def has(self, count: int) -> bool:
        return len(self.reports) == count

    @property
    def percents(self) -> list[float | None]:
        return [usage.used_percent for _, usage in self.reports]


def no_observer() -> NoReturn:
    raise OSError(errno.EMFILE, "too many")


@asynccontextmanager
async def watching(
    listener: ReportListener,
    *paths: Path,
    poll_s: float = POLL_S,
    own: Path | None = None,
    observer: Callable[[], BaseObserver] | None = no_observer,
) -> AsyncIterator[UsageWatcher]:
    watcher = UsageWatcher(
        paths, listener, own=own, settle_s=SETTLE_S, poll_s=poll_s, observer=observer
    )
    task = asyncio.create_task(watcher.run())
    try:
        yield watcher
        assert not task.done(), task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(holds: Callable[[], object]) -> None:
    """Wait until *holds*, at most some seconds."""
    async with asyncio.timeout(WAIT_S):
        while not holds():  # noqa: ASYNC110  # the watcher has no event for a test to wait for
            await asyncio.sleep(0.005)


async def looks() -> None:
    """Wait for a few looks at every file."""
    await asyncio.sleep(3 * POLL_S)


def percent(share: float) -> str:
    return f'{{"used_percent": {share}}}'


def put(path: Path, text: str) -> Path:
    """Write *text* as assistants should: beside the file, then in its place."""
    beside = path.with_name(path.name + ".tmp")
    beside.write_text(text, encoding="utf-8")
    return beside.replace(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "usage"
    made.mkdir()
    return made


@pytest.fixture
def listener() -> ReportListener:
    return ReportListener()


async def test_what_is_there_already_is_reported_with_the_names_of_its_file(
    listener: ReportListener, folder: Path
) -> None:
    put(folder / "codex-7.json", percent(5))
    async with watching(listener, folder):
        await until(lambda: listener.reports)
    assert listener.reports == [
        ("codex-7.json", Usage(source="codex", session_id="7", used_percent=5.0))
    ]


@pytest.mark.parametrize("how", ["announced", "looked at"])
async def test_each_change_is_reported_in_order(
    listener: ReportListener, folder: Path, how: str
) -> None:
    seen = how == "announced"
    async with watching(
        listener, folder, poll_s=NEVER_S if seen else POLL_S, observer=None if seen else no_observer
    ) as watcher:
        if seen:
            await until(lambda: not watcher.blind)
        for count in (1, 2, 3):
            put(folder / "codex-7.json", percent(count))
            await until(partial(listener.has, count))
        (folder / "codex-7.json").write_text(percent(4), encoding="utf-8")  # in place
        await until(partial(listener.has, 4))
        assert watcher.blind is not seen
    assert listener.percents == [1, 2, 3, 4]


async def test_reading_a_file_does_not_announce_it_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def counted(path: Path, bytes_max: int) -> bytes:
        read.append(path)
        return read_own(path, bytes_max)

    monkeypatch.setattr(watch, "read_own", counted)
    listener = ReportListener()
    async with watching(listener, folder, poll_s=NEVER_S, observer=None) as watcher:
        await until(lambda: not watcher.blind)
        put(folder / "codex-7.json", percent(1))
        await until(lambda: listener.reports)
        await asyncio.sleep(15 * SETTLE_S)
    assert listener.percents == [1]
    assert 1 <= len(read) <= 3


async def test_many_changes_at_once_are_read_once(listener: ReportListener, folder: Path) -> None:
    async with watching(listener, folder, poll_s=NEVER_S, observer=None) as watcher:
        await until(lambda: not watcher.blind)
        for share in range(20):
            put(folder / "codex-7.json", percent(share))
        await until(lambda: listener.percents[-1:] == [19])
    assert len(listener.reports) <= 3


async def test_the_same_content_again_is_no_news(listener: ReportListener, folder: Path) -> None:
    path = put(folder / "codex-7.json", percent(1))
    async with watching(listener, folder):
        await until(lambda: listener.reports)
        put(path, percent(1))
        os.utime(path)
        await looks()
        assert listener.percents == [1]
        put(path, percent(2))
        await until(lambda: listener.percents == [1, 2])


async def test_one_file_alone_can_be_watched_also_before_it_is_there(
    listener: ReportListener, tmp_path: Path
) -> None:
    path = tmp_path / "later" / "context.json"
    async with watching(listener, path, observer=None):
        await looks()
        path.parent.mkdir()
        put(path.with_name("other.json"), percent(9))
        put(path, '{"current_tokens": 25000, "max_tokens": 30000}')
        await until(lambda: listener.reports)
        await looks()
    assert [(name, usage.used_tokens) for name, usage in listener.reports] == [
        ("context.json", 25_000)
    ]


async def test_its_own_folder_is_made_for_its_user_alone(
    listener: ReportListener, tmp_path: Path
) -> None:
    own = tmp_path / "run" / "usage"
    async with watching(listener, own, own=own):
        await until(own.is_dir)
        assert stat.S_IMODE(own.stat().st_mode) == 0o700
        own.rmdir()
        await until(own.is_dir)
        put(own / "codex-7.json", percent(1))
        await until(lambda: listener.reports)


async def test_a_folder_that_was_replaced_is_watched_again(
    listener: ReportListener, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watching(listener, folder, poll_s=0.3, observer=None) as watcher:
        await until(lambda: not watcher.blind)
        folder.rename(folder.with_name("old"))
        folder.mkdir()
        put(folder / "codex-7.json", percent(1))
        await until(lambda: listener.percents == [1])
        monkeypatch.setattr(watcher, "_scan", lambda _loop: None)  # news alone is left
        put(folder / "codex-7.json", percent(2))
        await until(lambda: listener.percents == [1, 2])


async def test_what_is_no_usage_file_is_passed_over(listener: ReportListener, folder: Path) -> None:
    for name in ("codex-7.json.tmp", ".codex-7.json", "codex-7.consolidated.json", "notes.txt"):
        (folder / name).write_text(percent(1), encoding="utf-8")
    async with watching(listener, folder) as watcher:
        await looks()
        assert watcher.unreadable == {}
    assert listener.reports == []


def truncated(path: Path) -> None:
    path.write_text('{"used_percent": 81, "secret-', encoding="utf-8")


def huge(path: Path) -> None:
    path.write_text(percent(81) + " " * 70_000, encoding="utf-8")


def link(path: Path) -> None:
    path.symlink_to(put(path.with_name("elsewhere.txt"), percent(81)))


def foreign(path: Path) -> None:
    path.write_text(percent(81), encoding="utf-8")
    os.chown(path, NOBODY, -1)


def not_a_number(path: Path) -> None:
    path.write_text('{"used_percent": NaN}', encoding="utf-8")


def far_too_full(path: Path) -> None:
    path.write_text(percent(5_000), encoding="utf-8")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    "plant",
    [
        truncated,
        huge,
        link,
        pytest.param(
            foreign, marks=pytest.mark.skipif(os.getuid() != 0, reason="only root can chown")
        ),
        not_a_number,
        far_too_full,
        pipe,
        a_folder,
    ],
)
async def test_a_bad_file_is_reported_once_without_its_content_and_the_watch_goes_on(
    listener: ReportListener, plant: Callable[[Path], None], folder: Path, log_output: io.StringIO
) -> None:
    bad = folder / "codex-6.json"
    plant(bad)
    async with watching(listener, folder) as watcher:
        put(folder / "codex-7.json", percent(1))
        await until(lambda: listener.percents == [1])
        await looks()
        assert list(watcher.unreadable) == [bad]
        assert log_output.getvalue().count("usage_unreadable") == 1
        assert "secret" not in log_output.getvalue()
        bad.rmdir() if bad.is_dir() else bad.unlink()
        put(bad, percent(2))
        await until(lambda: listener.percents == [1, 2])
        assert watcher.unreadable == {}


async def test_news_of_a_bad_file_that_did_not_change_are_no_second_report(
    folder: Path, log_output: io.StringIO
) -> None:
    bad = put(folder / "codex-6.json", "broken")
    async with watching(ReportListener(), folder, poll_s=NEVER_S, observer=None) as watcher:
        await until(lambda: not watcher.blind)
        await until(lambda: watcher.unreadable)
        for _ in range(3):
            bad.open("a").close()
            await asyncio.sleep(2 * SETTLE_S)
        assert log_output.getvalue().count("usage_unreadable") == 1
        bad.write_text("broken still", encoding="utf-8")
        await until(lambda: log_output.getvalue().count("usage_unreadable") == 2)


async def test_a_file_that_goes_is_forgotten_and_one_that_comes_back_is_news(
    listener: ReportListener, folder: Path
) -> None:
    path = put(folder / "codex-7.json", "broken")
    async with watching(listener, folder) as watcher:
        await until(lambda: watcher.unreadable)
        path.unlink()
        await until(lambda: not watcher.unreadable)
        put(path, percent(1))
        await until(lambda: listener.percents == [1])


async def test_what_could_not_be_taken_is_offered_again_and_a_bug_ends_nothing(
    folder: Path, log_output: io.StringIO
) -> None:
    busy = ReportListener(BusyError("later"))
    put(folder / "codex-7.json", percent(1))
    async with watching(busy, folder):
        await until(lambda: busy.percents == [1])
    bug = ReportListener(ZeroDivisionError("of a text"))
    async with watching(bug, folder):
        await until(lambda: not bug.errors)
        await looks()
        assert bug.reports == []
        put(folder / "codex-7.json", percent(2))
        await until(lambda: bug.percents == [2])
    assert log_output.getvalue().count("usage_not_taken") == 2
    assert "of a text" not in log_output.getvalue()


async def test_of_very_many_files_the_newest_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memd.signals.watch.USAGE_FILES_MAX", 2)
    listener = ReportListener()
    for age in range(4):
        path = put(folder / f"codex-{age}.json", percent(age))
        os.utime(path, (1_000 - age, 1_000 - age))
    async with watching(listener, folder):
        await until(lambda: len(listener.reports) == 2)
        await looks()
    assert listener.percents == [1, 0]


class NoWatchLeft(BaseObserver):
    """An observer whose system has no watch left to give."""

    def __init__(self) -> None:
        super().__init__(emitter_class=EventEmitter)

    def schedule(self, *_args: object, **_more: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "no space")


async def test_without_a_watch_to_give_the_files_are_looked_at_in_turns(
    listener: ReportListener, folder: Path, log_output: io.StringIO
) -> None:
    async with watching(listener, folder, observer=NoWatchLeft) as watcher:
        await until(lambda: "usage_watch_polls" in log_output.getvalue())
        assert watcher.blind
        put(folder / "codex-7.json", percent(1))
        await until(lambda: listener.percents == [1])


async def test_the_end_of_the_watch_leaves_no_thread(folder: Path) -> None:
    import threading

    before = set(threading.enumerate())
    async with watching(ReportListener(), folder, observer=None) as watcher:
        await until(lambda: not watcher.blind)
    assert set(threading.enumerate()) == before
