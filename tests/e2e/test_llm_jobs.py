"""An assistant's own command is the language model: run for each job, on a real daemon.

The command is a small program that answers, hangs, floods, prints garbage or fails, as its
argument says; what it got, and where, it writes into a folder of the test.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from pydantic import ValidationError
from support import forked
from support.daemon import environment, spawned, until, wait_until
from support.setting_effects import Stage, a_stage, shows, tree

from memd.base.errors import MemdError
from memd.base.paths import profile_files
from memd.client import AsyncClient
from memd.domain.settings.settings import Settings

MESSAGES = (
    {"role": "user", "content": "We deploy with ansible from the bastion host, never by hand."},
    {"role": "assistant", "content": "Noted. The staging port is 8443, I read it in deploy.yml."},
    *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(6)),
)
FACT = "Deploys go with ansible from the bastion host, never by hand."
REPLY = json.dumps({"facts": [{"kind": "decision", "turns": [0], "text": FACT}], "digest": []})
PLANTED = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

PROGRAM = f"""
import json, os, subprocess, sys, time
mode, notes = sys.argv[1:3]
sent = sys.stdin.read()
def note(name, text):
    with open(os.path.join(notes, name + ".new"), "w") as stream:
        stream.write(text)
    os.replace(os.path.join(notes, name + ".new"), os.path.join(notes, name))
note("sent", sent)
note("told", json.dumps({{"cwd": os.getcwd(), "environ": dict(os.environ)}}))
reply = {REPLY!r}
def child():
    wait = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    return subprocess.Popen(wait).pid
if mode == "answers":
    print(reply)
elif mode == "prose":
    print("Here is what I found {{as asked}}:\\n```json\\n" + reply + "\\n```\\nAnything else?")
elif mode == "hangs":
    note("pids", json.dumps([os.getpid(), child()]))
    time.sleep(600)
elif mode == "leaves":
    note("pids", json.dumps([child()]))
    print(reply)
elif mode == "floods":
    note("pids", json.dumps([os.getpid(), child()]))
    while True:
        print("x" * 10_000)
elif mode == "floods errors":
    sys.stderr.write("y" * 1_000_000)
    print(reply)
elif mode == "garbage":
    os.write(1, bytes(range(256)) * 10 + b"{{" * 10_000)
elif mode == "shape":
    print(json.dumps({{"facts": "none", "digest": 3}}))
elif mode == "silent":
    pass
elif mode == "locks":
    os.mkdir("shut")
    open("shut/file", "w").close()
    os.chmod("shut", 0)
    print(reply)
else:
    sys.stderr.write("not logged in: {PLANTED}")
    sys.exit(1)
