"""Authentication and authorization on the socket, checked for every call before it runs.

A connection is ``local`` until it presents a key. A key belongs to a client, with its agent and
scopes, or it is the operator key, which the daemon created for the owner's own commands. After
presenting an unknown key a connection has no rights at all, not even those of a client without
a key. Refused attempts are audited.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from memd.base import client_key, log
from memd.base.errors import DeniedError, MemdError, NotFoundError
from memd.base.limits import DENIED_WAIT_MS_MAX, DENIED_WAIT_MS_MIN
from memd.domain.caller import LOCAL, LOCAL_CLIENT, NOBODY, OWNERS_COMMANDS, Identity, Scope
from memd.serve.routes.routes import Route
from memd.store.access.changes import RefusedAttempt

if TYPE_CHECKING:
    from memd.org.clients import Clients

CLAIMS: Final = frozenset({"author", "autonomy_level", "is_human", "scopes", "seniority"})
"""Params that claim what only a key or a signature proves; an error unless the method has them."""


@dataclass(slots=True)
class Credentials:
    """The identity of a connection's client; it changes when a key is presented or revoked."""

    identity: Identity = LOCAL_CLIENT

    def revoke(self) -> None:
        """Remove all scopes; the client's name remains, for the audit."""
        self.identity = replace(self.identity, scopes=frozenset())


WriteAttempts = Callable[[Sequence[RefusedAttempt]], Awaitable[None]]
NoteAttempt = Callable[[str, str], Awaitable[None]]
"""Called with the client and the method of a refused attempt."""


class Authority:
    """Identifies clients by their keys, and decides which methods they may call."""

    def __init__(self, register: Clients, operator: str | None, note: NoteAttempt) -> None:
        self._register = register
        self._operator = operator
        self.note = note

    def authenticate(self, credentials: Credentials, key: str) -> None:
        """Set the identity that *key* proves. Raises DeniedError for an unknown key.

        Surrounding white space is ignored, such as the line break at the end of a key file.
        """
        key = key.strip()
        if self._operator is not None and hmac.compare_digest(
            key.encode("utf-8", "replace"), self._operator.encode()
        ):
            credentials.identity = OWNERS_COMMANDS
            return
        credentials.identity = self._register.identify(key) or NOBODY
        if not credentials.identity.scopes:
            raise _without_rights(credentials.identity)

    def check(self, identity: Identity, method: Route) -> None:
        """Raise DeniedError unless *identity* may call *method*."""
        if method.scope is not None and method.scope not in identity.scopes:
            if not identity.scopes and identity.client != LOCAL:
                raise _without_rights(identity)
            raise DeniedError(
                f"{method.name} needs the scope {method.scope}, which {_describe(identity)} lacks",
                hint=_hint_of_scope(identity, method.scope),
            )

    def closed_agents(self) -> frozenset[str]:
        """Return the agents that have a key: without one nobody may act for them.

        This includes agents of revoked keys: revoking a key must not open the agent's memories.
        """
        return self._register.agents()


def refuse_claims(method: Route, raw: Mapping[str, Any]) -> None:
    """Raise DeniedError for params that claim an identity (PROMISES H53)."""
    claims = sorted((CLAIMS & raw.keys()) - method.params.model_fields.keys())
    if claims:
        raise DeniedError(
            "the client's key or the owner's signature says who calls",
            field=claims[0],
            hint="leave it out",
        )


def _without_rights(identity: Identity) -> DeniedError:
    """Return the error for a client without any scope: its key is unknown or revoked."""
    if identity is NOBODY:
        message = "unknown client key"
        hint = '"memd client add NAME" makes one, and prints the path of its file'
    else:
        message = f"the key of client {identity.client} was revoked"
        hint = f'the owner makes a new one: "memd client add {identity.client}"'
    return DeniedError(message, field="client_key", hint=hint)


def _describe(identity: Identity) -> str:
    if identity is LOCAL_CLIENT:
        return "a client without a key"
    return f"client {identity.client}"


def _hint_of_scope(identity: Identity, scope: Scope) -> str:
    """Return how the owner gives *identity* the *scope*: with a new key, as keys never change."""
    names = [name for name in get_args(Scope) if name in identity.scopes or name == scope]
    scopes = ",".join(names)
    if identity is LOCAL_CLIENT:
        return f'the owner makes a key that has it: "memd client add NAME --scopes {scopes}"'
    return (
        f'the owner makes a new key: "memd client revoke {identity.client}", then '
        f'"memd client add {identity.client} --scopes {scopes}" with its other options'
    )


def ensure_operator_key(path: Path) -> str | None:
    """Return the key of the owner's own commands; create its file at the first start.

    Returns None, and logs why, if the file can be neither read nor written. Methods that need
    the scope admin are then refused to everybody without another key that has it.
    """
    try:
        return client_key.read(path)
    except NotFoundError:
        pass
    except MemdError as error:
        log.warning("the operator key cannot be used", why=error.message)
        return None
    key = client_key.generate(secrets.token_bytes)
    try:
        client_key.write(path, key)
    except OSError as error:
        log.warning("the operator key cannot be made", errno=error.errno)
        return None
    return key


class Denials:
    """Writes refused attempts to the audit, rate-limited, so that a flood does not fill the disk.

    The first attempt of a kind (client, method) is written before it is answered. Repetitions
    during the next second are counted and become one row at its end. While repetitions
    continue, this interval doubles, up to ten minutes; after an interval without repetitions it
    is one second again. So every attempt is counted, but even a client that tries all methods
    all the time causes only about a hundred rows in ten minutes. A kill loses the counts of the
    current interval, never a first attempt.

    ``run`` is a background task of the daemon; call ``flush`` at the end.
    """

    def __init__(self, write: WriteAttempts) -> None:
        self._write = write
        self._recent: set[tuple[str, str]] = set()
        self._repeats: Counter[tuple[str, str]] = Counter()
        self._pending = asyncio.Event()
        self.wait_ms = DENIED_WAIT_MS_MIN

    async def note(self, client: str, method: str) -> None:
        """Write an attempt, or count it if one of its kind was written in this interval."""
        kind = (client, method)
        self._pending.set()
        if kind in self._recent:
            self._repeats[kind] += 1
            return
        self._recent.add(kind)
        await self._write_rows(Counter({kind: 1}))

    async def run(self) -> None:
        """Write the counts at the end of each interval. Never returns."""
        while True:
            await self._pending.wait()
            await asyncio.sleep(self.wait_ms / 1_000)
            await self.flush()

    async def flush(self) -> None:
        """Write the counts, and set the next interval."""
        counts, self._repeats = self._repeats, Counter()
        self._recent.clear()
        if counts:
            self.wait_ms = min(2 * self.wait_ms, DENIED_WAIT_MS_MAX)
            await self._write_rows(counts)
        else:
            self.wait_ms = DENIED_WAIT_MS_MIN
            self._pending.clear()

    async def _write_rows(self, counts: Counter[tuple[str, str]]) -> None:
        """Write one row per kind; if the file is locked or the disk full, keep the counts."""
        rows = [RefusedAttempt(client, method, times) for (client, method), times in counts.items()]
        try:
            await self._write(rows)
        except MemdError as error:
            self._repeats.update(counts)
            self._pending.set()
            log.warning("refused attempts are not in the audit yet", kind=error.kind)
