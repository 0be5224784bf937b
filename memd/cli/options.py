"""What a command accepts, said once, in the annotations of its function.

``Option`` and ``Argument`` are plain values, so that a command's module costs
nothing to import. Two readers understand them: ``words`` for what is typed
correctly, which is nearly always, and typer (``typed``) for help and for saying
what is wrong. Typer alone would cost a search most of its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

Command = TypeVar("Command", bound=Callable[..., Any])


class Option(NamedTuple):
    """A named option; the parameter's type says whether it takes a value."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None


class Argument(NamedTuple):
    """A word by position."""

    help: str
    metavar: str | None = None


def option(*names: str, help: str, metavar: str | None = None) -> Option:  # noqa: A002  # the field's word
    """Return the option called *names*; ``--a/--no-a`` is a choice of two."""
    return Option(names, help, metavar)


def examples(*lines: str) -> Callable[[Command], Command]:
    """Attach what a person would type to a command; ``--help`` shows it last."""

    def attach(command: Command) -> Command:
        command.examples = lines  # type: ignore[attr-defined]  # functions carry attributes
        return command

    return attach


def without_none(**params: Any) -> dict[str, Any]:
    """Return the parameters that were given, so that the daemon's own defaults hold.

    >>> without_none(query="x", top_k=None)
    {'query': 'x'}
    """
    return {name: value for name, value in params.items() if value is not None}


def joined(words: Sequence[str]) -> str:
    """Return words as the text that they are, so that a text needs no quotes.

    >>> joined(["how", "do", "we", "deploy?"])
    'how do we deploy?'
    """
    return " ".join(words)


# The options that many commands share.

Profile = Annotated[
    str | None,
    option("--profile", metavar="NAME", help="Profile to use; default: $MEMD_PROFILE."),
]
Json = Annotated[bool, option("--json", help="Print one JSON object.")]
Yes = Annotated[bool, option("--yes", "-y", help="Do not ask for confirmation.")]
DryRun = Annotated[bool, option("--dry-run", help="Show what would be done; change nothing.")]
Agent = Annotated[
    str | None,
    option("--agent", metavar="NAME", help="Agent that the memories belong to; default: default."),
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
