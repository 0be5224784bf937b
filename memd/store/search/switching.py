"""From one embedding model to another: the vectors of the coming one beside the live ones.

Which model is in use, which one was before and which one is coming are notes in ``meta``, so
that a restart goes on where a kill left off. Until every memory has a vector of the coming
model, the live cache and its vectors stay what they are: nothing of the coming model is
searched, and one transaction changes over (docs/decisions/0182).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from memd.domain.encoding import ModelFingerprint
from memd.store.file.connect import Reading, Writing
from memd.store.file.keys import keys_array
from memd.store.search import centroids, pending, vectors
from memd.store.search.pending import Waiting

BUILD_ROWS = 500  # taken into the coming model's cache in one transaction


class ModelNote(NamedTuple):
    """The folder's name and the identity of what is in it."""

    name: str
    fingerprint: str


class Coming(NamedTuple):
    """A change under way: the folder's name, the model's identity, since when."""

    name: str
    fingerprint: str
    dimension: int
    since_us: int


def in_use(conn: Reading) -> str | None:
    """Return the name of the model that was put to use; None for the one memd came with."""
    return _note(conn, "model_in_use")


def before(conn: Reading) -> ModelNote | None:
    """Return the model that was in use before, None before any change."""
    value = _note(conn, "model_before")
    return None if value is None else ModelNote(*json.loads(value))


def coming(conn: Reading) -> Coming | None:
    """Return the change that is under way, if any."""
    value = _note(conn, "model_coming")
    return None if value is None else Coming(*json.loads(value))


def begin(conn: Writing, name: str, model: ModelFingerprint, now_us: int) -> Coming:
    """Note that *model* is coming; vectors that it has from before are kept."""
    vectors.model(conn, model, now_us)
    change = Coming(name, str(model), model.dimension, now_us)
    _set(conn, "model_coming", json.dumps(change))
    return change


def give_up(conn: Writing) -> None:
    """Forget the change under way. The vectors made for it stay, in case it begins again."""
    change = coming(conn)
    if change is not None:
        _drop_build(conn, _key(conn, change))
    _set(conn, "model_coming", None)


def progress(conn: Reading, change: Coming) -> tuple[int, int]:
    """Return how many memories have a vector of the coming model, and how many there are."""
    done = conn.execute(
        "SELECT count(*) FROM embedding WHERE model_key = :key AND kind = 'own'",
        {"key": _key(conn, change)},
    ).get
    every = conn.execute("SELECT count(*) FROM memory").get
    assert isinstance(done, int)
    assert isinstance(every, int)
    return min(done, every), every


def missing(conn: Reading, change: Coming, after: int, limit: int) -> list[Waiting]:
    """Return up to *limit* memories after key *after* without a vector of the coming model."""
    return pending.missing(conn, _key(conn, change), after, limit)


def give(conn: Writing, change: Coming, vectored: Sequence[tuple[Waiting, bytes]]) -> None:
    """Store vectors of the coming model; of memories whose words changed meanwhile, none."""
    model_key = _key(conn, change)
    same = pending.unchanged(conn, [row for row, _ in vectored])
    own = [(row.memory_key, vector) for row, vector in vectored if row.memory_key in same]
    keys = [key for key, _ in own]
    centroids.take(conn, keys, model_key)
    vectors.put(conn, model_key, own)
    centroids.renew(conn, keys, model_key)
    _fill_building(conn, model_key, keys)


def step(conn: Writing, change: Coming) -> bool:
    """Fill the next rows of the coming model's cache; False when there is no more to fill."""
    model_key = _key(conn, change)
    live = vectors.live(conn)
    if live is None or live.model_key == model_key:
        return False
    building = vectors.build(conn)
    if building is None:
        return vectors.start_build(conn, model_key)
    # A rebuild of the live one goes first.
    if building[0].model_key == model_key and not _after(conn, building[1]):
        return False
    vectors.step_build(conn, BUILD_ROWS)
    return True


def change_over(conn: Writing, change: Coming, leaving: ModelNote, unable: Collection[int]) -> bool:
    """Make the coming model the one in use; False when memories came that have no vector of it.

    *leaving* is the one in use until now, whose vectors stay for a way back. *unable*:
    memories that the model cannot embed, which nothing waits for.
    """
    if step(conn, change):
        return False
    model_key = _key(conn, change)
    left = pending.missing(conn, model_key, 0, len(unable) + 1)
    if any(row.memory_key not in unable for row in left):
        return False
    building = vectors.build(conn)
    if building is not None and building[0].model_key == model_key:
        vectors.step_build(conn, 1)  # nothing is left to fill: it is live now
    _set(conn, "model_before", json.dumps(leaving))
    _set(conn, "model_in_use", change.name)
    _set(conn, "model_coming", None)
    return True


def tidy(conn: Writing, rows: int) -> bool:
    """Remove vectors of models that are neither live, nor before, nor coming; False when done."""
    cache, last, change = vectors.live(conn), before(conn), coming(conn)
    prints = [each.fingerprint for each in (last, change) if each is not None]
    kept = [vectors.find_model(conn, each) for each in prints]
    if cache is None or (last is None and change is None):
        return False
    keys = keys_array([cache.model_key, *(key for key in kept if key is not None)])
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
    """Add memories, whose vectors have just come, to the model's cache so far as it is built."""
    building = vectors.build(conn)
    if building is not None and building[0].model_key == model_key:
        vectors.fill(conn, building[0], [key for key in keys if key <= building[1]])


def _drop_build(conn: Writing, model_key: int) -> None:
    left = vectors.build(conn)
    if left is not None and left[0].model_key == model_key:
        conn.execute(f"DROP TABLE {left[0].table}")
        conn.execute("DELETE FROM meta WHERE key = 'vector_build'")


def _after(conn: Reading, key: int) -> bool:
    return conn.execute("SELECT 1 FROM memory WHERE memory_key > ? LIMIT 1", (key,)).get is not None


def _key(conn: Reading, change: Coming) -> int:
    model_key = vectors.find_model(conn, change.fingerprint)
    assert model_key is not None
    return model_key


def _note(conn: Reading, key: str) -> str | None:
    value = conn.execute("SELECT value FROM meta WHERE key = :key", {"key": key}).get
    return value if isinstance(value, str) else None


def _set(conn: Writing, key: str, value: str | None) -> None:
    if value is None:
        conn.execute("DELETE FROM meta WHERE key = :key", {"key": key})
        return
    conn.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (:key, :value)",
        {"key": key, "value": value},
    )
