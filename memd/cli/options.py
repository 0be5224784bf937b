"""Declare the parameters of commands, and parse a command line.

A command declares its parameters in the annotations of its function: type, usage and help, as in
``Annotated[int, "--limit, -n N", "Page size."]``. The usage of an argument is a name: ``ID...``. A
flag sets its parameter to True, one called ``--no-...`` to False. Options and arguments may be
given in any order; ``--`` ends the options (decision 0249).
"""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin

from memd.base.errors import InvalidError
from memd.base.paths import DEFAULT_PROFILE, Paths
from memd.cli.commands import similar
from memd.domain.enums import MemoryCategory

Command = TypeVar("Command", bound=Callable[..., Any])


class Option(NamedTuple):
    """A named option. It takes a value unless the parameter is a bool."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    least: int | None = None
    """The smallest number that is accepted."""


class Argument(NamedTuple):
    """A positional argument."""

    help: str
    metavar: str


def examples(*lines: str, has_json: bool = True) -> Callable[[Command], Command]:
    """Attach example command lines to a command; ``--help`` shows them last.

    *has_json* tells whether the command has the option ``--json``.
    """

    def attach(command: Command) -> Command:
        command.examples = lines  # type: ignore[attr-defined]  # functions carry attributes
        command.has_json = has_json  # type: ignore[attr-defined]
        return command

    return attach


def without_none(**params: Any) -> dict[str, Any]:
    """Return the parameters that are not None, so that the daemon's defaults apply to the rest.

    >>> without_none(query="x", top_k=None)
    {'query': 'x'}
    """
    return {name: value for name, value in params.items() if value is not None}


NAP_KINDS = frozenset(
    (
        "decision",
        "correction",
        "preference",
        "constraint",
        "environment",
        "fix",
        "outcome",
        "digest",
    )
)
"""Kinds of memories that naps store; lists show them instead of the category."""


def filters(category: str | None, namespace: str | None, tag: list[str] | None) -> dict[str, Any]:
    """Return the params that filter memories by one category, one namespace and tags.

    *category* may also be one of NAP_KINDS, which is filtered by two tags.

    >>> filters("decision", None, ["git"])["tags"]
    ['git', 'nap', 'decision']
    """
    tags = list(tag or ())
    if category in NAP_KINDS:
        tags += ["nap", category]
        category = None
    elif category and category not in frozenset(MemoryCategory):
        raise InvalidError(
            f"--category must be {_enumerate(MemoryCategory)}, or a kind of what naps store:"
            f" {_enumerate(sorted(NAP_KINDS))}"
        )
    return {
        "categories": [category] if category else None,
        "namespaces": [namespace] if namespace else None,
        "tags": tags or None,
    }


def _enumerate(names: Iterable[str]) -> str:
    """Join *names* with commas and "or".

    >>> _enumerate(["a", "b", "c"])
    'a, b or c'
    """
    *first, last = names
    return f"{', '.join(first)} or {last}"


def text_or_stdin(word: str) -> str:
    """Return *word*, or the text of stdin for ``-``. Raises InvalidError unless that is UTF-8."""
    if word != "-":
        return word
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidError("stdin is not UTF-8 text") from error
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def join_words(words: Sequence[str]) -> str:
    """Join *words* with spaces, so that a text needs no quotes on the command line.

    >>> join_words(["how", "do", "we", "deploy?"])
    'how do we deploy?'
    """
    return " ".join(words)


HELP_OPTIONS = ("-h", "--help")


class Parameter(NamedTuple):
    """One parameter of a command: name, type, default and declaration."""

    name: str
    kind: type
    many: bool
    required: bool
    default: Any
    declaration: Option | Argument


PROFILE = Parameter(
    "profile", str, False, False, None,
    Option(("--profile",), "Profile to use; default: $MEMD_PROFILE.", "NAME"),
)  # fmt: skip
"""A parameter of every command; the entry point handles it."""
JSON = Parameter("json", bool, False, False, False, Option(("--json",), "Print one JSON object."))
"""A parameter of all commands that print data; the entry point handles it."""


def parameters(command: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of *command* in order, then JSON if the command has it, and PROFILE."""
    rows = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        annotation, *declared = get_args(parameter.annotation)
        kind, many = _plain(annotation)
        required = parameter.default is inspect.Parameter.empty
        default = None if required else parameter.default
        declaration = _declare(*declared)
        rows.append(Parameter(parameter.name, kind, many, required, default, declaration))
    return [*rows, *([JSON] if getattr(command, "has_json", False) else []), PROFILE]


