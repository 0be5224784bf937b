"""``memd doctor`` finds what keeps a connected assistant from its memory, and mends what it can."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.daemon import Spawned, environment, spawned, wait_until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux"),
    pytest.mark.model,
]


class Desk:
    """A person's home folder, and the commands typed in it."""

    def __init__(self, home: Path, memd: Path) -> None:
        self.home, self.memd = home, memd

    def typed(self, *words: str) -> subprocess.CompletedProcess[str]:
        return forked.run(
            words, env={**environment(self.memd), "HOME": str(self.home)}, cwd=self.home
        )

    def findings(self, *words: str) -> list[dict[str, Any]]:
        done = self.typed("doctor", "--json", *words)
        items = list(json.loads(done.stdout)["findings"])
        assert done.returncode == (4 if items else 0), done.stderr
        return items

    def kinds(self, *words: str) -> list[tuple[str, str]]:
        return [(each["assistant"], each["kind"]) for each in self.findings(*words)]


@pytest.fixture
def desk(daemon: Spawned, tmp_path: Path) -> Desk:
    desk = Desk(tmp_path, daemon.home)
    assert desk.typed("connect", "qwen", "--yes").returncode == 0
    return desk


def test_what_is_well_connected_has_no_findings(desk: Desk) -> None:
    assert desk.findings() == []


def test_settings_that_the_next_start_refuses_are_told_while_memd_runs(desk: Desk) -> None:
    file = desk.memd / "config" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("[daemon]\nundo_days = ???\n", "utf-8")
    try:
        [finding] = desk.findings()
    finally:
        file.unlink()
    assert (finding["assistant"], finding["kind"]) == ("memd", "settings")
    assert "config.toml" in finding["what"]


def test_an_entry_that_is_missing_is_put_back(desk: Desk) -> None:
    desk.typed("connect", "cursor", "--yes")
    (desk.home / ".cursor" / "hooks.json").unlink()
    assert desk.kinds() == [("cursor", "missing")]
    assert desk.kinds("--fix", "--yes") == []
    assert "hook cursor" in (desk.home / ".cursor" / "hooks.json").read_text("utf-8")


def test_a_project_whose_folder_is_gone_is_told_and_no_problem(desk: Desk) -> None:
    gone = desk.home / "recon-jobs"
    desk.typed("add", "Amounts are minor units.", "--project", str(gone))
    seen = desk.typed("doctor")
    assert seen.returncode == 0
    assert f"memd project move {gone} NEW" in seen.stderr


def test_files_that_are_missing_are_a_line_each_with_one_remedy(desk: Desk) -> None:
    desk.typed("connect", "claude-code", "--yes")
    plugin = desk.memd / "data" / "assistants" / "claude-code"
    files = [file for file in plugin.rglob("*") if file.is_file()]
    for file in files:
        file.unlink()

    seen = desk.typed("doctor")
    assert seen.stdout.count("claude-code: ") == len(files) > 1
    assert seen.stderr.count("memd doctor --fix") == 1
    fixed = desk.typed("doctor", "--fix", "--yes").stdout
    assert sorted(line.partition(": ")[0] for line in fixed.splitlines()) == sorted(
        f"writes {file}" for file in files
    )
    assert all(file.is_file() for file in files)


def test_a_program_that_moved_is_found_again(desk: Desk) -> None:
    file = desk.home / ".qwen" / "settings.json"
    now = file.read_text("utf-8")
    file.write_text(now.replace("/memd", "/gone/memd"), "utf-8")
    assert desk.kinds() == [("qwen", "stale")]
    assert desk.kinds("--fix", "--yes") == []
    assert file.read_text("utf-8") == now


def test_a_key_that_was_revoked_is_made_anew(desk: Desk) -> None:
    desk.typed("client", "revoke", "qwen")
    assert desk.kinds() == [("qwen", "key")]
    assert desk.kinds("--fix", "--yes") == []


