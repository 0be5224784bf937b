"""Vectors: the ``embedding`` rows are the truth, a vec0 table per generation is their cache.

Beside each vector are the token vectors of its text, read for candidates and never indexed.

Distances are L2 on unit vectors (cos = 1 - d * d / 2): vec0's own cosine is slower. The owner
and the part of the cache are the partition key, so the cost of a search grows with the owner's
vectors, not with the file's, and excludes parts that the search would drop. Each partition is cut
into shards, so that one search can use two cores. A cache generation belongs to one model.
"""

from __future__ import annotations

import hashlib
import operator
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from memd.base.errors import EmbeddingError
from memd.base.limits import KNN_ROWS_MAX
from memd.domain.encoding import TOKEN_BYTES, Encoding, ModelFingerprint
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.search.fulltext import CachePart

# Table names carry a model's key and a generation, numbers from meta, and PARTITION is fixed.
# ruff: noqa: S608
CHUNK_ROWS = 512
SHARDS = 2  # partitions of an owner, scanned in parallel: on two cores in half the time
_SHARD_BITS = 13  # blocks of 8,192 memories take turns, so a small store has one partition
_PARTS = "".join(part for part in CachePart if part is not CachePart.PASSING)
_SHARD = f"(m.memory_key >> {_SHARD_BITS}) % {SHARDS}"
# Turns in passing were added later: negative, so that the other partitions keep their numbers.
PARTITION = f"""iif(p.part = '{CachePart.PASSING}',
    -1 - (m.agent_key * {SHARDS} + {_SHARD}),
    (m.agent_key * {len(_PARTS)} + instr('{_PARTS}', p.part) - 1) * {SHARDS} + {_SHARD}
)"""
SQUARE_ERROR_MAX = 2e-3  # of a length within 0.001 of 1


class DenseMatch(NamedTuple):
    """A memory and its cosine to the query."""

    memory_key: int
    cosine: float


class VectorCache(NamedTuple):
    """A vec0 table: its model and its generation."""

    model_key: int
    generation: int

    @property
    def table(self) -> str:
        return f"vec_{self.model_key}_{self.generation}"


def partitions(agent_key: int, parts: Sequence[CachePart], shard: int) -> list[int]:
    """Return the partitions of a *shard* (below SHARDS) of an agent's vectors of some *parts*."""
    return [
        -1 - (agent_key * SHARDS + shard)
        if part is CachePart.PASSING
        else (agent_key * len(_PARTS) + _PARTS.index(part)) * SHARDS + shard
        for part in parts
    ]


def shard(memory_key: int) -> int:
    """Return the shard that contains a memory's vector."""
    return (memory_key >> _SHARD_BITS) % SHARDS


def used_shards(conn: Reading) -> range:
    """Return the shards that may have vectors: a small store has one, and one scan is enough."""
    last_key = conn.get_int("SELECT max(memory_key) FROM memory") or 0
    return range(min(last_key >> _SHARD_BITS, SHARDS - 1) + 1)


def checksum(vector: bytes) -> bytes:
    """Return the value of the checksum column for *vector*."""
    return hashlib.sha256(vector).digest()[:16]


def find_model(conn: Reading, fingerprint: str) -> int | None:
    sql = "SELECT model_key FROM embedding_model WHERE fingerprint = ?"
    return conn.get_int(sql, (fingerprint,))


def ensure_model(conn: Writing, fingerprint: ModelFingerprint, now_us: int) -> int:
    model_key = find_model(conn, fingerprint.text)
    if model_key is not None:
        return model_key
    conn.insert(
        "embedding_model",
        {
            "fingerprint": fingerprint.text,
            "name": fingerprint.name,
            "dimension": fingerprint.dimension,
            "created_at_us": now_us,
        },
    )
    return conn.last_insert_rowid()


def current_cache(conn: Reading) -> VectorCache | None:
    """Return the live cache, None before the first vector was stored."""
    value = conn.get_meta("vector_cache", str)
    return None if value is None else VectorCache(*map(int, value.split()))


def live_model(conn: Reading, fingerprint: str) -> int | None:
    """Return the key of the live cache's model: 0 if it is not *fingerprint*, None without one."""
    cache = current_cache(conn)
    if cache is None:
        return None
    of_model = "SELECT fingerprint = ? FROM embedding_model WHERE model_key = ?"
    return cache.model_key if conn.get_int(of_model, (fingerprint, cache.model_key)) else 0


def create(conn: Writing, cache: VectorCache, dimension: int) -> None:
    """Create an empty cache beside the live one."""
    conn.execute(
        f"""
        CREATE VIRTUAL TABLE {cache.table} USING vec0(
            owner INTEGER PARTITION KEY, vector FLOAT[{dimension}], chunk_size={CHUNK_ROWS}
        )
        """
    )


def activate(conn: Writing, cache: VectorCache) -> None:
    """Make *cache* the live one and drop the previous one."""
    before = current_cache(conn)
    conn.set_meta("vector_cache", f"{cache.model_key} {cache.generation}")
    if before is not None:
        conn.execute(f"DROP TABLE {before.table}")