def _declare(usage: str, text: str, least: int | None = None) -> Option | Argument:
    """Return the option or argument that an annotation declares.

    >>> _declare("--limit, -n N", "Page size.")
    Option(names=('--limit', '-n'), help='Page size.', metavar='N', least=None)
    """
    if not usage.startswith("-"):
        return Argument(text, usage)
    names, _, metavar = usage.replace(", ", ",").partition(" ")
    return Option(tuple(names.split(",")), text, metavar or None, least)


def command_line(name: str, command: Callable[..., Any], /, **arguments: Any) -> str:
    """Return the command line that runs *command*, called *name*, with *arguments*.

    Arguments with default values are left out. The profile is added unless it is the default one.
    """
    profile = Paths.resolve().profile
    arguments["profile"] = None if profile == DEFAULT_PROFILE else profile
    words: list[str] = ["memd", *name.split()]
    plain: list[str] = []
    for parameter in parameters(command):
        value = arguments.get(parameter.name)
        if value in (None, parameter.default):
            continue
        texts = [str(item) for item in (value if parameter.many else (value,))]
        if isinstance(parameter.declaration, Argument):
            plain += texts
            continue
        names = parameter.declaration.names
        if parameter.kind is bool:
            words.append(next(flag for flag in names if flag.startswith("--no-") is not value))
        else:
            words += (word for text in texts for word in (names[0], text))
    if any(text.startswith("-") for text in plain):
        words.append("--")
    return shlex.join(words + plain)


_running: dict[str, Any] = {}


