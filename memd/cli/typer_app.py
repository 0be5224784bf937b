"""The commands as a typer application: for ``--help``, mistakes, and completion in shells."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from memd.base.errors import InvalidError
from memd.cli import options, say
from memd.cli.options import Option

OTHERS = "Commands"


def new_application(
    help: str,  # noqa: A002  # typer's word
    epilog: str | None = None,
    sections: Mapping[str, tuple[str, ...]] | None = None,
) -> typer.Typer:
    """Return an empty application with plain-text help.

    Its help lists the commands under the headings of *sections*, and the rest at the end.
    """

    class Group(_SectionedGroup):
        headings: ClassVar = dict(sections or {})

    application = typer.Typer(
        cls=Group,
        help=help,
        epilog=epilog,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    application.callback()(_no_callback)
    return application


def add(to: typer.Typer, name: str, command: Callable[..., Any]) -> None:
    """Add *command* to an application as *name*, with its examples."""
    lines: tuple[str, ...] = getattr(command, "examples", ())
    to.command(name, cls=_Plain, epilog=examples(lines))(translate(command))


def examples(lines: Iterable[str]) -> str | None:
    """Return the examples section of a help text, or None if there are none."""
    text = "".join(f"\n  {line}" for line in lines)
    return f"\b\nExamples:{text}" if text else None


def translate(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return *command* with its parameters declared for typer."""
    signature = inspect.signature(command, eval_str=True)
    parameters = [
        parameter.replace(annotation=_translate_annotation(parameter.name, parameter.annotation))
        for parameter in signature.parameters.values()
    ]

    @functools.wraps(command)
    def call(*args: Any, **kwargs: Any) -> None:
        command(*args, **kwargs)

    del call.__wrapped__
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # functions carry one
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _translate_annotation(name: str, annotation: Any) -> Any:
    kind, declared = get_args(annotation)
    if isinstance(declared, Option):
        return Annotated[
            kind, typer.Option(*declared.names, help=declared.help, metavar=declared.metavar)
        ]
    # Typer itself adds the brackets and dots for "optional" and "several".
    word = (declared.metavar or name.upper()).strip("[].")
    return Annotated[kind, typer.Argument(help=declared.help, metavar=word)]


def _no_callback() -> None:
    """Make typer expect the command's name even if only one command is loaded."""


class _SectionedGroup(TyperGroup):
    """A group whose help lists the first sentence of each command under headings."""

    headings: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, in the order of the headings and otherwise as added."""
        del ctx
        listed = {name for names in self.headings.values() for name in names}
        others = tuple(name for name in self.commands if name not in listed)
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
    """A command whose help shows arguments by their metavar, without types and braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage pieces that follow the command's name."""
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
    """Return *text* up to its first full stop.

    >>> first_sentence("Print one memory. It is named by its id.")
    'Print one memory.'
    """
    first = " ".join(text.partition("\n\n")[0].split())
    sentence, stop, _ = first.partition(". ")
    return sentence + "." if stop else first


VARIABLE = "_MEMD_COMPLETE"
"""Set by a shell that requests completions."""

SHELLS = ("bash", "zsh", "fish")


@options.examples(
    'eval "$(memd completion bash)"   # in ~/.bashrc',
    'eval "$(memd completion zsh)"    # in ~/.zshrc, after compinit',
    "memd completion fish | source    # in ~/.config/fish/config.fish",
)
def completion(
    shell: Annotated[str, options.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the completion script for a shell."""
    if shell not in SHELLS:
        raise InvalidError(f"no completion for {say.line(shell)}", hint="bash, zsh or fish")
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # not in __all__

    say.out(get_completion_script(prog_name="memd", complete_var=VARIABLE, shell=shell).strip())


def first_word() -> str | None:
    """Return the first word after ``memd`` in a completion request, None if it is none."""
    if not os.environ.get(VARIABLE):
        return None
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    words = line.split()
    complete = len(words) > 2 or (len(words) > 1 and line[-1:].isspace())  # noqa: PLR2004  # memd and a word
    return words[1] if complete else ""


def enable_completion() -> None:
    """Prepare typer to answer a completion request."""
    from typer.completion import completion_init  # type: ignore[attr-defined]  # not in __all__

    completion_init()
