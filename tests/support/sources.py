"""The repository's modules, each parsed once, for the tests in ``tests/house``."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "memd").rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def text(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax of a module. None of it is garbage, so none is looked for meanwhile."""
    gc.disable()
    try:
        return ast.parse(text(path))
    finally:
        gc.enable()


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return each node of a module, as ``ast.walk`` does."""
    return tuple(ast.walk(tree(path)))


@cache
def functions(path: Path) -> tuple[Function, ...]:
    return tuple(node for node in nodes(path) if isinstance(node, Function))
