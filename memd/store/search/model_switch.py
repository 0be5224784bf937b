"""Switching from one embedding model to another while the old one stays in use.

Which model is in use, which one was before and which one is coming is recorded in ``meta``, so that
a restart continues where a kill left off. Until every memory has a vector of the new model, the
live cache and its vectors stay as they are: nothing of the new model is searched, and one
transaction switches over (docs/decisions/0182).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from memd.domain.encoding import Encoding, ModelFingerprint
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.search import centroids, embedding_queue, vectors
from memd.store.search.embedding_queue import PendingRow

BUILD_ROWS = 500  # added to the new model's cache in one transaction


class ModelNote(NamedTuple):
    """A model: the folder's name and the fingerprint of its content."""

    name: str
    fingerprint: str


class ModelChange(NamedTuple):
    """A switch under way: the new model's folder name, fingerprint and dimension, since when."""

    name: str
    fingerprint: str
    dimension: int
    since_us: int


def model_in_use(conn: Reading) -> str | None:
    """Return the name of the model that was put to use, None for memd's default."""
    return conn.get_meta("model_in_use", str)


def previous_model(conn: Reading) -> ModelNote | None:
    """Return the model that was in use before, None before any switch."""
    value = conn.get_meta("model_before", str)
    return None if value is None else ModelNote(*json.loads(value))


def current_switch(conn: Reading) -> ModelChange | None:
    """Return the switch that is under way, if any."""
    value = conn.get_meta("model_coming", str)
    return None if value is None else ModelChange(*json.loads(value))


def begin(conn: Writing, name: str, model: ModelFingerprint, now_us: int) -> ModelChange:
    """Record that a switch to *model* begins; vectors that it has from earlier are kept."""
    vectors.ensure_model(conn, model, now_us)
    change = ModelChange(name, str(model), model.dimension, now_us)
    conn.set_meta("model_coming", json.dumps(change))
    return change


def cancel(conn: Writing) -> None:
    """Cancel the switch under way. The vectors made for it stay, in case it begins again."""
    change, building = current_switch(conn), vectors.current_build(conn)
    if change is not None and building is not None and building[0].model_key == _key(conn, change):
        vectors.drop_build(conn)
    conn.set_meta("model_coming", None)


def progress(conn: Reading, change: ModelChange) -> tuple[int, int]:
    """Return how many memories the new model has embedded, and how many there are."""
    done = conn.get_count(
        """
        SELECT count(*)
          FROM embedding
         WHERE model_key = :key AND kind = 'own' AND tokens IS NOT NULL
        """,
        {"key": _key(conn, change)},
    )
    total = conn.get_count("SELECT count(*) FROM memory")
    return min(done, total), total


def list_missing(conn: Reading, change: ModelChange, after: int, limit: int) -> list[PendingRow]:
    """Return up to *limit* memories after key *after* that the new model has yet to embed."""
    return embedding_queue.list_missing(conn, _key(conn, change), after, limit)


def store_vectors(
    conn: Writing, change: ModelChange, encoded: Sequence[tuple[PendingRow, Encoding]]
) -> None:
    """Store vectors of the new model, except for memories whose words changed meanwhile."""
    model_key = _key(conn, change)
    unchanged = embedding_queue.find_unchanged(conn, [row for row, _ in encoded])
    own = [(row.memory_key, each) for row, each in encoded if row.memory_key in unchanged]
    keys = [key for key, _ in own]
    centroids.subtract(conn, keys, model_key)
    vectors.store(conn, model_key, own)
    centroids.add_memories(conn, keys, model_key)
    _fill_building(conn, model_key, keys)


def step(conn: Writing, change: ModelChange) -> bool:
    """Fill the next rows of the new model's cache; False when there is nothing left to fill."""
    model_key = _key(conn, change)
    live = vectors.current_cache(conn)
    if live is None or live.model_key == model_key:
        return False
    building = vectors.current_build(conn)
    if building is None:
        return vectors.start_build(conn, model_key)
    # A rebuild of the live cache goes first.
    if building[0].model_key == model_key and not _has_memory_after(conn, building[1]):
        return False
    vectors.step_build(conn, BUILD_ROWS)
    return True


def complete(
    conn: Writing, change: ModelChange, leaving: ModelNote, unable: Collection[int]
) -> bool:
    """Put the new model to use; False when memories without a vector of it have come.

    *leaving* is the model in use until now, whose vectors stay for a way back. Memories in *unable*
    cannot be embedded by the new model and are not waited for.
    """
    if step(conn, change):
        return False
    model_key = _key(conn, change)
    missing_rows = embedding_queue.list_missing(conn, model_key, 0, len(unable) + 1)
    if any(row.memory_key not in unable for row in missing_rows):
        return False
    building = vectors.current_build(conn)
    if building is not None and building[0].model_key == model_key:
        vectors.step_build(conn, 1)  # nothing is left to fill, so this makes it live
    conn.set_meta("model_before", json.dumps(leaving))
    conn.set_meta("model_in_use", change.name)
    conn.set_meta("model_coming", None)
    return True


def delete_unused_vectors(conn: Writing, rows: int) -> bool:
    """Delete vectors of models that are not live, previous or coming; False when done."""
    cache = vectors.current_cache(conn)
    others = [model for model in (previous_model(conn), current_switch(conn)) if model is not None]
    if cache is None or not others:
        return False
    model_keys = [vectors.find_model(conn, model.fingerprint) for model in others]
    keys = keys_array([cache.model_key, *(key for key in model_keys if key is not None)])
    conn.execute(
        "DELETE FROM centroid WHERE model_key NOT IN (SELECT value FROM carray(?))", (keys,)
    )
    conn.execute(
        """
        DELETE FROM embedding
         WHERE embedding_key IN (SELECT embedding_key
                                   FROM embedding
                                  WHERE model_key NOT IN (SELECT value FROM carray(:keys))
                                  LIMIT :rows)
        """,
        {"keys": keys, "rows": rows},
    )
    return conn.changes() > 0


def _fill_building(conn: Writing, model_key: int, keys: Sequence[int]) -> None:
    """Add memories whose vectors have just come to the model's cache, as far as it is built."""
    building = vectors.current_build(conn)
    if building is not None and building[0].model_key == model_key:
        filled = [key for key in keys if key <= building[1]]
        vectors.empty(conn, building[0], filled)  # of those embedded once more for token vectors
        vectors.fill(conn, building[0], filled)


def _has_memory_after(conn: Reading, key: int) -> bool:
    return conn.exists("SELECT 1 FROM memory WHERE memory_key > ? LIMIT 1", (key,))


def _key(conn: Reading, change: ModelChange) -> int:
    model_key = vectors.find_model(conn, change.fingerprint)
    assert model_key is not None
    return model_key
