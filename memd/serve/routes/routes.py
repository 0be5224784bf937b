"""Every method of the socket, by its name. Names change only with a decision page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from memd.serve.route import Route
from memd.serve.routes import (
    access,
    archive,
    graph,
    inject,
    learn,
    memory,
    org,
    preference,
    session,
    shared,
    sleep,
    store,
    system,
)

PROTOCOL: Final = 1
"""Counts up when an old client could misunderstand a new daemon."""

_AREAS = (
    system,
    memory,
    preference,
    inject,
    archive,
    shared,
    learn,
    session,
    sleep,
    org,
    graph,
    access,
    store,
)

RECORDS: Final = "records."
"""What the methods of operational records begin with; they are loaded with the first call."""

METHODS: Final[Mapping[str, Route]] = {
    route.name: route for area in _AREAS for route in area.router.routes
}


def find(name: str) -> Route | None:
    """Return the method of this name, also one of the records', None when there is none."""
    return METHODS.get(name) or (records().get(name) if name.startswith(RECORDS) else None)


@cache
def records() -> Mapping[str, Route]:
    """Return the methods of operational records by their names."""
    from memd.serve.records.routes import router

    return {route.name: route for route in router.routes}
