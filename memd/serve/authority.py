"""Who may do what on the socket: decided here, for every call, before it runs.

A connection is ``local`` until it presents a key. A key is a client's, with its
agent and scopes, or the operator's: the one that the daemon made for the owner's
own commands. Whoever presents a key that is none has no rights at all from then on,
rather than those of somebody without a key. What is refused is audited.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memd.base import client_key, log
from memd.base.errors import DeniedError, MemdError, NotFoundError
from memd.base.ids import Chance
from memd.base.limits import DENIED_WAIT_MS_MAX, DENIED_WAIT_MS_MIN
from memd.domain.caller import LOCAL, LOCAL_CLIENT, NOBODY, OWNERS_COMMANDS, Identity
from memd.serve.route import Route
from memd.store.access.changes import RefusedAttempt

if TYPE_CHECKING:
    from memd.org.clients import Clients

CLAIMS: Final = frozenset({"author", "autonomy_level", "is_human", "scopes", "seniority"})
"""What only a key or a signature says; where it is no parameter, it is an attempt."""


@dataclass(slots=True)
class Credentials:
    """Who sits at a connection's other end, as far as the daemon knows."""

    identity: Identity = LOCAL_CLIENT

    def disown(self) -> None:
        """Take all rights away; who it was stays known, for the audit."""
        self.identity = replace(self.identity, scopes=frozenset())


Write = Callable[[Sequence[RefusedAttempt]], Awaitable[None]]
Note = Callable[[str, str], Awaitable[None]]
"""Told the client and the method of an attempt that was refused."""


class Authority:
    """Tells who presents a key, and whether a method is open to him."""

    def __init__(self, register: Clients, operator: str | None, note: Note) -> None:
        self._register = register
        self._operator = operator
        self.note = note

    def authenticate(self, credentials: Credentials, key: str) -> None:
        """Give *credentials* the identity that *key* proves; DeniedError if nobody."""
        if self._operator is not None and hmac.compare_digest(
            key.encode("utf-8", "replace"), self._operator.encode()
        ):
            credentials.identity = OWNERS_COMMANDS
            return
        identity = self._register.identify(key)
        credentials.identity = identity or NOBODY
        if identity is None:
            raise DeniedError("nobody's key", field="client_key", hint='see "memd client list"')
        if not identity.scopes:
            raise DeniedError(
                f"the key of client {identity.client} was revoked", field="client_key"
            )

    def check(self, identity: Identity, method: Route) -> None:
        """Raise DeniedError unless *identity* may call *method*."""
        if method.scope is not None and method.scope not in identity.scopes:
            raise DeniedError(
                f"{method.name} needs the scope {method.scope}, which {_who(identity)} has not",
                hint='the owner gives it: "memd client add"',
            )

    def closed(self, identity: Identity) -> frozenset[str]:
        """Return the agents that *identity* needs a key for: without one, all that have one.

        That of a revoked key too: taking a key away must not open what it kept apart.
        """
        return self._register.agents() if identity.client == LOCAL else frozenset()


def refuse_claims(method: Route, raw: Mapping[str, Any]) -> None:
    """Raise DeniedError for a call that says itself who calls (PROMISES H53)."""
    claims = sorted((CLAIMS & raw.keys()) - method.params.model_fields.keys())
    if claims:
        raise DeniedError(
            "who calls is what the client's key or the owner's signature says",
            field=claims[0],
            hint="leave it out",
        )


def _who(identity: Identity) -> str:
    if identity is LOCAL_CLIENT:
        return "a client without a key"
    return f"client {identity.client}"


def operators_key(path: Path, chance: Chance = secrets.token_bytes) -> str | None:
    """Return the key of the owner's own commands; makes its file at the first start.

    None, with a line in the log, where it can be neither read nor made: memd then
    does all but what needs the scope admin.
    """
    try:
        return client_key.read(path)
    except NotFoundError:
        pass
    except MemdError as error:
        log.warning("the operator key cannot be used", why=error.message)
        return None
    key = client_key.new(chance)
    try:
        client_key.write(path, key)
    except OSError as error:
        log.warning("the operator key cannot be made", errno=error.errno)
        return None
    return key


class Denials:
    """Counts what was refused, on its way into the audit, so that a flood of it fills no disk.

    ``run`` beside the server, ``flush`` at the end.

    The first attempt of a kind (a client, a method) is written down before it is
    answered. What it tries again within the next second is counted and becomes one
    row at the second's end. While that goes on the wait doubles, up to ten minutes,
    and falls back to a second after a wait without a repetition. So every attempt is
    counted, and a client that tries everything all the time makes some hundred rows
    in ten minutes. A kill loses the counts of the wait that it falls into, never the
    first attempt.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._known: set[tuple[str, str]] = set()
        self._again: Counter[tuple[str, str]] = Counter()
        self._some = asyncio.Event()
        self.wait_ms = DENIED_WAIT_MS_MIN

    async def note(self, client: str, method: str) -> None:
        """Write an attempt down, or count it when one of its kind was just written."""
        kind = (client, method)
        self._some.set()
        if kind in self._known:
            self._again[kind] += 1
            return
        self._known.add(kind)
        await self._written(Counter({kind: 1}))

    async def run(self) -> None:
        """Write the counts down at the end of each wait. Never ends."""
        while True:
            await self._some.wait()
            await asyncio.sleep(self.wait_ms / 1_000)
            await self.flush()

    async def flush(self) -> None:
        """Write down what was counted, and choose how long to wait the next time."""
        counted, self._again = self._again, Counter()
        self._known.clear()
        if counted:
            self.wait_ms = min(2 * self.wait_ms, DENIED_WAIT_MS_MAX)
            await self._written(counted)
        else:
            self.wait_ms = DENIED_WAIT_MS_MIN
            self._some.clear()

    async def _written(self, counted: Counter[tuple[str, str]]) -> None:
        """Write rows; what a full disk or a locked file refuses is counted again."""
        rows = [
            RefusedAttempt(client, method, times) for (client, method), times in counted.items()
        ]
        try:
            await self._write(rows)
        except MemdError as error:
            self._again.update(counted)
            self._some.set()
            log.warning("refused attempts were not written down yet", kind=error.kind)
