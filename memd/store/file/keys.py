"""Binding many keys to one statement: an array read by ``carray`` instead of an IN list."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import apsw


def keys_array(keys: Sequence[int]) -> Any:
    """Return *keys*, at least one, to bind as the table ``carray(:keys)`` with column ``value``."""
    assert keys, "carray cannot hold an empty array"
    return apsw.carray(memoryview(array("q", keys)))
