"""The command line: the table of commands, and what happens around each of them.

A command is a plain function in the module that the table names. Only the
module of the command that was typed is imported, and typer only when there is
help to show or a mistake to explain, so ``memd search`` answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.base.errors import MemdError, unusable
from memd.cli import words
from memd.cli.say import Exit, Leave, complain

if TYPE_CHECKING:
    import typer


INTERRUPTED = 130
"""What a shell reports for a command that Ctrl-C ended."""


class Entry(NamedTuple):
    """Where a command lives."""

    name: str
    module: str
    function: str


COMMANDS: tuple[Entry, ...] = (
    Entry("demo", "memd.cli.demo", "demo"),
    Entry("serve", "memd.cli.daemon.running", "serve"),
    Entry("status", "memd.cli.daemon.running", "status"),
    Entry("stats", "memd.cli.daemon.stats", "stats"),
    Entry("add", "memd.cli.memory.memories", "add"),
    Entry("search", "memd.cli.memory.memories", "search"),
    Entry("recall", "memd.cli.memory.memories", "recall"),
    Entry("inject", "memd.cli.memory.inject", "inject"),
    Entry("brief", "memd.cli.memory.inject", "brief"),
    Entry("synthesize", "memd.cli.memory.inject", "synthesize"),
    Entry("get", "memd.cli.memory.memories", "get"),
    Entry("why", "memd.cli.memory.why", "why"),
    Entry("edit", "memd.cli.memory.edit", "edit"),
    Entry("list", "memd.cli.memory.memories", "list_"),
    Entry("delete", "memd.cli.memory.removal", "delete"),
    Entry("forget", "memd.cli.memory.removal", "forget"),
    Entry("import", "memd.cli.transfer.transfer", "import_"),
    Entry("export", "memd.cli.transfer.move", "export"),
    Entry("usage", "memd.cli.sleep.usage", "usage"),
    Entry("records", "memd.cli.records", "records"),
    Entry("sleep", "memd.cli.sleep.sleep", "sleep"),
    Entry("compress", "memd.cli.sleep.sleep", "compress"),
    Entry("wiki", "memd.cli.sleep.wiki", "wiki"),
    Entry("check", "memd.cli.upkeep.upkeep", "check"),
    Entry("rebuild", "memd.cli.upkeep.upkeep", "rebuild"),
    Entry("backup", "memd.cli.upkeep.backup", "backup"),
    Entry("restore", "memd.cli.upkeep.backup", "restore"),
    Entry("repair", "memd.cli.upkeep.repair", "repair"),
    Entry("connect", "memd.cli.connect.assist", "connect"),
    Entry("doctor", "memd.cli.connect.doctor", "doctor"),
    Entry("mcp", "memd.cli.connect.assist", "mcp"),
    Entry("hook", "memd.cli.connect.hooks", "hook"),
    Entry("statusline", "memd.cli.connect.hooks", "statusline"),
    Entry("completion", "memd.cli.completion", "completion"),
    Entry("version", "memd.cli.daemon.running", "version"),
)

GROUPS: dict[str, tuple[str, tuple[Entry, ...]]] = {
    "preference": (
        "Manage preferences, which come first in every prompt.",
        (
            Entry("set", "memd.cli.memory.preference", "set_"),
            Entry("list", "memd.cli.memory.preference", "list_"),
            Entry("get", "memd.cli.memory.preference", "get"),
            Entry("confirm", "memd.cli.memory.preference", "confirm"),
            Entry("delete", "memd.cli.memory.preference", "delete"),
        ),
    ),
    "trash": (
        "List and restore deleted memories.",
        (
            Entry("list", "memd.cli.memory.removal", "trash_list"),
            Entry("restore", "memd.cli.memory.removal", "trash_restore"),
        ),
    ),
    "archive": (
        "Search and restore archived memories.",
        (
            Entry("search", "memd.cli.memory.removal", "search"),
            Entry("restore", "memd.cli.memory.removal", "restore"),
            Entry("turned-away", "memd.cli.memory.removal", "turned_away"),
            Entry("count", "memd.cli.memory.removal", "count"),
        ),
    ),
    "learn": (
        "Manage lessons, and the playbook of tool patterns that worked.",
        (
            Entry("lesson", "memd.cli.memory.learn", "lesson"),
            Entry("success", "memd.cli.memory.learn", "success"),
            Entry("failure", "memd.cli.memory.learn", "failure"),
            Entry("list", "memd.cli.memory.learn", "list_"),
            Entry("playbook", "memd.cli.memory.learn", "playbook"),
            Entry("prune", "memd.cli.memory.learn", "prune"),
            Entry("forget", "memd.cli.memory.learn", "forget"),
        ),
    ),
    "skill": (
        "List and export skills made from the lessons of failures.",
        (
            Entry("list", "memd.cli.memory.skills", "list_"),
            Entry("show", "memd.cli.memory.skills", "show"),
            Entry("export", "memd.cli.memory.skills", "export"),
        ),
    ),
    "llm": (
        "Show the optional language model: its purposes, jobs and cost.",
        (Entry("status", "memd.cli.llm", "status"), Entry("jobs", "memd.cli.llm", "jobs")),
    ),
    "tune": (
        "Tune recall to your own memories, or undo it.",
        (
            Entry("run", "memd.cli.memory.tune", "run"),
            Entry("status", "memd.cli.memory.tune", "status"),
            Entry("cancel", "memd.cli.memory.tune", "cancel"),
            Entry("use", "memd.cli.memory.tune", "use"),
            Entry("undo", "memd.cli.memory.tune", "undo"),
        ),
    ),
    "org": (
        "Manage shared facts with their history: policies, decisions, procedures, conventions.",
        (
            Entry("write", "memd.cli.org.org", "write"),
            Entry("retract", "memd.cli.org.org", "retract"),
            Entry("show", "memd.cli.org.org", "show"),
            Entry("query", "memd.cli.org.org", "query"),
            Entry("policies", "memd.cli.org.org", "policies"),
            Entry("history", "memd.cli.org.org", "history"),
            Entry("propose", "memd.cli.org.review", "propose"),
            Entry("review", "memd.cli.org.review", "review"),
            Entry("as-of", "memd.cli.org.past", "as_of"),
            Entry("timeline", "memd.cli.org.past", "timeline"),
        ),
    ),
    "graph": (
        "Query and extend the graph of entities and their relations.",
        (
            Entry("neighbours", "memd.cli.org.graph", "neighbours"),
            Entry("path", "memd.cli.org.graph", "path"),
            Entry("query", "memd.cli.org.graph", "query"),
            Entry("add", "memd.cli.org.graph", "add"),
        ),
    ),
    "shared": (
        "Share memories among all agents.",
        (
            Entry("publish", "memd.cli.memory.shared", "publish"),
            Entry("search", "memd.cli.memory.shared", "search"),
            Entry("retract", "memd.cli.memory.shared", "retract"),
        ),
    ),
    "flagged": (
        "Review memories that look like attacks: release or quarantine them.",
        (
            Entry("list", "memd.cli.memory.flagged", "list_"),
            Entry("show", "memd.cli.memory.flagged", "show"),
            Entry("release", "memd.cli.memory.flagged", "release"),
            Entry("add", "memd.cli.memory.flagged", "add"),
        ),
    ),
    "model": (
        "Manage the embedding model: install, switch, export.",
        (
            Entry("install", "memd.cli.upkeep.models", "install"),
            Entry("list", "memd.cli.upkeep.choosing", "list_"),
            Entry("add", "memd.cli.upkeep.choosing", "add"),
            Entry("use", "memd.cli.upkeep.choosing", "use"),
            Entry("undo", "memd.cli.upkeep.choosing", "undo"),
            Entry("bench", "memd.cli.upkeep.choosing", "bench"),
            Entry("export", "memd.cli.upkeep.models", "export"),
            Entry("status", "memd.cli.upkeep.models", "status"),
        ),
    ),
    "agent": (
        "Manage per-agent settings: what an agent keeps, and for how long.",
        (
            Entry("set", "memd.cli.access.agent", "set_"),
            Entry("show", "memd.cli.access.agent", "show"),
            Entry("list", "memd.cli.access.agent", "list_"),
        ),
    ),
    "client": (
        "Manage client keys and their scopes.",
        (
            Entry("add", "memd.cli.access.client", "add"),
            Entry("list", "memd.cli.access.client", "list_"),
            Entry("revoke", "memd.cli.access.client", "revoke"),
        ),
    ),
    "owner": (
        "Manage the owner key, which signs what you write yourself.",
        (
            Entry("init", "memd.cli.org.owner", "init"),
            Entry("show", "memd.cli.org.owner", "show"),
        ),
    ),
    "audit": (
        "Show and verify the audit of all changes and refusals.",
        (
            Entry("show", "memd.cli.access.audit", "show"),
            Entry("verify", "memd.cli.access.audit", "verify"),
        ),
    ),
    "config": (
        "Show and change settings.",
        (
            Entry("show", "memd.cli.upkeep.config", "show"),
            Entry("path", "memd.cli.upkeep.config", "path"),
            Entry("set", "memd.cli.upkeep.setting", "set_value"),
            Entry("unset", "memd.cli.upkeep.setting", "unset"),
        ),
    ),
    "profile": (
        "Manage profiles: separate memories, each with its own daemon.",
        (
            Entry("list", "memd.cli.daemon.profile", "list_"),
            Entry("create", "memd.cli.daemon.profile", "create"),
            Entry("remove", "memd.cli.daemon.profile", "remove"),
        ),
    ),
    "service": (
        "Manage the daemon as a login service (systemd on Linux, launchd on macOS).",
        (
            Entry("install", "memd.cli.daemon.service", "install"),
            Entry("uninstall", "memd.cli.daemon.service", "uninstall"),
            Entry("status", "memd.cli.daemon.service", "status"),
        ),
    ),
}

SECTIONS: dict[str, tuple[str, ...]] = {
    "Get started": (
        "demo",
        "model",
        "service",
        "serve",
        "status",
        "stats",
        "completion",
        "version",
    ),
    "Memories": (
        "add",
        "import",
        "search",
        "recall",
        "get",
        "why",
        "list",
        "edit",
        "preference",
        "export",
        "wiki",
    ),
    "Assistants": ("connect", "doctor", "mcp", "hook", "statusline"),
    "Prompts and lessons": ("inject", "brief", "synthesize", "learn", "skill", "llm"),
    "Operational records": ("records",),
    "Naps and nights": ("usage", "sleep", "compress"),
    "Organisational memory": ("org", "graph", "shared"),
    "Archive, trash and erasure": ("archive", "delete", "trash", "forget"),
    "Access and audit": ("agent", "client", "owner", "audit", "flagged"),
    "Maintenance": (
        "config",
        "profile",
        "tune",
        "check",
        "rebuild",
        "backup",
        "restore",
        "repair",
    ),
}
"""The headings of ``memd --help``; every command stands under one."""


def app(only: str | None = None) -> typer.Typer:
    """Return the typer application; with *only*, with just that command or group in it."""
    from memd.cli import typed

    whole = typed.application(
        "Memory for the AI assistants on your own computer.",
        "Try: memd demo. Options and examples of a command: memd COMMAND --help",
        SECTIONS,
    )
    for entry in COMMANDS:
        if only in {None, entry.name}:
            typed.add(whole, entry.name, load(entry))
    for name, (summary, entries) in GROUPS.items():
        if only in {None, name}:
            commands = {entry.name: load(entry) for entry in entries}
            firsts = [line for each in commands.values() for line in _examples(each)[:1]]
            group = typed.application(summary, typed.examples(firsts))
            for inner, command in commands.items():
                typed.add(group, inner, command)
            whole.add_typer(group, name=name)
    return whole


def run(argv: Sequence[str]) -> int:
    """Run the command in *argv* (without the program's name); return its exit code.

    No MemdError and no SystemExit leaves here, nor what the system refuses about a
    file or a folder; anything else is a bug and does.
    """
    try:
        code = _run(list(argv))
        sys.stdout.flush()
    except MemdError as error:
        return complain(error)
    except Leave as leave:
        return leave.code
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if error.filename is None:
            raise
        return complain(unusable(error))
    return code


def find(argv: Sequence[str]) -> tuple[Entry, list[str]] | None:
    """Return the command that *argv* names and the words after it, or None."""
    first = argv[0] if argv else ""
    if first in GROUPS:
        second = argv[1] if len(argv) > 1 else ""
        chosen = [entry for entry in GROUPS[first][1] if entry.name == second]
        return (chosen[0], list(argv[2:])) if chosen else None
    chosen = [entry for entry in COMMANDS if entry.name == first]
    return (chosen[0], list(argv[1:])) if chosen else None


def load(entry: Entry) -> Callable[..., Any]:
    """Return the function of a command, importing its module."""
    command: Callable[..., Any] = getattr(importlib.import_module(entry.module), entry.function)
    return command


def _complete() -> int:
    """Answer a shell that asks what may follow; only what stands under the first word is loaded."""
    from memd.cli import completion

    completion.answer()
    first = completion.asked_for()
    known = first in GROUPS or first in {entry.name for entry in COMMANDS}
    try:
        app(first if known else None)(args=[], prog_name="memd")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else Exit.ERROR
    return Exit.OK


def _examples(command: Callable[..., Any]) -> tuple[str, ...]:
    return getattr(command, "examples", ())


def _run(argv: list[str]) -> int:
    if os.environ.get("_MEMD_COMPLETE"):
        return _complete()
    if argv == ["--version"]:
        argv = ["version"]
    invocation = find(argv)
    if invocation is not None:
        command = load(invocation[0])
        params = words.read(command, invocation[1])
        if params is not None:
            command(**params)
            return Exit.OK
    first = argv[0] if argv and (invocation or argv[0] in GROUPS) else None
    try:
        app(first)(args=argv or ["--help"], prog_name="memd")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else Exit.ERROR
    return Exit.OK
