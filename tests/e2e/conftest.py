"""A daemon for the tests of one module, and an agent of its own for each of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.daemon import Spawned
from support.desk import Desk, a_desk, served


@pytest.fixture(scope="module")
def daemon(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Spawned]:
    """Yield a real daemon, with the model where the whole module is marked ``model``."""
    needs_model = request.node.get_closest_marker("model") is not None
    model_dir = request.getfixturevalue("model_dir") if needs_model else None
    with served(tmp_path_factory.mktemp("home"), model_dir) as daemon:
        yield daemon


@pytest.fixture
def desk(daemon: Spawned, request: pytest.FixtureRequest) -> Iterator[Desk]:
    with a_desk(daemon, request.node.name) as desk:
        yield desk
