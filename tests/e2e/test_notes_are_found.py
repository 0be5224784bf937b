"""Of imported notes no piece is out of reach: each is found by its own words."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.bench_daemon import Stage
from bench.notes import brought, missed
from support import generated_notes
from support.daemon import spawned, wait_until

pytestmark = pytest.mark.model
DOCS = Path(__file__).resolve().parents[2] / "docs"


def found_again(home: Path, model_dir: Path, folder: Path, *, quoting: bool = False) -> int:
    """Import *folder* into a daemon of its own, look for all of it and return how many pieces.

    Where it is *quoting* attacks, what quotes them may be set aside.
    """
    with (
        spawned(home, {"MEMD_MODEL_DIR": str(model_dir)}) as daemon,
        daemon.client(timeout=600.0) as client,
    ):
        stage = Stage(daemon, client)
        outcomes = brought(stage, "ada", folder)
        assert not [each for each in outcomes if each.error]
        assert quoting or not [each for each in outcomes if each.quarantined]
        new = sum(each.new - each.quarantined for each in outcomes)
        wait_until(
            lambda: not client.call("system.status")["pending"], "all have vectors", seconds=600
        )
        assert sum(1 for _ in stage.memories("ada")) == new
        missing = missed(stage, "ada")
        assert missing["text"] == []
        assert missing["neither"] == []
        return new


def test_each_piece_of_twenty_notes_is_found_by_its_own_words(
    tmp_path: Path, model_dir: Path
) -> None:
    generated_notes.write(tmp_path / "notes", 20)
    assert found_again(tmp_path, model_dir, tmp_path / "notes") > 40


@pytest.mark.long
def test_each_piece_of_two_hundred_notes_is_found_by_its_own_words(
    tmp_path: Path, model_dir: Path
) -> None:
    generated_notes.write(tmp_path / "notes", 200)
    assert found_again(tmp_path, model_dir, tmp_path / "notes") > 500


@pytest.mark.long
def test_each_piece_of_our_own_documents_is_found_by_its_own_words(
    tmp_path: Path, model_dir: Path
) -> None:
    assert found_again(tmp_path, model_dir, DOCS, quoting=True) > 400
