"""A parser for valid command lines, without a library.

For everything else (a request for help, an unknown option, a missing argument, a value that
begins with a dash) it returns None, and typer explains the mistake. A test checks that both
parse every command alike.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

from memd.cli.options import Argument, Option


class Parameter(NamedTuple):
    """One parameter of a command: name, type, default and declaration."""

    name: str
    kind: type
    many: bool
    required: bool
    default: Any
    declaration: Option | Argument


class Unclear(Exception):  # noqa: N818  # not an error: typer will parse it
    """The command line is not valid, or not simple enough for this parser."""


def parameters(command: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of *command*, in order."""
    rows = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        annotation, declaration = get_args(parameter.annotation)
        kind, many = _plain(annotation)
        required = parameter.default is inspect.Parameter.empty
        default = None if required else parameter.default
        rows.append(Parameter(parameter.name, kind, many, required, default, declaration))
    return rows


def parse(command: Callable[..., Any], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the arguments of *command* in *words*, or None if typer must parse them."""
    declared = parameters(command)
    options: dict[str, tuple[Parameter, bool]] = {}
    for parameter in declared:
        if isinstance(parameter.declaration, Option):
            for name in parameter.declaration.names:
                yes, _, no = name.partition("/")
                options[yes] = (parameter, True)
                if no:
                    options[no] = (parameter, False)
    values = {p.name: [] if p.many else p.default for p in declared}
    try:
        plain = _options(list(words), options, values)
        _positions(plain, [p for p in declared if isinstance(p.declaration, Argument)], values)
    except (Unclear, ValueError):
        return None
    return {p.name: p.default if values[p.name] == [] else values[p.name] for p in declared}


def _options(
    words: list[str], options: dict[str, tuple[Parameter, bool]], values: dict[str, Any]
) -> list[str]:
    """Store the options in *values* and return the positional words."""
    plain: list[str] = []
    while words:
        word = words.pop(0)
        if not word:
            raise Unclear
        if word == "--":
            return plain + words
        if word[0] != "-" or word == "-":
            plain.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in options or (equals and not name.startswith("--")):
            raise Unclear
        parameter, yes = options[name]
        if parameter.kind is bool:
            if equals:
                raise Unclear
            values[parameter.name] = yes
        else:
            _set_value(parameter, value if equals else _next(words), values)
    return plain


def _positions(plain: list[str], positional: list[Parameter], values: dict[str, Any]) -> None:
    for parameter in positional:
        if parameter.required and not plain:
            raise Unclear
        chosen, plain = (plain, []) if parameter.many else (plain[:1], plain[1:])
        for word in chosen:
            _set_value(parameter, word, values)
    if plain:
        raise Unclear


def _next(words: list[str]) -> str:
    if not words or not words[0] or (words[0].startswith("-") and words[0] != "-"):
        raise Unclear
    return words.pop(0)


def _set_value(parameter: Parameter, word: str, values: dict[str, Any]) -> None:
    if not word:
        raise Unclear
    value = parameter.kind(word)
    if parameter.many:
        values[parameter.name] = [*values[parameter.name], value]
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
