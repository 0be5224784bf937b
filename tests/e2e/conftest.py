"""A daemon for the tests of one module: an agent and a client for each test, and its commands."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
from support import commands
from support.daemon import Spawned, running
from support.desk import Desk, a_desk, served
from support.gated_rooms import GatedRooms
from support.owner_keys import AnOwner, an_owner
from support.raw_socket import Wire, wire
from support.setting_effects import Stage, a_stage

from memd.base.paths import Paths
from memd.client import Client
from memd.embedding.embed import Encoder, load_encoder
from memd.embedding.model_files import read_manifest


@pytest.fixture(scope="module")
def daemon(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Spawned]:
    """Yield a real daemon, with the model where the whole module is marked ``model``."""
    needs_model = request.node.get_closest_marker("model") is not None
    model_dir = request.getfixturevalue("model_dir") if needs_model else None
    with served(tmp_path_factory.mktemp("home"), model_dir) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def encoder(model_dir: Path) -> Encoder:
    """Return the model in memory, which is read once."""
    manifest = read_manifest(model_dir)
    assert manifest is not None
    return load_encoder(model_dir, manifest)


@pytest.fixture
def home() -> Iterator[Path]:
    """Yield a folder with a short path: pytest's own may be too long to bind a socket in it."""
    with tempfile.TemporaryDirectory(prefix="m", dir="/tmp") as name:
        yield Path(name)


@pytest.fixture
def desk(daemon: Spawned, request: pytest.FixtureRequest) -> Iterator[Desk]:
    with a_desk(daemon, request.node.name) as desk:
        yield desk


@pytest.fixture
def client(daemon: Spawned) -> Iterator[Client]:
    """Yield a client with the operator's key."""
    with daemon.client() as client:
        yield client


@pytest.fixture(scope="module")
def owner(daemon: Spawned) -> Iterator[AnOwner]:
    """Yield the registered owner of the module's daemon."""
    with an_owner(daemon) as owner:
        yield owner


@pytest.fixture
def memd(daemon: Spawned) -> commands.Memd:
    """Return ``memd`` as it is typed in the home of the daemon."""
    return partial(commands.memd, daemon.home)


@pytest.fixture
async def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """Yield a daemon of its own for one test, with a clock that stands and models of words."""
    async with a_stage(tmp_path / "home", monkeypatch, {}) as stage:
        yield stage


@pytest.fixture
def house() -> GatedRooms:
    return GatedRooms()


@pytest.fixture
async def gated(home: Path, house: GatedRooms) -> AsyncIterator[Paths]:
    """Yield the paths of a daemon in this process, whose rooms wait at the gate of *house*."""
    async with running(home, house.build) as paths:
        yield paths


@pytest.fixture
async def line(gated: Paths) -> AsyncIterator[Wire]:
    async with wire(gated.socket) as made:
        yield made
