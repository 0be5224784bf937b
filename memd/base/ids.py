"""Public ids: UUIDv7 text, which sorts by creation time.

The source of randomness is an argument, so that a test with a seeded one gets the same ids
every time.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable

from memd.base.clock import Clock

Chance = Callable[[int], bytes]
"""A source of randomness: returns the given number of random bytes."""

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# The bits of a UUIDv7: 48 of milliseconds, 4 of version, 12 random, 2 of variant, 62 random.
_VERSION = 7 << 76
_VARIANT = 0b10 << 62
_RAND_A = 0xFFF << 64
_RAND_B = (1 << 62) - 1


def is_id(text: str) -> bool:
    """Return whether *text* is a UUID in lower-case hex with dashes, as memd writes them."""
    return _ID.fullmatch(text) is not None


class Ids:
    """Generator of ids, strictly increasing within one process, and of salts."""

    def __init__(self, clock: Clock, chance: Chance = secrets.token_bytes) -> None:
        self._clock = clock
        self._chance = chance
        self._last = 0

    def new(self) -> str:
        """Return a new id as 36 characters of text."""
        moment_ms = self._clock.now_us() // 1_000
        bits = int.from_bytes(self._chance(10), "big")
        value = (moment_ms << 80) | _VERSION | (bits & _RAND_A) | _VARIANT | (bits & _RAND_B)
        if value <= self._last:  # the same millisecond, or the clock was set back
            value = self._last + 1
        self._last = value
        return str(uuid.UUID(int=value))

    def salt(self) -> bytes:
        """Return 16 random bytes."""
        return self._chance(16)
