"""Texts that a regular expression is slow on, made from the expression itself.

What it begins with, again and again; what it repeats, in long runs; the one before the other.
"""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_LETTERS = "aA1 _-.,:/@\"'\n\t<>()[]{}=+*#`?!;&%$|~^\\\u00e9\u5e02\u3042\uac00\u200b"
_REPEATS = frozenset(("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"))
_RUN_MAX = 60


def patterns_of(module: ModuleType) -> list[re.Pattern[str]]:
    """Return the patterns that *module* holds, also those in its tables."""
    by_source = {one.pattern: one for value in vars(module).values() for one in _within(value, 3)}
    return list(by_source.values())


def _within(value: Any, depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth and isinstance(value, tuple | list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _within(each, depth - 1)


def units(pattern: re.Pattern[str], chance: random.Random, count: int = 4) -> set[str]:
    """Return short texts that are beginnings of what *pattern* matches, or what it repeats."""
    tree = _parser.parse(pattern.pattern, pattern.flags)
    texts: set[str] = set()
    for _ in range(count):
        parts = [_sample([part], chance) for part in _flat(tree)]
        texts |= {"".join(parts[:end])[:200] for end in range(1, len(parts) + 1)}
        texts |= {_sample(each, chance)[:100] for each in _repeated(tree)}
    return texts - {""}


def _flat(tree: Any) -> Iterator[Any]:
    for code, value in tree:
        if str(code) == "SUBPATTERN":
            yield from _flat(value[3])
        else:
            yield code, value


def _repeated(tree: Any) -> Iterator[Any]:
    for code, value in tree:
        name = str(code)
        if name in _REPEATS:
            yield value[2]
            yield from _repeated(value[2])
        elif name == "BRANCH":
            for each in value[1]:
                yield from _repeated(each)
        elif name in {"SUBPATTERN", "ATOMIC_GROUP"}:
            yield from _repeated(value[3] if name == "SUBPATTERN" else value)


def _sample(tree: Any, chance: random.Random) -> str:
    return "".join(_part(str(code), value, chance) for code, value in tree)


def _part(name: str, value: Any, chance: random.Random) -> str:
    if name in _REPEATS:
        low, high, inner = value
        most = min(int(high), int(low) + chance.choice((0, 1, 3)), _RUN_MAX)
        return "".join(_sample(inner, chance) for _ in range(most))
    if name in {"SUBPATTERN", "ATOMIC_GROUP", "BRANCH"}:
        inside = {"SUBPATTERN": lambda: value[3], "BRANCH": lambda: chance.choice(value[1])}
        return _sample(inside.get(name, lambda: value)(), chance)
    letters = {
        "LITERAL": lambda: [chr(value)],
        "IN": lambda: _members(tuple(value)),
        "ANY": lambda: ["a"],
        "NOT_LITERAL": lambda: [letter for letter in "a1-" if ord(letter) != value],
    }
    return chance.choice(letters[name]()) if name in letters else ""  # a place, a look around


@cache
def _members(items: tuple[Any, ...]) -> list[str]:
    """Return some letters of a set; thousands of samples ask for the same few hundred."""
    negated = str(items[0][0]) == "NEGATE"
    letters = [letter for letter in _LETTERS if _is_in(letter, items) != negated]
    for code, value in items if not negated else ():
        letters += [chr(value)] if str(code) == "LITERAL" else []
        letters += [chr(value[0])] if str(code) == "RANGE" else []
    return letters or ["a"]


def _is_in(letter: str, items: Any) -> bool:
    kinds = {
        "CATEGORY_DIGIT": letter.isdigit(),
        "CATEGORY_SPACE": letter.isspace(),
        "CATEGORY_WORD": letter.isalnum() or letter == "_",
    }
    for code, value in items:
        name = str(code)
        if name == "LITERAL" and ord(letter) == value:
            return True
        if name == "RANGE" and value[0] <= ord(letter) <= value[1]:
            return True
        if name == "CATEGORY":
            kind = str(value)
            if kinds.get(kind.replace("_NOT", ""), False) != ("_NOT" in kind):
                return True
    return False
