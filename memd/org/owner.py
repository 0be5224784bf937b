"""The room of the owner: what a human's signature is checked against (SPEC D14, PROMISES 4).

A daemon cannot see a human; it can see that somebody holds the owner's key. Each
signature is over a nonce that this daemon gave out less than NONCE_MS_MAX ago and
is taken once: a nonce is sealed with a secret of this process, so asking for many
costs nothing, and after a restart every earlier signature is void.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memd.base.clock import Clock
from memd.base.errors import DeniedError
from memd.base.ids import Chance
from memd.base.limits import NONCE_MS_MAX
from memd.domain.caller import Caller
from memd.domain.org.access import OwnerState, Signature
from memd.org import signature as words
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.org import proofs

_SEAL_BYTES = 16

Use = tuple[str, str | None, bytes]
"""By whom, under which key and for which request a nonce was used."""


@dataclass
class Owner:
    """The room's needs, handed in by the daemon."""

    db: Database
    clock: Clock
    chance: Chance = secrets.token_bytes
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _used: dict[str, tuple[int, Use]] = field(default_factory=dict)

    async def state(self, caller: Caller) -> OwnerState:
        """Return what a signer has to know, with a nonce for one signature."""
        public, store = await self.db.read(_known)
        if store is None:
            store = await self.db.write(caller, proofs.make_store_id)
        moment = self.clock.monotonic_us().to_bytes(8, "big") + self.chance(8)
        return OwnerState(
            public_key=None if public is None else public.hex(),
            store=store.hex(),
            nonce=(moment + self._seal(moment)).hex(),
        )

    async def set(self, caller: Caller, public_key: str, signature: Signature | None) -> OwnerState:
        """Make *public_key* the owner's: the first one, or one that the one before signed.

        Raises DeniedError.
        """
        fresh, now_us = bytes.fromhex(public_key), self.clock.now_us()
        known, _ = await self.db.read(_known)
        if known is not None and known != fresh:
            await self.verified(caller, signature, "owner.set", {"public_key": public_key})

        def work(conn: Writing) -> None:
            if proofs.current(conn) != known:
                raise DeniedError("the owner's key was changed meanwhile", field="public_key")
            if known != fresh:
                proofs.put(conn, fresh, now_us)

        await self.db.write(caller, work)
        return await self.state(caller)

    async def verified(
        self, caller: Caller, signature: Signature | None, action: str, content: Mapping[str, Any]
    ) -> bytes:
        """Return the signature and what it is over once it is proved to be the owner's.

        Raises DeniedError: without a signature, without an owner's key, for another
        text, and for one that was used before. The same request under the same
        idempotency key may come twice, for then it still happens once.
        """
        if signature is None:
            raise DeniedError(
                f"{action} needs the owner's signature", field="signature", hint="memd org review"
            )
        public, store = await self.db.read(_known)
        if public is None or store is None:
            raise DeniedError(
                "there is no owner's key yet", field="signature", hint='make one: "memd owner init"'
            )
        self._check_age(signature.nonce)
        value = bytes.fromhex(signature.value)
        statement = words.statement(store.hex(), signature.nonce, action, content)
        words.verify(public, value, statement)
        self._use(signature.nonce, (caller.client, caller.idempotency_key, caller.request_hash))
        return value + statement

    def _seal(self, moment: bytes) -> bytes:
        return hmac.digest(self._secret, moment, hashlib.sha256)[:_SEAL_BYTES]

    def _check_age(self, nonce: str) -> None:
        raw = bytes.fromhex(nonce)
        moment, seal = raw[:-_SEAL_BYTES], raw[-_SEAL_BYTES:]
        born_us = int.from_bytes(moment[:8], "big")
        if not hmac.compare_digest(seal, self._seal(moment)):
            raise DeniedError("the nonce is not this daemon's", field="signature", hint="sign anew")
        if self.clock.monotonic_us() - born_us > NONCE_MS_MAX * 1_000:
            raise DeniedError("the signature is too old", field="signature", hint="sign anew")

    def _use(self, nonce: str, use: Use) -> None:
        now_us = self.clock.monotonic_us()
        before = self._used.get(nonce)
        if before is not None and (before[1] != use or use[1] is None):
            raise DeniedError("the signature was used before", field="signature", hint="sign anew")
        old_us = now_us - NONCE_MS_MAX * 1_000
        self._used = {n: used for n, used in self._used.items() if used[0] >= old_us}
        self._used[nonce] = (now_us, use)


def _known(conn: Reading) -> tuple[bytes | None, bytes | None]:
    return proofs.current(conn), proofs.store_id(conn)
