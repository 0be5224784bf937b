"""The log: a file of its owner's alone, cut off in time; no message in a trace (decision 0015)."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.base import log
from memd.base.log import LogFile, trace_of


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    log.configure()


def test_a_file_that_is_full_is_renamed_and_the_oldest_goes(tmp_path: Path) -> None:
    file = tmp_path / "memd.log"
    log.configure(file=LogFile(file, 10_000, 2))
    for number in range(1_000):
        log.info("stored", number=number)
    written = {path.name: path for path in tmp_path.iterdir()}
    assert written.keys() == {"memd.log", "memd.log.1", "memd.log.2"}
    assert all(path.stat().st_size <= 10_000 for path in written.values())
    assert "number=999\n" in file.read_text("utf-8")
    numbers = [int(line.rpartition("=")[2]) for name in ("memd.log.2", "memd.log.1", "memd.log")
               for line in written[name].read_text("utf-8").splitlines()]  # fmt: skip
    assert numbers == list(range(numbers[0], 1_000))


def test_it_is_for_its_owner_alone_and_goes_on_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "memd.log"
    for _ in range(2):
        log.configure(file=LogFile(file, 10_000, 1))
        log.warning("again", what="ä")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    lines = file.read_text("utf-8").splitlines()
    assert len(lines) == 2
    assert all("level=warning" in line and line.startswith("timestamp=") for line in lines)


def test_a_file_that_cannot_be_opened_is_told_and_the_log_stays(tmp_path: Path) -> None:
    file = tmp_path / "memd.log"
    log.configure(file=LogFile(file, 10_000, 1))
    with pytest.raises(OSError, match="No such file"):
        log.configure(file=LogFile(tmp_path / "nowhere" / "memd.log", 10_000, 1))
    log.info("still here")
    assert "still here" in file.read_text("utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_a_full_disk_loses_a_line_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    log.configure(file=LogFile(Path("/dev/full"), 10_000, 1))
    log.error("lost", what="x" * 100_000)
    log.configure()
    log.info("found")
    content = capfd.readouterr().err
    assert "lost" not in content
    assert "found" in content


def test_an_error_that_is_its_own_cause_has_a_trace_too() -> None:
    error = ValueError("a memory's text")
    error.__cause__ = error

    trace = trace_of(error)

    assert trace.endswith("ValueError")
    assert "text" not in trace


def test_causes_come_first() -> None:
    error = ValueError()
    error.__cause__ = KeyError()

    assert trace_of(error).split("\nthen\n") == ["KeyError", "ValueError"]
