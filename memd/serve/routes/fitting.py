"""Pages shortened to fit into a frame."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from pydantic_core import to_json

from memd.base.limits import FRAME_BYTES_MAX
from memd.domain.values import Value

Page = TypeVar("Page", bound=Value)
Item = TypeVar("Item", bound=Value)


async def fitting_page(page_of: Callable[[int], Awaitable[Page]], limit: int) -> Page:
    """Return a page of at most *limit* items that fits into a frame, or of a single item."""
    while True:
        page = await page_of(limit)
        if limit == 1 or len(to_json(page)) <= FRAME_BYTES_MAX:
            return page
        limit = max(1, limit // 4)


def fitting_items(items: Sequence[Item]) -> Iterator[Item]:
    """Yield *items* while they fit into one frame, but always the first."""
    used = 0
    for number, item in enumerate(items):
        used += len(to_json(item)) + 1
        if number and used > FRAME_BYTES_MAX:
            return
        yield item
