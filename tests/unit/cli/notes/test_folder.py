"""Which files of a folder are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.base.errors import InvalidError
from memd.base.limits import NOTE_BYTES_MAX
from memd.cli.notes import folder


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Return a folder as a person has one, beside a file that is not in it."""
    vault = tmp_path / "vault"
    (vault / "b" / "deep").mkdir(parents=True)
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "app.md").write_text("x")
    (vault / ".hidden.md").write_text("x")
    (vault / "a.md").write_text("x")
    (vault / "b" / "c.txt").write_text("x")
    (vault / "b" / "deep" / "d.MARKDOWN").write_text("x")
    (vault / "photo.jpg").write_bytes(b"\xff\xd8")
    (vault / "odd.md").write_bytes(b"a\0b")
    for name in ("LICENSE.txt", "LICENSE-MIT.txt", "Copying.md"):
        (vault / name).write_text("Permission is hereby granted")
    (tmp_path / "outside.md").write_text("x")
    (vault / "link.md").symlink_to(tmp_path / "outside.md")
    (vault / "loop").symlink_to(vault, target_is_directory=True)
    os.mkfifo(vault / "pipe.md")
    return vault


def test_a_folder_is_read_to_its_ends_and_not_beyond(vault: Path) -> None:
    contents = folder.find([vault])

    assert contents.files == [vault / "a.md", vault / "b/c.txt", vault / "b/deep/d.MARKDOWN"]
    left = {"hidden": 2, "links": 2, "other files": 2, "binary": 1, "licences": 3}
    assert contents.skipped == left


def test_a_file_that_is_named_is_read_and_read_once(vault: Path) -> None:
    names = [vault / "link.md", vault / "photo.jpg", vault / "b/../a.md", vault / "a.md"]
    assert folder.find(names).files == [vault / "link.md", vault / "photo.jpg", vault / "a.md"]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"one\ntwo\n\xff", r"not UTF-8 text \(line 3\)"),
        (b"a\0b", "not a text"),
        (b"a" * (NOTE_BYTES_MAX + 1), "larger than 8 MiB"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, raw: bytes, why: str) -> None:
    (tmp_path / "n.md").write_bytes(raw)
    with pytest.raises(InvalidError, match=why):
        folder.read(tmp_path / "n.md")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="No such file"):
        folder.read(tmp_path / "n.md")


def test_marks_of_other_systems_are_no_part_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "n.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree")
    assert folder.read(tmp_path / "n.md") == "one\ntwo\nthree"


def test_a_folder_with_too_many_notes_is_refused(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "NOTE_FILES_MAX", 2)
    with pytest.raises(InvalidError, match="more than 2 notes"):
        folder.find([vault])


def test_too_many_notes_of_several_folders_are_blamed_on_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / name for name in ("many", "few")]
    for path, count in zip(folders, (2, 1), strict=True):
        path.mkdir()
        for number in range(count):
            (path / f"{number}.md").write_text("x")
    monkeypatch.setattr(folder, "NOTE_FILES_MAX", 2)
    with pytest.raises(InvalidError, match="more than 2 notes") as caught:
        folder.find(folders)
    assert str(tmp_path) not in str(caught.value)
