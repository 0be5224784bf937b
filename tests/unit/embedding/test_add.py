"""Another model is taken in only when it runs and is what its folder says."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.word_vector_model import a_word_model
from tokenizers import Tokenizer

from memd.base.errors import InvalidError, ModelError
from memd.embedding.add import LANGUAGES_FILE, add
from memd.embedding.embed import load_encoder
from memd.embedding.install import references
from memd.embedding.model_files import read_manifest, status

DIMENSION = 96
SAID: dict[str, list[str]] = json.loads(
    resources.files("memd.embedding").joinpath(LANGUAGES_FILE).read_text("utf-8")
)
WORDS = [
    *(word for each in references() for word in each.text.split()),
    *(word for texts in SAID.values() for text in texts for word in text.split()),
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return a_word_model(tmp_path / "words-e5", WORDS, dimension=DIMENSION)


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
    rows = load_encoder(folder, manifest).encode(texts).vectors
    near = rows @ rows.T
    assert rows.shape == (len(texts), DIMENSION)
    assert abs(float(near[~np.eye(len(texts), dtype=bool)].mean())) < 0.2


def test_a_text_has_the_same_vector_beside_longer_ones_and_past_the_window(
    source: Path, tmp_path: Path
) -> None:
    folder = add(tmp_path / "models" / "own", source)
    manifest = read_manifest(folder)
    assert manifest is not None
    model = load_encoder(folder, manifest)
    window = manifest.fingerprint.window_tokens
    short, long = WORDS[0], " ".join(WORDS[:40])
    endless, cut = (" ".join([WORDS[1]] * length) for length in (3 * window, 2 * window))

    each = [model.encode([text]).vectors[0] for text in (short, long, endless)]
    together = model.encode([short, long, endless]).vectors

    assert np.allclose(together, each, atol=1e-6)
    assert np.allclose(model.encode([cut]).vectors[0], each[-1], atol=1e-6)


def test_that_two_texts_are_in_one_language_makes_them_no_nearer(
    source: Path, tmp_path: Path
) -> None:
    model = onnx.load(source / "model.onnx")
    table = onnx.numpy_helper.to_array(model.graph.initializer[0]).copy()
    known = Tokenizer.from_file(str(source / "tokenizer.json")).get_vocab()
    drawn = np.random.default_rng(3)
    for texts in SAID.values():
        apart = drawn.normal(0.0, 2.0, DIMENSION)  # what every word of the language has
        for word in {word for text in texts for word in text.split()}:
            table[known[word]] += apart
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(table, "table"))
    onnx.save(model, source / "model.onnx")
    folder = add(tmp_path / "models" / "own", source)
    manifest = read_manifest(folder)
    assert manifest is not None

    encoder = load_encoder(folder, manifest)
    rows = {language: encoder.encode(texts).vectors for language, texts in SAID.items()}

    further = [
        abs(float((rows[one] @ rows[other].T).mean() - (rows[one] @ rows[one].T).mean()))
        for one in rows
        for other in rows
    ]
    assert max(further) < 0.2


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
