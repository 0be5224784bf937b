"""``memd model status``: which of the installed models is in use, while memd runs and without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import commands
from support.commands import Output
from support.daemon import spawned
from support.word_vector_model import a_word_model

from memd.base.paths import RERANKER_NAME

pytestmark = pytest.mark.model

TEXT = "anna keeps three jars in the barn"


@pytest.fixture
def own(tmp_path: Path, model_dir: Path) -> Path:
    """The folder of memd's own model, in a home of its own."""
    folder = tmp_path / "models" / model_dir.name
    shutil.copytree(model_dir, folder)
    return folder


def test_the_model_in_use_is_told_and_after_a_switch_it_is_another(
    tmp_path: Path, own: Path
) -> None:
    def typed(*words: str) -> Output:
        return commands.memd(tmp_path, *words, MEMD_MODEL_DIR=str(own))

    jars, second = own.with_name("jars"), own.with_name(RERANKER_NAME)
    optional = f"{second}: not installed (optional)"
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(own)}):
        assert typed("model", "status").out.splitlines() == [f"{own}: installed, in use", optional]
        a_word_model(tmp_path / "jars", TEXT.split())
        assert typed("model", "add", str(tmp_path / "jars")).code == 0
        assert typed("model", "use", "jars", "--wait").code == 0

        lines = [f"{jars}: installed, in use", f"{own}: installed", optional]
        assert typed("model", "status").out.splitlines() == lines
        answer = typed("model", "status", "--json").json
        assert (answer["in_use"], answer["folder"]) == ("jars", str(jars))
        assert answer["installed"] is True
    stopped = typed("model", "status")
    assert stopped.out.splitlines() == [f"{own}: installed", f"{jars}: installed", optional]
    assert "which model is in use is known while memd runs" in stopped.err
    assert typed("model", "status", "--json").json["in_use"] is None


def test_where_the_model_in_use_is_missing_the_status_is_degraded(
    tmp_path: Path, own: Path
) -> None:
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(own)}):
        shutil.rmtree(own)
        missing = commands.memd(tmp_path, "model", "status", MEMD_MODEL_DIR=str(own))
    assert (missing.code, missing.out.splitlines()[0]) == (4, f"{own}: not installed, in use")
