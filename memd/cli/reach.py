"""The way from a command to the daemon.

One connection a command. When nobody answers, the person is told how to start
the daemon; memd never starts one behind a person's back.
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
"""How long a person waits for one answer."""

LONG_SECONDS_MAX = None
"""Work that takes as long as the memory is large: it is waited for until Ctrl-C."""


@contextmanager
def daemon(profile: str | None, *, seconds_max: float | None = SECONDS_MAX) -> Iterator[Client]:
    """Yield a client of *profile*'s daemon. Raises NotRunningError, saying how to start it.

    It presents the operator's key, or the one that the environment names.
    """
    from memd.client import Client

    client = Client(profile=profile, timeout=seconds_max, key=key_of(profile))
    try:
        yield client
    except NotRunningError as error:
        raise NotRunningError(error.message, hint=how_to_start(profile)) from error
    finally:
        client.close()


def ask(profile: str | None, method: str, params: dict[str, Any] | None = None) -> Any:
    """Return the daemon's answer to one call."""
    with daemon(profile) as client:
        return client.call(method, params or {})


def key_of(profile: str | None) -> Path | None:
    """Return the file with the operator's key, None for the environment's key or for none."""
    place = Paths.resolve(profile).operator_key
    if os.environ.get(KEY_FILE) or not os.access(place, os.R_OK):
        return None
    return place


def how_to_start(profile: str | None) -> str:
    """Say how to start *profile*'s daemon on this system.

    >>> how_to_start(None)
    'start it with "memd serve", or at every login with "memd service install"'
    """
    which = f" --profile {profile}" if profile else ""
    return (
        f'start it with "memd serve{which}", or at every login with "memd service install{which}"'
    )
