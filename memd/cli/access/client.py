"""``memd client``: add, list and revoke client keys."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any

from memd.cli import console, options
from memd.cli.connection import call
from memd.cli.tables import print_items, text_column, word_column

ClientName = Annotated[str, "NAME", "Name of the client, such as an assistant."]


@options.examples(
    "memd client add claude --agent claude --scopes read,write,propose",
    "memd client add lead --agent lead --seniority senior --autonomy semi --json",
)
def add(
    name: ClientName,
    agent: Annotated[
        str | None, "--agent ID", "Agent of all its calls; default: the one each call names."
    ] = None,
    seniority: Annotated[
        str | None,
        "--seniority LEVEL",
        "junior, mid, senior, lead, principal, director, vp or c_suite.",
    ] = None,
    autonomy: Annotated[str | None, "--autonomy LEVEL", "locked, supervised, semi or full."] = None,
    scopes: Annotated[
        str, "--scopes LIST", "Comma-separated: read, write, propose, admin."
    ] = "read,write,propose",
) -> None:
    """Create a key for a client. Prints the path of its file.

    Only you can read the file. Set MEMD_CLIENT_KEY_FILE to this path for the client.
    """
    added: dict[str, Any] = call(
        "client.add",
        name=name,
        agent_id=agent,
        seniority=seniority,
        autonomy_level=autonomy,
        scopes=[scope.strip() for scope in scopes.split(",") if scope.strip()],
    )
    if console.print_if_json(added):
        return
    console.out(added["key_file"])
    scopes_text = _format_scopes(added["client"])
    console.note(f"{name} may {scopes_text}; set MEMD_CLIENT_KEY_FILE to this file for it")


@options.examples("memd client list", "memd client list --json")
def list_() -> None:
    """List all clients that have or had a key, with their scopes."""
    print_items(
        {"items": call("client.list")["items"]},
        (
            word_column("NAME", "name", stored=True),
            word_column("AGENT", lambda client: client["agent_id"] or "any"),
            word_column("SENIORITY", lambda client: client["seniority"] or "-"),
            word_column("AUTONOMY", lambda client: client["autonomy_level"] or "-"),
            text_column("MAY", _format_scopes, in_place=True),
        ),
        nothing="no clients; programs without a key may read, write and propose",
    )


@options.examples("memd client revoke claude")
def revoke(name: ClientName) -> None:
    """Revoke the key of a client.

    Its open connections lose their scopes at once.
    """
    revoked = call("client.revoke", name=name)
    if not console.print_if_json(revoked):
        console.note(f"revoked the key of client {console.line(name)}")


def add_command(client: Mapping[str, Any]) -> str:
    """Return the command that makes a key for *client*, with its options.

    >>> add_command({"name": "mail", "agent_id": "posta", "scopes": ["write", "read"]})
    'memd client add mail --agent posta --scopes read,write'
    """
    words = ["memd", "client", "add", client["name"]]
    for option, field in (
        ("--agent", "agent_id"),
        ("--seniority", "seniority"),
        ("--autonomy", "autonomy_level"),
    ):
        words += [option, client[field]] if client.get(field) else []
    return shlex.join([*words, "--scopes", ",".join(_ordered_scopes(client))])


def _ordered_scopes(client: Mapping[str, Any]) -> list[str]:
    """Return the scopes of a client, from weakest to strongest."""
    order = ("read", "write", "propose", "admin")
    return [scope for scope in order if scope in client["scopes"]]


def _format_scopes(client: dict[str, Any]) -> str:
    """Format what a client may do.

    >>> _format_scopes({"revoked_at": None, "scopes": ["write", "read"]})
    'read, write'
    """
    if client["revoked_at"]:
        return f"nothing (revoked {console.local_time(client['revoked_at'])})"
    return ", ".join(_ordered_scopes(client))
