"""Which backends have a graph."""

from __future__ import annotations

import pytest

from memd.api import CompanyMemoryConfig, MemoryCapabilities, create_memory_backend


@pytest.mark.parametrize(("kind", "has_one"), [("sqlite", True), ("inmemory", False)])
def test_the_backend_over_a_file_has_a_graph(kind: str, *, has_one: bool) -> None:
    backend = create_memory_backend(CompanyMemoryConfig.model_validate({"backend": kind}))
    assert isinstance(backend, MemoryCapabilities)
    assert backend.supports_graph is has_one
