"""Declarations of a command's parameters, used in the annotations of its function.

``Option`` and ``Argument`` are plain values, so importing a command's module is cheap. They
are read by ``parser``, which handles valid command lines, and by ``typer_app``, which shows
help and explains mistakes. Parsing every command line with typer would dominate the run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

Command = TypeVar("Command", bound=Callable[..., Any])


class Option(NamedTuple):
    """A named option. It takes a value unless the parameter is a bool."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None


class Argument(NamedTuple):
    """A positional argument."""

    help: str
    metavar: str | None = None


def option(*names: str, help: str, metavar: str | None = None) -> Option:  # noqa: A002  # the field's word
    """Return the option with these *names*; ``--a/--no-a`` is a pair of flags."""
    return Option(names, help, metavar)


def examples(*lines: str) -> Callable[[Command], Command]:
    """Attach example command lines to a command; ``--help`` shows them last."""

    def attach(command: Command) -> Command:
        command.examples = lines  # type: ignore[attr-defined]  # functions carry attributes
        return command

    return attach


def without_none(**params: Any) -> dict[str, Any]:
    """Return the parameters that are not None, so that the daemon's defaults apply to the rest.

    >>> without_none(query="x", top_k=None)
    {'query': 'x'}
    """
    return {name: value for name, value in params.items() if value is not None}


def join_words(words: Sequence[str]) -> str:
    """Join *words* with spaces, so that a text needs no quotes on the command line.

    >>> join_words(["how", "do", "we", "deploy?"])
    'how do we deploy?'
    """
    return " ".join(words)


# Options shared by many commands.

Profile = Annotated[
    str | None,
    option("--profile", metavar="NAME", help="Profile to use; default: $MEMD_PROFILE."),
]
Json = Annotated[bool, option("--json", help="Print one JSON object.")]
Yes = Annotated[bool, option("--yes", "-y", help="Do not ask for confirmation.")]
DryRun = Annotated[bool, option("--dry-run", help="Show what would be done; change nothing.")]
Agent = Annotated[
    str | None,
    option(
        "--agent",
        metavar="NAME",
        help='Agent of the memories; default: "default", shared by all assistants.',
    ),
]
Limit = Annotated[int, option("--limit", "-n", metavar="N", help="Maximum number of results.")]
MemoryId = Annotated[str, Argument(metavar="ID", help="Id, as printed by search or list.")]
MemoryIds = Annotated[
    list[str], Argument(metavar="ID...", help="Ids, as printed by search or list.")
]
Category = Annotated[
    str | None,
    option(
        "--category",
        "-c",
        metavar="CATEGORY",
        help="working, episodic, semantic, procedural or social.",
    ),
]
Namespace = Annotated[
    str | None, option("--namespace", metavar="NAME", help="Namespace within the agent.")
]
Tags = Annotated[
    list[str] | None, option("--tag", "-t", metavar="TAG", help="Tag; may be repeated.")
]
Since = Annotated[
    str | None,
    option(
        "--since",
        metavar="TIME",
        help='From this time on: "last week", yesterday, March, 2026-03-31.',
    ),
]
Until = Annotated[
    str | None,
    option("--until", metavar="TIME", help="Before this time; formats as for --since."),
]
Session = Annotated[str | None, option("--session", metavar="ID", help="Session id.")]
Project = Annotated[str | None, option("--project", metavar="ID", help="Project id.")]
PromptProject = Annotated[
    str | None,
    option("--project", metavar="ID", help="Project id; default: that of the working directory."),
]
