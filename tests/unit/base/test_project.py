"""The project of a folder, as hooks and the daemon name it alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.base.limits import PROJECT_CHARS_MAX
from memd.base.project import project_of


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    (tmp_path / "tree" / "src" / "room").mkdir(parents=True)
    return tmp_path / "tree"


@pytest.mark.parametrize("below", ["", "/", "/src", "/src/room", "/src/room//"])
def test_the_project_is_the_root_of_the_working_tree(tree: Path, below: str) -> None:
    assert project_of(f"{tree}{below}") == str(tree)


def test_a_path_that_is_too_long_to_be_stored_is_no_project(tree: Path) -> None:
    assert project_of("/." * (PROJECT_CHARS_MAX // 2) + str(tree)) is None


@pytest.mark.parametrize("cwd", [None, "", "relative", "/\0", "/nowhere/at/all"])
def test_outside_of_any_working_tree_there_is_no_project(cwd: str | None) -> None:
    assert project_of(cwd) is None
