"""The embedder that is in use, of those whose folders lie beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from memd.base.errors import InvalidError
from memd.embedding.switchable import SwitchableEmbedder


class Made:
    """An embedder that says where its model lies."""

    fingerprint = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder


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
