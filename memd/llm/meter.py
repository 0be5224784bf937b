"""The token budget of background work, and the circuit breaker of a provider. Pure.

The budget covers the last 24 hours, so neither midnight nor a restart refills it: earlier
costs are read from the cost records. The maximum cost of a completion is reserved before the
call, so that concurrent ones cannot overdraw it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from memd.base.clock import DAY_US
from memd.llm.provider import TokenUsage


@dataclass
class PurposeCounters:
    """Counters of one purpose since the start."""

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
    """A limit of tokens within 24 hours, with reservations for calls in progress."""

    limit: int
    _spent: deque[tuple[int, int]] = field(default_factory=deque)
    _reserved: int = 0

    def used_tokens(self, now_us: int) -> int:
        """Return the tokens used in the last 24 hours."""
        while self._spent and self._spent[0][0] <= now_us - DAY_US:
            self._spent.popleft()
        return sum(tokens for _, tokens in self._spent)

    def reserve(self, tokens: int, now_us: int) -> bool:
        """Reserve *tokens* for a completion; return False, reserving none, if over the limit."""
        if self.used_tokens(now_us) + self._reserved + tokens > self.limit:
            return False
        self._reserved += tokens
        return True

    def settle(self, reserved: int, used: int, now_us: int) -> None:
        """Release *reserved* tokens and count the *used* ones."""
        self._reserved -= reserved
        self.note(used, now_us)

    def note(self, tokens: int, at_us: int) -> None:
        """Count used tokens; call in the order of time."""
        if tokens:
            self._spent.append((at_us, tokens))


FAILURES_MAX = 3
"""Failures in a row that open the breaker."""
PAUSE_US_MIN = 60_000_000  # one minute
PAUSE_US_MAX = 3_600_000_000  # one hour


@dataclass
class Breaker:
    """A circuit breaker, open for twice as long after each further failure.

    A refusal opens it for the longest pause, because the owner must act.
    """

    failures: int = 0
    open_until_us: int = 0
    _pause_us: int = PAUSE_US_MIN

    def is_open(self, now_us: int) -> bool:
        """Return whether the provider must not be called.

        After the pause calls are allowed; the next failure opens it again.
        """
        return now_us < self.open_until_us

    def record_success(self) -> None:
        self.failures, self.open_until_us, self._pause_us = 0, 0, PAUSE_US_MIN

    def record_failure(self, now_us: int, *, refused: bool = False) -> None:
        self.failures += 1
        if refused:
            self.open_until_us = now_us + PAUSE_US_MAX
        elif self.failures >= FAILURES_MAX:
            self.open_until_us = now_us + self._pause_us
            self._pause_us = min(self._pause_us * 2, PAUSE_US_MAX)
