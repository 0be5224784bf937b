"""Which memories are consolidated together. Pure.

The documents group by category (SPEC 16.5); a store of thousands would become
one summary of thousands of lines. memd cuts each group by session, or what no
session lists by time, so that a summary is about as long as what the embedding
model reads at once: it stays findable by meaning, and is of things that belong
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from memd.domain.enums import MemoryCategory, MemoryLevel, MemoryState, Origin, Trust
from memd.guard.secrets import screen
from memd.store.memory.groups import MemberRow
from memd.store.memory.rows import MemoryRow

SUMMARY_TOKENS = 240  # of a model window's 254; the heading takes the rest
LINE_CHARS = 200  # of a memory in a summary (SPEC 16.6)
SOURCE = "consolidation"
SPAN_US = 30 * 86_400_000_000  # of what no session lists in one summary, where enough is that near


@dataclass(frozen=True, slots=True)
class Batch:
    """Memories that become one summary; *kept* stays visible beside it."""

    members: tuple[MemberRow, ...]
    kept: MemberRow

    @property
    def removed(self) -> tuple[MemberRow, ...]:
        return tuple(member for member in self.members if member is not self.kept)

    def those(self, ids: Sequence[str]) -> list[MemberRow]:
        """Return those to be removed that a summary stands for."""
        chosen = frozenset(ids)
        return [member for member in self.removed if member.memory_id in chosen]

    @property
    def category(self) -> MemoryCategory:
        return MemoryCategory(self.kept.category)


def cut(members: Iterable[MemberRow], threshold: int, count: Callable[[str], int]) -> list[Batch]:
    """Return the batches of a session's *members*, which come in the order of the session.

    Each has at least *threshold* members of one namespace, category, level and
    project. *count* counts tokens.
    """
    return [
        Batch(tuple(some), newest_member(some))
        for group in alike(members)
        for some in _cut(group, threshold, count)
    ]


def cut_by_time(
    members: Iterable[MemberRow], threshold: int, count: Callable[[str], int]
) -> list[Batch]:
    """Return the batches of *members* of one place, in order of the time when things were so.

    Each has at least *threshold* members, and is of a month at most unless that is too
    few: then it goes on until it has as many.
    """
    ordered = sorted(members, key=lambda each: (_at(each), each.created_at_us, each.memory_key))
    return [
        Batch(tuple(some), newest_member(some)) for some in _cut(ordered, threshold, count, SPAN_US)
    ]


def _at(member: MemberRow) -> int:
    known = member.occurred_at_us
    return member.created_at_us if known is None else known


def alike(members: Iterable[MemberRow]) -> list[list[MemberRow]]:
    """Return *members* by where they belong, so that no summary mixes what a filter keeps apart."""
    return [list(group) for _, group in groupby(sorted(members, key=_place), key=_place)]


def _place(member: MemberRow) -> tuple[str, str, str, int]:
    return member.category, member.namespace, member.level, member.project_key or 0


def _cut(
    members: Sequence[MemberRow],
    threshold: int,
    count: Callable[[str], int],
    span_us: int | None = None,
) -> list[list[MemberRow]]:
    batches: list[list[MemberRow]] = []
    tokens = 0
    for member in members:
        line = count(member.own[:LINE_CHARS]) + 2
        enough = bool(batches) and len(batches[-1]) >= threshold
        full = tokens + line > SUMMARY_TOKENS
        if not batches or (enough and (full or _is_far(batches[-1][0], member, span_us))):
            batches.append([])
            tokens = 0
        batches[-1].append(member)
        tokens += line
    if batches and len(batches[-1]) < threshold:
        batches.pop()
    return batches


def _is_far(first: MemberRow, member: MemberRow, span_us: int | None) -> bool:
    return span_us is not None and _at(member) - _at(first) > span_us


def newest_member(members: Sequence[MemberRow]) -> MemberRow:
    """Return the one that stays visible: the newest, of equals the first (SPEC 16.5)."""
    return max(members, key=lambda member: member.created_at_us)


@dataclass(frozen=True, slots=True)
class NewSummary:
    """What a summary's row is made of besides its sources."""

    memory_id: str
    salt: bytes
    agent_key: int
    session_key: int | None
    client_key: int
    token_count: int
    now_us: int


def summary_row(
    made: NewSummary,
    sources: Sequence[MemberRow],
    text: str,
    category: MemoryCategory,
    tags: tuple[str, ...],
) -> MemoryRow:
    """Return the row of a summary: no more trusted than its least trusted source (PROMISES 9).

    It stands where its first source stood, and is dated like it.
    """
    first, least = sources[0], min(sources, key=lambda each: each.trust)
    scores = [each.importance for each in sources if each.importance is not None]
    return MemoryRow(
        memory_id=made.memory_id,
        agent_key=made.agent_key,
        client_key=made.client_key,
        session_key=made.session_key,
        project_key=first.project_key,
        source_key=None,
        namespace=first.namespace,
        category=category,
        level=MemoryLevel(first.level),
        origin=Origin(least.origin),
        trust=Trust(least.trust),
        speaker=None,
        content=screen(text).text,  # a language model may have written it
        caption=None,
        reference=SOURCE,
        ordinal=first.ordinal,
        part=first.part,
        batch=None,
        token_count=made.token_count,
        importance=sum(scores) / len(scores) if scores else 0.5,
        confidence=1.0,
        created_at_us=made.now_us,
        occurred_at_us=first.occurred_at_us or first.created_at_us,
        salt=made.salt,
        state=MemoryState.PENDING,
        expires_at_us=None,
        tags=tags,
        is_summary=True,
    )
