"""A private function that is called at one place has few parameters.

With five or more it was cut off to be short: what it takes is a value that has no name yet.
It is a method of that value, takes an object that holds them already, or is part of its caller.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from support.sources import MODULES, ROOT, Function, tree

PARAMETERS_MAX = 4
Scope = ast.Module | ast.ClassDef


def cut_off(module: ast.Module) -> set[str]:
    """Return the private functions of *module* with many parameters and one caller, or none."""
    return {
        function.name
        for scope, function in _functions(module, module)
        if function.name.startswith("_") and not function.name.startswith("__")
        if _parameters(function) > PARAMETERS_MAX and _uses(scope, function.name) <= 1
    }


def _functions(scope: Scope, node: ast.AST) -> Iterator[tuple[Scope, Function]]:
    """Yield each function below *node*, with the class or the module in which it is called."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield scope, child
        yield from _functions(child if isinstance(child, ast.ClassDef) else scope, child)


def _parameters(function: Function) -> int:
    takes = function.args
    named = [each.arg for each in takes.posonlyargs + takes.args + takes.kwonlyargs]
    return len([name for name in named if name not in {"self", "cls"}])


def _uses(scope: Scope, name: str) -> int:
    """Return how often *name* is called in *scope*, or handed to what calls it."""
    return sum(
        (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.Attribute) and node.attr == name)
        for node in ast.walk(scope)
    )


def test_a_private_function_with_one_caller_has_few_parameters() -> None:
    offending = {
        path.relative_to(ROOT).as_posix(): names
        for path in MODULES
        if (names := cut_off(tree(path)))
    }
    assert offending == {}


@pytest.mark.parametrize(
    "source",
    [
        "def _f(a, b, c, d, e): ...\n_f(1, 2, 3, 4, 5)",
        "def _f(a, /, b, c, *, d, e): ...\nread(_f, 1, 2, 3, d=4, e=5)",
        "async def _f(a, b, c, d, e): ...",
        "class A:\n def g(self):\n  self._f(1, 2, 3, 4, 5)\n def _f(self, a, b, c, d, e): ...",
        "class A:\n def g(self):\n  self._f()\n def _f(self, a, b, c, d, e): ...\nother._f(), _f()",
    ],
)
def test_one_that_was_cut_off_is_found(source: str) -> None:
    assert cut_off(ast.parse(source)) == {"_f"}


@pytest.mark.parametrize(
    "source",
    [
        "def _f(a, b, c, d): ...\n_f(1, 2, 3, 4)",
        "def _f(a, b, c, d, e): ...\n_f(1, 2, 3, 4, 5)\n_f(5, 4, 3, 2, 1)",
        "def f(a, b, c, d, e): ...\nf(1, 2, 3, 4, 5)",
        "class A:\n def __init__(self, a, b, c, d, e): ...",
        "class A:\n def g(self):\n  self._f(1, 2, 3, 4)\n def _f(self, a, b, c, d): ...",
    ],
)
def test_what_is_public_small_or_shared_is_not(source: str) -> None:
    assert cut_off(ast.parse(source)) == set()
