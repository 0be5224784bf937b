"""Only what an assistant of this user wrote where assistants write is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.signals.files import read_own, transcript_roots
from memd.signals.usage import MissingSignal, UnreadableSignal

NOBODY = 65_534


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "projects"
    (folder / "w").mkdir(parents=True)
    return folder


def write_file(path: Path, text: str = "mine") -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def reason_of(path: Path, *roots: Path) -> str:
    with pytest.raises(UnreadableSignal) as caught:
        read_own(path, 100, roots)
    return str(caught.value)


def test_a_file_below_a_root_is_read(root: Path) -> None:
    path = write_file(root / "w" / "7.jsonl")
    assert read_own(path, 4, [root.parent / "other", root]) == b"mine"
    assert read_own(path, 4) == b"mine"


def test_a_missing_file_is_told_from_one_that_is_refused(root: Path) -> None:
    for path in (root / "no.json", root / "no" / "7.json"):
        with pytest.raises(MissingSignal):
            read_own(path, 4, [root])
    with pytest.raises(MissingSignal):
        read_own(root.parent / "gone" / "7.json", 4, [root.parent / "gone"])


def test_a_file_outside_the_roots_is_refused_even_when_it_is_ones_own(root: Path) -> None:
    outside = write_file(root.parent / "id_rsa")
    assert "folder" in reason_of(outside, root)
    reason_of(root.parent / "projects-too" / "7.jsonl", root)
    reason_of(root, root)


def test_a_step_back_up_is_refused_wherever_it_leads(root: Path) -> None:
    write_file(root.parent / "id_rsa")
    reason_of(root / "w" / ".." / ".." / "id_rsa", root)
    reason_of(root / "w" / ".." / "w" / "7.jsonl", root)
    reason_of(Path("7.jsonl"), root)
    reason_of(Path("~/7.jsonl"))


def test_no_link_is_followed_below_the_root(root: Path) -> None:
    target = write_file(root.parent / "id_rsa")
    (root / "w" / "link.jsonl").symlink_to(target)
    reason_of(root / "w" / "link.jsonl", root)
    reason_of(root / "w" / "link.jsonl")
    (root / "elsewhere").symlink_to(root.parent)
    reason_of(root / "elsewhere" / "id_rsa", root)


def test_a_root_that_is_itself_behind_a_link_is_known_by_both_names(root: Path) -> None:
    path = write_file(root / "w" / "7.jsonl")
    linked = root.parent / "linked"
    linked.symlink_to(root)
    assert read_own(linked / "w" / "7.jsonl", 4, [linked]) == b"mine"
    assert read_own(path, 4, [linked]) == b"mine"


def test_what_is_no_regular_file_is_refused_without_waiting_for_it(root: Path) -> None:
    os.mkfifo(root / "pipe")
    reason_of(root / "pipe", root)
    reason_of(root / "w", root)
    reason_of(Path("/dev/null"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(root: Path) -> None:
    path = write_file(root / "w" / "7.jsonl")
    os.chown(path, NOBODY, -1)
    assert "another user" in reason_of(path, root)


def test_a_file_over_the_limit_is_refused(root: Path) -> None:
    path = write_file(root / "7.json", "x" * 101)
    assert "100 bytes" in reason_of(path, root)
    assert read_own(path, 101, [root]) == b"x" * 101


def test_of_a_long_transcript_the_end_is_read_from_the_beginning_of_a_line(root: Path) -> None:
    path = write_file(root / "7.jsonl", "first\nsecond\nthird\n")
    assert read_own(path, 100, [root], tail=True) == b"first\nsecond\nthird\n"
    assert read_own(path, 13, [root], tail=True) == b"second\nthird\n"
    assert read_own(path, 12, [root], tail=True) == b"third\n"
    assert read_own(path, 3, [root], tail=True) == b""


def test_a_path_that_no_file_can_have_is_refused(root: Path) -> None:
    reason_of(root / "a\0b", root)
    reason_of(root / "\ud800", root)
    reason_of(root / ("x" * 5_000), root)


def test_the_assistants_folders_are_known_with_and_without_their_variables() -> None:
    home = Path("/home/ada")
    environ = {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "GEMINI_CLI_HOME": "not absolute"}
    roots = transcript_roots(environ, home, [Path("/more")])
    assert [str(root) for root in roots] == [
        "/home/ada/.claude/projects",
        "/c/projects",
        "/home/ada/.codex/sessions",
        "/home/ada/.codex/archived_sessions",
        "/x/sessions",
        "/x/archived_sessions",
        "/home/ada/.gemini/tmp",
        "/home/ada/.copilot/session-state",
        "/home/ada/.cursor/projects",
        "/more",
    ]
    moved = transcript_roots({"GEMINI_CLI_HOME": "/g"}, home)
    assert Path("/g/.gemini/tmp") in moved
