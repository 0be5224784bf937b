"""The options that many commands share, each said once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., Any])

Profile = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help="Which memory to use; default: MEMD_PROFILE."),
]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON object on stdout.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
Agent = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="Whose memories; default: default.")
]
Category = Annotated[
    str | None,
    typer.Option(
        "--category",
        "-c",
        metavar="KIND",
        help="working, episodic, semantic, procedural or social.",
    ),
]
Namespace = Annotated[
    str | None, typer.Option("--namespace", metavar="NAME", help="Where it is filed.")
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="May be repeated.")
]


def examples(*lines: str) -> Callable[[Command], Command]:
    """Attach what a person would type to a command; ``--help`` shows it last."""

    def attach(command: Command) -> Command:
        command.examples = lines  # type: ignore[attr-defined]  # functions carry attributes
        return command

    return attach


def given(**params: Any) -> dict[str, Any]:
    """Return the parameters that were given, so that the daemon's own defaults hold.

    >>> given(query="x", top_k=None)
    {'query': 'x'}
    """
    return {name: value for name, value in params.items() if value is not None}
