"""Verify the owner's signatures (SPEC D14, PROMISES 4).

A daemon cannot recognise a human, only a signature with the owner's key. Each signature covers a
nonce that this daemon issued less than NONCE_MS_MAX ago, and that it accepts once. A nonce contains
its time of issue and a MAC with a secret of this process. So issued nonces need no memory, and a
restart invalidates them.
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

NonceUse = tuple[str, str | None, bytes]
"""The client, idempotency key and request hash with which a nonce was used."""


@dataclass
class Owner:
    """Holds the owner's public key, and verifies signatures against it."""

    db: Database
    clock: Clock
    chance: Chance = secrets.token_bytes
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _used: dict[str, tuple[int, NonceUse]] = field(default_factory=dict)

    async def state(self, caller: Caller) -> OwnerState:
        """Return the owner's public key, the id of the store, and a nonce for one signature."""
        public, store = await self.db.read(_read_keys)
        if store is None:
            store = await self.db.write(caller, proofs.make_store_id)
        content = self.clock.monotonic_us().to_bytes(8, "big") + self.chance(8)
        return OwnerState(
            public_key=None if public is None else public.hex(),
            store=store.hex(),
            nonce=(content + self._seal(content)).hex(),
        )

    async def set(self, caller: Caller, public_key: str, signature: Signature | None) -> OwnerState:
        """Make *public_key* the owner's key; the change of a key must be signed with the old one.

        Raises DeniedError.
        """
        new, now_us = bytes.fromhex(public_key), self.clock.now_us()
        current, _ = await self.db.read(_read_keys)
        if current is not None and current != new:
            await self.verify(caller, signature, "owner.set", {"public_key": public_key})

        def work(conn: Writing) -> None:
            if proofs.current_key(conn) != current:
                raise DeniedError("the owner's key was changed meanwhile", field="public_key")
            if current != new:
                proofs.set_key(conn, new, now_us)

        await self.db.write(caller, work)
        return await self.state(caller)

    async def verify(
        self, caller: Caller, signature: Signature | None, action: str, content: Mapping[str, Any]
    ) -> bytes:
        """Verify the owner's signature; return the signature followed by the signed bytes.

        Raises DeniedError without a signature or an owner's key, for a signature over anything
        else, and for a used or old nonce. A request that is repeated under its idempotency key may
        repeat its signature, since it is executed once.
        """
        if signature is None:
            raise DeniedError(
                f"{action} needs the owner's signature", field="signature", hint="memd org review"
            )
        public, store = await self.db.read(_read_keys)
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

    def _seal(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, hashlib.sha256)[:_SEAL_BYTES]

    def _check_age(self, nonce: str) -> None:
        """Raise DeniedError unless this process issued *nonce* less than NONCE_MS_MAX ago."""
        raw = bytes.fromhex(nonce)
        content, seal = raw[:-_SEAL_BYTES], raw[-_SEAL_BYTES:]
        issued_us = int.from_bytes(content[:8], "big")
        if not hmac.compare_digest(seal, self._seal(content)):
            raise DeniedError("the nonce is not this daemon's", field="signature", hint="sign anew")
        if self.clock.monotonic_us() - issued_us > NONCE_MS_MAX * 1_000:
            raise DeniedError("the signature is too old", field="signature", hint="sign anew")

    def _use(self, nonce: str, use: NonceUse) -> None:
        """Remember *nonce* as used, and forget those that are too old to be accepted again.

        Raises DeniedError for a used nonce, unless *use* repeats the same request.
        """
        now_us = self.clock.monotonic_us()
        _, previous_use = self._used.get(nonce, (0, None))
        idempotency_key = use[1]
        if previous_use is not None and (previous_use != use or idempotency_key is None):
            raise DeniedError("the signature was used before", field="signature", hint="sign anew")
        since_us = now_us - NONCE_MS_MAX * 1_000
        self._used = {key: entry for key, entry in self._used.items() if entry[0] >= since_us}
        self._used[nonce] = (now_us, use)


def _read_keys(conn: Reading) -> tuple[bytes | None, bytes | None]:
    return proofs.current_key(conn), proofs.store_id(conn)