"""


@asynccontextmanager
async def a_desk(
    home: Path, patch: pytest.MonkeyPatch, mode: str, **more: Any
) -> AsyncIterator[Stage]:
    home.mkdir(exist_ok=True)
    async with a_stage(home, patch, tree("llm", settings(home, mode, **more))) as stage:
        yield stage


def settings(home: Path, mode: str, **more: Any) -> dict[str, Any]:
    program = home / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-S", str(program), mode, str(home)]
    on = {"night_tokens": 1_000_000, "uses": {"naps": True}}
    return {"provider": "jobs", "command": command, **on, **more}


async def fill(client: AsyncClient, *more: str, session: str = "s1") -> None:
    messages = [*MESSAGES, *({"role": "user", "content": text} for text in more)]
    await client.call(
        "usage.report",
        {
            "source": "cursor",
            "session_id": session,
            "used_tokens": 170_000,
            "window_tokens": 200_000,
            "messages": messages,
        },
    )


async def remembered(stage: Stage) -> list[str]:
    page = await stage.call("memory.list", limit=100)
    return sorted(each["content"] for each in page["items"])


async def napped(stage: Stage, *more: str, session: str = "s1") -> list[str]:
    await fill(stage.client, *more, session=session)
    return await remembered(stage)


def folders(stage: Stage) -> list[Path]:
    jobs = stage.paths.jobs_dir
    return sorted(jobs.iterdir()) if jobs.is_dir() else []


def the_job(stage: Stage) -> tuple[Path, dict[str, Any]]:
    (folder,) = folders(stage)
    return folder, json.loads((folder / "job.json").read_text("utf-8"))


def pids(home: Path) -> list[int]:
    numbers: list[int] = json.loads((home / "pids").read_text("utf-8"))
    return numbers


def gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


_BY_RULE: list[str] = []
"""What the rules find in the same messages, asked by the first test that needs it."""


async def by_rule(home: Path, patch: pytest.MonkeyPatch) -> list[str]:
    if not _BY_RULE:
        async with a_stage(home, patch, {}) as stage:
            _BY_RULE.extend(await napped(stage))
    return _BY_RULE


@shows("llm.command")
@pytest.mark.parametrize("mode", ["answers", "prose", "floods errors", "locks"])
async def test_what_the_command_prints_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    async with a_desk(tmp_path, monkeypatch, mode) as stage:
        assert FACT in await napped(stage)
        status = await stage.call("llm.status")
        costs = (await stage.call("records.cost_records.list"))["items"]
    assert (status["provider"], status["available"]) == ("jobs", True)
    assert str(tmp_path / "program.py") in status["where"]
    assert status["night_tokens_spent"] > 0
    assert [each["provider"] for each in costs] == ["jobs"]


async def test_a_job_is_the_log_of_what_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMD_CLIENT_KEY_FILE", "/secret/place")
    async with a_desk(tmp_path, monkeypatch, "answers") as stage:
        await napped(stage, f"The token is {PLANTED} since Monday.")
        folder, record = the_job(stage)

    sent = (folder / "prompt").read_text("utf-8")
    assert sent == (tmp_path / "sent").read_text("utf-8")
    assert "bastion host" in sent
    assert "[secret:github-token" in sent
    assert '"facts"' in sent  # the schema
    assert PLANTED not in sent
    assert (folder / "answer").read_text("utf-8").strip() == REPLY
    assert (record["state"], record["exit_code"], record["purpose"]) == ("answered", 0, "nap")
    assert record["schema"]["properties"]["facts"]
    assert not (folder / "work").exists()
    modes = {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}
    assert modes == {0o600}
    assert {stat.S_IMODE(each.stat().st_mode) for each in (folder, folder.parent)} == {0o700}
    log = json.loads((tmp_path / "told").read_text("utf-8"))
    assert log["cwd"] == str(folder / "work")
    assert {name for name in log["environ"] if name.startswith("MEMD")} == {"MEMD_JOB"}


@shows("llm.answer_bytes")
@pytest.mark.parametrize("mode", ["hangs", "floods", "garbage", "shape", "silent", "fails"])
async def test_a_command_that_fails_leaves_it_to_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    expected = await by_rule(tmp_path / "rule", monkeypatch)
    home = tmp_path / "desk"
    limits = {"timeout_seconds": 3 if mode == "hangs" else 60, "answer_bytes": 40_000}
    async with a_desk(home, monkeypatch, mode, **limits) as stage:
        assert await napped(stage) == expected
        folder, record = the_job(stage)
        status = await stage.call("llm.status")
        (nap,) = (each for each in status["purposes"] if each["purpose"] == "nap")
        assert nap["failures"] == 1
        assert status["available"]  # one failure may pass
    if mode in {"hangs", "floods"}:
        assert len(pids(home)) == 2
        for pid in pids(home):
            wait_until(partial(gone, pid), "the command and its children are killed")
    why = {"hangs": "within 3 s", "floods": "over 40000 bytes", "fails": "exit code 1"}
    assert why.get(mode, "") in (record["why"] or "")
    assert (folder / "answer").stat().st_size <= 2 * 40_000  # of what is no UTF-8, a mark a byte
    if mode == "fails":
        errors = (folder / "errors").read_text("utf-8")
        assert errors.startswith("not logged in: [secret:github-token")
        assert PLANTED not in errors


async def test_what_a_command_leaves_running_is_killed_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_desk(tmp_path, monkeypatch, "leaves", timeout_seconds=60) as stage:
        assert FACT in await napped(stage)
        (pid,) = pids(tmp_path)
        wait_until(partial(gone, pid), "the child is killed")


@pytest.mark.parametrize("missing", [True, False])
async def test_a_command_that_is_not_there_or_not_to_be_run_is_final(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, missing: bool
) -> None:
    expected = await by_rule(tmp_path / "rule", monkeypatch)
    command = tmp_path / "command"
    if not missing:
        command.write_text("#!/bin/sh\n", encoding="utf-8")
        command.chmod(0o600)
    async with a_desk(tmp_path / "desk", monkeypatch, "", command=[str(command)]) as stage:
        assert await napped(stage) == expected
        status = await stage.call("llm.status")
        assert not status["available"]
        assert "cannot be started" in status["last_error"]
        await napped(stage, session="s2")
        assert len(folders(stage)) == 1  # left alone


async def test_after_a_forget_no_file_holds_what_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_desk(tmp_path, monkeypatch, "answers") as stage:
        await napped(stage, "The gate's word is marshmallow-4711, remember that.")
        (job,) = folders(stage)
        assert "marshmallow-4711" in (job / "prompt").read_text("utf-8")
        await stage.call("memory.forget", filter={"session_id": "s1"})
        files = [each for each in stage.paths.data_dir.rglob("*") if each.is_file()]
        assert files
        assert not [each for each in files if b"marshmallow-4711" in each.read_bytes()]


async def test_a_forget_kills_the_job_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_desk(tmp_path, monkeypatch, "hangs", timeout_seconds=600) as stage:
        (doomed,) = await stage.remember("The tower is of sandstone.")
        async with AsyncClient(stage.paths.socket, key=stage.paths.operator_key) as other:
            nap = asyncio.create_task(fill(other))
            await until((tmp_path / "pids").exists, "the command runs")
            await stage.call("memory.forget", ids=[doomed])
            assert not folders(stage)
            await nap
        for pid in pids(tmp_path):
            await until(partial(gone, pid), "the command is killed")
        assert not folders(stage)
        status = await stage.call("llm.status")
        assert status["last_error"] is None, "a forget is no failure of the command's"
        assert not any(each["failures"] for each in status["purposes"])


async def test_a_forget_erases_job_files_when_another_provider_answers_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_desk(tmp_path, monkeypatch, "locks") as stage:
        await napped(stage)
        (job,) = folders(stage)
    async with a_stage(tmp_path, monkeypatch, {}) as stage:
        assert job.exists()
        (doomed,) = await stage.remember("The tower is of sandstone.")
        await stage.call("memory.forget", ids=[doomed])
        assert not job.exists()


@shows("llm.job_days")
async def test_a_job_is_kept_so_many_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_desk(tmp_path, monkeypatch, "answers", job_days=3) as stage:
        await napped(stage)
        (first,) = folders(stage)
        stage.clock.advance(days=2)
        await napped(stage, session="s2")
        assert len(folders(stage)) == 2
        stage.clock.advance(days=2)
        await napped(stage, session="s3")
        assert len(folders(stage)) == 2
        assert not first.exists()


@pytest.mark.parametrize("first", ["stays", "went"])
async def test_a_kill_in_the_middle_of_a_job_leaves_nothing_that_breaks_the_next_start(
    tmp_path: Path, first: str
) -> None:
    (tmp_path / "config").mkdir()
    llm = settings(tmp_path, "hangs", timeout_seconds=600)
    whole = yaml.safe_dump({"llm": llm})
    (tmp_path / "config" / "config.yaml").write_text(whole, encoding="utf-8")
    with spawned(tmp_path) as daemon:
        async with AsyncClient(daemon.paths.socket, key=daemon.paths.operator_key) as client:
            nap = asyncio.create_task(fill(client))
            await until((tmp_path / "pids").exists, "the command runs")
            daemon.stop(signal.SIGKILL)
            with pytest.raises(MemdError):
                await nap
    if first == "went":
        os.kill(pids(tmp_path)[0], signal.SIGKILL)
        await until(partial(gone, pids(tmp_path)[0]), "the command goes and leaves its child")
        assert not gone(pids(tmp_path)[1])
    with spawned(tmp_path) as daemon:
        for pid in pids(tmp_path):
            await until(partial(gone, pid), "what was left running is killed")
        (job,) = daemon.paths.jobs_dir.iterdir()
        assert daemon.paths.jobs_dir in profile_files(daemon.paths)  # removed with the profile
        assert json.loads((job / "job.json").read_text("utf-8"))["state"] == "failed"
        assert not (job / "work").exists()
        with daemon.client() as again:
            assert again.call("system.hello")
    output = forked.run(["llm", "jobs", "--json"], env=environment(tmp_path), check=True).stdout
    (one,) = json.loads(output)["items"]
    assert (one["purpose"], one["state"]) == ("nap", "failed")
    shown = forked.run(["llm", "jobs", one["id"]], env=environment(tmp_path), check=True).stdout
    assert "bastion host" in shown
    listed = forked.run(["llm", "jobs"], env=environment(tmp_path), check=True).stdout
    assert one["id"] in listed


async def test_a_daemon_that_is_told_to_stop_ends_its_job(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    whole = yaml.safe_dump({"llm": settings(tmp_path, "hangs", timeout_seconds=600)})
    (tmp_path / "config" / "config.yaml").write_text(whole, encoding="utf-8")
    with spawned(tmp_path) as daemon:
        async with AsyncClient(daemon.paths.socket, key=daemon.paths.operator_key) as client:
            nap = asyncio.create_task(fill(client))
            await until((tmp_path / "pids").exists, "the command runs")
            assert daemon.stop(signal.SIGTERM) == 0
            with suppress(MemdError):
                await nap
        for pid in pids(tmp_path):
            await until(partial(gone, pid), "the command is killed")
        (job,) = daemon.paths.jobs_dir.iterdir()
        assert json.loads((job / "job.json").read_text("utf-8"))["state"] == "failed"


async def test_what_a_command_printed_moves_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_desk(tmp_path, monkeypatch, "garbage") as stage:
        await napped(stage)
        (job,) = folders(stage)
        assert b"\x1b" in (job / "answer").read_bytes()
    shown = forked.run(["llm", "jobs", job.name], env=environment(tmp_path), check=True).stdout
    assert "answer:" in shown
    assert not set(shown) & set(map(chr, (*range(9), 11, 12, *range(14, 32), 127)))


def test_a_session_that_is_a_job_is_no_session_of_memds(tmp_path: Path) -> None:
    """The hooks of an assistant that works off a job would nap over the nap."""
    env = {**environment(tmp_path), "MEMD_JOB": "1"}
    done = forked.run(["hook", "claude-code", "SessionStart"], env=env, check=True)
    assert done.stdout == ""
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("command", [[], [""], [" ", "-p"]])
def test_without_a_command_jobs_are_refused(command: list[str]) -> None:
    with pytest.raises(ValidationError, match="needs a command"):
        Settings.model_validate(tree("llm", {"provider": "jobs", "command": command}))


@pytest.mark.parametrize(
    ("provider", "idle"),
    [
        ("jobs", {"url", "model", "api_key_file", "allowed_hosts"}),
        ("openai_compatible", {"command", "job_days", "answer_bytes"}),
        ("assistant", {"command", "job_days", "answer_bytes", "url", "api_key_file"}),
    ],
)
def test_what_a_provider_makes_no_use_of_is_named(provider: str, idle: set[str]) -> None:
    given: dict[str, Any] = {"command": ["claude"], "model": "small"}
    values = {"job_days": 1, "answer_bytes": 2_048, "url": "http://127.0.0.1:1/v1"}
    more = {"api_key_file": "key", "allowed_hosts": ["lan"], "night_tokens": 1}
    whole = {"provider": provider, **given, **values, **more}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Settings.model_validate(tree("llm", whole))
    named = {str(each.message).partition(" ")[0].removeprefix("llm.") for each in caught}
    assert idle <= named
    assert not named & ({"command", "job_days", "answer_bytes", "url", "model"} - idle)
