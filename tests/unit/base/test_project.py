"""The project of a folder, as hooks and the daemon name it alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.git import git

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


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    made.mkdir()
    git(made, "init", "-q")
    git(made, "commit", "-q", "--allow-empty", "-m", "first")
    return made


@pytest.mark.parametrize("place", ["../shop-fix", ".claude/worktrees/fix"])
def test_a_linked_working_tree_is_of_the_project_of_the_main_one(
    repository: Path, place: str
) -> None:
    git(repository, "worktree", "add", "-q", place)
    linked = repository / place
    (linked / "src").mkdir()
    assert project_of(f"{linked}/src") == str(repository)


@pytest.mark.parametrize(("name", "project"), [("shop.git", "shop.git"), (".bare", "")])
def test_without_a_main_tree_the_repository_names_the_project(
    repository: Path, tmp_path: Path, name: str, project: str
) -> None:
    home = tmp_path / "bare"
    git(repository, "clone", "-q", "--bare", ".", f"{home / name}")
    git(home / name, "worktree", "add", "-q", "../fix")
    assert project_of(f"{home}/fix") == f"{home / project}"


@pytest.mark.parametrize("how", ["copied", "symbolic", "hard"])
def test_a_link_that_the_repository_does_not_know_is_not_followed(
    repository: Path, tmp_path: Path, how: str
) -> None:
    git(repository, "worktree", "add", "-q", "../fix")
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    link, known = unpacked / ".git", tmp_path / "fix" / ".git"
    if how == "copied":
        link.write_text(known.read_text("utf-8"), "utf-8")
    elif how == "symbolic":
        link.symlink_to(known)
    else:
        link.hardlink_to(known)
    assert project_of(str(unpacked)) == str(unpacked)


def test_what_the_repository_says_may_be_no_path(tmp_path: Path) -> None:
    own = tmp_path / "x" / "worktrees" / "y"
    own.mkdir(parents=True)
    (own / "gitdir").write_bytes(b"/a\0b/.git")
    (tmp_path / ".git").write_text("gitdir: x/worktrees/y", "utf-8")
    assert project_of(str(tmp_path)) == str(tmp_path)


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "./", "part")
    assert project_of(f"{repository}/part") == f"{repository}/part"
    git(repository / "part", "worktree", "add", "-q", "../../part-fix")
    assert project_of(f"{repository.parent}/part-fix") == f"{repository.parent}/part-fix"


@pytest.mark.parametrize("link", [b"", b"gitdir: \xff\n", b"gitdir: /nowhere/.git/worktrees/x\n"])
def test_a_link_that_cannot_be_followed_leaves_the_tree_a_project(
    tmp_path: Path, link: bytes
) -> None:
    (tmp_path / ".git").write_bytes(link)
    assert project_of(str(tmp_path)) == str(tmp_path)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "move" / "bills").mkdir(parents=True)
    return tmp_path


def test_a_folder_below_the_home_is_a_project_without_git_too(home: Path) -> None:
    assert project_of(f"{home}/move/") == f"{home}/move"
    assert project_of(f"{home}/gone") is None


@pytest.mark.parametrize("other", ["", "/", "/..", "-of-another/move"])
def test_neither_the_home_nor_what_is_not_below_it_is_a_project(home: Path, other: str) -> None:
    Path(f"{home}-of-another/move").mkdir(parents=True)
    assert project_of(f"{home}{other}") is None


def test_an_assistant_that_moves_about_stays_in_the_project_it_was_started_in(
    home: Path, tree: Path
) -> None:
    assert project_of(f"{home}/move/bills", f"{home}/move") == f"{home}/move"
    assert project_of("/", f"{tree}/src") == str(tree)
    assert project_of(str(tree), f"{home}/move") == str(tree)
