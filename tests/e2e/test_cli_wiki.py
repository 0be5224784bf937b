"""``memd wiki``: memories as files, by hand, from a real daemon."""

from __future__ import annotations

from pathlib import Path

from support.commands import Memd
from support.daemon import Spawned

from memd.client import Client

WORD = "quincunx"


def test_the_wiki_is_written_brought_up_to_date_and_forgotten_with_its_memory(
    daemon: Spawned, client: Client, memd: Memd
) -> None:
    secret = client.add(f"The safe opens with {WORD}.")
    client.add("Ann keeps bees.")

    code, out, err = memd("wiki")

    folder = daemon.home / "data" / "wiki" / "default"
    assert (code, out) == (0, f"{folder}\n")
    assert "2 memories, 0 summaries" in err
    page = folder / "raw" / f"{secret}.md"
    assert WORD in page.read_text("utf-8")
    assert "[raw](raw/): 2 memories" in (folder / "index.md").read_text("utf-8")

    forgotten = client.call("memory.forget", {"ids": [secret]})

    assert forgotten["backups"] == []
    assert not page.exists()
    assert not any(WORD in path.read_text("utf-8") for path in folder.rglob("*.md"))


def test_another_folder_is_named_as_the_shell_names_it(memd: Memd, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()

    written = memd("wiki", "../notes", "--json", cwd=tmp_path / "below")

    assert written.code == 0
    answer = written.json
    assert answer["path"] == str((tmp_path / "notes" / "default").resolve())
    assert answer["raw"] == len(list((tmp_path / "notes" / "default" / "raw").iterdir()))


def test_a_folder_that_cannot_be_written_is_a_clear_error(memd: Memd, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    code, out, err = memd("wiki", str(tmp_path / "file"))

    assert (code, out) == (1, "")
    assert "cannot be written" in err
