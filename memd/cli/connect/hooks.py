"""What an assistant's hooks and status line call; both are run without the command line.

``memd.__main__`` takes them before anything of this is loaded. What is here is their help.
"""

from __future__ import annotations

from typing import Annotated

from memd.cli import options

_Client = Annotated[
    str | None,
    options.option("--client", metavar="NAME", help="Whose key to present, if not SOURCE's."),
]


@options.examples("memd hook claude-code UserPromptSubmit", "memd hook codex Stop --client work")
def hook(
    source: Annotated[str, options.Argument(metavar="SOURCE", help="Which assistant.")],
    event: Annotated[str, options.Argument(metavar="EVENT", help="What happened, in its words.")],
    client: _Client = None,
    profile: options.Profile = None,
) -> None:
    """Take one event of an assistant on stdin and print what it is to read; for hooks to call.

    Always exit code 0, and nothing printed when the daemon is not there.
    """
    from memd.assist import hook as hooks

    more = [f"--client={client}"] if client else []
    hooks.run([source, event, *more, *([f"--profile={profile}"] if profile else [])])


@options.examples("memd statusline", "memd statusline -- ~/.claude/line.sh")
def statusline(
    command: Annotated[
        list[str] | None,
        options.Argument(metavar="[-- COMMAND...]", help="The status line of before, kept."),
    ] = None,
    client: _Client = None,
    profile: options.Profile = None,
) -> None:
    """Tell memd how full Claude Code's window is, and print a short line; for it to call."""
    from memd.assist import statusline as line

    more = [f"--client={client}"] if client else []
    more += [f"--profile={profile}"] if profile else []
    line.run([*more, *(["--", *command] if command else [])])
