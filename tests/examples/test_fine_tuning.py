"""S4's FineTuningPipeline, as its text types it: a folder of documents to a checkpoint."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from support.fakes import HashEmbedder

import memd.api
from memd.api import FineTuneDependencyError, FineTuningPipeline
from memd.learn.tuning.documents import AdapterPipeline

PAGES = [f"Rule {n} of the {name}. It is kept by team {n}." for n in range(8) for name in "ABC"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number, page in enumerate(PAGES):
        (folder / f"{number:02}.md").write_text(page, "utf-8")
    (folder / "picture.md").write_bytes(b"\xff\xfe\x00")
    (folder / "code.py").write_text("print()", "utf-8")
    return folder


async def test_the_stages_lead_from_a_folder_to_a_checkpoint(tmp_path: Path, source: Path) -> None:
    pipeline: FineTuningPipeline = AdapterPipeline(HashEmbedder("mini"), tmp_path / "out")
    assert isinstance(pipeline, FineTuningPipeline)

    training_data: Path = await pipeline.generate_training_data(str(source))
    triples: Path = await pipeline.mine_hard_negatives(training_data)
    checkpoint: Path = await pipeline.fine_tune(triples, "mini")

    rows = [json.loads(line) for line in training_data.read_text("utf-8").splitlines()]
    held = (tmp_path / "out" / "validation.jsonl").read_text("utf-8").splitlines()
    assert (len(rows), len(held)) == (22, 2)
    assert rows[0]["query"] == "What is known about this: Rule 0 of the A."
    assert rows[0]["positive"] == PAGES[0]
    for line in triples.read_text("utf-8").splitlines():
        row = json.loads(line)
        assert row["positive"] not in row["negatives"]
        assert len(row["negatives"]) <= 4
    metrics = json.loads((tmp_path / "out" / "eval_metrics.json").read_text("utf-8"))
    assert metrics["questions"] == 2
    assert stat.S_IMODE(checkpoint.stat().st_mode) == 0o600


async def test_a_folder_without_texts_and_a_single_pair_are_value_errors(tmp_path: Path) -> None:
    pipeline = AdapterPipeline(HashEmbedder("mini"), tmp_path / "out")
    with pytest.raises(ValueError, match="no texts"):
        await pipeline.generate_training_data(str(tmp_path))
    (tmp_path / "one.txt").write_text("One text.", "utf-8")
    with pytest.raises(ValueError, match="too few"):
        await pipeline.generate_training_data(str(tmp_path))


async def test_the_encoder_of_another_model_is_not_trained_in_silence(
    tmp_path: Path, source: Path
) -> None:
    pipeline = AdapterPipeline(HashEmbedder("mini"), tmp_path / "out")
    triples = await pipeline.mine_hard_negatives(await pipeline.generate_training_data(str(source)))

    with pytest.raises(FineTuneDependencyError, match="torch"):
        await pipeline.fine_tune(triples, "BAAI/bge-large")

    assert issubclass(FineTuneDependencyError, memd.api.MemdMemoryError)
