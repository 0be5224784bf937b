"""``memd owner``, and signing with the owner key, which is protected by a passphrase.

The key is created on first use. Signing requires a terminal, even if the key file is readable,
because a background program is not the owner. A program that opens a terminal of its own can
still pretend to be the owner (docs/access.md).
"""

from __future__ import annotations

import getpass
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from memd.base import client_key
from memd.base.client_key import KEY_FILE
from memd.base.errors import DeniedError, InvalidStateError, MemdError, NotFoundError
from memd.base.paths import Paths
from memd.cli import console, options
from memd.cli.connection import daemon

if TYPE_CHECKING:
    from pathlib import Path

    from memd.client import Client


@options.examples("memd owner init", "memd owner init --renew")
def init(
    renew: Annotated[bool, "--renew", "Replace the key; the old one signs the new one."] = False,
) -> None:
    """Create the owner key, protected by a passphrase. Needs a terminal.

    memd also creates it when it is first needed.
    """
    from memd.org.signature import public_of

    with daemon() as client:
        if renew:
            text = renew_key(client)
        elif (key_text := _key_text()) is not None:
            text = key_text
            _finish_key(client, text)
        else:
            text, _ = make_key(client)
    public = public_of(text)
    console.answer({"public_key": public}, public)


@options.examples("memd owner show", "memd owner show --json")
def show() -> None:
    """Print the owner's public key, and the path of the private one."""
    with daemon() as client:
        public = client.call("owner.state")["public_key"]
    place = Paths.resolve().owner_key
    if console.is_json():
        console.print_json({"public_key": public, "file": str(place) if place.exists() else None})
    elif public is not None:
        console.out(public)
        console.note(_file_problem(public) or str(place))
    if public is None:
        raise NotFoundError("there is no owner key", hint="create it: memd owner init")


_OTHER_KEY = "the database has another owner key"


def is_owner() -> bool:
    """Return whether commands act for the owner: the environment names no client key."""
    return not os.environ.get(KEY_FILE)


def sign(client: Client, action: str, content: Mapping[str, Any]) -> dict[str, str]:
    """Return the owner's signature over *content*, as params for the daemon.

    Creates and registers the owner key if there is none. Raises DeniedError without a terminal
    or with a wrong passphrase.
    """
    from memd.org.signature import open_key, public_of, statement

    _require_terminal()
    text, passphrase = _key_text(), None
    if text is None:
        text, passphrase = make_key(client)
    state = client.call("owner.state")
    if state["public_key"] is None:
        state = client.call("owner.set", {"public_key": public_of(text)})
    if state["public_key"] != public_of(text):
        raise InvalidStateError(_OTHER_KEY, hint=_restore_hint(state["public_key"]))
    key = open_key(text, _ask_passphrase(text) if passphrase is None else passphrase)
    value = key.sign(statement(state["store"], state["nonce"], action, content))
    return {"nonce": state["nonce"], "value": value.hex()}


def make_key(client: Client) -> tuple[str, str]:
    """Create the owner key and register it; return the text of its file and the passphrase.

    To be called if there is no file. Raises InvalidStateError if the database has a key.
    """
    from memd.org.signature import new_key

    _require_terminal()
    public_key = client.call("owner.state")["public_key"]
    if public_key is not None:
        raise InvalidStateError(
            "the database has an owner key, but its file is missing", hint=_restore_hint(public_key)
        )
    console.note(
        "creating the owner key: it signs what you write, so that no program writes in your name. "
        "Its passphrase protects it; to set it later: memd owner init --renew"
    )
    passphrase = _new_passphrase()
    key_pair = new_key(passphrase)
    client_key.write(_key_file(), key_pair.text)
    client.call("owner.set", {"public_key": key_pair.public_key})
    console.note(f"created {_key_file()}")
    console.note("keep a copy elsewhere: without it the key cannot be replaced")
    return key_pair.text, passphrase


def _finish_key(client: Client, text: str) -> None:
    """Register the key of the file *text*, if :func:`make_key` was interrupted after writing it.

    Raises InvalidStateError if the database has a key.
    """
    from memd.org.signature import public_of

    _require_terminal()
    public_key = client.call("owner.state")["public_key"]
    if public_key is None:
        client.call("owner.set", {"public_key": public_of(text)})
    elif public_key == public_of(text):
        raise InvalidStateError("there is an owner key already", hint="see: memd owner show")
    else:
        raise InvalidStateError(_OTHER_KEY, hint=_restore_hint(public_key))


def renew_key(client: Client) -> str:
    """Replace the owner key by a new one, signed with the old one; return its text."""
    from memd.org.signature import new_key

    _require_terminal()
    if _key_text() is None:
        raise NotFoundError("there is no owner key to renew", hint="memd owner init")
    console.note("new key:")
    key_pair = new_key(_new_passphrase())
    console.note("signing it with the old key:")
    body = {"public_key": key_pair.public_key}
    signature = sign(client, "owner.set", body)
    # Both files exist until the daemon has accepted the new key. If this process is killed before
    # the file is renamed, _restore_hint() says how to rename it.
    client_key.write(_new_key_file(), key_pair.text)
    client.call("owner.set", {**body, "signature": signature})
    _new_key_file().replace(_key_file())
    return key_pair.text


def _restore_hint(public_key: str) -> str:
    """Return how to restore the file of *public_key*, the key in the database."""
    from memd.org.signature import public_of

    with suppress(MemdError):  # there is no new key file, or it cannot be used
        if public_of(client_key.private_text(_new_key_file())) == public_key:
            move = shlex.join(["mv", str(_new_key_file()), str(_key_file())])
            return f"renewing the key was interrupted; finish it: {move}"
    return f"restore your copy of the file of that key: {_key_file()}"


def _file_problem(public_key: str) -> str | None:
    """Return what to do if the file does not have *public_key*, the key in the database."""
    from memd.org.signature import public_of

    text = _key_text()
    if text is not None and public_of(text) == public_key:
        return None
    problem = "its file is missing" if text is None else "the file has another key"
    return f"{problem}; {_restore_hint(public_key)}"


def _key_text() -> str | None:
    try:
        return client_key.private_text(_key_file())
    except NotFoundError:
        return None


def _key_file() -> Path:
    return Paths.resolve().owner_key


def _new_key_file() -> Path:
    """Return the file of a new key until the daemon has accepted it."""
    return _key_file().with_name("owner.key.new")


def _require_terminal() -> None:
    if not sys.stdin.isatty():
        raise DeniedError(
            "only the owner can do this, and only at a terminal",
            hint="run it at a terminal; a program can use memd org propose instead",
        )


def _ask_passphrase(text: str) -> str:
    from memd.org.signature import is_wrapped

    return _read_passphrase("passphrase of the owner key: ") if is_wrapped(text) else ""


def _read_passphrase(prompt: str) -> str:
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise DeniedError("no passphrase was entered; nothing was signed") from None


def _new_passphrase() -> str:
    while True:
        first = _read_passphrase("new passphrase (empty for none): ")
        if not first:
            console.note(
                "warning: without a passphrase, every program of yours can sign in your name"
            )
            return ""
        if _read_passphrase("repeat the passphrase: ") == first:
            return first
        console.note("the passphrases differ; try again")
