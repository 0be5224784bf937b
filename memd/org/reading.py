"""From a context to rows, and from rows to what callers are shown.

What a caller may read, by the rules of a moment and by today's.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from memd.base.clock import from_us
from memd.base.errors import OrgMemoryQueryError
from memd.base.limits import QUERY_TERMS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import OperationType, OrgFactCategory, SeniorityLevel
from memd.domain.org.org import OperationLogEntry, OperationLogSnapshot, OrgFact
from memd.domain.settings.org import OrgRules
from memd.org.access import readable
from memd.store.file.connect import Reading
from memd.store.org import org_facts, org_words, rules
from memd.store.org.org_facts import FactRow, OperationRow, SnapshotRow
from memd.text.function_words import telling_words

Row = TypeVar("Row", FactRow, OperationRow, SnapshotRow)
Model = TypeVar("Model")


def terms(context: str) -> list[str]:
    """Return the words of *context* that say something, as many as are searched for."""
    return telling_words(context)[:QUERY_TERMS_MAX]


def matching(
    conn: Reading, context: str, categories: Collection[OrgFactCategory], limit: int
) -> list[FactRow]:
    """Return facts for *context*: those that hold it literally, then those that share its words."""
    keys = dict.fromkeys(org_words.literal(conn, context, categories, limit))
    if len(keys) < limit:
        keys.update(
            dict.fromkeys(org_words.sharing(conn, terms(context), categories, limit + len(keys)))
        )
    return org_facts.of_keys(conn, list(keys)[:limit])


class CandidateRows(NamedTuple):
    """Facts that may fit a question: those that share its words, then the newest others."""

    by_words: list[FactRow]
    others: list[FactRow]


def find_candidates(
    conn: Reading, context: str, categories: Collection[OrgFactCategory], limit: int
) -> CandidateRows:
    """Return at most *limit* facts that may fit *context*, each once."""
    newest = org_facts.newest(conn, categories, limit)
    if not newest:
        return CandidateRows([], [])
    keys = org_words.sharing(conn, terms(context), sorted(categories), limit)
    by_words = org_facts.of_keys(conn, keys)
    others = [row for row in newest if row.fact_key not in set(keys)]
    return CandidateRows(by_words, others[: limit - len(by_words)])


def iter_snapshot(
    conn: Reading, at_us: int, may: Collection[str], after: str | None = None
) -> Iterator[SnapshotRow]:
    """Yield the facts of the categories *may* as they stood at *at_us*, by id, from *after* on."""
    while True:
        page = list(org_facts.snapshot_at(conn, at_us, after, _PAGE_FACTS))
        yield from (row for row in page if row.category in may)
        if len(page) < _PAGE_FACTS:
            return
        after = page[-1].fact_id


_PAGE_FACTS = 100


def _readable(made: Callable[[Row], Model]) -> Callable[[Row], Model]:
    """Let *made* raise OrgMemoryQueryError for a row that is none of memd's (SPEC 15.5.11)."""

    def read(row: Row) -> Model:
        try:
            return made(row)
        except (ValueError, TypeError) as error:
            raise OrgMemoryQueryError(
                f"fact {row.fact_id} cannot be read", hint="run: memd check"
            ) from error

    return read


@_readable
def fact(row: FactRow) -> OrgFact:
    """Return a row as a fact."""
    return OrgFact(
        id=row.fact_id,
        content=row.content,
        category=OrgFactCategory(row.category),
        tags=json.loads(row.tags),
        author=org_facts.author(row),
        created_at=from_us(row.created_at_us),
        version=row.version,
        valid_from=None if row.valid_from_us is None else from_us(row.valid_from_us),
        valid_to=None if row.valid_to_us is None else from_us(row.valid_to_us),
    )


@_readable
def entry(row: OperationRow) -> OperationLogEntry:
    """Return a row of the log."""
    author = org_facts.author(row)
    return OperationLogEntry(
        operation_id=row.operation_id,
        fact_id=row.fact_id,
        operation_type=OperationType(row.kind),
        content=row.content,
        category=OrgFactCategory(row.category),
        tags=json.loads(row.tags),
        author_agent_id=author.agent_id,
        author_seniority=author.seniority,
        author_is_human=author.is_human,
        author_autonomy_level=author.autonomy_level,
        timestamp=from_us(row.at_us),
        version=row.version,
        valid_from=None if row.valid_from_us is None else from_us(row.valid_from_us),
        valid_to=None if row.valid_to_us is None else from_us(row.valid_to_us),
    )


@_readable
def snapshot(row: SnapshotRow) -> OperationLogSnapshot:
    """Return a fact as it stood."""
    return OperationLogSnapshot(
        fact_id=row.fact_id,
        content=row.content,
        category=OrgFactCategory(row.category),
        tags=json.loads(row.tags),
        created_at=from_us(row.created_at_us),
        retracted_at=None if row.retracted_at_us is None else from_us(row.retracted_at_us),
        version=row.version,
    )


ReadRules = Mapping[OrgFactCategory, SeniorityLevel]


@dataclass(frozen=True)
class Sight:
    """The rules since when, today's, and who asks."""

    since_us: Sequence[int]
    logged: Sequence[ReadRules]
    today: ReadRules
    caller: Caller
    _known: dict[int, frozenset[OrgFactCategory]] = field(default_factory=dict)

    def at(self, known_us: int) -> frozenset[OrgFactCategory]:
        """Return the categories that the caller may read of what was known at *known_us*."""
        place = bisect_right(self.since_us, known_us)
        if place not in self._known:
            then = [self.logged[place - 1]] if place else []
            self._known[place] = readable([self.today, *then], self.caller)
        return self._known[place]


def sight(conn: Reading, today: ReadRules, caller: Caller) -> Sight:
    """Return what *caller* may read, now and by every set of rules before."""
    logged = rules.logged(conn)
    return Sight(
        since_us=[at_us for at_us, _ in logged],
        logged=[OrgRules.model_validate_json(text).read for _, text in logged],
        today=today,
        caller=caller,
    )
