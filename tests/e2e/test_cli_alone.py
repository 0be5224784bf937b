"""What a person types when there is no daemon, and what is typed wrongly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import forked
from support.daemon import environment, spawned
from support.fake_encoder import a_model_folder
from support.store import tampering

import memd
from memd.base.paths import RERANKER_NAME


def typed(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return forked.run(words, env=environment(home, more))


@pytest.mark.parametrize(
    "words",
    [
        ["search", "x"], ["recall", "x"], ["add", "x"], ["get", "x"], ["list"], ["status"],
        ["forget", "x", "--yes"], ["delete", "x"], ["trash", "list"], ["export"],
    ],
)  # fmt: skip
def test_without_a_daemon_a_command_says_how_to_start_it(tmp_path: Path, words: list[str]) -> None:
    done = typed(tmp_path, *words)
    assert (done.returncode, done.stdout) == (3, "")
    assert "memd serve" in done.stderr
    assert "memd service install" in done.stderr


def test_the_file_is_cared_for_without_a_daemon_too(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        client.call("memory.store", {"content": "the kettle is blue", "category": "semantic"})
        assert typed(tmp_path, "check").returncode == 0  # through the daemon
        daemon.stop()

    assert typed(tmp_path, "rebuild").returncode == 0
    report = json.loads(typed(tmp_path, "check", "--json").stdout)
    assert (report["ok"], report["figures"]["memories"]) == (True, 1)
    line = next(x for x in typed(tmp_path, "check").stdout.splitlines() if x.startswith("vectors:"))
    assert line.split(maxsplit=1)[1] == "0; to be computed while memd runs: 1"
    copy = tmp_path / "copy.db"
    assert typed(tmp_path, "backup", str(copy)).returncode == 0
    assert copy.stat().st_mode & 0o777 == 0o600


def test_what_a_check_says_of_a_stale_index_mends_it(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        client.call("memory.store", {"content": "the kettle is blue", "category": "semantic"})
        daemon.stop()
    with tampering(daemon.paths.database) as conn:
        conn.execute("DELETE FROM fts_1_docsize")

    broken = typed(tmp_path, "check")

    remedies = {
        line.rpartition("run: ")[2] for line in broken.stdout.splitlines() if "run:" in line
    }
    assert (broken.returncode, remedies) == (1, {"memd rebuild"})
    assert typed(tmp_path, "rebuild").returncode == 0
    assert typed(tmp_path, "check").returncode == 0


@pytest.mark.parametrize("words", [["serve"], ["service", "install"]])
def test_a_home_that_cannot_be_written_is_a_message(tmp_path: Path, words: list[str]) -> None:
    """Nobody, not even root, makes a folder in /sys; elsewhere a file stands in the way."""
    home = Path("/sys/memd") if sys.platform == "linux" else tmp_path / "file" / "home"
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "memd").write_text("#!/bin/sh\n")
    for name in ("memd", "systemctl", "systemd-run", "launchctl"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = typed(home, *words, HOME=str(home), PATH=path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(home) in done.stderr
    assert "MEMD_HOME" in done.stderr


@pytest.mark.parametrize("word", ["check", "rebuild", "backup"])
def test_where_nothing_was_remembered_there_is_nothing_to_care_for(
    tmp_path: Path, word: str
) -> None:
    done = typed(tmp_path, word)
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not exist" in done.stderr
    assert not (tmp_path / "data").exists()


def test_the_profile_is_in_the_hint(tmp_path: Path) -> None:
    assert "memd serve --profile work" in typed(tmp_path, "list", "--profile", "work").stderr


@pytest.mark.parametrize(
    "words", [["nope"], ["search"], ["search", "x", "--nope"], ["list", "-n", "many"], ["service"]]
)
def test_what_is_typed_wrongly_is_a_usage_error(tmp_path: Path, words: list[str]) -> None:
    done = typed(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: memd" in done.stderr


def test_a_group_without_a_known_command_says_which_it_has(tmp_path: Path) -> None:
    for words in (["config"], ["config", "list"]):
        assert "Commands: show, path, set" in typed(tmp_path, *words).stderr


def test_a_profile_that_is_no_name_is_a_usage_error(tmp_path: Path) -> None:
    assert typed(tmp_path, "list", "--profile", "../x").returncode == 2


def test_settings_that_cannot_be_read_have_a_code_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("memory = [")
    assert typed(tmp_path, "config", "show").returncode == 78
    assert typed(tmp_path, "serve").returncode == 78


@pytest.mark.parametrize("words", [["--help"], ["search", "-h"], ["trash", "--help"], []])
def test_help_goes_to_stdout(tmp_path: Path, words: list[str]) -> None:
    done = typed(tmp_path, *words)
    assert done.returncode == 0
    assert "Usage: memd" in done.stdout


def test_help_shows_examples(tmp_path: Path) -> None:
    assert "memd search how do we deploy" in typed(tmp_path, "search", "--help").stdout


def test_the_version_is_known_in_two_spellings(tmp_path: Path) -> None:
    for words in (["version"], ["--version"]):
        assert typed(tmp_path, *words).stdout == f"memd {memd.__version__}\n"


def test_without_a_model_its_status_is_degraded(tmp_path: Path) -> None:
    done = typed(tmp_path, "model", "status", "--json", MEMD_MODEL_DIR=str(tmp_path / "none"))
    assert done.returncode == 4
    assert json.loads(done.stdout)["installed"] is False


def test_a_damaged_reranker_is_told_with_the_command_that_mends_it(tmp_path: Path) -> None:
    second = a_model_folder(tmp_path / RERANKER_NAME)
    (second / "model.onnx").write_bytes(b"other")
    done = typed(tmp_path, "model", "status", MEMD_MODEL_DIR=str(tmp_path / "none"))
    assert f"{second}: not installed" in done.stdout
    assert "no model is installed; run: memd model install\n" in done.stderr
    assert "model.onnx is damaged" in done.stderr
    assert done.stderr.endswith("; run: memd model install --reranker\n")


def test_only_the_daemon_knows_what_an_import_would_change(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    done = typed(tmp_path, "import", str(tmp_path / "a.txt"), "--dry-run")
    assert done.returncode == 3
    assert "memd serve" in done.stderr


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    done = typed(tmp_path, "import", str(tmp_path / "missing.md"))
    assert done.returncode == 1
    assert "missing.md" in done.stderr
