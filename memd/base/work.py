"""One thread for pure functions that may take longer than the loop should wait."""

from __future__ import annotations

import asyncio
import concurrent.futures  # noqa: TID251  # the one work thread of HOUSE 3
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Work:
    """The work thread. It starts with the first call and ends with the process."""

    def __init__(self) -> None:
        pool = concurrent.futures.ThreadPoolExecutor  # noqa: TID251  # the one work thread of HOUSE 3
        self._pool = pool(max_workers=1, thread_name_prefix="work")

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *call* in the work thread and return what it returns."""
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, lambda: call(*args, **kwargs)
        )

    def close(self) -> None:
        """Let the running call finish, drop the waiting ones."""
        self._pool.shutdown(wait=False, cancel_futures=True)
