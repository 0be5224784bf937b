"""Find facts for a context, convert rows to models, and determine a caller's read access.

The rules of access are logged by :func:`note_rules`, so that those of an earlier time are known.

The converters raise OrgMemoryQueryError for an invalid row.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from memd.base import log
from memd.base.clock import DAY_US, Clock, from_us
from memd.base.errors import MemdError, OrgMemoryQueryError
from memd.base.limits import QUERY_TERMS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import OperationType, OrgFactCategory, SeniorityLevel
from memd.domain.org.org import OperationLogEntry, OperationLogSnapshot, OrgFact
from memd.domain.settings.org import OrgMemoryConfig, OrgRules, TemporalConfig
from memd.org.access import readable_categories
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.org import fact_index, org, org_facts
from memd.store.org.as_of import FactVersionRow
from memd.store.org.org_facts import FactRow, OperationRow, SnapshotRow, build_author
from memd.store.search.cjk_bigrams import split_signs
from memd.text.words import content_words

_DAEMON = Caller(client="memd", method="relearn")
Row = TypeVar("Row", FactRow | FactVersionRow, OperationRow, SnapshotRow)
Model = TypeVar("Model")


def terms(context: str) -> list[str]:
    """Return the content words of *context*, at most QUERY_TERMS_MAX.

    Chinese, Japanese and Korean texts give pairs of characters instead of words.
    """
    return content_words(split_signs(context))[:QUERY_TERMS_MAX]


def find_matching(
    conn: Reading, context: str, categories: Collection[OrgFactCategory], limit: int
) -> list[FactRow]:
    """Return at most *limit* facts: first those that contain *context*, then by shared words."""
    keys = dict.fromkeys(fact_index.find_literal(conn, context, categories, limit))
    if len(keys) < limit:
        keys.update(
            dict.fromkeys(
                fact_index.find_sharing(conn, terms(context), categories, limit + len(keys))
            )
        )
    return org_facts.by_keys(conn, list(keys)[:limit])


class CandidateRows(NamedTuple):
    """Facts that may fit a question: those that share words with it, then the newest others."""

    by_words: list[FactRow]
    newest: list[FactRow]


def find_candidates(
    conn: Reading, context: str, categories: Collection[OrgFactCategory], limit: int
) -> CandidateRows:
    """Return at most *limit* facts: those that share words with *context*, then the newest."""
    newest = org_facts.list_newest(conn, categories, limit)
    if not newest:
        return CandidateRows([], [])
    keys = fact_index.find_sharing(conn, terms(context), sorted(categories), limit)
    by_words = org_facts.by_keys(conn, keys)
    known_keys = set(keys)
    others = [row for row in newest if row.fact_key not in known_keys]
    return CandidateRows(by_words, others[: limit - len(by_words)])


def list_readable(
    conn: Reading, fact_id: str, access: CategoryAccess, since_us: int | None
) -> list[OperationRow]:
    """Return the operations on a fact, the first version first; [] for an unknown one.

    Left out are versions superseded before *since_us*, and those that the caller may not read now
    or could not have read then.
    """
    return [
        row
        for row in org_facts.history(conn, fact_id)
        if row.category in access.at(row.at_us)
        and (since_us is None or row.until_us is None or row.until_us > since_us)
    ]


def iter_snapshot(
    conn: Reading, at_us: int, readable: Collection[str], after: str | None = None
) -> Iterator[SnapshotRow]:
    """Yield the facts of the *readable* categories as of *at_us*, by id, after the id *after*."""
    while True:
        page = org_facts.snapshot_at(conn, at_us, after, _PAGE_FACTS)
        yield from (row for row in page if row.category in readable)
        if len(page) < _PAGE_FACTS:
            return
        after = page[-1].fact_id


_PAGE_FACTS = 100


def _convert_errors(convert: Callable[[Row], Model]) -> Callable[[Row], Model]:
    """Wrap *convert* to raise OrgMemoryQueryError for an invalid row (SPEC 15.5.11)."""

    def convert_row(row: Row) -> Model:
        try:
            return convert(row)
        except (ValueError, TypeError) as error:
            raise OrgMemoryQueryError(
                f"fact {row.fact_id} cannot be read", hint="run: memd check"
            ) from error

    return convert_row


@_convert_errors
def to_fact(row: FactRow | FactVersionRow) -> OrgFact:
    """Return the fact of a row."""
    return OrgFact(
        id=row.fact_id,
        content=row.content,
        category=OrgFactCategory(row.category),
        tags=json.loads(row.tags),
        author=build_author(row.is_human, row.author_id, row.seniority, row.autonomy_level),
        created_at=from_us(row.created_at_us),
        version=row.version,
        valid_from=from_us(row.valid_from_us),
        valid_to=from_us(row.valid_to_us),
    )


@_convert_errors
def to_entry(row: OperationRow) -> OperationLogEntry:
    """Return the entry of the operation log for a row."""
    author = build_author(row.is_human, row.author_id, row.seniority, row.autonomy_level)
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
        valid_from=from_us(row.valid_from_us),
        valid_to=from_us(row.valid_to_us),
        proposed_by=row.proposed_by,
    )


@_convert_errors
def to_snapshot(row: SnapshotRow) -> OperationLogSnapshot:
    """Return the state of a fact at some time, from a row."""
    return OperationLogSnapshot(
        fact_id=row.fact_id,
        content=row.content,
        category=OrgFactCategory(row.category),
        tags=json.loads(row.tags),
        created_at=from_us(row.created_at_us),
        retracted_at=from_us(row.retracted_at_us),
        version=row.version,
    )


def visible_since_us(temporal: TemporalConfig, now_us: int) -> int | None:
    """Return the time since which history is visible by the settings; None for all of it."""
    if not temporal.track_changes:
        return now_us
    days = temporal.history_retention_days
    return None if days is None else now_us - days * DAY_US


def require_visible(
    temporal: TemporalConfig, at_us: int, now_us: int, field: str | None = None
) -> None:
    """Raise OrgMemoryQueryError when *at_us* is before the visible history."""
    since_us = visible_since_us(temporal, now_us)
    if since_us is not None and at_us < since_us:
        raise OrgMemoryQueryError(
            f"history before {from_us(since_us).isoformat()} is hidden",
            field=field,
            hint="see org_memory.temporal: the log itself is complete",
        )


ReadRules = Mapping[OrgFactCategory, SeniorityLevel]


@dataclass(frozen=True)
class CategoryAccess:
    """A caller's read access at any time, by the rules of that time and the current ones."""

    since_us: Sequence[int]
    """The times since which *logged_rules* were in force, in order."""
    logged_rules: Sequence[ReadRules]
    current_rules: ReadRules
    caller: Caller
    _cache: dict[int, frozenset[OrgFactCategory]] = field(default_factory=dict)
    """Readable categories by the number of rules logged before a time."""

    def at(self, known_us: int) -> frozenset[OrgFactCategory]:
        """Return the categories of which the caller may read what memd knew at *known_us*."""
        count = bisect_right(self.since_us, known_us)
        if count not in self._cache:
            rules_then = [self.logged_rules[count - 1]] if count else []
            self._cache[count] = readable_categories([self.current_rules, *rules_then], self.caller)
        return self._cache[count]


def category_access(conn: Reading, current_rules: ReadRules, caller: Caller) -> CategoryAccess:
    """Return the read access of *caller*, by the current and all logged rules."""
    logged = org.list_rules(conn)
    return CategoryAccess(
        since_us=[at_us for at_us, _ in logged],
        logged_rules=[OrgRules.model_validate_json(text).read for _, text in logged],
        current_rules=current_rules,
        caller=caller,
    )


async def note_rules(db: Database, clock: Clock, config: OrgMemoryConfig) -> None:
    """Log the access rules if they have changed. To be called before any write.

    A failure is only logged as a warning.
    """
    rules_now = OrgRules(write=config.write_access, read=config.read_access)
    text = json.dumps(rules_now.model_dump(mode="json"), sort_keys=True)
    try:
        if not db.read_only and await db.read(org.current_rules) != text:
            now_us = clock.now_us()
            await db.write(_DAEMON, lambda conn: org.record_rules(conn, text, now_us))
    except MemdError as error:
        log.warning("the rules in force are not noted", kind=error.kind)
