"""The connection of hooks and the pump to the daemon, without a daemon."""

from __future__ import annotations

import socket
import time

import pytest
from support.daemon import WAIT_S

from memd.assist.connection import HookConnection, HookError, present_key


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
    with pytest.raises(HookError, match="invalid answer"):
        present(reply)


def test_a_refused_key_is_an_error_of_the_kind_that_the_daemon_names() -> None:
    with pytest.raises(HookError, match="no such key") as caught:
        present(b'{"error": {"message": "no such key", "data": {"kind": "denied"}}}\n')
    assert caught.value.kind == "denied"


def test_an_answer_without_an_error_accepts_the_key() -> None:
    present(b'{"id": 0, "result": {}}\n')
    present(b'{"id": 0, "result": {}, "error": null}\n')


class Connection(HookConnection):
    """A connection over *sock*."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._ids, self._until = sock, 0, time.monotonic() + WAIT_S


def ask(reply: bytes) -> dict[str, object]:
    """Call a method of a daemon that answers *reply*."""
    ours, daemons = socket.socketpair()
    with ours, daemons:
        daemons.sendall(reply)
        return Connection(ours).ask("inject.brief", {})


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (b'{"code": -32001, "data": {"kind": "busy"}}', "busy"),
        (b'{"code": -32001}', "-32001"),
        (b'"denied"', "error"),
        (b"[1]", "error"),
        (b"false", "error"),
    ],
)
def test_an_error_of_any_form_is_no_success(error: bytes, kind: str) -> None:
    with pytest.raises(HookError, match=rf"inject\.brief was refused \({kind}\)"):
        ask(b'{"id": 1, "result": {"standing": 1}, "error": ' + error + b"}\n")


def test_an_answer_without_an_error_has_its_result() -> None:
    assert ask(b'{"id": 1, "result": {"standing": 1}}\n') == {"standing": 1}
    assert ask(b'{"id": 1, "result": {"standing": 1}, "error": null}\n') == {"standing": 1}
