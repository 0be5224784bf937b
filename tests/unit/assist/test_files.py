"""Reading the settings files of assistants."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.assist.connect import files
from memd.base.errors import InvalidStateError


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.symlink_to(path)
    with pytest.raises(InvalidStateError, match=r"settings\.json cannot be read \(Too many levels"):
        files.read(path)
