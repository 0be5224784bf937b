"""Bitemporal queries of facts and statements (backend temporal_kg).

Valid time is when a statement was true, as the text claims. Known time is when memd knew it, by the
daemon's clock, which no claim can change (PROMISES H57). Facts that the caller may not read now
or could not have read at the known time are left out. The answer names their categories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from memd.base.clock import Clock, from_us, to_us
from memd.base.errors import NotFoundError, cursor_error
from memd.base.limits import QUOTE_CHARS_MAX, STRETCHES_MAX, THEN_OPERATIONS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import OrgFactCategory
from memd.domain.org.graph import Evidence, Statement
from memd.domain.org.history import (
    AsOfQuery,
    PastFact,
    PastFacts,
    Timeline,
    TimelineStretch,
    VersionStretch,
)
from memd.domain.org.org import OperationLogEntry, OrgFact
from memd.domain.settings.org import OrgMemoryConfig
from memd.org import fact_reader
from memd.org.access import readable_categories
from memd.org.fact_reader import CategoryAccess, category_access
from memd.org.graph_view import build_statement
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.org import as_of, org, org_facts, statements
from memd.store.org.as_of import FactFilter, FactVersionRow, StatementSpanRow
from memd.store.org.org_facts import OperationRow, build_author


@dataclass(frozen=True)
class Past:
    """Answers queries about facts at other times."""

    db: Database
    clock: Clock
    config: OrgMemoryConfig = field(default_factory=OrgMemoryConfig)

    async def as_of(self, caller: Caller, query: AsOfQuery) -> PastFacts:
        """Return a page of the facts valid at a time, as known at another, the latest first.

        Raises NotFoundError for an unknown thing, InvalidError for an invalid ``query.after``, and
        OrgMemoryQueryError for a time before the visible history (``temporal``).
        """
        now_us = await self._now_us()
        valid_us = now_us if query.valid is None else to_us(query.valid)
        known_us = now_us if query.known is None else to_us(query.known)
        fact_reader.require_visible(self.config.temporal, min(known_us, valid_us), now_us)

        def work(conn: Reading) -> PastFacts:
            readable = self._access(conn, caller).at(known_us)
            filters = FactFilter(
                known_us,
                readable & (query.categories or frozenset(OrgFactCategory)),
                query.limit + 1,
                query.text,
                _thing_key(conn, query.subject, readable),
                _page_end(conn, query.after),
            )
            items, next_page = _page(conn, filters, valid_us)
            return PastFacts(
                valid=from_us(valid_us),
                known=from_us(known_us),
                items=tuple(items),
                next=next_page,
                withheld=_withheld(readable),
            )

        return await self.db.read(work)

    async def timeline(self, caller: Caller, name: str) -> Timeline:
        """Return the statements about a thing, or of a fact, over time.

        *name* is the name of the thing or the id of the fact. Raises NotFoundError if the caller
        may read none of them.
        """
        now_us = await self._now_us()
        since_us = fact_reader.visible_since_us(self.config.temporal, now_us)

        def work(conn: Reading) -> Timeline:
            access = self._access(conn, caller)
            readable = access.at(now_us)
            key = statements.look_up_thing(conn, name)
            about = name if key is None else key
            rows = as_of.list_history(conn, about, readable, since_us, STRETCHES_MAX + 1)
            visible = [row for row in rows if row.category in access.at(_last_us(row, now_us))]
            entries = fact_reader.list_readable(conn, name, access, since_us)
            if not visible and not entries:
                raise _unknown_error(name)
            return Timeline(
                about=name,
                versions=tuple(_version_stretches(entries))[-STRETCHES_MAX:],
                stretches=tuple(map(to_stretch, visible[:STRETCHES_MAX])),
                truncated=len(rows) > STRETCHES_MAX,
                withheld=_withheld(readable),
            )

        return await self.db.read(work)

    async def changes(
        self, caller: Caller, since: datetime, after: str | None, limit: int
    ) -> tuple[tuple[OperationLogEntry, ...], str | None]:
        """Return up to *limit* operations on facts since *since*, and the mark of the next page.

        The last comes first. *after* is the mark of the previous page, the id of its last
        operation; InvalidError if unknown. What the caller may not read now, or could not have read
        then, is left out, so a page may be short. Raises OrgMemoryQueryError for a time before the
        visible history (``temporal``).
        """
        since_us = to_us(since)
        fact_reader.require_visible(self.config.temporal, since_us, await self._now_us(), "since")

        def work(conn: Reading) -> tuple[list[OperationRow], CategoryAccess]:
            access = self._access(conn, caller)
            categories = readable_categories([self.config.read_access], caller)
            page_end = _page_end(conn, after)
            return org_facts.changes(conn, since_us, categories, page_end, limit), access

        rows, access = await self.db.read(work)
        entries = (
            fact_reader.to_entry(row) for row in rows if row.category in access.at(row.at_us)
        )
        return tuple(entries), rows[-1].operation_id if len(rows) == limit else None

    async def filter_holding(
        self, caller: Caller, facts: tuple[OrgFact, ...], question: str = ""
    ) -> tuple[OrgFact, ...]:
        """Return those of *facts* that hold now, each in the version that does, with its period.

        If *question* names a time ("in March"), what held or will hold then follows, too. It does
        not replace what holds now, as a question may name a time only by the way.
        """
        if not facts:
            return facts
        now_us = await self._now_us()
        readable = readable_categories([self.config.read_access], caller)
        filters = FactFilter(now_us, readable, -1, fact_ids=[fact.id for fact in facts])
        moments = [now_us, *self._asked_times(question, now_us)]
        return await self.db.read(_filter_holding, facts, filters, moments)

    def _asked_times(self, question: str, now_us: int) -> Iterator[int]:
        """Yield the visible last moment of each time in *question* that is wholly over or ahead."""
        from memd.extract.times import find_periods

        since_us = fact_reader.visible_since_us(self.config.temporal, now_us)
        for period in find_periods(question, now_us):
            start, stop = period.from_us, period.to_us
            is_over = stop is not None and stop <= now_us
            is_ahead = stop is not None and start is not None and start > now_us
            if stop is not None and (is_over or is_ahead) and stop - 1 >= (since_us or 0):
                yield stop - 1

    # What is visible.

    def _access(self, conn: Reading, caller: Caller) -> CategoryAccess:
        return category_access(conn, self.config.read_access, caller)

    async def _now_us(self) -> int:
        """Return the present, or the time of the last operation if the clock went back since."""
        last_us = await self.db.read(org.last_at_us)
        return max(self.clock.now_us(), last_us or 0)


def _withheld(readable: frozenset[OrgFactCategory]) -> tuple[OrgFactCategory, ...]:
    return tuple(category for category in OrgFactCategory if category not in readable)


def _thing_key(conn: Reading, name: str | None, readable: frozenset[OrgFactCategory]) -> int | None:
    """Return the key of the thing *name*, None without a name.

    Raises NotFoundError unless a fact of a *readable* category mentions the thing.
    """
    if name is None:
        return None
    key = statements.look_up_thing(conn, name)
    if key is None or not as_of.is_mentioned(conn, key, readable):
        raise _unknown_error(name)
    return key


def _page_end(conn: Reading, operation_id: str | None) -> int | None:
    """Return the key of the operation that ended the previous page; raises InvalidError."""
    key = None if operation_id is None else as_of.key_of(conn, operation_id)
    if operation_id is not None and key is None:
        raise cursor_error()
    return key


def _page(conn: Reading, filters: FactFilter, valid_us: int) -> tuple[list[PastFact], str | None]:
    """Return one page, and the id of the operation after which the next one begins, or None.

    At most about THEN_OPERATIONS_MAX rows are examined, so a page may be short or empty although
    another follows.
    """
    limit = filters.limit - 1  # one more row is read, to see whether another page follows
    items: list[PastFact] = []
    last: FactVersionRow | None = None
    for _ in range(0, THEN_OPERATIONS_MAX, limit):
        rows = as_of.list_versions(conn, filters)
        holding = {one.row: one for one in _find_holding(conn, rows, filters, valid_us)}
        for place, row in enumerate(rows):
            last = row
            if row in holding:
                items.append(holding[row].to_past_fact())
            if len(items) == limit:
                is_end = place == len(rows) - 1 and len(rows) < filters.limit
                return items, None if is_end else row.operation_id
        if len(rows) < filters.limit or last is None:
            return items, None
        filters = replace(filters, before_key=last.operation_key)
    return items, None if last is None else last.operation_id


class _Holding(NamedTuple):
    """A version of a fact that holds at a time, and those of its statements that do."""

    row: FactVersionRow
    statements: Sequence[StatementSpanRow]

    def to_past_fact(self) -> PastFact:
        return PastFact(
            fact=fact_reader.to_fact(self.row),
            operation_id=self.row.operation_id,
            written_at=from_us(self.row.at_us),
            statements=tuple(map(_to_statement, self.statements)),
        )

    def to_dated_fact(self) -> OrgFact:
        """Return the fact with the period in which all of this version holds, where it is known."""
        row = self.row
        starts, ends = [row.valid_from_us], [row.valid_to_us, row.until_us]
        if not _has_other_text(
            row, [(one.span_from, one.span_from + len(one.quote)) for one in self.statements]
        ):
            starts += [one.valid_from_us for one in self.statements]
            ends += [one.valid_to_us for one in self.statements]
        period = {
            "valid_from": from_us(max(filter(None, starts), default=None)),
            "valid_to": from_us(min(filter(None, ends), default=None)),
        }
        return fact_reader.to_fact(row).model_copy(update=period)


def _find_holding(
    conn: Reading, rows: list[FactVersionRow], filters: FactFilter, valid_us: int
) -> list[_Holding]:
    """Return those of *rows* that hold at *valid_us*, in their order.

    A fact holds if one of its statements does. A fact with text besides its statements also holds
    during its own valid time.
    """
    keys = [row.operation_key for row in rows]
    spans = as_of.spans_of(conn, keys)
    statements_by_key: dict[int, list[StatementSpanRow]] = {}
    for span_row in as_of.list_statements(conn, keys, filters.known_us):
        if is_valid_at(span_row, valid_us):
            statements_by_key.setdefault(span_row.operation_key, []).append(span_row)
    holding: list[_Holding] = []
    for row in rows:
        valid_statements = statements_by_key.get(row.operation_key, [])
        is_valid = filters.thing_key is None and is_valid_at(row, valid_us)
        is_valid = is_valid and (row.until_us is None or valid_us < row.until_us)
        if valid_statements or (
            is_valid and _has_other_text(row, spans.get(row.operation_key, []))
        ):
            holding.append(_Holding(row, valid_statements))
    return holding


def _has_other_text(row: FactVersionRow, spans: list[tuple[int, int]]) -> bool:
    """Return whether a fact has text outside the *spans* of its statements."""
    from memd.extract.statements import covers

    return not (spans and covers(row.content, spans))


def is_valid_at(row: StatementSpanRow | FactVersionRow, valid_us: int) -> bool:
    """Return whether the valid time of *row* includes *valid_us*; its end is exclusive."""
    if row.valid_from_us is not None and valid_us < row.valid_from_us:
        return False
    return row.valid_to_us is None or valid_us < row.valid_to_us


def _filter_holding(
    conn: Reading, facts: tuple[OrgFact, ...], filters: FactFilter, moments: Sequence[int]
) -> tuple[OrgFact, ...]:
    """Return the versions of *facts* that hold at each of *moments*, each once, in that order."""
    rows = as_of.list_versions(conn, filters)
    held: dict[tuple[str, int], OrgFact] = {}
    for valid_us in moments:
        holding = {one.row.fact_id: one for one in _find_holding(conn, rows, filters, valid_us)}
        for fact in facts:
            if (one := holding.get(fact.id)) is not None:
                held.setdefault((fact.id, one.row.version), one.to_dated_fact())
    return tuple(held.values())


def _last_us(row: StatementSpanRow, now_us: int) -> int:
    """Return the last time at which a statement was believed, whose access rules apply."""
    return now_us if row.known_to_us is None else row.known_to_us - 1


def _unknown_error(name: str) -> NotFoundError:
    shown = name if len(name) <= _NAME_CHARS_SHOWN else f"{name[:_NAME_CHARS_SHOWN]}..."
    return NotFoundError(f"nothing is known of {shown!r}", hint=_HOW_TO_FIND)


_NAME_CHARS_SHOWN = 60
_HOW_TO_FIND = "memd org as-of prints all that holds, by name; memd org query finds by words"


def _version_stretches(entries: Sequence[OperationRow]) -> Iterator[VersionStretch]:
    """Yield the periods of the versions among the *entries* of a fact's log."""
    for place, entry in enumerate(entries):
        if entry.content is None:  # a retraction
            continue
        later = entries[place + 1 :]
        replaced = next((one for one in later if one.valid_from_us is None), None)
        standing = later if replaced is None else later[: later.index(replaced)]
        ends = [entry.valid_to_us, *(one.valid_from_us for one in standing)]
        yield VersionStretch(
            version=entry.version,
            quote=entry.content[:QUOTE_CHARS_MAX],
            category=OrgFactCategory(entry.category),
            valid_from=from_us(entry.valid_from_us),
            valid_to=from_us(min((end for end in ends if end is not None), default=None)),
            known_to=None if replaced is None else from_us(replaced.at_us),
            said_by=build_author(
                entry.is_human, entry.author_id, entry.seniority, entry.autonomy_level
            ),
            said_at=from_us(entry.at_us),
        )


def _to_statement(row: StatementSpanRow) -> Statement:
    """Return a row as a statement, with a quote of the fact as evidence."""
    return build_statement(row, Evidence(fact_id=row.fact_id, version=row.version, quote=row.quote))


def to_stretch(row: StatementSpanRow) -> TimelineStretch:
    """Return a row as a stretch of a timeline: a statement, and who stated and ended it."""
    ended = row.ended_at_us is not None
    return TimelineStretch(
        statement=_to_statement(row),
        category=OrgFactCategory(row.category),
        said_by=build_author(row.is_human, row.author_id, row.seniority, row.autonomy_level),
        said_at=from_us(row.said_at_us),
        ended_by=build_author(
            row.ended_human, row.ended_id, row.ended_seniority, row.ended_autonomy
        )
        if ended
        else None,
        ended_at=from_us(row.ended_at_us),
    )
