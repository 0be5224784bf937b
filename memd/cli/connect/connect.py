"""``memd connect``, and what assistants call: ``memd mcp``, ``hook`` and ``statusline``.

``memd.__main__`` usually runs the last three directly, without importing this package, because they
must start fast. Their functions here provide the help.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

from memd.base.errors import InvalidError, InvalidStateError
from memd.base.paths import Paths
from memd.cli import console, options
from memd.cli.connection import daemon

if TYPE_CHECKING:
    from memd.assist.connect.clients import Assistant, Locations
    from memd.assist.connect.connect import FileChange


SCOPES = ["read", "write", "propose"]
"""The scopes of an assistant's key."""
DEFAULT_AGENT = "default"
"""The agent that all assistants without an agent of their own share."""
_CONTEXT_LINES = 2
"""Unchanged lines around a change in a diff."""


@options.examples("memd mcp", "memd mcp --client codex", has_json=False)
def mcp(
    client: Annotated[
        str | None, "--client NAME", 'Client whose key to use, as created by "memd client add".'
    ] = None,
) -> None:
    """Serve MCP on stdin and stdout; assistants start it.

    It forwards to the daemon, and reconnects after the daemon was restarted.
    """
    from memd.assist import pump

    pump.run(client, None)


@options.examples(
    "memd connect",
    "memd connect claude-code",
    "memd connect codex --agent work",
    "memd connect codex --remove",
)
def connect(
    name: Annotated[str | None, "NAME", "Name of the assistant; default: list all."] = None,
    print_: Annotated[bool, "--print", "Show the changes; write nothing."] = False,
    remove: Annotated[bool, "--remove", "Remove everything that memd added."] = False,
    agent: Annotated[
        str | None,
        "--agent NAME",
        "Agent whose memory it uses; default: yours, which all assistants share.",
    ] = None,
    yes: options.Yes = False,
) -> None:
    """Connect an assistant to memd, or list the assistants.

    Adds memd's MCP server and hooks to the assistant's settings, after showing each change and
    asking. --remove restores every file as it was. Connected assistants share one memory; with
    --agent at the first connection an assistant gets a memory of its own.
    """
    if name is None:
        _list()
        return
    from memd.assist.connect import connect as connecting

    assistant, where = find_assistant(name), locations()
    plan = connecting.plan_removal if remove else connecting.plan_connect
    changes = plan(assistant, where)
    if changes and not remove and not is_installed(assistant, where):
        console.note(f"{assistant.title} was not found on this computer; connecting it anyway")
    if not console.is_json():
        print_diff(changes)
    key_file = None
    if not print_:
        if changes:
            console.confirm(
                f"Change {console.count(len(changes), 'file')} of {assistant.title}?", yes=yes
            )
        key_file = None if remove else make_key(name, agent)
        connecting.write(changes, where)
    if console.is_json():
        console.print_json({
            "name": name,
            "connected": connecting.is_connected(assistant, where),
            "files": [str(change.file) for change in changes],
            "key_file": key_file,
            "then": assistant.next_step if not remove else "",
        })  # fmt: skip
    elif not print_:
        _report(name, assistant, changes, remove=remove)


def find_assistant(name: str) -> Assistant:
    """Return the assistant called *name*. Raises InvalidError."""
    from memd.assist.connect.clients import ASSISTANTS

    if name not in ASSISTANTS:
        raise InvalidError(
            f"unknown assistant {name!r}", hint=f"use one of {', '.join(ASSISTANTS)}"
        )
    return ASSISTANTS[name]


def locations(profile: str | None = None) -> Locations:
    """Return the folders, program and variables for connecting assistants to *profile*."""
    from pathlib import Path

    from memd.assist.connect.clients import Locations
    from memd.assist.connect.entries import PASSED_ON
    from memd.cli.daemon.service import command_path

    environ = {**os.environ, **({"MEMD_PROFILE": profile} if profile else {})}
    variables = {name: environ[name] for name in PASSED_ON if environ.get(name)}
    if "MEMD_HOME" in variables:  # an assistant runs hooks in other folders
        variables["MEMD_HOME"] = os.path.abspath(variables["MEMD_HOME"])  # noqa: PTH100  # text only
    if variables.get("XDG_RUNTIME_DIR") == f"/run/user/{os.getuid()}":
        del variables["XDG_RUNTIME_DIR"]  # the default, so it need not be passed on
    return Locations(
        Path.home(),
        Paths.resolve(profile).data_dir,
        str(command_path()),
        variables,
        environ,
        sys.platform == "darwin",
    )


