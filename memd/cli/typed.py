"""The same commands as typer sees them: for ``--help``, and to say what was typed wrongly."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args

import typer

from memd.cli.options import Option


def application(help: str, epilog: str | None = None) -> typer.Typer:  # noqa: A002  # typer's word
    """Return an empty application that shows plain text, for a terminal of any kind."""
    made = typer.Typer(
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
    shown = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) if lines else None
    to.command(name, epilog=shown)(translated(command))


def translated(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return *command* with its options and arguments as typer's own."""
    signature = inspect.signature(command, eval_str=True)
    parameters = [
        parameter.replace(annotation=_translated(parameter.annotation))
        for parameter in signature.parameters.values()
    ]

    @functools.wraps(command)
    def call(*args: Any, **kwargs: Any) -> None:
        command(*args, **kwargs)

    del call.__wrapped__
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # functions carry one
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _translated(annotation: Any) -> Any:
    kind, how = get_args(annotation)
    if isinstance(how, Option):
        return Annotated[kind, typer.Option(*how.names, help=how.help, metavar=how.metavar)]
    return Annotated[kind, typer.Argument(help=how.help, metavar=how.metavar)]


def _nothing() -> None:
    """Keep a command's name in front of it even when it is the only one loaded."""
