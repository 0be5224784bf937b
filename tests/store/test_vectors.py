"""Only unit vectors of the model's dimension are stored (H28, H29)."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.builders import a_row, an_id_source
from support.fakes import DIMENSION, fingerprint, hash_vector, numbers
from support.store import a_writer

from memd.base.errors import EmbeddingError
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.memory import memories
from memd.store.search import vectors
from memd.store.search.cache_parts import CachePart

GOOD = hash_vector("a cat")


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[Writing]:
    with a_writer(tmp_path / "memd.db") as conn:
        assert names.ensure_agent(conn, "ada", 1) == 1
        assert vectors.ensure_cache(conn, fingerprint(), 1) == 1
        memories.insert(conn, [a_row(an_id_source())], 1)
        yield conn


def changed(place: int, number: float) -> bytes:
    return GOOD[: place * 4] + struct.pack("<f", number) + GOOD[place * 4 + 4 :]


BAD = {
    "NaN": changed(3, math.nan),
    "infinity": changed(3, math.inf),
    "minus infinity": changed(0, -math.inf),
    "huge": changed(3, 3e38),
    "zero": bytes(DIMENSION * 4),
    "too long": struct.pack(f"<{DIMENSION}f", *(n * 1.01 for n in numbers(GOOD))),
    "too short": struct.pack(f"<{DIMENSION}f", *(n * 0.99 for n in numbers(GOOD))),
    "one dimension less": GOOD[:-4],
    "one dimension more": GOOD + bytes(4),
    "odd bytes": GOOD[:-1],
    "empty": b"",
}


@pytest.mark.parametrize("vector", BAD.values(), ids=BAD)
def test_what_is_no_unit_vector_is_refused(conn: Writing, vector: bytes) -> None:
    with pytest.raises(EmbeddingError):
        vectors.store(conn, 1, [(1, GOOD), (1, vector)])
    assert conn.execute("SELECT count(*) FROM embedding").get == 0


def test_a_unit_vector_is_stored_and_found(conn: Writing) -> None:
    rounded = struct.pack(f"<{DIMENSION}f", *(n * 1.0004 for n in numbers(GOOD)))
    vectors.store(conn, 1, [(1, rounded)])
    vectors.index(conn, [1])
    (near,) = vectors.search(conn, GOOD, [vectors.partition(1, CachePart.SEARCHED, 0)], 10)
    assert near.memory_key == 1
    assert near.cosine == pytest.approx(1.0, abs=1e-3)
    assert vectors.search(conn, GOOD, [vectors.partition(1, CachePart.HIDDEN, 0)], 10) == []
