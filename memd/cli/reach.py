"""Connection of a command to the daemon.

Each command uses one connection. If the daemon is not running, the error says how to start
it; memd never starts a daemon by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memd.base.client_key import KEY_FILE
from memd.base.errors import NotRunningError
from memd.base.paths import Paths

if TYPE_CHECKING:
    from pathlib import Path

    from memd.client import Client

SECONDS_MAX = 30.0
"""Timeout of one call."""

LONG_SECONDS_MAX = None
"""No timeout: the duration depends on the size of the database."""


@contextmanager
def daemon(profile: str | None, *, seconds_max: float | None = SECONDS_MAX) -> Iterator[Client]:
    """Yield a client of *profile*'s daemon. Raises NotRunningError, with how to start it.

    The client uses the operator key, or the key that the environment names.
    """
    from memd.client import Client

    client = Client(profile=profile, timeout=seconds_max, key=operator_key(profile))
    try:
        yield client
    except NotRunningError as error:
        raise NotRunningError(error.message, hint=start_hint(profile)) from error
    finally:
        client.close()


def call(profile: str | None, method: str, params: dict[str, Any] | None = None) -> Any:
    """Call *method* of *profile*'s daemon and return its result."""
    with daemon(profile) as client:
        return client.call(method, params or {})


def operator_key(profile: str | None) -> Path | None:
    """Return the operator key's file; None if the environment names a key or there is none."""
    place = Paths.resolve(profile).operator_key
    if os.environ.get(KEY_FILE) or not os.access(place, os.R_OK):
        return None
    return place


def start_hint(profile: str | None) -> str:
    """Return a hint that says how to start *profile*'s daemon.

    >>> start_hint(None)
    'start it with "memd serve", or at every login with "memd service install"'
    """
    which = f" --profile {profile}" if profile else ""
    return (
        f'start it with "memd serve{which}", or at every login with "memd service install{which}"'
    )
