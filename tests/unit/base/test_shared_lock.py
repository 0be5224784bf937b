"""The lock that requests share and a switch of the model holds alone."""

from __future__ import annotations

import asyncio

import pytest
from support.daemon import WAIT_S

from memd.base.work import SharedLock


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


class Holders:
    """Tasks that hold a lock until they are released, and the order in which they got it."""

    def __init__(self) -> None:
        self.lock = SharedLock()
        self.order: list[str] = []
        self.holding: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._releases: dict[str, asyncio.Event] = {}

    async def start(self, name: str, *, alone: bool = False) -> None:
        self._releases[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._hold(name, alone))
        await settle()

    async def release(self, name: str) -> None:
        """Let *name* go, at once if it does not hold the lock yet."""
        self._releases[name].set()
        await settle()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        with pytest.raises(asyncio.CancelledError):
            await self._tasks[name]
        await settle()

    async def finish(self) -> None:
        """Release all, and raise what went wrong in them."""
        for release in self._releases.values():
            release.set()
        await asyncio.gather(*(task for task in self._tasks.values() if not task.cancelled()))

    async def _hold(self, name: str, alone: bool) -> None:
        async with self.lock.exclusive() if alone else self.lock.shared():
            self.order.append(name)
            self.holding.add(name)
            assert not alone or self.holding == {name}
            try:
                await self._releases[name].wait()
            finally:
                self.holding.remove(name)


async def test_overlapping_requests_do_not_delay_a_switch() -> None:
    holders = Holders()
    await holders.start("0")
    await holders.start("switch", alone=True)
    for number in range(1, 10):  # each begins before the last one ends
        await holders.start(str(number))
        await holders.release(str(number - 1))
    assert holders.order == ["0", "switch"]
    await holders.finish()
    assert holders.order == ["0", "switch", *map(str, range(1, 10))]


async def test_a_lock_is_shared_before_and_after_a_switch() -> None:
    holders = Holders()
    await holders.start("a")
    await holders.start("b")
    assert holders.holding == {"a", "b"}
    await holders.start("switch", alone=True)
    await holders.start("c")
    await holders.start("d")
    await holders.release("a")
    assert holders.holding == {"b"}
    await holders.release("b")
    assert holders.holding == {"switch"}
    await holders.release("switch")
    assert holders.holding == {"c", "d"}
    await holders.finish()


async def test_two_switches_follow_each_other() -> None:
    holders = Holders()
    await holders.start("first", alone=True)
    await holders.start("second", alone=True)
    await holders.release("first")
    assert holders.holding == {"second"}
    await holders.finish()


async def test_who_is_cancelled_delays_nobody() -> None:
    holders = Holders()
    await holders.start("a")
    await holders.start("switch", alone=True)
    await holders.start("b")
    await holders.start("c")
    await holders.cancel("b")
    await holders.cancel("switch")
    assert holders.holding == {"a", "c"}, "nobody waits for the lock alone any more"
    await holders.cancel("a")
    await holders.release("c")
    await holders.start("next switch", alone=True)
    assert holders.holding == {"next switch"}
    await holders.cancel("next switch")
    await holders.start("d")
    assert holders.holding == {"d"}
    await holders.finish()


@pytest.mark.parametrize("alone", [(False, False), (False, True), (True, False), (True, True)])
async def test_a_task_that_takes_a_lock_twice_fails_instead_of_waiting_for_itself(
    alone: tuple[bool, bool],
) -> None:
    lock = SharedLock()
    first, second = (lock.exclusive if each else lock.shared for each in alone)
    async with asyncio.timeout(WAIT_S), first():
        with pytest.raises(RuntimeError, match="lock that it holds"):
            async with second():
                pass
    async with first():  # it is free again
        pass
