"""Connect a command to the daemon, and call its methods.

If the daemon is not running, the error says how to start it; a command never starts it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from memd import __version__
from memd.base.client_key import KEY_FILE
from memd.base.errors import DeniedError, NotRunningError
from memd.base.paths import DEFAULT_PROFILE, Paths, unit_name
from memd.cli import console
from memd.cli.options import without_none

if TYPE_CHECKING:
    from pathlib import Path

    from memd.client import Client

SECONDS_MAX = 30.0
"""Timeout of one call."""

LONG_SECONDS_MAX = None
"""No timeout: the duration depends on the size of the database."""


@contextmanager
def daemon(
    profile: str | None = None, *, seconds_max: float | None = SECONDS_MAX
) -> Iterator[Client]:
    """Yield a client of *profile*'s daemon. Raises NotRunningError that says how to start it.

    The client uses the operator key, or the key that the environment names. A daemon of another
    version, as after an upgrade, is reported to stderr.
    """
    from memd.client import Client

    client = Client(profile=profile, timeout=seconds_max, key=operator_key(profile))
    try:
        yield client
    except NotRunningError as error:
        raise NotRunningError(error.message, hint=start_hint(profile)) from error
    except DeniedError as error:
        if os.environ.get(KEY_FILE):
            why = f'{KEY_FILE} makes this shell a client: in your own, "unset {KEY_FILE}"'
            error.hint = why if error.hint is None else f"{error.hint}; {why}"
        raise
    finally:
        client.close()
        if client.daemon_version not in {None, __version__}:
            _report_version(client.daemon_version, unit_name(Paths.resolve(profile).profile))


@cache
def _report_version(version: str, unit: str) -> None:
    """Report, once, that the daemon is of another *version* than the command."""
    console.note(f"memd: the daemon that runs is {version}, this command {__version__}: restart it")
    console.note(f"      systemctl --user restart {unit}, or Ctrl-C and memd serve where it runs")


def call(method: str, /, **params: Any) -> Any:
    """Call *method* of the daemon and return its result. Params that are None are left out."""
    with daemon() as client:
        return client.call(method, without_none(**params))


def iter_items(client: Client, method: str, params: dict[str, Any]) -> Iterator[Any]:
    """Yield the items of all pages of *method*."""
    for page in iter_pages(client, method, params):
        yield from page["items"]


def iter_pages(client: Client, method: str, params: dict[str, Any]) -> Iterator[Any]:
    """Yield all pages of *method*."""
    page = client.call(method, params)
    yield page
    while page.get("next") is not None:
        page = client.call(method, {**params, "after": page["next"]})
        yield page


def change_each(method: str, ids: Iterable[str], agent: str | None, label: str, why: str) -> None:
    """Call *method* for each of *ids* and print those that it changed.

    *label* names them in JSON. The other ids are reported with the reason *why*, and the command
    exits with an error.
    """
    changed: list[str] = []
    missing: list[str] = []
    with daemon() as client:
        for public_id in ids:
            done = client.call(method, without_none(id=public_id, agent_id=agent))
            (changed if done else missing).append(public_id)
    if not console.print_if_json({label: changed, "missing": missing}):
        console.out_lines(changed)
    exit_if_missing(missing, why)


def exit_if_missing(missing: list[str], why: str) -> None:
    """Report each missing id with the reason *why*, and exit with an error if there is one."""
    for memory_id in missing:
        console.note(f"memd: {why} {console.line(memory_id)}")
        if hint := console.id_hint(memory_id):
            console.note(f"      {hint}")
    if missing:
        raise console.CommandExit(console.Exit.ERROR)


def operator_key(profile: str | None = None) -> Path | None:
    """Return the operator key's file; None if the environment names a key or there is none."""
    place = Paths.resolve(profile).operator_key
    if os.environ.get(KEY_FILE) or not os.access(place, os.R_OK):
        return None
    return place


def start_hint(profile: str | None = None) -> str:
    """Return a hint that says how to start *profile*'s daemon.

    >>> start_hint("default")
    'start it with "memd serve", or at every login with "memd service install"'
    """
    name = Paths.resolve(profile).profile
    which = "" if name == DEFAULT_PROFILE else f" --profile {name}"
    return (
        f'start it with "memd serve{which}", or at every login with "memd service install{which}"'
    )
