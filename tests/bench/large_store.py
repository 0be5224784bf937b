"""A store of any size, made through the store's own functions: real texts, drawn vectors.

To embed a hundred thousand texts takes half an hour, so the encodings are drawn: the vector
of one of some hundred really embedded texts, with noise, of length 1, and its token vectors.
A search costs the same whatever the numbers are.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import numpy as np
from support.rows import a_row

from bench.bench_daemon import installed_model
from bench.corpus import Made, made
from memd.base.clock import SystemClock
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.encoding import Encoding, ModelFingerprint
from memd.domain.enums import MemoryCategory
from memd.embedding.embed import EmbedderThread
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.file.database import open_database
from memd.store.memory import memories
from memd.store.memory.rows import MemoryRow
from memd.store.search import vectors

SEED = 11
REAL_VECTORS = 512
NOISE = 0.6  # of length 1: nearest neighbours then lie about as close as in a real store
STEP_ROWS = 1_000
SESSION_ROWS = 20
AGENT = "default"


async def fill(path: Path, rows: int) -> list[Made]:
    """Make a store of *rows* memories of one agent at *path*; returns what is in it."""
    texts = made(random.Random(SEED), rows)
    fingerprint, real = await _really(texts[:REAL_VECTORS])
    near = np.array([np.frombuffer(each.vector, "<f4") for each in real])
    chance = np.random.default_rng(SEED)
    clock = SystemClock()
    ids = Ids(clock)
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(open_database(path, clock))
        for start in range(0, rows, STEP_ROWS):
            step = texts[start : start + STEP_ROWS]
            noise = chance.standard_normal((len(step), near.shape[1]))
            noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
            places = chance.integers(len(near), size=len(step))
            drawn = near[places] + noise
            drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
            encodings = [
                Encoding(row.tobytes(), real[place].tokens)
                for row, place in zip(drawn.astype("<f4"), places, strict=True)
            ]
            work = partial(
                _put, start=start, step=step, encodings=encodings, fingerprint=fingerprint, ids=ids
            )
            await db.write(Caller(agent_id=AGENT, method="bench"), work)
        await db.checkpoint(truncate=True)
    return texts


async def _really(some: list[Made]) -> tuple[ModelFingerprint, list[Encoding]]:
    thread = EmbedderThread(installed_model())
    try:
        fingerprint = thread.fingerprint
        assert fingerprint is not None
        encodings = await thread.encode([each.text for each in some], bulk=True)
    finally:
        await thread.close()
    return fingerprint, encodings


def _put(
    conn: Writing,
    start: int,
    step: list[Made],
    encodings: list[Encoding],
    fingerprint: ModelFingerprint,
    ids: Ids,
) -> None:
    now_us = SystemClock().now_us()
    model_key = vectors.ensure_cache(conn, fingerprint, now_us)
    agent_key = names.ensure_agent(conn, AGENT, now_us)
    rows = [
        _row(conn, agent_key, start + at, each.text, ids, now_us) for at, each in enumerate(step)
    ]
    keys = memories.insert_bare(conn, rows, now_us)
    vectors.store(conn, model_key, list(zip(keys, encodings, strict=True)))
    memories.index_new(conn, keys)


def _row(conn: Writing, agent_key: int, place: int, text: str, ids: Ids, now_us: int) -> MemoryRow:
    session_key = names.ensure_session(
        conn,
        f"session-{place // SESSION_ROWS}",
        agent_key=agent_key,
        client_key=None,
        project_key=None,
        now_us=now_us,
    )
    return a_row(
        ids,
        text,
        agent_key=agent_key,
        session_key=session_key,
        category=MemoryCategory.EPISODIC,
        ordinal=place % SESSION_ROWS,
        token_count=30,
        created_at_us=now_us,
        salt=place.to_bytes(16, "big"),
    )


def main(path: Path, rows: int) -> list[Made]:
    """Make the store, in a loop of its own."""
    return asyncio.run(fill(path, rows))
