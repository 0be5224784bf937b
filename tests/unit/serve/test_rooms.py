"""What the daemon imports before the first prompt."""

from __future__ import annotations

from importlib.util import find_spec

from memd.serve import rooms


def test_what_is_imported_for_prompts_are_modules() -> None:
    """Importing a package loads its docstring alone, so the first prompt would wait for it."""
    specs = {name: find_spec(name) for name in rooms._PROMPT_MODULES}
    assert [
        name for name, spec in specs.items() if spec is None or spec.submodule_search_locations
    ] == []