def ensure_cache(conn: Writing, fingerprint: ModelFingerprint, now_us: int) -> int:
    """Return the model's key; creates a live cache for it when the store has none."""
    model_key = ensure_model(conn, fingerprint, now_us)
    if current_cache(conn) is None:
        cache = VectorCache(model_key, 1)
        create(conn, cache, fingerprint.dimension)
        activate(conn, cache)
    return model_key


def store(conn: Writing, model_key: int, encoded: Sequence[tuple[int, Encoding]]) -> None:
    """Store what the model made of memories, by their keys, without indexing it (:func:`index`).

    Raises EmbeddingError for anything but a unit vector of the model's dimension: a NaN would come
    first in every search (PROMISES 4).
    """
    dimension = _dimension(conn, model_key)
    for _, encoding in encoded:
        validate(encoding, dimension)
    conn.executemany(
        """
        INSERT INTO embedding (memory_key, model_key, kind, checksum, vector, tokens)
        VALUES (:memory_key, :model_key, 'own', :checksum, :vector, :tokens)
            ON CONFLICT (memory_key, model_key, kind)
            DO UPDATE SET checksum = excluded.checksum,
                          vector = excluded.vector,
                          tokens = excluded.tokens
        """,
        (
            {
                "memory_key": memory_key,
                "model_key": model_key,
                "checksum": checksum(encoding.vector),
                "vector": encoding.vector,
                "tokens": encoding.tokens,
            }
            for memory_key, encoding in encoded
        ),
    )