def note_running(name: str, command: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Store the current command and its arguments for :func:`running`."""
    _running.update(name=name, command=command, arguments=dict(arguments))


def running(**changes: Any) -> str:
    """Return the command line of the current command, with *changes* of its arguments."""
    arguments = {**_running["arguments"], **changes}
    return command_line(_running["name"], _running["command"], **arguments)


def parse(command: Callable[..., Any], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the arguments of *command* in *words*, or None if they request help.

    Raises InvalidError.
    """
    declared = parameters(command)
    values: dict[str, Any] = {}
    plain = _read_options(list(words), declared, values)
    if plain is None:
        return None
    _read_arguments(plain, declared, values)
    return {parameter.name: values.get(parameter.name, parameter.default) for parameter in declared}


def _read_options(
    words: list[str], declared: Sequence[Parameter], values: dict[str, Any]
) -> list[str] | None:
    """Store the options in *words* and return the other words, or None if help is requested."""
    options = {
        name: parameter
        for parameter in declared
        if isinstance(parameter.declaration, Option)
        for name in parameter.declaration.names
    }
    plain: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            return plain + words
        if word in HELP_OPTIONS:
            return None
        if not word.startswith("-") or word == "-":
            plain.append(word)
        else:
            _read_option(word, words, options, values)
    return plain


def _read_option(
    word: str, words: list[str], options: Mapping[str, Parameter], values: dict[str, Any]
) -> None:
    """Store the option *word*, such as -n, -n3, --top or --top=3, with a value from *words*."""
    name, equals, value = word.partition("=")
    if not word.startswith("--"):
        name, equals, value = word[:2], word[2:3], word[2:]
    parameter = options.get(name)
    if parameter is None:
        is_text = not word.startswith("--") or " " in word
        hint = "; a text that begins with - goes after --" if is_text else ""
        raise InvalidError(f"unknown option {name}{similar(name, options) or hint}")
    if parameter.kind is bool:
        if equals and word.startswith("--"):
            raise InvalidError(f"{name} takes no value")
        values[parameter.name] = not name.startswith("--no-")
        if equals:  # -yn3 is -y -n3
            words.insert(0, f"-{value}")
    elif equals or words:
        _store(parameter, value if equals else words.pop(0), name, values)
    else:
        raise InvalidError(f"{name} needs a value")


def _read_arguments(
    plain: list[str], declared: Sequence[Parameter], values: dict[str, Any]
) -> None:
    """Store the words in *plain* as arguments, in order."""
    for parameter in declared:
        if isinstance(parameter.declaration, Option):
            continue
        label = parameter.declaration.metavar.strip("[].")
        if parameter.required and not plain:
            raise InvalidError(f"{label} is missing")
        chosen, plain = (plain, []) if parameter.many else (plain[:1], plain[1:])
        for word in chosen:
            _store(parameter, word, label, values)
    if plain:
        raise InvalidError(f"unexpected argument {plain[0]}")


def _store(parameter: Parameter, word: str, label: str, values: dict[str, Any]) -> None:
    """Convert *word* to the type of *parameter* and store it. Errors call the parameter *label*."""
    try:
        value = parameter.kind(word)
    except ValueError:
        raise InvalidError(f"{label} must be a whole number, not {word}") from None
    least = parameter.declaration.least if isinstance(parameter.declaration, Option) else None
    if least is not None and value < least:
        raise InvalidError(f"{label} must be at least {least}, not {word}")
    if parameter.many:
        values.setdefault(parameter.name, []).append(value)
    else:
        values[parameter.name] = value


def _plain(annotation: Any) -> tuple[type, bool]:
    """Return the type of one value, and whether the parameter takes several.

    >>> _plain(list[str] | None), _plain(int | None), _plain(bool)
    ((<class 'str'>, True), (<class 'int'>, False), (<class 'bool'>, False))
    """
    if get_origin(annotation) in {UnionType, Union}:
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) is list:
        return get_args(annotation)[0], True
    return annotation, False


# Options shared by many commands.

Yes = Annotated[bool, "--yes, -y", "Do not ask for confirmation."]
DryRun = Annotated[bool, "--dry-run", "Show what would be done; change nothing."]
Agent = Annotated[
    str | None,
    "--agent NAME",
    'Agent of the memories; default: "default", shared by all assistants.',
]
Limit = Annotated[int, "--limit, -n N", "Maximum number of results."]
PageLimit = Annotated[int, "--limit, -n N", "Page size."]
After = Annotated[
    str | None, "--after MARK", "Continue after this mark, which the previous page ended with."
]
MemoryId = Annotated[str, "ID", "Id, or its last six or more characters."]
MemoryIds = Annotated[list[str], "ID...", "Ids, or the last six or more characters of each."]
Category = Annotated[
    str | None, "--category, -c CATEGORY", "working, episodic, semantic, procedural or social."
]
Kind = Annotated[
    str | None,
    "--category, -c CATEGORY",
    "Category, or a kind of what naps store: decision, correction, preference, constraint, fix, "
    "environment, outcome or digest.",
]
Namespace = Annotated[str | None, "--namespace NAME", "Namespace within the agent."]
Tags = Annotated[list[str] | None, "--tag, -t TAG", "Tag; may be repeated."]
Since = Annotated[
    str | None, "--since TIME", 'From this time on: "last week", yesterday, March, 2026-03-31.'
]
Until = Annotated[str | None, "--until TIME", "Before this time; formats as for --since."]
Budget = Annotated[int | None, "--budget TOKENS", "Maximum number of tokens.", 1]
Session = Annotated[str | None, "--session ID", "Session id."]
SessionToRead = Annotated[
    str | None, "--session ID", "Session id, or its last six or more characters."
]
Project = Annotated[str | None, "--project PROJECT", "Project: its folder's name, path or id."]
PromptProject = Annotated[
    str | None,
    "--project PROJECT",
    "Project: its folder's name, path or id; default: that of the working directory.",
]
