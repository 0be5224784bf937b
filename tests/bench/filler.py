"""A store of many short memories, written through the store's own functions.

The texts are real sentences of a seeded word model; the vectors are seeded unit
vectors, because embedding 100,000 texts takes most of an hour and a search does
not care what a vector means. Queries are embedded by the real model.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from support.store import a_writer

from memd.base.clock import SystemClock
from memd.base.ids import Ids
from memd.domain.enums import MemoryCategory, MemoryLevel, MemoryState, Origin, Trust
from memd.domain.trust import Screened
from memd.embedding.model_files import FINGERPRINT
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.memory import memories
from memd.store.memory.rows import MemoryRow
from memd.store.search import vectors

BATCH_ROWS = 500
SESSION_TURNS = 40
VOCABULARY = 20_000
SPEAKERS = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn")
_STARTS = ("b", "br", "d", "f", "g", "h", "k", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "v")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_SMALL = ("the", "a", "and", "to", "we", "it", "was", "in", "for", "with", "that", "I", "on", "of")


class Words:
    """Says sentences: function words as often as in speech, the others by Zipf's law."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._words = [self._word() for _ in range(VOCABULARY)]
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))

    def _word(self) -> str:
        syllables = self._chance.randint(2, 4)
        return "".join(
            self._chance.choice(_STARTS) + self._chance.choice(_VOWELS) for _ in range(syllables)
        )

    def content(self, count: int) -> list[str]:
        return self._chance.choices(self._words, cum_weights=self._weights, k=count)

    def sentence(self, words: int) -> str:
        rare = iter(self.content(words))
        small = self._chance.choices(_SMALL, k=words)
        mixed = [small[i] if self._chance.random() < 0.45 else next(rare) for i in range(words)]
        return " ".join(mixed).capitalize() + "."


def unit_vector(chance: random.Random, dimension: int) -> bytes:
    """Return a seeded vector of length 1."""
    values = [chance.gauss(0.0, 1.0) for _ in range(dimension)]
    length = sum(value * value for value in values) ** 0.5
    return array("f", (value / length for value in values)).tobytes()


def fill(database: Path, agent_id: str, rows: int, *, seed: int = 7) -> list[str]:
    """Write *rows* memories of one agent and return some questions about them."""
    chance = random.Random(seed)
    said = Words(chance)
    clock = SystemClock()
    ids = Ids(clock, chance.randbytes)
    with a_writer(database) as conn:
        for start in range(0, rows, BATCH_ROWS):
            with conn:
                _batch(
                    conn, agent_id, range(start, min(start + BATCH_ROWS, rows)), said, ids, chance
                )
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return [f"What about {' and '.join(said.content(chance.randint(2, 5)))}?" for _ in range(200)]


def _batch(
    conn: Writing,
    agent_id: str,
    places: Sequence[int],
    said: Words,
    ids: Ids,
    chance: random.Random,
) -> None:
    now_us = SystemClock().now_us()
    agent_key = names.ensure_agent(conn, agent_id, now_us)
    model_key = vectors.ensure_cache(conn, FINGERPRINT, now_us)
    rows = []
    for place in places:
        session_key = names.ensure_session(
            conn,
            f"session-{place // SESSION_TURNS}",
            agent_key=agent_key,
            client_key=None,
            project_key=None,
            now_us=now_us,
        )
        words = chance.randint(10, 40)
        rows.append(
            MemoryRow(
                memory_id=ids.new(),
                agent_key=agent_key,
                client_key=None,
                session_key=session_key,
                project_key=None,
                source_key=None,
                namespace="default",
                category=MemoryCategory.EPISODIC,
                level=MemoryLevel.PERSISTENT,
                origin=Origin.PERSON,
                trust=Trust.OWNER,
                speaker=SPEAKERS[place % len(SPEAKERS)],
                content=Screened(said.sentence(words)),
                caption=None,
                reference=None,
                ordinal=place % SESSION_TURNS,
                part=0,
                batch=None,
                token_count=words,
                importance=0.6,
                confidence=1.0,
                created_at_us=now_us,
                occurred_at_us=None,
                salt=ids.salt(),
                state=MemoryState.ACTIVE,
                expires_at_us=None,
            )
        )
    keys = memories.insert_bare(conn, rows, now_us)
    given = [(key, unit_vector(chance, FINGERPRINT.dimension)) for key in keys]
    vectors.store(conn, model_key, given)
    memories.index_new(conn, keys)
