"""Split memories into batches that become one summary each.

SPEC 16.5 groups by category, which would turn thousands of memories into one summary of thousands
of lines. memd also splits by session, or by source for memories of no session, and by time. So a
summary covers memories that belong together, and fits into the embedding model's window.
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

SUMMARY_TOKENS = 240  # of the 254 that the embedding model reads; 14 are for the heading
LINE_CHARS = 200  # of each memory in a summary (SPEC 16.6)
SPAN_US = 30 * 86_400_000_000  # between the first and the last memory of a summary


@dataclass(frozen=True, slots=True)
class Batch:
    """Memories to consolidate: *visible* stays visible, the others become one summary."""

    members: tuple[MemberRow, ...]
    visible: MemberRow

    @property
    def to_remove(self) -> tuple[MemberRow, ...]:
        return tuple(member for member in self.members if member is not self.visible)

    def select_removed(self, ids: Sequence[str]) -> list[MemberRow]:
        """Return the members with *ids*, without the kept one."""
        id_set = frozenset(ids)
        return [member for member in self.to_remove if member.memory_id in id_set]

    @property
    def category(self) -> MemoryCategory:
        return MemoryCategory(self.visible.category)


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

    Each has at least *threshold* members of one source, or of none, and spans at most a month.
    *count* counts tokens.
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
    """Return the source without its fragment: "notes.md" for "notes.md#setup"."""
    return (member.reference or "").partition("#")[0]


def _time_us(member: MemberRow) -> int:
    occurred_us = member.occurred_at_us
    return member.created_at_us if occurred_us is None else occurred_us


def group_by_place(members: Iterable[MemberRow]) -> list[list[MemberRow]]:
    """Group *members* by place, so that a filter applies to all sources of a summary alike."""
    return [list(group) for _, group in groupby(sorted(members, key=place_of), key=place_of)]


def place_of(row: MemberRow | GroupKey) -> tuple[str, str, str, int]:
    """Return the place of a memory: category, namespace, level, project; 0 for no project."""
    return row.category, row.namespace, row.level, row.project_key or 0


def _split(
    members: Sequence[MemberRow], threshold: int, count: Callable[[str], int]
) -> list[list[MemberRow]]:
    """Split *members* where a summary is full or spans a month; drop too small batches."""
    batches: list[list[MemberRow]] = []
    tokens = 0
    for member in members:
        line_tokens = count(member.text[:LINE_CHARS]) + 2  # 2 for "- "
        is_full = tokens + line_tokens > SUMMARY_TOKENS
        if (
            not batches
            or abs(_time_us(member) - _time_us(batches[-1][0])) > SPAN_US
            or (is_full and len(batches[-1]) >= threshold)
        ):
            batches.append([])
            tokens = 0
        batches[-1].append(member)
        tokens += line_tokens
    return [batch for batch in batches if len(batch) >= threshold]


def newest_member(members: Sequence[MemberRow]) -> MemberRow:
    """Return the member that stays visible: the newest, or the first of several (SPEC 16.5)."""
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
    """Return the row of a summary.

    Its trust is that of its least trusted source (PROMISES 9), its place and time are those of its
    first source.
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
