"""``memd completion``: shell completion of commands and options. Needs no daemon."""

from __future__ import annotations

import os
from typing import Annotated

from memd.base.errors import InvalidError
from memd.cli import options, say

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


def enable() -> None:
    """Prepare typer to answer a completion request."""
    from typer.completion import completion_init  # type: ignore[attr-defined]  # not in __all__

    completion_init()
