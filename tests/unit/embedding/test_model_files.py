"""The folders of models: what is checked, how one is named, and what is said of a wrong one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from support.fake_encoder import a_model_folder

from memd.base.errors import InvalidError, ModelError
from memd.embedding.embed import SwitchableEmbedder
from memd.embedding.model_files import (
    FINGERPRINT,
    MANIFEST_FILE,
    ModelFolder,
    read_manifest,
    status,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_model_folder(tmp_path / "model")


def test_a_whole_folder_is_installed_and_says_what_it_holds(folder: Path) -> None:
    state = status(folder)
    assert state.installed
    assert state.problem is None
    assert state.fingerprint == FINGERPRINT
    assert [(file.name, file.size_bytes) for file in state.files] == [
        ("config.json", 2),
        ("model.onnx", 7),
    ]


def test_no_folder_is_no_model_and_no_error(tmp_path: Path) -> None:
    assert status(tmp_path / "nowhere").problem == "no model is installed"
    assert read_manifest(tmp_path) is None


def _flip(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"weighty")


def _cut(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"weigh")


def _lose(folder: Path) -> None:
    (folder / "config.json").unlink()


def _scribble(folder: Path) -> None:
    (folder / MANIFEST_FILE).write_text("[]")


def _point_outside(folder: Path) -> None:
    path = folder / MANIFEST_FILE
    document = json.loads(path.read_text())
    document["files"]["../model.onnx"] = document["files"]["model.onnx"]
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("harm", "named"),
    [
        (_flip, "model.onnx is damaged: its sha256"),
        (_cut, "model.onnx is damaged: it has 5 bytes, not 7"),
        (_lose, "config.json is missing"),
        (_scribble, "memd-model.json is damaged"),
        (_point_outside, "memd-model.json is damaged"),
    ],
)
def test_whatever_is_wrong_with_a_folder_is_found_and_named(
    folder: Path, harm: Callable[[Path], None], named: str
) -> None:
    harm(folder)
    state = status(folder)
    assert not state.installed
    assert state.fingerprint is None
    assert state.problem is not None
    assert named in state.problem


def test_a_condemned_folder_stays_so_until_another_model_is_installed(folder: Path) -> None:
    model = ModelFolder(folder)
    first = model.read()
    assert first is not None
    model.mark_damaged(first[1], ModelError("damaged"))
    with pytest.raises(ModelError, match="damaged"):
        model.read()
    a_model_folder(folder, weights=b"better weights")
    assert model.read() is not None


class Made:
    """An embedder that says where its model lies."""

    fingerprint = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.released = 0

    def release(self) -> None:
        self.released += 1

    @property
    def has_states(self) -> bool:
        return self.folder.name == "default"

    async def classify(self, *_messages: object) -> list[str]:
        return [self.folder.name]


@pytest.mark.parametrize(
    ("default", "in_use"), [("default", "default"), ("default", "other"), ("other", "default")]
)
async def test_the_model_that_can_judges_sentences_in_use_or_not(
    default: str, in_use: str, tmp_path: Path
) -> None:
    chosen = SwitchableEmbedder(tmp_path / default, cast("Any", Made))
    chosen.serve(in_use)

    assert await cast("Any", chosen).classify([["No sudo, please."]]) == ["default"]


def test_a_model_is_released_when_another_one_is_used(tmp_path: Path) -> None:
    chosen = SwitchableEmbedder(tmp_path / "default", cast("Any", Made))
    default, other = (cast("Any", chosen.embedder_of(name)) for name in ("default", "other"))

    chosen.serve("default")
    chosen.serve(None)
    assert (default.released, other.released) == (0, 0)
    chosen.serve("other")
    assert (default.released, other.released) == (1, 0)
    chosen.serve(None)
    assert (default.released, other.released) == (1, 1)


def test_the_folder_that_a_person_chose_may_be_called_anything(tmp_path: Path) -> None:
    default = tmp_path / "my own model (new)"
    chosen = SwitchableEmbedder(default, cast("Any", Made))

    assert chosen.fingerprint is None
    assert cast("Any", chosen.embedder_of(chosen.name)).folder == default
    assert chosen.folder("other") == tmp_path / "other"


@pytest.mark.parametrize("name", ["../other", "a b", "", ".hidden", "a/b"])
def test_another_model_is_named_as_a_folder_beside_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidError, match="is not the name of a model"):
        SwitchableEmbedder(tmp_path / "default", cast("Any", Made)).folder(name)
