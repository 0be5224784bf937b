"""What is refused is written down at once, and what is refused again and again is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from support.daemon import until

from memd.base.errors import DiskFullError
from memd.base.limits import DENIED_WAIT_MS_MAX, DENIED_WAIT_MS_MIN
from memd.serve import authority
from memd.serve.authority import Denials
from memd.store.access.changes import RefusedAttempt


@dataclass
class FakeAudit:
    """Remembers what was refused."""

    rows: list[RefusedAttempt] = field(default_factory=list)
    writes: int = 0
    fail: Exception | None = None

    async def record_refused(self, attempts: Sequence[RefusedAttempt]) -> None:
        if self.fail is not None:
            raise self.fail
        self.writes += 1
        self.rows.extend(attempts)


async def test_the_first_attempt_of_a_kind_is_written_before_it_is_answered() -> None:
    audit = FakeAudit()
    denials = Denials(audit.record_refused)
    await denials.note("ann", "memory.store")
    await denials.note("ann", "org.write")
    await denials.note("bob", "memory.store")
    assert audit.rows == [
        RefusedAttempt("ann", "memory.store", 1),
        RefusedAttempt("ann", "org.write", 1),
        RefusedAttempt("bob", "memory.store", 1),
    ]


async def test_repetitions_are_counted_and_written_together() -> None:
    audit = FakeAudit()
    denials = Denials(audit.record_refused)
    for _ in range(500):
        await denials.note("ann", "memory.store")
    await denials.note("ann", "org.write")
    await denials.note("ann", "org.write")
    assert audit.writes == 2
    await denials.flush()
    assert audit.writes == 3
    assert sum(row.attempts for row in audit.rows) == 502


async def test_under_a_flood_the_wait_doubles_up_to_its_limit_and_falls_back_after_it() -> None:
    denials = Denials(FakeAudit().record_refused)
    waits = []
    for _ in range(14):
        await denials.note("ann", "memory.store")
        await denials.note("ann", "memory.store")
        await denials.flush()
        waits.append(denials.wait_ms)
    assert waits[:3] == [2 * DENIED_WAIT_MS_MIN, 4 * DENIED_WAIT_MS_MIN, 8 * DENIED_WAIT_MS_MIN]
    assert waits[-1] == DENIED_WAIT_MS_MAX
    await denials.flush()
    assert denials.wait_ms == DENIED_WAIT_MS_MIN


async def test_what_a_full_disk_refuses_is_written_later() -> None:
    audit = FakeAudit(fail=DiskFullError("full"))
    denials = Denials(audit.record_refused)
    await denials.note("ann", "memory.store")
    await denials.note("ann", "memory.store")
    await denials.flush()
    assert audit.rows == []
    audit.fail = None
    await denials.flush()
    assert audit.rows == [RefusedAttempt("ann", "memory.store", 2)]


async def test_counts_are_written_at_the_end_of_each_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authority, "DENIED_WAIT_MS_MIN", 1)
    audit = FakeAudit()
    denials = Denials(audit.record_refused)
    denials.wait_ms = 1
    running = asyncio.create_task(denials.run())
    for _ in range(3):
        await denials.note("ann", "memory.store")
    await until(lambda: sum(row.attempts for row in audit.rows) == 3, "all are counted")
    running.cancel()
    assert audit.writes == 2
