"""SPEC D26: the public names."""

from __future__ import annotations

import builtins
import inspect
import re

import memd.api
from memd.base.errors import MemdMemoryError

PUBLIC = memd.api.__all__


def test_every_name_is_there_once_in_alphabetical_order() -> None:
    assert sorted(set(PUBLIC), key=lambda name: (not name.isupper(), name)) == PUBLIC
    assert all(hasattr(memd.api, name) for name in PUBLIC)


def test_no_name_hides_a_builtin() -> None:
    assert not set(PUBLIC) & set(dir(builtins))


def test_every_public_thing_says_what_it_is_for() -> None:
    assert not [name for name in PUBLIC if not inspect.getdoc(getattr(memd.api, name))]


def test_one_except_clause_catches_every_memory_error() -> None:
    errors = [name for name in PUBLIC if re.fullmatch(r"Memory\w+Error", name)]

    assert errors
    assert all(issubclass(getattr(memd.api, name), MemdMemoryError) for name in errors)
