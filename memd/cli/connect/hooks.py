"""``memd hook`` and ``memd statusline``, called by assistants.

``memd.__main__`` runs them directly, before this package is imported; these functions provide
the help.
"""

from __future__ import annotations

from typing import Annotated

from memd.cli import options

_Client = Annotated[
    str | None,
    options.option(
        "--client", metavar="NAME", help="Client whose key to use; default: that of SOURCE."
    ),
]


@options.examples("memd hook claude-code UserPromptSubmit", "memd hook codex Stop --client work")
def hook(
    source: Annotated[str, options.Argument(metavar="SOURCE", help="Name of the assistant.")],
    event: Annotated[
        str, options.Argument(metavar="EVENT", help="Event, as the assistant names it.")
    ],
    client: _Client = None,
    profile: options.Profile = None,
) -> None:
    """Handle an event of an assistant, read from stdin; called by its hooks.

    Prints what the assistant is to read. Exits with 0, and prints nothing if the daemon is not
    running.
    """
    from memd.assist import hook as hooks

    more = [f"--client={client}"] if client else []
    hooks.run([source, event, *more, *([f"--profile={profile}"] if profile else [])])


@options.examples("memd statusline", "memd statusline -- ~/.claude/line.sh")
def statusline(
    command: Annotated[
        list[str] | None,
        options.Argument(
            metavar="[-- COMMAND...]", help="Your previous status line, which is still run."
        ),
    ] = None,
    client: _Client = None,
    profile: options.Profile = None,
) -> None:
    """Report Claude Code's context usage to memd, and print its status line."""
    from memd.assist import statusline as line

    more = [f"--client={client}"] if client else []
    more += [f"--profile={profile}"] if profile else []
    line.run([*more, *(["--", *command] if command else [])])
