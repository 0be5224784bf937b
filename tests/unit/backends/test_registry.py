"""SPEC D12 and 7.12.7: backends by name."""

from __future__ import annotations

import pytest
from support.clocks import HeldClock
from support.commands import run_python

from memd.api import MemoryCapabilities
from memd.backends.inmemory import InMemoryBackend
from memd.backends.registry import MemoryBackendRegistry, create_memory_backend, default_registry
from memd.base.errors import MemoryConfigError
from memd.domain.backend import MemoryBackend
from memd.domain.settings.backend import BACKENDS
from memd.domain.settings.settings import CompanyMemoryConfig, CompositeBackendConfig


def test_memd_has_three_backends() -> None:
    assert default_registry().names == BACKENDS


def test_a_backend_is_made_disconnected() -> None:
    backend = create_memory_backend(CompanyMemoryConfig(backend="inmemory"), clock=HeldClock())

    assert isinstance(backend, MemoryBackend)
    assert not backend.is_connected


async def test_two_backends_share_nothing() -> None:
    config = CompanyMemoryConfig(backend="inmemory")

    one, other = create_memory_backend(config), create_memory_backend(config)
    await one.connect()

    assert not other.is_connected


@pytest.mark.parametrize("name", ["mem0", "cognee", "graphiti", "qdrant"])
def test_another_products_backend_is_answered_with_the_corrected_configuration(name: str) -> None:
    config = CompanyMemoryConfig.model_construct(backend=name)

    with pytest.raises(MemoryConfigError) as caught:
        create_memory_backend(config)

    assert repr(name) in caught.value.message
    assert "sqlite, inmemory, composite" in caught.value.message
    assert 'memory:\n  backend: "sqlite"' in caught.value.message
    assert caught.value.field == "memory.backend"


def test_a_backend_of_ones_own_is_registered_by_name() -> None:
    registry = MemoryBackendRegistry()
    registry.register("mine", lambda config, **_parts: InMemoryBackend(config))
    config = CompanyMemoryConfig.model_validate(
        {"backend": "mine"}, context={"backends": registry.names}
    )

    assert isinstance(create_memory_backend(config, registry=registry), InMemoryBackend)
    with pytest.raises(MemoryConfigError, match="none of mine"):
        create_memory_backend(CompanyMemoryConfig(), registry=registry)


@pytest.mark.parametrize("name", ["", " ", "a:b"])
def test_a_name_that_would_make_ids_ambiguous_is_refused(name: str) -> None:
    with pytest.raises(MemoryConfigError):
        MemoryBackendRegistry().register(name, "memd.backends.inmemory:create")


def test_an_embedder_must_embed() -> None:
    with pytest.raises(MemoryConfigError, match="str cannot embed"):
        create_memory_backend(
            CompanyMemoryConfig(backend="inmemory"),
            embedder="all-MiniLM-L6-v2",  # type: ignore[arg-type]  # what a caller may get wrong
        )


async def test_a_composite_makes_each_child_once() -> None:
    plan = CompositeBackendConfig(routes={"memories": "inmemory", "scratch": "inmemory"})
    composite = create_memory_backend(CompanyMemoryConfig(backend="composite", composite=plan))

    assert composite.backend_name == "composite"
    assert not composite.is_connected
    await composite.connect()
    assert composite.is_connected


@pytest.mark.parametrize("child", ["composite", "mem0"])
def test_a_composite_holds_neither_itself_nor_the_unknown(child: str) -> None:
    plan = CompositeBackendConfig(routes={"memories": child})

    with pytest.raises(MemoryConfigError, match="can hold sqlite, inmemory"):
        create_memory_backend(CompanyMemoryConfig(backend="composite", composite=plan))


def test_knowing_the_backends_does_not_load_sqlite() -> None:
    code = (
        "import sys, memd.backends.registry as r; r.default_registry();"
        "heavy = {'apsw', 'sqlite_vec', 'numpy', 'fastembed', 'yaml'};"
        "print(sorted(heavy & set(sys.modules)))"
    )

    assert run_python(code).strip() == "[]"


@pytest.mark.parametrize(("kind", "has_one"), [("sqlite", True), ("inmemory", False)])
def test_the_backend_over_a_file_has_a_graph(kind: str, *, has_one: bool) -> None:
    backend = create_memory_backend(CompanyMemoryConfig.model_validate({"backend": kind}))
    assert isinstance(backend, MemoryCapabilities)
    assert backend.supports_graph is has_one