def validate(encoding: Encoding, dimension: int) -> None:
    """Raise EmbeddingError for no finite unit vector of *dimension* float32, or half a token's."""
    vector = encoding.vector
    if len(encoding.tokens) % TOKEN_BYTES:
        raise EmbeddingError(f"a token's vector must have {TOKEN_BYTES} numbers")
    if len(vector) != dimension * 4:
        raise EmbeddingError(f"a vector must have {dimension} dimensions")
    numbers = array("f")
    numbers.frombytes(vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    square = sum(map(operator.mul, numbers, numbers))
    if not abs(square - 1.0) <= SQUARE_ERROR_MAX:  # false for NaN and infinity, too
        raise EmbeddingError("a vector must be finite and of length 1")


def _dimension(conn: Reading, model_key: int) -> int:
    return conn.get_count(
        "SELECT dimension FROM embedding_model WHERE model_key = :model_key",
        {"model_key": model_key},
    )


def index(conn: Writing, keys: Sequence[int]) -> None:
    """Add those of the memories that are searchable and have a vector of the cache's model."""
    for cache, targeted in _targets(conn, keys):
        fill(conn, cache, targeted)


def fill(conn: Writing, cache: VectorCache, keys: Sequence[int]) -> None:
    """Add to *cache* those of the memories, not yet in it, that are searchable."""
    conn.execute(
        f"""
        INSERT INTO {cache.table} (rowid, owner, vector)
        SELECT m.memory_key, {PARTITION}, e.vector
          FROM memory AS m
               JOIN cache_part AS p ON p.memory_key = m.memory_key
               JOIN embedding AS e ON e.memory_key = m.memory_key
         WHERE m.memory_key IN (SELECT value FROM carray(:keys))
           AND e.model_key = :model_key AND e.kind = 'own'
        """,
        {"keys": keys_array(keys), "model_key": cache.model_key},
    )


def unindex(conn: Writing, keys: Sequence[int]) -> None:
    """Remove the memories from the caches; those that are not there are ignored."""
    for cache, targeted in _targets(conn, keys):
        empty(conn, cache, targeted)


def empty(conn: Writing, cache: VectorCache, keys: Sequence[int]) -> None:
    """Remove the memories from *cache*; those that are not there are ignored."""
    conn.executemany(f"DELETE FROM {cache.table} WHERE rowid = ?", ((key,) for key in keys))


def _targets(conn: Reading, keys: Sequence[int]) -> Iterator[tuple[VectorCache, Sequence[int]]]:
    """Yield the live cache and the one being built, each with those of *keys* that are in it."""
    cache = current_cache(conn)
    if cache is None or not keys:
        return
    yield cache, keys
    building = current_build(conn)
    if building is not None:
        filled = [key for key in keys if key <= building[1]]
        if filled:
            yield building[0], filled


def search(conn: Reading, vector: bytes, partitions: Sequence[int], limit: int) -> list[DenseMatch]:
    """Return the *limit* (<= KNN_ROWS_MAX) nearest memories of the partitions, in order."""
    cache = current_cache(conn)
    if cache is None:
        return []
    assert limit <= KNN_ROWS_MAX
    nearest: list[DenseMatch] = []
    for owner in partitions:
        rows = conn.execute(
            f"""
            SELECT rowid, distance
              FROM {cache.table}
             WHERE vector MATCH :vector AND k = :limit AND owner = :owner
            """,
            {"vector": vector, "limit": limit, "owner": owner},
        )
        nearest.extend(DenseMatch(key, 1.0 - distance * distance / 2.0) for key, distance in rows)
    nearest.sort(key=lambda near: (-near.cosine, near.memory_key))
    return nearest[:limit]


def compare(
    conn: Reading,
    model_key: int,
    vector: bytes,
    keys: Sequence[int],
    with_tokens: Sequence[int] = (),
) -> tuple[dict[int, float], dict[int, bytes]]:
    """Return the cosine of each of *keys* that has a vector of the model, and token vectors.

    These are of each of *with_tokens* for which they were made: empty for a text without a token,
    and where half a token's are left of a damaged page.
    """
    rows: list[Any] = conn.execute(
        """
        SELECT memory_key, vec_distance_L2(vector, :vector),
               iif(memory_key IN (SELECT value FROM carray(:with_tokens)),
                   iif(length(tokens) % :size, x'', tokens), NULL)
          FROM carray(:keys)
               CROSS JOIN embedding
                  ON memory_key = value AND model_key = :model_key AND kind = 'own'
        """,
        {
            "vector": vector,
            "with_tokens": keys_array(with_tokens),
            "size": TOKEN_BYTES,
            "keys": keys_array(keys),
            "model_key": model_key,
        },
    ).fetchall()
    cosines = {key: 1.0 - distance * distance / 2.0 for key, distance, _ in rows}
    return cosines, {key: tokens for key, _, tokens in rows if tokens is not None}


def read(conn: Reading, keys: Sequence[int], model_key: int | None = None) -> dict[int, bytes]:
    """Return the vector of each of *keys* for which a model has made one, by default the live."""
    if model_key is None and (cache := current_cache(conn)) is not None:
        model_key = cache.model_key
    rows = conn.execute(
        """
        SELECT memory_key, vector
          FROM carray(:keys)
               CROSS JOIN embedding
                  ON memory_key = value AND model_key = :model_key AND kind = 'own'
        """,
        {"keys": keys_array(keys), "model_key": model_key},
    )
    return dict(rows)


def has_tokens(conn: Reading) -> bool:
    """Return whether the live model gives token vectors."""
    cache = current_cache(conn)
    return cache is not None and conn.exists(
        "SELECT 1 FROM embedding WHERE model_key = ? AND length(tokens) > 0", (cache.model_key,)
    )


def cosines(conn: Reading, vector: bytes, others: Sequence[bytes]) -> list[float]:
    """Return the cosine of *vector* with each of *others*, which need not be in the file."""
    select = "SELECT vec_distance_L2(:other, :vector)"
    both = ({"other": other, "vector": vector} for other in others)
    distances: list[Any] = [conn.execute(select, values).get for values in both]
    return [1.0 - distance * distance / 2.0 for distance in distances]


# Rebuilding beside the live cache.


def start_build(conn: Writing, model_key: int | None = None) -> bool:
    """Begin a new generation, dropping an unfinished one; False without a live cache.

    It is of the live model, or of *model_key*, and becomes the live cache once it is complete.
    """
    cache = current_cache(conn)
    if cache is None:
        return False
    unfinished = current_build(conn)
    drop_build(conn)
    target_key = cache.model_key if model_key is None else model_key
    cache_to_build = VectorCache(
        target_key, max(cache.generation, unfinished[0].generation if unfinished else 0) + 1
    )
    create(conn, cache_to_build, _dimension(conn, target_key))
    _set_build(conn, cache_to_build, 0)
    return True


def current_build(conn: Reading) -> tuple[VectorCache, int] | None:
    """Return the cache that is being built and the last memory in it, if any."""
    value = conn.get_meta("vector_build", str)
    if value is None:
        return None
    model_key, generation, last_key = map(int, value.split())
    return VectorCache(model_key, generation), last_key


def drop_build(conn: Writing) -> None:
    """Drop the cache that is being built, if any."""
    building = current_build(conn)
    if building is not None:
        conn.execute(f"DROP TABLE {building[0].table}")
        conn.set_meta("vector_build", None)


def step_build(conn: Writing, rows: int) -> bool:
    """Fill the next *rows* memories; False once the build is complete and live."""
    building = current_build(conn)
    if building is None:  # another rebuild completed it meanwhile
        return False
    cache, after = building
    live = current_cache(conn)
    if live is None or live.generation >= cache.generation:  # another model came meanwhile
        drop_build(conn)
        return False
    keys = conn.list_ints(
        "SELECT memory_key FROM memory WHERE memory_key > :after ORDER BY memory_key LIMIT :rows",
        {"after": after, "rows": rows},
    )
    if keys:
        fill(conn, cache, keys)
        _set_build(conn, cache, keys[-1])
        return True
    activate(conn, cache)
    conn.set_meta("vector_build", None)
    return False


def _set_build(conn: Writing, cache: VectorCache, last_key: int) -> None:
    conn.set_meta("vector_build", f"{cache.model_key} {cache.generation} {last_key}")
