"""Every method of the socket, by its name. Names change only with a decision page."""

from __future__ import annotations

from collections.abc import Mapping
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

METHODS: Final[Mapping[str, Route]] = {
    route.name: route for area in _AREAS for route in area.router.routes
}
