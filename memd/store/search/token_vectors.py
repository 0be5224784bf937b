"""Token vectors: stored and erased with a memory's vector, read for candidates, never indexed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from memd.domain.encoding import TOKEN_BYTES
from memd.store.file.connect import Reading, keys_array
from memd.store.search.vectors import current_cache


def tokens_of(conn: Reading, keys: Sequence[int]) -> dict[int, bytes]:
    """Return the token vectors of each of *keys* for which the live model has made them.

    They are empty for a text without a token, and where half a token's are left of a damaged page.
    """
    cache = current_cache(conn)
    if cache is None or not keys:
        return {}
    rows = conn.execute(
        """
        SELECT e.memory_key, iif(length(e.tokens) % :size, x'', e.tokens)
          FROM carray(:keys) AS k
               CROSS JOIN embedding AS e
                  ON e.memory_key = k.value AND e.model_key = :model_key AND e.kind = 'own'
         WHERE e.tokens IS NOT NULL
        """,
        {"keys": keys_array(keys), "model_key": cache.model_key, "size": TOKEN_BYTES},
    )
    return cast("dict[int, bytes]", dict(rows))


def has_tokens(conn: Reading) -> bool:
    """Return whether the live model gives token vectors."""
    cache = current_cache(conn)
    return cache is not None and conn.exists(
        "SELECT 1 FROM embedding WHERE model_key = ? AND length(tokens) > 0", (cache.model_key,)
    )
