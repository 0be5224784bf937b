"""What a daemon that was killed left running is found by its group, and nobody else is hit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil
import pytest
from support.clocks import HeldClock
from support.daemon import wait_until

from memd.llm.job_files import IN_A_JOB, Ending, JobFiles

LEAVES = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
"""


def has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it was reaped between the two
        return True


@contextmanager
def leftover_child(environ: dict[str, str]) -> Iterator[tuple[int, psutil.Process]]:
    """Yield the number of a group whose first has gone and is reaped, and who is left in it."""
    command = [sys.executable, "-S", "-c", LEAVES]
    first = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environ},
        start_new_session=True,
    )
    assert first.stdout is not None
    child = psutil.Process(int(first.stdout.readline()))
    first.stdout.close()
    first.wait()
    try:
        # The kernel says that a program runs before it shows the program's environment.
        wait_until(child.environ, "who is left has an environment")
        yield first.pid, child
    finally:
        with suppress(psutil.NoSuchProcess):
            child.kill()


def recover_job(folder: Path, pid: int) -> Path:
    job = folder / "20261123T125503.000000Z"
    (job / "work").mkdir(parents=True)
    (job / "job.json").write_text(json.dumps({"pid": pid, "pid_created": 1.0}), "utf-8")
    JobFiles(folder, HeldClock()).recover()
    return job


def test_a_working_folder_that_a_command_replaced_by_a_link_is_removed_alone(
    tmp_path: Path,
) -> None:
    target = tmp_path / "target"
    (target / "inner").mkdir(parents=True)
    (target / "inner").chmod(0o755)
    files = JobFiles(tmp_path / "jobs", HeldClock())
    job = files.begin("nap", ["true"], None, "prompt")
    job.work.rmdir()
    job.work.symlink_to(target)
    files.finish(job, Ending(answer="yes"))
    assert not job.work.is_symlink()
    assert (target / "inner").stat().st_mode & 0o777 == 0o755
    assert (job.folder / "answer").read_text("utf-8") == "yes"


def test_who_is_left_of_a_group_whose_first_has_gone_is_killed(tmp_path: Path) -> None:
    with leftover_child({IN_A_JOB: "1"}) as (pid, child):
        assert not psutil.pid_exists(pid)
        recover_job(tmp_path, pid)
        wait_until(partial(has_ended, child), "what the command left is killed")


def test_a_group_of_that_number_that_is_no_jobs_is_left_alone(tmp_path: Path) -> None:
    with leftover_child({}) as (pid, child):
        job = recover_job(tmp_path, pid)
        assert json.loads((job / "job.json").read_text("utf-8"))["state"] == "failed"
        assert not has_ended(child)


@pytest.mark.parametrize("pid", [None, "7", 0, 1, -1])
def test_a_record_without_a_process_kills_nobody(tmp_path: Path, pid: object) -> None:
    job = tmp_path / "20261123T125503.000000Z"
    (job / "work").mkdir(parents=True)
    (job / "job.json").write_text(json.dumps({"pid": pid, "pid_created": 1.0}), "utf-8")
    JobFiles(tmp_path, HeldClock()).recover()
    assert not (job / "work").exists()
