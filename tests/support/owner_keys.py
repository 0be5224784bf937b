"""An owner's key, and signatures for a daemon."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.daemon import Spawned

from memd.client import Client
from memd.domain.org.access import Proposal
from memd.org.signature import fact_content, proposal_content, request_content, statement
from memd.serve.routes.org import WriteFactParams
from memd.serve.validation import validate


@dataclass
class AnOwner:
    """Holds the private key; *client* has the scope admin."""

    client: Client
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public_key(self) -> str:
        return self.key.public_key().public_bytes_raw().hex()

    def register(self) -> None:
        self.client.call("owner.set", {"public_key": self.public_key})

    def sign(self, action: str, content: Mapping[str, Any]) -> dict[str, str]:
        state = self.client.call("owner.state")
        value = self.key.sign(statement(state["store"], state["nonce"], action, content))
        return {"nonce": state["nonce"], "value": value.hex()}

    def written(self, **fact: Any) -> dict[str, Any]:
        """Return the params of an ``org.write`` that is signed."""
        return {
            **fact,
            "signature": self.sign("org.write", request_content(validate(WriteFactParams, fact))),
        }

    def retracted(self, fact_id: str) -> dict[str, Any]:
        content = fact_content(kind="RETRACT", fact_id=fact_id)
        return {"fact_id": fact_id, "signature": self.sign("org.retract", content)}

    def decided(self, action: str, proposal_id: str) -> dict[str, Any]:
        """Return the params of ``org.approve`` or ``org.reject``, signed."""
        items = self.client.call("org.review")["items"]
        (proposal,) = [one for one in items if one["id"] == proposal_id]
        content = proposal_content(Proposal.model_validate(proposal))
        return {"id": proposal_id, "signature": self.sign(action, content)}


@contextlib.contextmanager
def an_owner(daemon: Spawned) -> Iterator[AnOwner]:
    """Yield the registered owner of *daemon*."""
    with daemon.client() as client:
        owner = AnOwner(client)
        owner.register()
        yield owner
