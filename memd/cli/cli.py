"""Entry point of the command line: the table of commands, dispatch and exit codes.

A command is a plain function in the module that the table names. Only the module of the given
command is imported, and typer only to show help or explain a mistake, so ``memd search``
answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.base.errors import MemdError, unusable
from memd.cli import parser
from memd.cli.say import CommandExit, Exit, report_error

if TYPE_CHECKING:
    import typer


INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended, by convention of shells."""


class Entry(NamedTuple):
    """Name and location of a command."""

    name: str
    module: str
    function: str


COMMANDS: tuple[Entry, ...] = (
    Entry("demo", "memd.cli.demo", "demo"),
    Entry("serve", "memd.cli.daemon.serve", "serve"),
    Entry("status", "memd.cli.daemon.serve", "status"),
    Entry("stats", "memd.cli.daemon.stats", "stats"),
    Entry("add", "memd.cli.memory.memories", "add"),
    Entry("search", "memd.cli.memory.memories", "search"),
    Entry("recall", "memd.cli.memory.memories", "recall"),
    Entry("inject", "memd.cli.memory.inject", "inject"),
    Entry("brief", "memd.cli.memory.inject", "brief"),
    Entry("synthesize", "memd.cli.memory.inject", "synthesize"),
    Entry("get", "memd.cli.memory.memories", "get"),
    Entry("why", "memd.cli.memory.entry", "why"),
    Entry("edit", "memd.cli.memory.entry", "edit"),
    Entry("list", "memd.cli.memory.memories", "list_"),
    Entry("delete", "memd.cli.memory.removal", "delete"),
    Entry("forget", "memd.cli.memory.removal", "forget"),
    Entry("import", "memd.cli.transfer.transfer", "import_"),
    Entry("export", "memd.cli.transfer.export", "export"),
    Entry("usage", "memd.cli.sleep.usage", "usage"),
    Entry("records", "memd.cli.records", "records"),
    Entry("sleep", "memd.cli.sleep.sleep", "sleep"),
    Entry("compress", "memd.cli.sleep.sleep", "compress"),
    Entry("wiki", "memd.cli.sleep.wiki", "wiki"),
    Entry("check", "memd.cli.upkeep.upkeep", "check"),
    Entry("rebuild", "memd.cli.upkeep.upkeep", "rebuild"),
    Entry("backup", "memd.cli.upkeep.backup", "backup"),
    Entry("restore", "memd.cli.upkeep.backup", "restore"),
    Entry("repair", "memd.cli.upkeep.backup", "repair"),
    Entry("connect", "memd.cli.connect.connect", "connect"),
    Entry("doctor", "memd.cli.connect.doctor", "doctor"),
    Entry("mcp", "memd.cli.connect.connect", "mcp"),
    Entry("hook", "memd.cli.connect.connect", "hook"),
    Entry("statusline", "memd.cli.connect.connect", "statusline"),
    Entry("completion", "memd.cli.typer_app", "completion"),
    Entry("version", "memd.cli.daemon.serve", "version"),
)

GROUPS: dict[str, tuple[str, tuple[Entry, ...]]] = {
    "preference": (
        "Manage preferences, which every prompt contains.",
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
            Entry("list", "memd.cli.memory.learn", "list_skills"),
            Entry("show", "memd.cli.memory.learn", "show_skill"),
            Entry("export", "memd.cli.memory.learn", "export_skills"),
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
            Entry("as-of", "memd.cli.org.history", "as_of"),
            Entry("timeline", "memd.cli.org.history", "timeline"),
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
            Entry("list", "memd.cli.upkeep.model_switch", "list_"),
            Entry("add", "memd.cli.upkeep.model_switch", "add"),
            Entry("use", "memd.cli.upkeep.model_switch", "use"),
            Entry("undo", "memd.cli.upkeep.model_switch", "undo"),
            Entry("bench", "memd.cli.upkeep.model_switch", "bench"),
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
            Entry("set", "memd.cli.upkeep.config", "set_value"),
            Entry("unset", "memd.cli.upkeep.config", "unset"),
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
"""Headings of ``memd --help``. Each command and group is listed under one of them."""


def app(only: str | None = None) -> typer.Typer:
    """Return the typer application, with all commands or with the command or group *only*."""
    from memd.cli import typer_app

    application = typer_app.new_application(
        "Memory for the AI assistants on your own computer.",
        "Try: memd demo. Options and examples of a command: memd COMMAND --help",
        SECTIONS,
    )
    for entry in COMMANDS:
        if only in {None, entry.name}:
            typer_app.add(application, entry.name, load(entry))
    for name, (summary, entries) in GROUPS.items():
        if only in {None, name}:
            commands = {entry.name: load(entry) for entry in entries}
            first_examples = [line for each in commands.values() for line in _examples(each)[:1]]
            group = typer_app.new_application(summary, typer_app.examples(first_examples))
            for inner, command in commands.items():
                typer_app.add(group, inner, command)
            application.add_typer(group, name=name)
    return application


def run(argv: Sequence[str]) -> int:
    """Run the command in *argv* (without the program's name) and return its exit code.

    Handles MemdError, SystemExit, and an OSError about a file or folder. Any other exception is
    a bug and is raised.
    """
    try:
        code = _run(list(argv))
        sys.stdout.flush()
    except MemdError as error:
        return report_error(error)
    except CommandExit as leave:
        return leave.code
    except BrokenPipeError:
        # The reader of our output has closed the pipe. Python would report it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if error.filename is None:
            raise
        return report_error(unusable(error))
    return code


def find(argv: Sequence[str]) -> tuple[Entry, list[str]] | None:
    """Return the command that *argv* names and its arguments, or None."""
    first = argv[0] if argv else ""
    if first in GROUPS:
        second = argv[1] if len(argv) > 1 else ""
        matches = [entry for entry in GROUPS[first][1] if entry.name == second]
        return (matches[0], list(argv[2:])) if matches else None
    matches = [entry for entry in COMMANDS if entry.name == first]
    return (matches[0], list(argv[1:])) if matches else None


def load(entry: Entry) -> Callable[..., Any]:
    """Import the module of a command and return its function."""
    command: Callable[..., Any] = getattr(importlib.import_module(entry.module), entry.function)
    return command


def _complete() -> int:
    """Answer a completion request of a shell, loading only the command or group it is about."""
    from memd.cli import typer_app

    typer_app.enable_completion()
    first = typer_app.first_word()
    is_command = first in GROUPS or first in {entry.name for entry in COMMANDS}
    try:
        app(first if is_command else None)(args=[], prog_name="memd")
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
        params = parser.parse(command, invocation[1])
        if params is not None:
            command(**params)
            return Exit.OK
    first = argv[0] if argv and (invocation or argv[0] in GROUPS) else None
    try:
        app(first)(args=argv or ["--help"], prog_name="memd")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else Exit.ERROR
    return Exit.OK
