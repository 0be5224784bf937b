"""The owner's word: what is signed is all of it, and a key opens with its passphrase only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memd.base.errors import DeniedError, InvalidError
from memd.org import signature

SAID: dict[str, Any] = {"id": "f", "kind": "PUBLISH", "category": "adr", "body": "00", "tags": []}


@pytest.mark.parametrize(
    "other",
    [
        {"store": "bb"},
        {"nonce": "bb"},
        {"action": "org.retract"},
        {"content": {**SAID, "id": "g"}},
        {"content": {**SAID, "kind": "RETRACT"}},
        {"content": {**SAID, "category": "core_policy"}},
        {"content": {**SAID, "body": "01"}},
        {"content": {**SAID, "tags": ["a"]}},
        {"content": {**SAID, "more": None}},
    ],
)
def test_a_signature_is_good_for_exactly_what_was_signed(other: dict[str, Any]) -> None:
    given: dict[str, Any] = {"store": "aa", "nonce": "aa", "action": "org.write", "content": SAID}
    made = signature.new_key("")
    key = signature.open_key(made.text, "")
    value = key.sign(signature.statement(**given))
    public = bytes.fromhex(made.public_key)
    signature.verify(public, value, signature.statement(**given))
    with pytest.raises(DeniedError):
        signature.verify(public, value, signature.statement(**{**given, **other}))
    with pytest.raises(DeniedError):
        signature.verify(bytes(31), value, signature.statement(**given))


def test_a_wrapped_key_opens_with_its_passphrase_only() -> None:
    made = signature.new_key("horse")
    assert signature.is_wrapped(made.text)
    assert signature.public_of(made.text) == made.public_key
    assert "bare" not in json.loads(made.text)
    opened = signature.open_key(made.text, "horse")
    assert opened.public_key().public_bytes_raw().hex() == made.public_key
    for wrong in ("", "Horse", "horse "):
        with pytest.raises(DeniedError):
            signature.open_key(made.text, wrong)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"v": 2, "public_key": "00", "bare": "00"}', "x"),
        *(
            '{"v": 1, "public_key": "00", "bare": "zz"}',
            '{"v": 1, "public_key": "00", "bare": "00"}',
        ),
        *('{"v": 1, "public_key": "00", "bare": 1}', '{"v": 1, "public_key": "00", "wrapped": []}'),
        '{"v": 1, "public_key": "00", "wrapped": {"salt": "00"}}',
    ],
)
def test_a_damaged_key_file_is_named_as_such(text: str) -> None:
    with pytest.raises(InvalidError, match="damaged"):
        signature.open_key(text, "")
