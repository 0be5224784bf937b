"""The same commands as typer sees them: for ``--help``, and to say what was typed wrongly."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from memd.cli.options import Option

OTHERS = "Commands"


def application(
    help: str,  # noqa: A002  # typer's word
    epilog: str | None = None,
    sections: Mapping[str, tuple[str, ...]] | None = None,
) -> typer.Typer:
    """Return an empty application that shows plain text, for a terminal of any kind.

    Its help lists the commands under the headings of *sections*, those that no
    section names at the end.
    """

    class Listed(_Listed):
        headings: ClassVar = dict(sections or {})

    made = typer.Typer(
        cls=Listed,
        help=help,
        epilog=epilog,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_nothing)
    return made


def add(to: typer.Typer, name: str, command: Callable[..., Any]) -> None:
    """Add *command* to an application under *name*, with its examples."""
    lines: tuple[str, ...] = getattr(command, "examples", ())
    to.command(name, cls=_Plain, epilog=examples(lines))(translated(command))


def examples(lines: Iterable[str]) -> str | None:
    """Return the end of a help text, or None without examples."""
    shown = "".join(f"\n  {line}" for line in lines)
    return f"\b\nExamples:{shown}" if shown else None


def translated(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return *command* with its options and arguments as typer's own."""
    signature = inspect.signature(command, eval_str=True)
    parameters = [
        parameter.replace(annotation=_translated(parameter.name, parameter.annotation))
        for parameter in signature.parameters.values()
    ]

    @functools.wraps(command)
    def call(*args: Any, **kwargs: Any) -> None:
        command(*args, **kwargs)

    del call.__wrapped__
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # functions carry one
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _translated(name: str, annotation: Any) -> Any:
    kind, how = get_args(annotation)
    if isinstance(how, Option):
        return Annotated[kind, typer.Option(*how.names, help=how.help, metavar=how.metavar)]
    # Typer itself adds the brackets and dots that say "may be left out" and "several".
    word = (how.metavar or name.upper()).strip("[].")
    return Annotated[kind, typer.Argument(help=how.help, metavar=word)]


def _nothing() -> None:
    """Keep a command's name in front of it even when it is the only one loaded."""


class _Listed(TyperGroup):
    """A group whose help shows the whole first sentence of each command, under headings."""

    headings: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, in the order of the headings or in which they were added."""
        del ctx
        placed = {name for names in self.headings.values() for name in names}
        others = tuple(name for name in self.commands if name not in placed)
        for heading, names in (*self.headings.items(), (OTHERS, others)):
            rows = [
                (name, first_sentence(self.commands[name].help or ""))
                for name in names
                if name in self.commands
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


class _Plain(TyperCommand):
    """A command whose help names its arguments as its documentation does: no types, no braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what stands behind the command's name."""
        return [
            piece.strip("{}").replace("}...", "...") for piece in super().collect_usage_pieces(ctx)
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options."""
        for heading, kind in (("Arguments", "argument"), ("Options", "option")):
            rows = [
                (param.metavar or "", str(getattr(param, "help", "")))
                if kind == "argument"
                else record
                for param in self.get_params(ctx)
                if param.param_type_name == kind and (record := param.get_help_record(ctx))
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def first_sentence(text: str) -> str:
    """Return what ends with the first full stop.

    >>> first_sentence("Print one memory. It is named by its id.")
    'Print one memory.'
    """
    first = " ".join(text.partition("\n\n")[0].split())
    sentence, stop, _ = first.partition(". ")
    return sentence + "." if stop else first
