"""The rows that the ranker needs of its candidates, read in one statement."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, cast

from memd.domain.sleep.consolidation import COMPOSED_TAGS, NAP_TAG
from memd.store.check import integrity
from memd.store.file.connect import Reading, keys_array
from memd.store.memory.filters import BoundFilter
from memd.store.search.caches import SIDE_CHARS, text_of

# The statements are built from constants of the store only.
# ruff: noqa: S608


class SearchCandidate(NamedTuple):
    """A memory that may answer: its words, its neighbours, its place."""

    memory_key: int
    session_key: int | None
    project_id: str | None
    speaker: str | None
    own: str
    context: str
    before_key: int | None
    after_key: int | None
    importance: float | None
    created_at_us: int
    occurred_at_us: int | None
    token_count: int
    memory_id: str
    is_hidden: int
    origin: str = "person"
    trust: int = 2
    client_key: int | None = None
    reference: str | None = None
    is_burst: int = 0
    """One of very many that arrived at once (``flagged``)."""
    kind: str | None = None
    """What it is of those that naps compose of an exchange (``COMPOSED_TAGS``), None for others."""

    @property
    def is_composed(self) -> bool:
        """Whether a nap composed it of an exchange."""
        return self.kind is not None

    @property
    def moment_us(self) -> int:
        """When the memory's event was, where that is known, else when it was stored."""
        return self.created_at_us if self.occurred_at_us is None else self.occurred_at_us


# What is asked after an assistant's answer is the next thing, and says nothing of the answer: who
# asks it again would get the answer to another question.
_COLUMNS = f"""
       m.memory_key, m.session_key, p.project_id, m.speaker, {text_of("m")},
       iif(q.memory_key IS NULL, coalesce(c.context, ''),
           rtrim(substr(c.context, 1, length(c.context) - min({SIDE_CHARS},
                                                              length({text_of("a")}))),
                 char(10))),
       c.before_key, iif(q.memory_key IS NULL, c.after_key, NULL), m.importance,
       m.created_at_us, m.occurred_at_us, m.token_count, m.memory_id,
       m.state IN ('compressed', 'archived'), m.origin, m.trust, m.client_key, m.reference,
       EXISTS (SELECT 1
                 FROM flagged AS f
                WHERE f.memory_key = m.memory_key AND f.flags LIKE '%"burst"%'),
       (SELECT d.tag
          FROM memory_tag AS n
               JOIN memory_tag AS d USING (memory_key)
         WHERE n.memory_key = m.memory_key AND n.tag = '{NAP_TAG}'
           AND d.tag IN ({", ".join(f"'{tag}'" for tag in sorted(COMPOSED_TAGS))})
         LIMIT 1)
"""
_JOINED_PROJECT = "LEFT JOIN project AS p ON p.project_key = m.project_key"
_JOINED = f"""
       LEFT JOIN memory_context AS c ON c.memory_key = m.memory_key
       LEFT JOIN passing AS q ON q.memory_key = c.after_key AND q.kind = 'question'
                             AND m.origin = 'assistant'
       LEFT JOIN memory AS a ON a.memory_key = q.memory_key
       {_JOINED_PROJECT}
"""


def read_candidates(
    conn: Reading, condition: BoundFilter, keys: Sequence[int]
) -> list[SearchCandidate]:
    """Return those of *keys* that match the filter, with what the ranker needs."""
    if not keys:
        return []
    rows = conn.execute(
        f"""
        SELECT {_COLUMNS}
          FROM carray(:keys) AS k
               CROSS JOIN memory AS m ON m.memory_key = k.value
               {_JOINED}
         WHERE {condition.where}
        """,
        {**condition.params, "keys": keys_array(keys)},
    )
    return [SearchCandidate._make(row) for row in integrity.skip_undecodable(conn, rows, "memory")]


def read_speakers(conn: Reading, keys: Sequence[int]) -> dict[int, str]:
    """Return who says each of *keys*; those without a speaker are left out."""
    rows = conn.execute(
        """
        SELECT m.memory_key, m.speaker
          FROM carray(:keys) AS k
               CROSS JOIN memory AS m ON m.memory_key = k.value
         WHERE m.speaker IS NOT NULL
        """,
        {"keys": keys_array(keys)},
    )
    pairs = cast("Iterator[tuple[int, str]]", integrity.skip_undecodable(conn, rows, "memory"))
    return dict(pairs)


def find_summaries(
    conn: Reading, condition: BoundFilter, keys: Sequence[int]
) -> dict[int, SearchCandidate]:
    """Return the matching summary of each of *keys* that has one.

    Of several it is the newest of those that the key was hidden for, which contains its words: a
    session's summary may also be made from memories that an extractive list covers, and a list
    names sources that stayed visible.
    """
    if not keys:
        return {}
    # The pairs first, then each summary once: it is long and has many sources.
    rows = conn.execute(
        f"""
        SELECT d.from_key, d.to_key
          FROM carray(:keys) AS k
               CROSS JOIN derived AS d ON d.from_key = k.value
               CROSS JOIN memory AS m ON m.memory_key = d.to_key AND m.is_summary
               {_JOINED_PROJECT}
         WHERE {condition.where}
         ORDER BY d.to_key
        """,
        {**condition.params, "keys": keys_array(keys)},
    )
    pairs = list(rows)
    summary_of = dict(pairs)
    if len(summary_of) < len(pairs):
        several = {key for key, summary in pairs if summary_of[key] != summary}
        matching = {*pairs}
        summary_of |= dict(
            pair for pair in _list_hiding_summaries(conn, several) if pair in matching
        )
    summaries = {
        row.memory_key: row for row in read_candidates(conn, condition, [*set(summary_of.values())])
    }
    return {key: summaries[summary] for key, summary in summary_of.items()}


def _list_hiding_summaries(conn: Reading, keys: Collection[int]) -> list[tuple[int, int]]:
    """Return each of *keys* with the summaries that hide it, the newest last.

    The archive's reason of a source is the tag of the summary that hides it.
    """
    rows = conn.execute(
        """
        SELECT d.from_key, d.to_key
          FROM carray(:keys) AS k
               CROSS JOIN derived AS d ON d.from_key = k.value
               JOIN archive AS r ON r.memory_key = d.from_key
               JOIN memory_tag AS g ON g.memory_key = d.to_key AND g.tag = r.reason
         ORDER BY d.to_key
        """,
        {"keys": keys_array(list(keys))},
    )
    return list(rows)
