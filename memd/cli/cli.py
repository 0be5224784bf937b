"""The command line: the table of commands, and what happens around each of them.

A command is a plain function in the module that the table names. Only the
module of the command that was typed is imported, so ``memd search`` does not pay
for what ``memd demo`` needs; ``--help`` and completion build the whole.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer

from memd.base.errors import MemdError
from memd.cli.say import Exit, Leave, complain


class Entry(NamedTuple):
    """Where a command lives."""

    name: str
    module: str
    function: str


COMMANDS: tuple[Entry, ...] = (
    Entry("demo", "memd.cli.demo", "demo"),
    Entry("serve", "memd.cli.running", "serve"),
    Entry("status", "memd.cli.running", "status"),
    Entry("add", "memd.cli.memories", "add"),
    Entry("search", "memd.cli.memories", "search"),
    Entry("recall", "memd.cli.memories", "recall"),
    Entry("get", "memd.cli.memories", "get"),
    Entry("list", "memd.cli.memories", "list_"),
    Entry("delete", "memd.cli.removal", "delete"),
    Entry("forget", "memd.cli.removal", "forget"),
    Entry("import", "memd.cli.transfer", "import_"),
    Entry("export", "memd.cli.transfer", "export"),
    Entry("check", "memd.cli.upkeep", "check"),
    Entry("rebuild", "memd.cli.upkeep", "rebuild"),
    Entry("backup", "memd.cli.upkeep", "backup"),
    Entry("version", "memd.cli.running", "version"),
)

GROUPS: dict[str, tuple[str, tuple[Entry, ...]]] = {
    "trash": (
        "What was deleted, and the way back.",
        (
            Entry("list", "memd.cli.removal", "trash_list"),
            Entry("restore", "memd.cli.removal", "trash_restore"),
        ),
    ),
    "model": (
        "The embedding model: install it, look at it, carry it to another machine.",
        (
            Entry("install", "memd.cli.models", "install"),
            Entry("export", "memd.cli.models", "export"),
            Entry("status", "memd.cli.models", "status"),
        ),
    ),
    "config": (
        "The settings and where they are read from.",
        (
            Entry("show", "memd.cli.config", "show"),
            Entry("path", "memd.cli.config", "path"),
        ),
    ),
    "service": (
        "The daemon as a service of your own login: systemd on Linux, launchd on macOS.",
        (
            Entry("install", "memd.cli.service", "install"),
            Entry("uninstall", "memd.cli.service", "uninstall"),
            Entry("status", "memd.cli.service", "status"),
        ),
    ),
}


def app(only: str | None = None) -> typer.Typer:
    """Return the typer application; with *only*, with just that command or group in it."""
    whole = _typer(
        help="The memory of the assistants on your own computer.",
        epilog="Start with `memd demo`. Every command has examples: memd COMMAND --help",
    )
    whole.callback()(_nothing)
    for entry in COMMANDS:
        if only in {None, entry.name}:
            _add(whole, entry)
    for name, (summary, entries) in GROUPS.items():
        if only in {None, name}:
            group = _typer(help=summary)
            group.callback()(_nothing)
            for entry in entries:
                _add(group, entry)
            whole.add_typer(group, name=name)
    return whole


def run(argv: Sequence[str]) -> int:
    """Run the command in *argv* (without the program's name); return its exit code.

    No MemdError and no SystemExit leaves here; anything else is a bug and does.
    """
    try:
        return _told(argv)
    except MemdError as error:
        return complain(error)
    except Leave as leave:
        return leave.code
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except KeyboardInterrupt:
        return 130


def _told(argv: Sequence[str]) -> int:
    first = argv[0] if argv else ""
    known = first in GROUPS or any(first == entry.name for entry in COMMANDS)
    try:
        app(first if known else None)(args=list(argv) or ["--help"], prog_name="memd")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else Exit.ERROR
    return Exit.OK


def _typer(help: str, epilog: str | None = None) -> typer.Typer:  # noqa: A002  # typer's own word
    return typer.Typer(
        help=help,
        epilog=epilog,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _nothing() -> None:
    """Keep a command's name in front of it even when it is the only one loaded."""


def _add(to: typer.Typer, entry: Entry) -> None:
    command: Callable[..., Any] = getattr(importlib.import_module(entry.module), entry.function)
    lines: tuple[str, ...] = getattr(command, "examples", ())
    shown = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) if lines else None
    to.command(entry.name, epilog=shown)(command)
