"""Another model is taken in only when it runs and is what its folder says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.word_model import a_word_model

from memd.base.errors import InvalidError, ModelError
from memd.embedding.add import add
from memd.embedding.embed import load_encoder
from memd.embedding.install import references
from memd.embedding.model_files import read_manifest, status

DIMENSION = 16


@pytest.fixture
def source(tmp_path: Path) -> Path:
    words = (word for each in references() for word in each.text.split())
    return a_word_model(tmp_path / "words-e5", words, dimension=DIMENSION)


def test_a_model_of_another_dimension_is_added_and_its_vectors_lie_around_zero(
    source: Path, tmp_path: Path
) -> None:
    folder = add(tmp_path / "models" / "own", source)
    assert status(folder).installed
    manifest = read_manifest(folder)
    assert manifest is not None
    assert manifest.fingerprint.dimension == DIMENSION
    assert manifest.prefix == "query: "
    texts = [each.text for each in references()]
    rows = load_encoder(folder, manifest).encode(texts)
    near = rows @ rows.T
    assert rows.shape == (len(texts), DIMENSION)
    assert abs(float(near[~np.eye(len(texts), dtype=bool)].mean())) < 0.2


def test_a_folder_that_says_another_dimension_is_refused(source: Path, tmp_path: Path) -> None:
    (source / "config.json").write_text(json.dumps({"hidden_size": 24}))
    with pytest.raises(ModelError, match="not run"):
        add(tmp_path / "models" / "own", source)
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_missing_file_is_named(source: Path, tmp_path: Path, name: str) -> None:
    (source / name).unlink()
    with pytest.raises(ModelError, match=name.split(".", maxsplit=1)[0]):
        add(tmp_path / "models" / "own", source)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_broken_file_is_refused(source: Path, tmp_path: Path, name: str) -> None:
    (source / name).write_bytes(b"\x00not this")
    with pytest.raises(ModelError):
        add(tmp_path / "models" / "own", source)
    assert not (tmp_path / "models" / source.name).exists()


def test_a_name_that_is_taken_or_leads_out_of_the_folder_is_refused(
    source: Path, tmp_path: Path
) -> None:
    add(tmp_path / "models" / "own", source)
    for name in (None, "../x", "own", "all-MiniLM-L6-v2"):
        with pytest.raises(InvalidError):
            add(tmp_path / "models" / "own", source, name)