def test_memd_in_two_configurations_is_told(desk: Desk) -> None:
    file = desk.home / ".qwen" / "settings.json"
    settings = json.loads(file.read_text("utf-8"))
    settings["mcpServers"]["mine"] = {"command": "/usr/bin/memd", "args": ["mcp"]}
    file.write_text(json.dumps(settings), "utf-8")
    assert desk.kinds() == [("qwen", "doubled")]
    assert "mcpServers.mine" in desk.findings()[0]["what"]
    desk.typed("connect", "qwen", "--remove", "--yes")
    desk.typed("connect", "claude-code", "--yes")
    (desk.home / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"memd": {"command": "memd", "args": ["mcp"]}}}), "utf-8"
    )
    assert ("claude-code", "doubled") in desk.kinds()


def test_what_an_assistant_does_not_trust_is_told(desk: Desk) -> None:
    desk.typed("connect", "codex", "--yes")
    desk.typed("connect", "gemini", "--yes")
    assert set(desk.kinds()) == {("codex", "untrusted"), ("gemini", "untrusted")}
    hooks = desk.home / ".codex" / "hooks.json"
    with (desk.home / ".codex" / "config.toml").open("a") as config:
        for event in ("session_start", "user_prompt_submit", "stop", "pre_compact", "session_end"):
            config.write(f'\n[hooks.state."{hooks}:{event}:0:0"]\ntrusted_hash = "x"\n')
    (desk.home / ".gemini" / "trustedFolders.json").write_text(
        json.dumps({str(desk.home): "TRUST_FOLDER"}), "utf-8"
    )
    assert desk.kinds() == []


def test_a_broken_file_is_named_and_left_alone(desk: Desk) -> None:
    desk.typed("connect", "cursor", "--yes")
    file = desk.home / ".cursor" / "hooks.json"
    file.write_text("{broken", "utf-8")
    assert desk.kinds("--fix", "--yes") == [("cursor", "unreadable")]
    assert file.read_text("utf-8") == "{broken"


def test_an_assistant_of_another_profile_is_none_of_this_one(desk: Desk) -> None:
    [ghost] = desk.findings("--profile", "ghost")
    assert (ghost["kind"], ghost["what"]) == ("missing", "there is no profile ghost")
    assert "memd profile create ghost" in ghost["help"]
    other = ("client", "list", "--profile", "work")
    with spawned(desk.memd, {"MEMD_PROFILE": "work"}):
        wait_until(lambda: desk.typed(*other).returncode == 0, "the other daemon answers")
        assert desk.typed("connect", "cursor", "--yes", "--profile", "work").returncode == 0
        assert not {one["assistant"] for one in desk.findings("--profile", "work")} - {"memd"}
        assert desk.kinds() == []
        (desk.home / ".cursor" / "hooks.json").unlink()
        assert ("cursor", "missing") in desk.kinds("--profile", "work")
        assert desk.kinds() == []


def test_the_owners_key_that_others_may_read_is_no_end_of_the_check(desk: Desk) -> None:
    key = desk.memd / "data" / "keys" / "operator.key"
    desk.typed("connect", "cursor", "--yes")
    (desk.home / ".cursor" / "hooks.json").unlink()
    key.chmod(0o644)
    try:
        findings = desk.findings()
        assert [(one["assistant"], one["kind"]) for one in findings] == [
            ("memd", "key"),
            ("cursor", "missing"),
        ]
        assert f"other users may read {key}" in findings[0]["what"]
        assert desk.kinds("--fix", "--yes") == []
        assert key.stat().st_mode & 0o777 == 0o600
    finally:
        key.chmod(0o600)


def test_a_daemon_that_does_not_run_is_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path, tmp_path)
    assert desk.kinds() == [("memd", "missing")]


def test_what_keeps_the_daemon_from_working_is_told(tmp_path: Path) -> None:
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(tmp_path / "none")}):
        [finding] = Desk(tmp_path, tmp_path).findings()
    assert (finding["assistant"], finding["kind"]) == ("memd", "degraded")
    assert finding["what"].startswith("no embedding model")
