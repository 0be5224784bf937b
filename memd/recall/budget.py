"""Cutting a recall to its budget (SPEC 2.9-2.13, D5). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class PackedItems(NamedTuple):
    """Which items fit, by place, what they cost, and what the smallest would have cost."""

    places: list[int]
    tokens: int
    minimum: int | None


def pack(costs: Sequence[int], budget: int, most: int) -> PackedItems:
    """Take items in order while they fit; what does not is skipped, smaller ones still tried.

    >>> pack([900, 1500, 1000, 100, 50], 2000, 5)
    PackedItems(places=[0, 2, 3], tokens=2000, minimum=50)
    """
    places: list[int] = []
    tokens = 0
    for place, cost in enumerate(costs):
        if len(places) == most:
            break
        if tokens + cost <= budget:
            places.append(place)
            tokens += cost
    return PackedItems(places, tokens, min(costs, default=None))
