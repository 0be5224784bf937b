"""Derive the keywords of a rule from its pattern: every match of the rule contains one.

A rule is compiled when a text first contains one of its keywords. The keywords may occur without
the rule, but never the rule without them. They are in lower case.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

op, parser = importlib.import_module("re._constants"), importlib.import_module("re._parser")

_WAYS_MAX = 16
_LETTERS_MIN = 3
"""Fewer stand in most texts, and are taken where a rule has nothing better."""

Ways = frozenset[str]


def keywords(pattern: str) -> str:
    """Return the keywords of *pattern*, empty where nothing is sure.

    >>> keywords(r"gh[po]_[A-Za-z0-9]{30}"), keywords(r"[a-z]{30}")
    ('gho_|ghp_', '')
    """
    return "|".join(re.escape(word) for word in sorted(words(pattern)))


def words(pattern: str) -> Ways:
    """Return the words of which each text has one that *pattern* matches, none if none is sure."""
    # RE2 takes flags anywhere, has POSIX classes and another name for the end; case does not count.
    pythons = re.sub(r"\(\?[ims]+\)", "", pattern).replace(r"\z", r"\Z")
    return _needed(parser.parse(pythons.replace("[:alnum:]", "A-Za-z0-9"))) or frozenset()


def _needed(nodes: Iterable[Any]) -> Ways | None:
    """Return ways of which each match has one at least; None when nothing is sure."""
    candidates = [ways for ways in _candidates(nodes) if _shortest(ways) > 0]
    return max(candidates, key=_worth, default=None)


def _candidates(nodes: Iterable[Any]) -> Iterator[Ways]:
    run: Ways = frozenset(("",))
    for node in nodes:
        exact = _exact(node)
        if exact is not None and len(run) * len(exact) <= _WAYS_MAX:
            run = frozenset(a + b for a in run for b in exact)
            continue
        yield run
        run = frozenset(("",)) if exact is None else exact
        inner = _inner(node)
        if inner is not None:
            yield inner
    yield run


def _worth(ways: Ways) -> tuple[bool, int, int]:
    shortest = _shortest(ways)
    return shortest >= _LETTERS_MIN, -len(ways) if shortest >= _LETTERS_MIN else 0, shortest


def _shortest(ways: Ways) -> int:
    return min(map(len, ways))


def _inner(node: Any) -> Ways | None:
    kind, value = node
    if kind is op.SUBPATTERN:
        return _needed(value[3])
    if kind is op.BRANCH:
        branches = [_needed(branch) for branch in value[1]]
        known = [ways for ways in branches if ways is not None]
        return frozenset().union(*known) if len(known) == len(branches) else None
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT) and value[0] >= 1:
        return _needed(value[2])
    return None


def _exact(node: Any) -> Ways | None:
    """Return all that *node* can be, None when that is not a few ways."""
    kind, value = node
    if kind is op.AT:
        return frozenset(("",))
    if kind is op.LITERAL:
        return frozenset((chr(value).lower(),))
    if kind is op.IN and all(each is op.LITERAL for each, _ in value):
        ways = frozenset(chr(letter).lower() for _, letter in value)
        return ways if len(ways) <= _WAYS_MAX else None
    if kind is op.SUBPATTERN:
        return _sequence(value[3])
    if kind is op.BRANCH:
        branches = [_sequence(branch) for branch in value[1]]
        known = [ways for ways in branches if ways is not None]
        joined: Ways = frozenset().union(*known)
        return joined if len(known) == len(branches) and len(joined) <= _WAYS_MAX else None
    return None


def _sequence(nodes: Iterable[Any]) -> Ways | None:
    run: Ways = frozenset(("",))
    for node in nodes:
        exact = _exact(node)
        if exact is None or len(run) * len(exact) > _WAYS_MAX:
            return None
        run = frozenset(a + b for a in run for b in exact)
    return run
