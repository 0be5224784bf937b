"""A disk that fails, for the tests of one operation after another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.failing_disk import FailingVFS


@pytest.fixture
def disk() -> Iterator[FailingVFS]:
    """Yield a disk that fails when it is told to."""
    vfs = FailingVFS()
    yield vfs
    vfs.unregister()
