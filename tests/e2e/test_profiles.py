"""Profiles see nothing of each other, and one that is removed is gone (SPEC D18)."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.canaries import bytes_below
from support.daemon import wait_until
from support.two_profiles import memd, profiles_running, surroundings

from memd.base.errors import MemdError
from memd.base.limits import SOCKET_PATH_BYTES_MAX
from memd.base.lock import lock_store
from memd.base.paths import Paths, profile_files
from memd.client import Client

TOLD = "Zanzibar lantern 4711"


@pytest.fixture
def two(tmp_path: Path) -> Iterator[dict[str, Paths]]:
    """Run the daemons of ``work`` and of ``work-2``."""
    with profiles_running(tmp_path, "work", "work-2") as places:
        yield places


def test_the_key_of_one_profile_is_nobody_s_in_the_other(two: dict[str, Paths]) -> None:
    work, other = two["work"], two["work-2"]
    with pytest.raises(MemdError), Client(other.socket, key=work.operator_key) as stranger:
        stranger.call("client.list")


def test_a_daemon_that_runs_is_ended_before_its_profile_is_removed(
    tmp_path: Path, two: dict[str, Paths]
) -> None:
    listed = {each["profile"]: each["running"] for each in _listed(tmp_path)}
    assert listed == {"work": True, "work-2": True}

    done = memd(tmp_path, "profile", "remove", "work", "--yes")

    assert done.returncode == 0, done.stderr
    assert list(profile_files(two["work"])) == []
    assert {each["profile"]: each["running"] for each in _listed(tmp_path)} == {"work-2": True}


def test_a_store_that_does_not_let_go_is_not_removed(tmp_path: Path) -> None:
    paths = Paths.resolve("work", home=tmp_path, environ={})
    paths.data_dir.mkdir(parents=True)
    paths.database.write_bytes(b"")
    held = lock_store(paths.lock, paths.database)
    try:
        done = memd(tmp_path, "profile", "remove", "work", "--yes")
    finally:
        held.close()
    assert done.returncode != 0
    assert "does not stop" in done.stderr
    assert paths.database.exists()


def test_what_is_removed_is_in_no_file_and_the_other_profile_has_lost_nothing(
    tmp_path: Path, two: dict[str, Paths]
) -> None:
    for name, paths in two.items():
        with Client(paths.socket, key=paths.operator_key) as client:
            client.call("memory.store", {"category": "semantic", "content": f"a kite of {name}"})
            if name == "work":
                client.call("memory.store", {"category": "semantic", "content": TOLD})
                client.call("client.add", {"name": "a-client", "scopes": ["read"]})
    for words in (
        ("config", "set", "daemon.undo_days", "9"),
        ("config", "set", "daemon.undo_days", "8"),
        ("backup",),
    ):
        for name in two:
            assert memd(tmp_path, *words, "--profile", name).returncode == 0
    work = two["work"]
    partial = work.data_dir / ".memd-work-20260101T000000000000.backup.db.memd-partial"
    half = work.config_file.with_name(".memd-work.toml.x1y2.memd")
    stamps = ("20260101T000000000000-replaced", "v3")
    old_copies = [work.data_dir / f"memd-work-{stamp}.backup.db" for stamp in stamps]
    for each in (partial, half, *old_copies):
        each.write_text(TOLD)  # as a restore or a migration leaves it, or who is killed then
    tokens = [TOLD.encode(), *(each.read_bytes().strip() for each in work.keys_dir.iterdir())]
    assert len(tokens) > 2
    wait_until(two["work-2"].usage_dir.is_dir, "the other daemon has made its folders")
    before = sorted(map(str, profile_files(two["work-2"])))

    done = memd(tmp_path, "profile", "remove", "work", "--yes")

    assert done.returncode == 0, done.stderr
    assert list(profile_files(two["work"])) == []
    files = dict(bytes_below(tmp_path))
    for token in tokens:
        assert [each for each, content in files.items() if token in content] == []
    assert [each for each in tmp_path.rglob("*") if "work." in each.name] == [tmp_path / "work.log"]
    assert sorted(map(str, profile_files(two["work-2"]))) == before
    with Client(two["work-2"].socket, key=two["work-2"].operator_key) as client:
        assert client.call("memory.count") == 1


def test_a_removal_that_is_killed_anywhere_is_finished_by_the_next(tmp_path: Path) -> None:
    """Whatever was erased by then: it is still known where the rest is."""
    elsewhere = tmp_path / "elsewhere"
    for killed_after in range(40):
        _a_profile(tmp_path, elsewhere)
        code = forked_until(tmp_path, killed_after)
        left = [each for each, content in bytes_below(tmp_path) if TOLD.encode() in content]
        assert code == KILLED or left == []
        if code != KILLED:
            break
        assert memd(tmp_path, "profile", "remove", "work", "--yes").returncode == 0, killed_after
        left = [each for each, content in bytes_below(tmp_path) if TOLD.encode() in content]
        assert left == []
        assert _listed(tmp_path) == []
    assert killed_after > 5


def _a_profile(home: Path, data_dir: Path) -> None:
    """Write what a profile consists of, its memories in a folder that its settings name."""
    assert memd(home, "profile", "create", "work").returncode == 0
    key = "memory.storage.data_dir"
    assert memd(home, "config", "set", key, str(data_dir), "--profile", "work").returncode == 0
    paths = Paths.resolve("work", home=home, environ={})
    there = paths.with_data_dir(str(data_dir))
    for each in (there.database, there.database.with_name("memd-work.db-wal"), there.lock,
                 there.anchors, paths.keys_dir / "operator.key", paths.usage_dir / "one",
                 data_dir / "wiki-work" / "page.md"):  # fmt: skip
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text(TOLD)


KILLED = -9


def forked_until(home: Path, steps: int) -> int:
    """Remove the profile in a process that is killed before its erasure number *steps*."""
    program = (
        "import os, signal, sys\n"
        "from memd.cli.daemon import profile\n"
        "real, left = profile._erase, [int(sys.argv[1])]\n"
        "def erase(place):\n"
        "    if not left[0]:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    left[0] -= 1\n"
        "    return real(place)\n"
        "profile._erase = erase\n"
        "profile.remove('work', yes=True)\n"
    )
    command = [sys.executable, "-c", program, str(steps)]
    done = subprocess.run(command, env=surroundings(home), capture_output=True, check=False)
    assert done.returncode in (0, KILLED), done.stderr
    return done.returncode


def test_who_is_still_connected_is_named_with_the_command_that_ends_it(
    tmp_path: Path, two: dict[str, Paths]
) -> None:
    for assistant, profile in (("codex", "work"), ("cursor", "work-2"), ("opencode", "work")):
        done = memd(tmp_path, "connect", assistant, "--yes", "--profile", profile)
        assert done.returncode == 0, done.stderr
    listed = memd(tmp_path, "connect").stdout
    assert re.search(r"^codex\t[^\t]*\twork\t", listed, re.MULTILINE)
    assert re.search(r"^cursor\t[^\t]*\twork-2\t", listed, re.MULTILINE)

    done = memd(tmp_path, "profile", "remove", "work", "--yes")

    assert done.returncode != 0
    assert "connected to work: codex, opencode" in done.stderr
    assert two["work"].database.exists()
    for assistant in ("codex", "opencode"):
        command = f"memd connect {assistant} --remove --profile work"
        assert command in done.stderr
        assert memd(tmp_path, *command.split()[1:], "--yes").returncode == 0
    assert memd(tmp_path, "profile", "remove", "work", "--yes").returncode == 0


def test_the_name_is_typed_before_all_of_it_is_erased(tmp_path: Path) -> None:
    for answer, code in (("y", 1), ("", 1), ("work-2", 1), ("work", 0)):
        memd(tmp_path, "profile", "create", "work")
        ours, theirs = pty.openpty()
        os.write(ours, f"{answer}\n".encode())
        with tempfile.TemporaryFile() as written:
            streams = (theirs, written.fileno(), written.fileno())
            words = ["profile", "remove", "work"]
            process = forked.start(words, env=surroundings(tmp_path), streams=streams)
            assert process.wait(forked.TIMEOUT_S) == code, answer
            written.seek(0)
            assert b"Type work to confirm:" in written.read()
        os.close(ours)
        os.close(theirs)
        assert bool(_listed(tmp_path)) is (code != 0)
    memd(tmp_path, "profile", "create", "work")
    done = memd(tmp_path, "profile", "remove", "work", text="work\n")
    assert "confirm with --yes" in done.stderr
    assert _listed(tmp_path) != []


def test_homes_too_long_for_a_socket_have_one_each_and_know_nothing_of_each_other(
    tmp_path: Path,
) -> None:
    homes = [tmp_path / f"{'home' * 40}-{number}" for number in range(2)]
    with contextlib.ExitStack() as running:
        places = []
        for home in homes:
            home.mkdir()
            done = memd(home, "profile", "create", "work", "--json")
            assert done.returncode == 0, done.stderr
            places.append(running.enter_context(profiles_running(home, "work"))["work"])
        for paths in places:
            running.callback(shutil.rmtree, paths.runtime_dir, ignore_errors=True)
            assert len(os.fsencode(paths.socket)) <= SOCKET_PATH_BYTES_MAX
            assert paths.runtime_dir.stat().st_mode & 0o777 == 0o700
        added = memd(homes[0], "add", TOLD, "--profile", "work")
        assert added.returncode == 0, added.stderr
        exports = [memd(home, "export", "--profile", "work").stdout for home in homes]
    assert [TOLD in each for each in exports] == [True, False]


def test_a_profile_is_made_once_and_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    assert memd(tmp_path, "profile", "create", "work").returncode == 0
    assert "already exists" in memd(tmp_path, "profile", "create", "work").stderr
    for name in ("../work", "Work", "w" * 33, "w\u043erk", "", "a b", "-"):
        done = memd(tmp_path, "profile", "create", "--", name)
        assert done.returncode != 0, name
    assert [each["profile"] for each in _listed(tmp_path)] == ["work"]
    assert "cannot be removed" in memd(tmp_path, "profile", "remove", "default", "--yes").stderr
    gone = memd(tmp_path, "profile", "remove", "play", "--yes")
    assert "there is no profile" in gone.stderr
    assert gone.returncode == 1
    assert memd(tmp_path, "profile", "remove", "work", "--yes").returncode == 0
    assert _listed(tmp_path) == []


def _listed(home: Path) -> list[dict[str, Any]]:
    profiles: list[dict[str, Any]] = json.loads(memd(home, "profile", "list", "--json").stdout)[
        "profiles"
    ]
    return profiles
