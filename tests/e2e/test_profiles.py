"""Profiles see nothing of each other, and one that is removed is gone (SPEC D18)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.daemon import environment, wait_until
from support.planted import asking

from memd.base.errors import MemdError
from memd.base.paths import Paths
from memd.base.profiles import belongings
from memd.client import Client

TOLD = "Zanzibar lantern 4711"


def memd(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = forked.run(words, env=environment(home))
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def two(tmp_path: Path) -> Iterator[dict[str, Paths]]:
    """Run the daemons of ``work`` and of ``work-2``."""
    places = {name: Paths.resolve(name, home=tmp_path, environ={}) for name in ("work", "work-2")}
    started = []
    with (tmp_path / "daemons.log").open("ab") as log, Path("/dev/null").open("rb") as nothing:
        for name in places:
            streams = (nothing.fileno(), log.fileno(), log.fileno())
            arguments = ["serve", "--profile", name]
            started.append(forked.start(arguments, env=environment(tmp_path), streams=streams))
    try:
        for paths in places.values():
            wait_until(paths.operator_key.exists, "the daemon has its key")
        yield places
    finally:
        for process in started:
            process.kill()
            process.wait()


def everything(client: Client) -> str:
    """Return what every method that reads answers, or its error says."""
    told: list[str] = []
    for name, params in asking(lambda _field: "lantern"):
        try:
            told.append(json.dumps(client.call(name, params)))
        except MemdError as error:
            told.append(f"{error.message} {error.hint}")
    return "\n".join(told)


def test_no_method_that_reads_and_no_error_tells_of_the_other_profile(
    tmp_path: Path, two: dict[str, Paths]
) -> None:
    work, other = two["work"], two["work-2"]
    with (
        Client(work.socket, key=work.operator_key) as one,
        Client(other.socket, key=other.operator_key) as second,
    ):
        kept = one.call("memory.store", {"category": "semantic", "content": TOLD})

        assert TOLD in everything(one)
        told = everything(second)
        assert TOLD not in told
        assert kept not in told
        assert second.call("memory.get", {"id": kept}) is None
    listed = json.loads(memd(tmp_path, "profile", "list", "--json").stdout)["profiles"]
    assert {(each["profile"], each["running"]) for each in listed} == {
        ("work", True),
        ("work-2", True),
    }


def test_the_key_of_one_profile_is_nobody_s_in_the_other(two: dict[str, Paths]) -> None:
    work, other = two["work"], two["work-2"]
    with pytest.raises(MemdError), Client(other.socket, key=work.operator_key) as stranger:
        stranger.call("client.list")


def test_a_profile_is_not_removed_while_its_daemon_runs(
    tmp_path: Path, two: dict[str, Paths]
) -> None:
    done = memd(tmp_path, "profile", "remove", "work", "--yes")

    assert done.returncode != 0
    assert "the daemon of work runs" in done.stderr
    assert two["work"].database.exists()


def test_what_is_removed_is_in_no_file_and_the_other_profile_has_lost_nothing(
    tmp_path: Path, two: dict[str, Paths]
) -> None:
    for name, paths in two.items():
        with Client(paths.socket, key=paths.operator_key) as client:
            client.call("memory.store", {"category": "semantic", "content": f"a kite of {name}"})
            if name == "work":
                client.call("memory.store", {"category": "semantic", "content": TOLD})
                client.call("system.shutdown")
    assert (
        memd(tmp_path, "config", "set", "daemon.undo_days", "9", "--profile", "work-2").returncode
        == 0
    )
    assert memd(tmp_path, "backup", "--profile", "work-2").returncode == 0
    wait_until(lambda: not two["work"].socket.exists(), "the daemon of work has ended")
    before = sorted(map(str, belongings(two["work-2"])))

    done = memd(tmp_path, "profile", "remove", "work", "--yes")

    assert done.returncode == 0, done.stderr
    assert list(belongings(two["work"])) == []
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert [each for each in files if TOLD.encode() in each.read_bytes()] == []
    assert sorted(map(str, belongings(two["work-2"]))) == before
    with Client(two["work-2"].socket, key=two["work-2"].operator_key) as client:
        assert client.call("memory.count") == 1


def test_a_profile_is_made_once_and_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    assert memd(tmp_path, "profile", "create", "work").returncode == 0
    assert "is there already" in memd(tmp_path, "profile", "create", "work").stderr
    for name in ("../work", "Work", "w" * 33, "w\u043erk", "", "a b", "-"):
        done = memd(tmp_path, "profile", "create", "--", name)
        assert done.returncode != 0, name
    assert [each["profile"] for each in _listed(tmp_path)] == ["work"]
    assert "stays" in memd(tmp_path, "profile", "remove", "default", "--yes").stderr
    assert "there is no profile" in memd(tmp_path, "profile", "remove", "play", "--yes").stderr
    assert memd(tmp_path, "profile", "remove", "work", "--yes").returncode == 0
    assert _listed(tmp_path) == []


def _listed(home: Path) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(memd(home, "profile", "list", "--json").stdout)[
        "profiles"
    ]
    return told
