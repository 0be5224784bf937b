"""The registry of backends by name, which creates them from settings (SPEC D12, 7.12.7).

A backend is registered as a factory, or as ``module:name`` of a factory that is imported when a
backend is created, so that the registry itself does not import SQLite.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache, partial
from typing import cast

from memd.base.clock import Clock, SystemClock
from memd.base.errors import MemoryConfigError
from memd.domain.backend import MemoryBackend
from memd.domain.encoding import Embedder
from memd.domain.settings.backend import unknown_backend
from memd.domain.settings.settings import CompanyMemoryConfig, CompositeBackendConfig

BackendFactory = Callable[..., MemoryBackend]
"""Called as ``factory(config, embedder=..., clock=...)``; returns a disconnected backend."""

COMPOSITE = "composite"


class MemoryBackendRegistry:
    """Maps names to backend factories. The last registration of a name counts."""

    def __init__(self) -> None:
        self._factories: dict[str, BackendFactory | str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The registered names, in the order of their first registration."""
        return tuple(self._factories)

    def register(self, name: str, factory: BackendFactory | str) -> None:
        """Register *factory*, or the one at ``"module:name"``, for the backend *name*.

        Raises MemoryConfigError for a blank name, and for one with a colon, which would make a
        composite's ids ambiguous.
        """
        if not name.strip() or ":" in name:
            raise MemoryConfigError(f"{name!r} is not a name for a backend", field="name")
        self._factories[name] = factory

    def create(
        self,
        config: CompanyMemoryConfig,
        *,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
    ) -> MemoryBackend:
        """Return a new, disconnected backend for *config*; raises MemoryConfigError.

        Without an *embedder* a backend uses the installed model, or searches by words alone
        without one.
        """
        factory = self._factories.get(config.backend)
        if factory is None:
            tree = config.model_dump(mode="json", exclude_unset=True, warnings=False)
            raise MemoryConfigError(
                unknown_backend(config.backend, self.names, tree), field="memory.backend"
            )
        if embedder is not None and not callable(getattr(embedder, "embed", None)):
            raise MemoryConfigError(
                f"{type(embedder).__name__} cannot embed", field="embedder", hint="see Embedder"
            )
        if isinstance(factory, str):
            factory = _import(factory)
        return factory(config, embedder=embedder, clock=clock or SystemClock())


@cache
def default_registry() -> MemoryBackendRegistry:
    """Return the registry of this process, with memd's own backends."""
    registry = MemoryBackendRegistry()
    registry.register("sqlite", "memd.backends.sqlite:create")
    registry.register("inmemory", "memd.backends.inmemory:create")
    registry.register(COMPOSITE, partial(_composite, registry))
    return registry


def create_memory_backend(
    config: CompanyMemoryConfig,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    registry: MemoryBackendRegistry | None = None,
) -> MemoryBackend:
    """Return a new, disconnected backend for *config*; raises MemoryConfigError.

    Two backends in one process share nothing (SPEC D18), unless configured with the same file.
    """
    return (registry or default_registry()).create(config, embedder=embedder, clock=clock)


def _composite(
    registry: MemoryBackendRegistry,
    config: CompanyMemoryConfig,
    *,
    embedder: Embedder | None,
    clock: Clock,
) -> MemoryBackend:
    """Create each backend of the routes once, and the composite over them."""
    from memd.backends.composite import CompositeBackend

    plan = config.composite or CompositeBackendConfig()
    children: dict[str, MemoryBackend] = {}
    for name in dict.fromkeys([*plan.routes.values(), plan.default]):
        if name == COMPOSITE or name not in registry.names:
            others = [other for other in registry.names if other != COMPOSITE]
            raise MemoryConfigError(
                f"a composite cannot hold {name!r}; it can hold {', '.join(others)}",
                field="memory.composite",
            )
        child_config = config.model_copy(update={"backend": name, "composite": None})
        children[name] = registry.create(child_config, embedder=embedder, clock=clock)
    return CompositeBackend(children, plan)


def _import(dotted: str) -> BackendFactory:
    module, _, name = dotted.partition(":")
    return cast("BackendFactory", getattr(importlib.import_module(module), name))
