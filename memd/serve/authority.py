"""Authentication and authorization on the socket, checked for every call before it runs.

A connection is ``local`` until it presents a key. A key is a client's, with its agent and
scopes, or the operator's, which the daemon made for the owner's own commands. A client that
presents an unknown key has no rights at all from then on, not those of a client without a
key. Refused attempts are audited.
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
"""Claims that only a key or a signature can prove; refused where the method has no such param."""


@dataclass(slots=True)
class Credentials:
    """The identity of a connection's client."""

    identity: Identity = LOCAL_CLIENT

    def revoke(self) -> None:
        """Remove all scopes; the client's name stays known, for the audit."""
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

        A key file ends with a line break, which is no part of the key.
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
                f"{method.name} needs the scope {method.scope}, which {_who(identity)} lacks",
                hint=_hint_of_scope(identity, method.scope),
            )

    def closed_agents(self) -> frozenset[str]:
        """Return the agents that nobody may act for without a key: all that have one.

        Agents of revoked keys included: revoking a key must not open the agent's memories.
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
    """Return the error of a client whose key gives it nothing: no other scope would help."""
    if identity is NOBODY:
        what, hint = "unknown client key", 'connect with a key of "memd client list"'
    else:
        what = f"the key of client {identity.client} was revoked"
        hint = f'the owner makes a new one: "memd client add {identity.client}"'
    return DeniedError(what, field="client_key", hint=hint)


def _who(identity: Identity) -> str:
    if identity is LOCAL_CLIENT:
        return "a client without a key"
    return f"client {identity.client}"


def _hint_of_scope(identity: Identity, scope: Scope) -> str:
    """Return how the owner gives *identity* a scope: a key is never changed, but made anew."""
    scopes = ",".join(each for each in get_args(Scope) if each in identity.scopes or each == scope)
    if identity is LOCAL_CLIENT:
        return f'the owner makes a key that has it: "memd client add NAME --scopes {scopes}"'
    return (
        f'the owner makes a new key: "memd client revoke {identity.client}", then '
        f'"memd client add {identity.client} --scopes {scopes}" with its other options'
    )


def ensure_operator_key(path: Path) -> str | None:
    """Return the key of the owner's own commands; create its file at the first start.

    Returns None, and logs why, when the file can be neither read nor written: memd then
    does everything but what needs the scope admin.
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

    ``run`` is a background task of the daemon; call ``flush`` at the end.

    The first attempt of a kind (client, method) is written before it is answered.
    Repetitions within the next second are counted and become one row at its end. While
    they go on the wait doubles, up to ten minutes, and returns to a second after a wait
    without a repetition. So every attempt is counted, and a client that tries everything
    all the time makes some hundred rows in ten minutes. A kill loses the counts of the
    current wait, never the first attempt.
    """

    def __init__(self, write: WriteAttempts) -> None:
        self._write = write
        self._recent: set[tuple[str, str]] = set()
        self._repeats: Counter[tuple[str, str]] = Counter()
        self._pending = asyncio.Event()
        self.wait_ms = DENIED_WAIT_MS_MIN

    async def note(self, client: str, method: str) -> None:
        """Write an attempt, or count it when one of its kind was just written."""
        kind = (client, method)
        self._pending.set()
        if kind in self._recent:
            self._repeats[kind] += 1
            return
        self._recent.add(kind)
        await self._write_rows(Counter({kind: 1}))

    async def run(self) -> None:
        """Write the counts at the end of each wait. Never returns."""
        while True:
            await self._pending.wait()
            await asyncio.sleep(self.wait_ms / 1_000)
            await self.flush()

    async def flush(self) -> None:
        """Write the counts, and choose the next wait."""
        counts, self._repeats = self._repeats, Counter()
        self._recent.clear()
        if counts:
            self.wait_ms = min(2 * self.wait_ms, DENIED_WAIT_MS_MAX)
            await self._write_rows(counts)
        else:
            self.wait_ms = DENIED_WAIT_MS_MIN
            self._pending.clear()

    async def _write_rows(self, counts: Counter[tuple[str, str]]) -> None:
        """Write one row per kind; on a full disk or a locked file, count them again."""
        rows = [RefusedAttempt(client, method, times) for (client, method), times in counts.items()]
        try:
            await self._write(rows)
        except MemdError as error:
            self._repeats.update(counts)
            self._pending.set()
            log.warning("refused attempts were not written down yet", kind=error.kind)