def print_diff(changes: list[FileChange]) -> None:
    """Print the changes as unified diffs."""
    import difflib

    for change in changes:
        lines = difflib.unified_diff(
            (change.before or "").splitlines(),
            (change.after or "").splitlines(),
            "/dev/null" if change.before is None else str(change.file),
            "/dev/null" if change.after is None else str(change.file),
            n=_CONTEXT_LINES,
            lineterm="",
        )
        for line in lines:
            console.out(line)


def make_key(name: str, agent: str | None = None) -> str | None:
    """Create a key for an assistant without one and return its file; None if it has one.

    The key is for *agent*, by default for the agent of the lost key that it replaces, else for
    DEFAULT_AGENT. Raises InvalidStateError if the assistant has a key for another *agent*.
    """
    file = Paths.resolve().keys_dir / f"{name}.key"
    if agent is None and file.is_file():
        return None
    with daemon() as client:
        clients = client.call("client.list")["items"]
        valid = [row for row in clients if row["name"] == name and not row["revoked_at"]]
        current_agent = valid[-1]["agent_id"] if valid else None
        if valid and file.is_file():
            if current_agent == agent:
                return None
            raise InvalidStateError(
                f"{name} has a key of agent {current_agent} already",
                hint=f'revoke it first: "memd client revoke {name}"',
            )
        file.unlink(missing_ok=True)  # of a revoked key
        if valid:
            client.call("client.revoke", {"name": name})  # its file is lost
        agent = agent or current_agent or DEFAULT_AGENT
        added = client.call("client.add", {"name": name, "agent_id": agent, "scopes": SCOPES})
    return str(added["key_file"])


def _report(name: str, assistant: Assistant, changes: list[FileChange], *, remove: bool) -> None:
    if not changes:
        console.note(
            f"{assistant.title} is not connected" if remove else f"{assistant.title} is connected"
        )
        return
    if remove:
        console.note(
            f"{assistant.title} is disconnected. To revoke its key: memd client revoke {name}"
        )
        return
    console.note(
        f"{assistant.title} is connected: restart it. To undo: memd connect {name} --remove"
    )
    if assistant.next_step:
        console.note(assistant.next_step)


def is_installed(assistant: Assistant, where: Locations) -> bool:
    """Return whether an assistant's program or settings folder exists on this computer."""
    import shutil

    return any(map(shutil.which, assistant.programs)) or assistant.folder(where).is_dir()


def _list() -> None:
    from memd.assist.connect.clients import ASSISTANTS
    from memd.assist.connect.connect import is_connected, profiles_of
    from memd.cli.tables import table, text_column, word_column

    where = locations()
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "title": assistant.title,
            "installed": is_installed(assistant, where),
            "connected": is_connected(assistant, where),
            "profiles": profiles_of(assistant, where),
            "folder": str(assistant.folder(where)),
        }
        for name, assistant in ASSISTANTS.items()
    ]
    if console.print_if_json({"items": rows}):
        return
    columns = (
        word_column("NAME", "name", whole=True),
        word_column("INSTALLED", lambda row: "yes" if row["installed"] else "-"),
        word_column("CONNECTED", _connection),
        text_column("FOLDER", "folder", in_place=True),
    )
    table(columns, rows)


def _connection(row: dict[str, Any]) -> str:
    """Return the profiles to which an assistant is connected, "yes" for the default, else "-"."""
    return ", ".join(row["profiles"]) or ("yes" if row["connected"] else "-")


_Client = Annotated[
    str | None, "--client NAME", "Client whose key to use; default: the assistant's."
]


@options.examples(
    "memd hook claude-code UserPromptSubmit", "memd hook codex Stop --client work", has_json=False
)
def hook(
    source: Annotated[str, "SOURCE", "Name of the assistant."],
    event: Annotated[str, "EVENT", "Event, as the assistant names it."],
    client: _Client = None,
) -> None:
    """Handle an event of an assistant; its hooks call it.

    Reads the event from stdin and prints context for the assistant, nothing if the daemon is not
    running. The exit code is always 0.
    """
    from memd.assist import hook as hooks

    flags = [f"--client={client}"] if client else []
    hooks.run([source, event, *flags])


@options.examples("memd statusline", "memd statusline -- ~/.claude/line.sh", has_json=False)
def statusline(
    command: Annotated[
        list[str] | None, "[-- COMMAND...]", "Your previous status line, which is still run."
    ] = None,
    client: _Client = None,
) -> None:
    """Print a status line for Claude Code; its settings call it.

    It also reports to memd how full the context window is.
    """
    from memd.assist import statusline as line

    flags = [f"--client={client}"] if client else []
    line.run([*flags, *(["--", *command] if command else [])])
