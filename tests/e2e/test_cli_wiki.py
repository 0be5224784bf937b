"""``memd wiki``: memories as files, by hand, from a real daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import forked
from support.daemon import environment, spawned

from memd.client import Client

WORD = "quincunx"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    with spawned(home):
        yield home


def memd(home: Path, *words: str, cwd: Path | None = None) -> tuple[int, str, str]:
    done = forked.run(words, env=environment(home, {}), cwd=cwd)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_the_wiki_is_written_brought_up_to_date_and_forgotten_with_its_memory(home: Path) -> None:
    with Client(home / "run" / "memd.sock") as client:
        secret = client.add(f"The safe opens with {WORD}.")
        client.add("Ann keeps bees.")

        code, out, err = memd(home, "wiki")

        folder = home / "data" / "wiki" / "default"
        assert (code, out) == (0, f"{folder}\n")
        assert "2 memories, 0 summaries" in err
        page = folder / "raw" / f"{secret}.md"
        assert WORD in page.read_text("utf-8")
        assert "[raw](raw/): 2 memories" in (folder / "index.md").read_text("utf-8")

        forgotten = client.call("memory.forget", {"ids": [secret]})

    assert forgotten["backups"] == []
    assert not page.exists()
    assert not any(WORD in path.read_text("utf-8") for path in folder.rglob("*.md"))


def test_another_folder_is_named_as_the_shell_names_it(home: Path, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()

    code, out, _ = memd(home, "wiki", "../notes", "--json", cwd=tmp_path / "below")

    told = json.loads(out)
    assert code == 0
    assert told["v"] == 1
    assert told["path"] == str((tmp_path / "notes" / "default").resolve())
    assert told["raw"] == len(list((tmp_path / "notes" / "default" / "raw").iterdir()))


def test_a_folder_that_cannot_be_written_is_a_clear_error(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    code, out, err = memd(home, "wiki", str(tmp_path / "file"))

    assert (code, out) == (1, "")
    assert "cannot be written" in err
