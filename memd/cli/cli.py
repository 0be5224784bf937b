"""Entry point of the command line: run the command that was typed and return its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from memd.base.errors import NO_ROOM, InvalidError, MemdError, unusable
from memd.cli import console, options
from memd.cli.commands import COMMANDS, GROUPS, find, similar
from memd.cli.console import CommandExit, Exit, report_error
from memd.cli.options import HELP_OPTIONS

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended: 128 + SIGINT, as shells report it."""

_VERSION_OPTIONS = (["--version"], ["-V"], ["-v"])


def run(argv: Sequence[str]) -> int:
    """Run the command in *argv* (without the program's name) and return its exit code.

    Reports MemdError, and OSError for a file, a folder or a full disk. Any other exception is a
    bug and is raised.
    """
    try:
        _run(_normalize(argv))
        sys.stdout.flush()
    except MemdError as error:
        return report_error(error)
    except CommandExit as leave:
        return leave.code
    except BrokenPipeError:
        _close_stdout()  # the reader of the output, such as head, has exited
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if error.filename is None:
            if error.errno not in NO_ROOM:
                raise
            # An error of write() names no file: stdout is redirected to a full disk.
            _close_stdout()
            error.filename = "stdout"
        return report_error(unusable(error))
    return Exit.OK


def _close_stdout() -> None:
    """Redirect stdout to /dev/null, because Python would flush it at exit and report an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _normalize(argv: Sequence[str]) -> list[str]:
    """Translate ``memd help COMMAND`` and ``memd -V`` into memd's own commands and options.

    >>> _normalize(["help", "trash", "list"]), _normalize(["-V"])
    (['trash', 'list', '--help'], ['version'])
    """
    if argv[:1] == ["help"]:
        return [*argv[1:], HELP_OPTIONS[-1]]
    return ["version"] if list(argv) in _VERSION_OPTIONS else list(argv)


def _run(argv: list[str]) -> None:
    """Run the command in *argv*, or print its help, or complete a line for a shell."""
    line = os.environ.get("_MEMD_COMPLETE")
    if line:
        _print_completions(line)
        return
    invocation = find(argv)
    if invocation is None:
        _run_without_command(argv)
        return
    entry, words = invocation
    command = entry.load()
    name = " ".join(argv[: len(argv) - len(words)])
    try:
        arguments = options.parse(command, words)
    except InvalidError as error:
        from memd.cli.help import usage

        hint = f"Usage: {usage(name, command)}\nHelp: memd {name} --help"
        raise InvalidError(error.message, hint=hint) from None
    if arguments is not None:
        if profile := arguments.pop("profile"):
            os.environ["MEMD_PROFILE"] = profile  # read by Paths.resolve
        console.use_json(arguments.pop("json", False))
        options.note_running(name, command, arguments)
        command(**arguments)
        return
    from memd.cli.help import command_help

    console.out_lines(command_help(name, command))


def _run_without_command(argv: list[str]) -> None:
    """Print the help of memd or of a group if *argv* requests it. Otherwise raise InvalidError."""
    first, second = [*argv, "", ""][:2]
    if not argv or first in HELP_OPTIONS:
        from memd.cli.help import program_help

        console.out_lines(program_help())
        return
    if second in HELP_OPTIONS and first in GROUPS:
        from memd.cli.help import group_help

        console.out_lines(group_help(GROUPS[first]))
        return
    if first.startswith("-") and any(word in COMMANDS or word in GROUPS for word in argv[1:]):
        raise InvalidError(
            f"options follow the command: {first}", hint="Usage: memd COMMAND [OPTIONS] [ARGUMENTS]"
        )
    group, word, names, listing = "", first, [*COMMANDS, *GROUPS], ""
    if first in GROUPS:
        group, word = f"{first} ", second
        names = [entry.name for entry in GROUPS[first].entries]
        listing = f"Commands: {', '.join(names)}\n"
    raise InvalidError(
        f"unknown command {word}{similar(word, names)}" if word else "a command is missing",
        hint=(
            f"{listing}Usage: memd {group}COMMAND [OPTIONS] [ARGUMENTS]\nHelp: memd {group}--help"
        ),
    )


def _print_completions(line: str) -> None:
    from memd.cli.help import completions

    for word, text in completions(line):
        console.out(f"{word}\t{text}")
