"""The methods of the socket by name. A name changes only with a decision page.

The module of an area is loaded with the first call of one of its methods: building the
models of all would dominate the cost of a start (docs/decisions/0194).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

from memd.serve.route import Route, Router

PROTOCOL: Final = 1
"""Incremented when an old client could misunderstand a new daemon."""

RECORDS: Final = "records"
"""The area of operational records."""

_NOUNS: Final[Mapping[str, tuple[str, ...]]] = {
    "routes.system": ("system", "rpc", "model"),
    "routes.memory": ("memory",),
    "routes.preference": ("preference", "agent"),
    "routes.inject": ("inject",),
    "routes.archive": ("trash", "archive", "wiki"),
    "routes.shared": ("shared",),
    "routes.learn": ("learn", "skill", "tune"),
    "routes.session": ("session", "usage", "events"),
    "routes.sleep": ("sleep",),
    "routes.org": ("org",),
    "routes.graph": ("graph",),
    "routes.access": ("owner", "client", "audit"),
    "routes.store": ("store",),
    "llm.routes": ("llm",),
    "records.routes": (RECORDS,),
}
"""The areas of each module below ``memd.serve``; a method's name is ``area.verb``."""

_HOME: Final = {noun: module for module, nouns in _NOUNS.items() for noun in nouns}


def find(name: str) -> Route | None:
    """Return the method of this name, None when there is none."""
    module = _HOME.get(name.partition(".")[0])
    return None if module is None else _routes(module).get(name)


@cache
def methods() -> Mapping[str, Route]:
    """Return the methods by their names, without those of operational records."""
    return {
        name: route
        for module, nouns in _NOUNS.items()
        if RECORDS not in nouns
        for name, route in _routes(module).items()
    }


def records() -> Mapping[str, Route]:
    """Return the methods of operational records by their names."""
    return _routes(_HOME[RECORDS])


@cache
def _routes(module: str) -> Mapping[str, Route]:
    router: Router = import_module(f"memd.serve.{module}").router
    return {route.name: route for route in router.routes}
