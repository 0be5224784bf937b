"""Which memories are consolidated together. Pure.

SPEC 16.5 groups by category, which would turn a store of thousands into
one summary of thousands of lines. memd splits each group by session, or memories of no
session by source, and by time, so that a summary is about as long as the embedding model
reads at once: it can be retrieved by meaning, and covers memories that belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from memd.domain.enums import MemoryCategory, MemoryLevel, MemoryState, Origin, Trust
from memd.domain.sleep.consolidation import SUMMARY_SOURCE
from memd.guard.secrets import screen
from memd.store.memory.groups import GroupKey, MemberRow
from memd.store.memory.rows import MemoryRow

SUMMARY_TOKENS = 240  # of the model's 254; the rest is for the heading
LINE_CHARS = 200  # of each memory in a summary (SPEC 16.6)
SPAN_US = 30 * 86_400_000_000  # from the first memory of a summary to the last


@dataclass(frozen=True, slots=True)
class Batch:
    """Memories that become one summary; *kept* stays visible beside it."""

    members: tuple[MemberRow, ...]
    kept: MemberRow

    @property
    def to_remove(self) -> tuple[MemberRow, ...]:
        return tuple(member for member in self.members if member is not self.kept)

    def select_removed(self, ids: Sequence[str]) -> list[MemberRow]:
        """Return the members with *ids*, without the kept one."""
        chosen = frozenset(ids)
        return [member for member in self.to_remove if member.memory_id in chosen]

    @property
    def category(self) -> MemoryCategory:
        return MemoryCategory(self.kept.category)


def split_session(
    members: Iterable[MemberRow], threshold: int, count: Callable[[str], int]
) -> list[Batch]:
    """Split a session's *members*, in the order of the session, into batches.

    Each has at least *threshold* members of one namespace, category, level and
    project, and spans at most a month. *count* counts tokens.
    """
    return [
        Batch(tuple(batch), newest_member(batch))
        for group in group_by_place(members)
        for batch in _split(group, threshold, count)
    ]


def split_by_source(
    members: Iterable[MemberRow], threshold: int, count: Callable[[str], int]
) -> list[Batch]:
    """Split *members* of one place into batches, in order of the time when they occurred.

    Each has at least *threshold* members of one file or other source, or of none, and
    spans at most a month.
    """
    ordered = sorted(
        members,
        key=lambda member: (
            _source_of(member), _time_us(member), member.created_at_us, member.memory_key,
        ),
    )  # fmt: skip
    return [
        Batch(tuple(batch), newest_member(batch))
        for _, group in groupby(ordered, key=_source_of)
        for batch in _split(list(group), threshold, count)
    ]


def _source_of(member: MemberRow) -> str:
    return (member.reference or "").partition("#")[0]


def _time_us(member: MemberRow) -> int:
    occurred_us = member.occurred_at_us
    return member.created_at_us if occurred_us is None else occurred_us


def group_by_place(members: Iterable[MemberRow]) -> list[list[MemberRow]]:
    """Group *members* by place, so that no summary mixes memories that a filter separates."""
    return [list(group) for _, group in groupby(sorted(members, key=place_of), key=place_of)]


def place_of(row: MemberRow | GroupKey) -> tuple[str, str, str, int]:
    """Return what the memories of one summary share, to sort by."""
    return row.category, row.namespace, row.level, row.project_key or 0


def _split(
    members: Sequence[MemberRow], threshold: int, count: Callable[[str], int]
) -> list[list[MemberRow]]:
    batches: list[list[MemberRow]] = []
    tokens = 0
    for member in members:
        line = count(member.own[:LINE_CHARS]) + 2
        is_full = tokens + line > SUMMARY_TOKENS
        if (
            not batches
            or abs(_time_us(member) - _time_us(batches[-1][0])) > SPAN_US
            or (is_full and len(batches[-1]) >= threshold)
        ):
            batches.append([])
            tokens = 0
        batches[-1].append(member)
        tokens += line
    return [batch for batch in batches if len(batch) >= threshold]


def newest_member(members: Sequence[MemberRow]) -> MemberRow:
    """Return the member that stays visible: the newest, of equals the first (SPEC 16.5)."""
    return max(members, key=lambda member: member.created_at_us)


@dataclass(frozen=True, slots=True)
class NewSummary:
    """The columns of a summary's row that do not come from its sources."""

    memory_id: str
    salt: bytes
    agent_key: int
    session_key: int | None
    client_key: int
    token_count: int
    now_us: int


def summary_row(
    summary: NewSummary,
    sources: Sequence[MemberRow],
    text: str,
    category: MemoryCategory,
    tags: tuple[str, ...],
) -> MemoryRow:
    """Return the row of a summary, no more trusted than its least trusted source (PROMISES 9).

    Its place and time are those of its first source.
    """
    first, least_trusted = sources[0], min(sources, key=lambda source: source.trust)
    scores = [source.importance for source in sources if source.importance is not None]
    return MemoryRow(
        memory_id=summary.memory_id,
        agent_key=summary.agent_key,
        client_key=summary.client_key,
        session_key=summary.session_key,
        project_key=first.project_key,
        source_key=None,
        namespace=first.namespace,
        category=category,
        level=MemoryLevel(first.level),
        origin=Origin(least_trusted.origin),
        trust=Trust(least_trusted.trust),
        speaker=None,
        content=screen(text).text,  # a language model may have written it
        caption=None,
        reference=SUMMARY_SOURCE,
        ordinal=first.ordinal,
        part=first.part,
        batch=None,
        token_count=summary.token_count,
        importance=sum(scores) / len(scores) if scores else 0.5,
        confidence=1.0,
        created_at_us=summary.now_us,
        occurred_at_us=_time_us(first),
        salt=summary.salt,
        state=MemoryState.PENDING,
        expires_at_us=None,
        tags=tags,
        is_summary=True,
    )
