"""A store of conversations to tune on, and tunings made by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from bench.corpus import made
from support.daemon import wait_until
from support.store import ADA

from memd.backends.rooms import Rooms
from memd.client import Client
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.learn import TuneRequest, TuneRun
from memd.domain.values import unheard
from memd.learn.tuning.tuning import Tuning
from memd.recall.ranking.weights import WITHOUT_TOKENS, RankerTuning


def turns(pairs: int) -> list[dict[str, Any]]:
    """Return so many questions of Bo, each followed by Al's answer, ten a session."""
    items = []
    for at, one in enumerate(made(random.Random(7), pairs)):
        place = {"session_id": f"s{at // 10}"}
        items.append({"text": one.asked, "speaker": "Bo", "order": 2 * at, **place})
        items.append({"text": one.text, "speaker": "Al", "order": 2 * at + 1, **place})
    return items


async def talked(house: Rooms, pairs: int) -> None:
    """Store a conversation of so many questions and answers of Ada's, with their vectors."""
    items = tuple(IngestRequest.model_validate(item) for item in turns(pairs))
    for start in range(0, len(items), 100):
        await house.ingest.ingest_many(ADA, IngestManyRequest(items=items[start : start + 100]))
    await house.queue.drain()


def ingest_all(client: Client, items: Sequence[dict[str, Any]]) -> None:
    """Ingest *items* over the socket and wait for their vectors."""
    for start in range(0, len(items), 100):
        client.call("memory.ingest_many", {"items": items[start : start + 100]})
    wait_until(lambda: not client.call("system.status")["pending"], "all have vectors")


def a_tuning(house: Rooms) -> Tuning:
    """Return the room over *house*."""
    recall = house.recall
    return Tuning(house.db, house.clock, house.ids, recall, house.embedder, unheard)


async def run_of(room: Tuning, request: TuneRequest | None = None, **more: Any) -> TuneRun:
    """Return a run when it is over."""
    begun = await room.start(ADA, request, **more)
    await room.settle()
    runs = (await room.status()).runs
    return next(run for run in runs if run.run_id == begun.run_id)


def worse(fingerprint: object) -> RankerTuning:
    """Return a tuning that puts the wrong memories first."""
    features = {name: -weight for name, weight in WITHOUT_TOKENS.features.items()}
    return RankerTuning(
        str(fingerprint), replace(WITHOUT_TOKENS, features=MappingProxyType(features))
    )
