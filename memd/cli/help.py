"""Help texts and shell completion, made from the declarations of the commands."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any

from memd.base.errors import InvalidError
from memd.cli import console, options
from memd.cli.commands import GROUPS, SECTIONS, Entry, Group, find
from memd.cli.options import Argument, Option, parameters

WIDTH_MAX = 78
_TERM_MAX = 30
"""Width of the first column of a list; a longer term gets a line of its own."""

SCRIPTS = {
    "bash": r"""
_memd_completion() {
    local IFS=' ' line
    line="${COMP_WORDS[*]:0:COMP_CWORD+1}"
    IFS=$'\n'
    COMPREPLY=( $(_MEMD_COMPLETE="$line" memd | cut -f 1) )
}
complete -o default -F _memd_completion memd""",
    "zsh": r"""
#compdef memd
_memd_completion() {
  local -a rows
  rows=(${(f)"$(_MEMD_COMPLETE="${words[1,CURRENT]}" memd)"})
  rows=("${rows[@]/$'\t'/:}")
  _describe command rows || _files
}
compdef _memd_completion memd""",
    "fish": r"""
complete --command memd --arguments '(env _MEMD_COMPLETE=(commandline -cp) memd)'""",
}
"""Shell code that calls memd with the line up to the cursor, and offers the words that it prints.

memd prints a word, a tab and its help on each line. zsh and fish show the help, bash cuts it off.
"""


@options.examples(
    'eval "$(memd completion bash)"   # in ~/.bashrc',
    'eval "$(memd completion zsh)"    # in ~/.zshrc, after compinit',
    "memd completion fish | source    # in ~/.config/fish/config.fish",
    has_json=False,
)
def completion(shell: Annotated[str, "SHELL", "bash, zsh or fish."]) -> None:
    """Print the completion script for a shell."""
    if shell not in SCRIPTS:
        raise InvalidError(f"no completion for {console.line(shell)}", hint="bash, zsh or fish")
    console.out_lines(SCRIPTS[shell].strip().splitlines())


def completions(line: str) -> list[tuple[str, str]]:
    """Return the words that may complete *line*, a command line up to the cursor; and their help.

    >>> [word for word, _ in completions("memd preference de")]
    ['delete']
    """
    words = line.split()
    last = "" if line[-1:].isspace() else words.pop()
    typed = words[1:]
    invocation = find(typed)
    rows: Iterable[tuple[str, str]] = ()
    if not typed:
        rows = [_summary_row(item) for items in SECTIONS.values() for item in items]
    elif invocation is not None and last.startswith("-"):
        rows = [(name, how.help) for how in _options(invocation[0].load()) for name in how.names]
    elif typed[0] in GROUPS and len(typed) == 1:
        rows = map(_summary_row, GROUPS[typed[0]].entries)
    return [(word, text) for word, text in rows if word.startswith(last)]


def program_help() -> Iterator[str]:
    """Yield the lines of ``memd --help``."""
    yield from ("Usage: memd COMMAND [OPTIONS] [ARGUMENTS]", "")
    yield from ("  Memory for the AI assistants on your own computer.", "")
    for heading, items in SECTIONS.items():
        yield from _list(heading, [_summary_row(item) for item in items])
    yield "Try: memd demo. Options and examples of a command: memd COMMAND --help"


def group_help(group: Group) -> Iterator[str]:
    """Yield the lines of ``memd GROUP --help``: the commands, and an example of each."""
    yield from (f"Usage: memd {group.name} COMMAND [OPTIONS] [ARGUMENTS]", "")
    yield from (*_wrap(group.summary, "  "), "")
    yield from _list("Commands", [_summary_row(entry) for entry in group.entries])
    yield from _examples(line for entry in group.entries for line in _examples_of(entry.load())[:1])


def command_help(name: str, command: Callable[..., Any]) -> Iterator[str]:
    """Yield the lines of the help of a command, which is called *name*."""
    yield from (f"Usage: {usage(name, command)}", "")
    for paragraph in (inspect.getdoc(command) or "").split("\n\n"):
        yield from (*_wrap(paragraph, "  "), "")
    arguments = [(term.strip("[]."), text) for term, text in _arguments(command)]
    rows = [(_term(option), option.help) for option in _options(command)]
    yield from _list("Arguments", arguments)
    yield from _list("Options", [*rows, ("-h, --help", "Show this message and exit.")])
    yield from _examples(_examples_of(command))


def usage(name: str, command: Callable[..., Any]) -> str:
    """Return the line of usage of a command.

    >>> usage("completion", completion)
    'memd completion [OPTIONS] SHELL'
    """
    return " ".join([f"memd {name} [OPTIONS]", *(term for term, _ in _arguments(command))])


def first_sentence(text: str) -> str:
    """Return the first sentence of *text*, or its first paragraph.

    >>> first_sentence("Print one memory. It is named by its id.")
    'Print one memory.'
    """
    first = " ".join(text.partition("\n\n")[0].split())
    sentence, stop, _ = first.partition(". ")
    return sentence + "." if stop else first


def _summary_row(item: Entry | Group) -> tuple[str, str]:
    if isinstance(item, Group):
        return item.name, item.summary
    return item.name, first_sentence(item.load().__doc__ or "")


def _options(command: Callable[..., Any]) -> list[Option]:
    return [
        parameter.declaration
        for parameter in parameters(command)
        if isinstance(parameter.declaration, Option)
    ]


def _examples_of(command: Callable[..., Any]) -> tuple[str, ...]:
    return getattr(command, "examples", ())


def _arguments(command: Callable[..., Any]) -> list[tuple[str, str]]:
    """Return each argument as it is written in a line of usage, and its help."""
    rows = []
    for parameter in parameters(command):
        how = parameter.declaration
        if isinstance(how, Argument):
            lacks_dots = parameter.many and "..." not in how.metavar
            term = f"{how.metavar}..." if lacks_dots else how.metavar
            is_optional = not parameter.required and "[" not in term
            rows.append((f"[{term}]" if is_optional else term, how.help))
    return rows


def _term(option: Option) -> str:
    """Return the names of an option, the short one first, and its value: ``-n, --limit N``."""
    names = sorted(option.names, key=lambda name: name.startswith("--"))
    text = ", ".join(names)
    return f"{text} {option.metavar}" if option.metavar else text


def _examples(lines: Iterable[str]) -> Iterator[str]:
    yield "Examples:"
    yield from (f"  {line}" for line in lines)


def _list(heading: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a heading and *rows* of terms with their texts in two columns; nothing for no rows."""
    if not rows:
        return
    yield f"{heading}:"
    column = min(max(len(term) for term, _ in rows), _TERM_MAX) + 4
    for term, text in rows:
        first_line, *other_lines = _wrap(text, " " * column)
        label = f"  {term}".ljust(column)
        if len(term) > _TERM_MAX:
            yield label
            label = " " * column
        yield label + first_line[column:]
        yield from other_lines
    yield ""


def _wrap(text: str, indent: str) -> list[str]:
    words = " ".join(text.split())
    room = min(WIDTH_MAX, console.width())
    return textwrap.wrap(
        words, room, initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
