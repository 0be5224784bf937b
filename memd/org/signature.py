"""Sign and verify the owner's decisions (Ed25519), and read and write the owner's key file.

The signed bytes contain the store, the daemon's nonce, the action, and the fact's id, kind,
category, tags, times and text hash. So a signature is valid for one action in one store, once, and
only shortly after the nonce was issued. The private key is in a file, encrypted with a passphrase
(scrypt, AES-256-GCM) or, if the owner chooses so, in plain.

``cryptography`` is imported in functions: it costs 14 ms and 11 MB, and few clients sign.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.base.clock import to_us
from memd.base.errors import DeniedError, InvalidError
from memd.domain.enums import OperationType
from memd.domain.org.access import Proposal
from memd.domain.org.org import OrgFactWriteRequest
from memd.store.org.proofs import HEAD, is_signed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_SCRYPT = {"n": 2**16, "r": 8, "p": 1}  # 64 MiB and about 0.2 s per guess of the passphrase


class NewKey(NamedTuple):
    """A new key: the text of its file, and its public half as hex."""

    text: str
    public_key: str


def statement(store: str, nonce: str, action: str, content: Mapping[str, Any]) -> bytes:
    """Return the bytes to sign.

    >>> statement("aa", "bb", "org.reject", {"id": "x"}).splitlines()[1]
    b'{"action":"org.reject","id":"x","nonce":"bb","store":"aa"}'
    """
    fields = {**content, "store": store, "nonce": nonce, "action": action}
    return HEAD + json.dumps(fields, sort_keys=True, separators=(",", ":")).encode("ascii")


def fact_content(
    *, kind: str, fact_id: str | None, request: OrgFactWriteRequest | Proposal | None = None
) -> dict[str, Any]:
    """Return the content to sign for a write of a fact, with the hash of its text.

    *request* is None for a retraction.
    """
    fields = {"kind": kind, "id": fact_id, "category": None, "body": None}
    if request is None:
        return fields
    text = request.content
    return {
        **fields,
        "category": request.category.value,
        "body": None if text is None else hashlib.sha256(text.encode()).hexdigest(),
        "tags": list(request.tags),
        "valid_from_us": to_us(request.valid_from),
        "valid_to_us": to_us(request.valid_to),
    }


def request_content(request: OrgFactWriteRequest) -> dict[str, Any]:
    """Return the content to sign for a request to publish a fact."""
    return fact_content(kind=OperationType.PUBLISH.value, fact_id=request.fact_id, request=request)


def proposal_content(proposal: Proposal) -> dict[str, Any]:
    """Return the content to sign for a proposal: everything that it would change."""
    content = fact_content(kind=proposal.kind.value, fact_id=proposal.fact_id, request=proposal)
    return {**content, "proposal": proposal.id}


def verify(public_key: bytes, signature: bytes, message: bytes) -> None:
    """Raise DeniedError unless *signature* is by *public_key* over *message*."""
    if not is_signed(public_key, signature, message):
        raise DeniedError("the signature is not the owner's over this", field="signature")


# The owner's side.


def new_key(passphrase: str) -> NewKey:
    """Create a key; with an empty *passphrase*, the text of its file is not encrypted."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    raw, public = private.private_bytes_raw(), private.public_key().public_bytes_raw().hex()
    content: dict[str, Any] = {"v": 1, "kind": "ed25519", "public_key": public}
    if passphrase:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        salt, nonce = os.urandom(16), os.urandom(12)
        key = _derive_key(passphrase.encode(), salt, _SCRYPT)
        wrapped = AESGCM(key).encrypt(nonce, raw, HEAD)
        content["wrapped"] = {
            **_SCRYPT, "salt": salt.hex(), "nonce": nonce.hex(), "key": wrapped.hex(),
        }  # fmt: skip
    else:
        content["bare"] = raw.hex()
    return NewKey(json.dumps(content), public)


def is_wrapped(text: str) -> bool:
    """Return whether the key in a file's *text* needs a passphrase."""
    return "wrapped" in _parse_file(text)


def public_of(text: str) -> str:
    """Return the public half of the key in a file's *text*, as hex."""
    return str(_parse_file(text)["public_key"])


def open_key(text: str, passphrase: str) -> Ed25519PrivateKey:
    """Return the private key in a file's *text*.

    Raises DeniedError for a wrong passphrase, InvalidError for a damaged file.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    content, secret = _parse_file(text), passphrase.encode()
    try:
        raw = bytes.fromhex(content["bare"]) if "bare" in content else _unwrap(content, secret)
        return Ed25519PrivateKey.from_private_bytes(raw)
    except InvalidTag:
        raise DeniedError("the passphrase does not open the owner's key") from None
    except (KeyError, TypeError, ValueError):  # a part is missing or no hex
        raise _damaged_error() from None


def _unwrap(content: Mapping[str, Any], passphrase: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    wrapped = content["wrapped"]
    key = _derive_key(passphrase, bytes.fromhex(wrapped["salt"]), wrapped)
    nonce, encrypted = bytes.fromhex(wrapped["nonce"]), bytes.fromhex(wrapped["key"])
    return AESGCM(key).decrypt(nonce, encrypted, HEAD)


def _derive_key(passphrase: bytes, salt: bytes, cost: Mapping[str, Any]) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    kdf = Scrypt(salt=salt, length=32, n=int(cost["n"]), r=int(cost["r"]), p=int(cost["p"]))
    return kdf.derive(passphrase)


def _parse_file(text: str) -> dict[str, Any]:
    """Return the content of a key file; raises InvalidError if it is damaged."""
    try:
        content = json.loads(text)
    except ValueError:
        content = None
    if (
        isinstance(content, dict)
        and content.get("v") == 1
        and "public_key" in content
        and ("bare" in content or "wrapped" in content)
    ):
        return content
    raise _damaged_error()


def _damaged_error() -> InvalidError:
    return InvalidError(
        "the owner's key file is damaged", hint='bring it back from a copy, or see "memd owner"'
    )
