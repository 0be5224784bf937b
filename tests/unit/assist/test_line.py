"""The connection of hooks and the pump to the daemon, without a daemon."""

from __future__ import annotations

import socket

import pytest
from support.daemon import WAIT_S

from memd.assist.line import LineError, present_key


def present(reply: bytes) -> None:
    """Present a key to a daemon that answers *reply*."""
    ours, daemons = socket.socketpair()
    with ours, daemons:
        daemons.sendall(reply)
        present_key(ours, "memd-mcp", "memd-key-0", WAIT_S)


@pytest.mark.parametrize(
    "reply",
    [
        b"[]\n",
        b'"ok"\n',
        b"null\n",
        b'{"error": "denied"}\n',
        b'{"error": [1]}\n',
        b"[" * 100_000 + b"\n",
        b"HTTP/1.1 400 Bad Request\n",
    ],
)
def test_a_key_is_not_accepted_by_an_answer_of_another_protocol(reply: bytes) -> None:
    with pytest.raises(LineError, match="invalid answer"):
        present(reply)


def test_a_refused_key_is_an_error_of_the_kind_that_the_daemon_names() -> None:
    with pytest.raises(LineError, match="no such key") as caught:
        present(b'{"error": {"message": "no such key", "data": {"kind": "denied"}}}\n')
    assert caught.value.kind == "denied"


def test_an_answer_without_an_error_accepts_the_key() -> None:
    present(b'{"id": 0, "result": {}}\n')
    present(b'{"id": 0, "result": {}, "error": null}\n')
