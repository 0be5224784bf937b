"""What a language model has cost, and what it may: the budget of nights, and the breaker. Pure.

The budget is that of any 24 hours, so neither midnight nor a restart refills it: what was
spent before a start is told by the cost records. What a completion may cost at most is set
aside before it is asked for, so that several at once cannot overdraw it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from memd.base.clock import DAY_US
from memd.llm.provider import TokenUsage


@dataclass
class Spent:
    """What one purpose was asked since the start."""

    completions: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, usage: TokenUsage) -> None:
        self.completions += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens


@dataclass
class Budget:
    """How many tokens may be spent within 24 hours."""

    limit: int
    _spent: deque[tuple[int, int]] = field(default_factory=deque)
    _reserved: int = 0

    def spent(self, now_us: int) -> int:
        """Return what the last 24 hours have cost."""
        while self._spent and self._spent[0][0] <= now_us - DAY_US:
            self._spent.popleft()
        return sum(tokens for _, tokens in self._spent)

    def reserve(self, tokens: int, now_us: int) -> bool:
        """Keep *tokens* for a completion; False, and nothing is kept, where they are not there."""
        if self.spent(now_us) + self._reserved + tokens > self.limit:
            return False
        self._reserved += tokens
        return True

    def settle(self, kept: int, used: int, now_us: int) -> None:
        """Give back what was *kept*, and note what was *used*."""
        self._reserved -= kept
        self.note(used, now_us)

    def note(self, tokens: int, at_us: int) -> None:
        """Note what was spent, in the order of time."""
        if tokens:
            self._spent.append((at_us, tokens))


FAILURES_MAX = 3
"""So many failures in a row, and the provider is left alone for a while."""
PAUSE_US_MIN = 60_000_000
PAUSE_US_MAX = 3_600_000_000


@dataclass
class Breaker:
    """Leaves a provider alone that fails again and again, each time for twice as long.

    One that refuses is not asked again before the longest pause is over: its owner must act.
    """

    failures: int = 0
    open_until_us: int = 0
    _pause_us: int = PAUSE_US_MIN

    def is_open(self, now_us: int) -> bool:
        """Return whether the provider is to be left alone; after a pause one may try."""
        return now_us < self.open_until_us

    def succeeded(self) -> None:
        self.failures, self.open_until_us, self._pause_us = 0, 0, PAUSE_US_MIN

    def failed(self, now_us: int, *, refused: bool = False) -> None:
        self.failures += 1
        if refused:
            self.open_until_us = now_us + PAUSE_US_MAX
        elif self.failures >= FAILURES_MAX:
            self.open_until_us = now_us + self._pause_us
            self._pause_us = min(self._pause_us * 2, PAUSE_US_MAX)
