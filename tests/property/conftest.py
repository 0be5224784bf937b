"""Where the folders lie that each example makes for itself."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let ``tempfile`` make them where the other files of tests are: the gate's in memory."""
    before, tempfile.tempdir = tempfile.tempdir, str(tmp_path_factory.getbasetemp())
    yield
    tempfile.tempdir = before
