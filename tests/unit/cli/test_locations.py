"""The paths and variables that the settings of assistants get."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.cli.connect.connect import locations


def test_a_relative_home_is_absolute_in_the_settings_of_assistants(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMD_HOME", "here")
    assert locations().variables["MEMD_HOME"] == str(tmp_path / "here")
