"""Condensing a group of memories into one text (SPEC 16.6, 16.9).

An operation has no side effects: it gets a category and members, and
returns a text with its tags and the members it covers. The strategies store it over a
backend, a night stores it as rows, so both make the same summaries.

An operation awaits only a language model. Without one it returns at once,
equal to the corresponding function here, which may also be called in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from memd.base.limits import TEXT_CHARS_MAX
from memd.domain.enums import MemoryCategory
from memd.domain.sleep.consolidation import (
    CONSOLIDATED_TAG,
    ArchivalMode,
    ArchivalModeAssignment,
    ContentDensity,
)
from memd.sleep.strategies.abstractive import SHORT_CHARS, AbstractiveSummarizer, truncate
from memd.sleep.strategies.ask import gather_limited
from memd.sleep.strategies.extractive import ExtractivePreserver
from memd.text.density import DensityClassifier

SEPARATOR = "\n---\n"


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One memory of a group, as an operation sees it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class CondensedGroup:
    """What an operation made of a group.

    *removable_ids* are the members that *text* covers, in order; members that did not
    fit are missing. *fallback* says that a language model should have written
    the text and did not.
    """

    text: str
    tags: tuple[str, ...]
    removable_ids: tuple[str, ...]
    assignments: tuple[ArchivalModeAssignment, ...] = ()
    fallback: bool = False


class ConsolidationOp(Protocol):
    """Condenses a group's members into one text.

    *kept* is the member that stays beside the summary. *context* are texts that may
    help to understand the others. Raises ValueError without a member.
    """

    async def condense(
        self,
        category: MemoryCategory,
        members: Sequence[GroupMember],
        *,
        kept: GroupMember | None = None,
        context: Sequence[str] = (),
    ) -> CondensedGroup:
        """Return the text to store for *members*, and which of them it covers."""
        ...


class ConcatenationOp:
    """Lists the beginnings of all members (SPEC 16.6)."""

    def __init__(self, *, truncate_length: int = SHORT_CHARS) -> None:
        self._chars = truncate_length

    async def condense(
        self,
        category: MemoryCategory,
        members: Sequence[GroupMember],
        *,
        kept: GroupMember | None = None,
        context: Sequence[str] = (),
    ) -> CondensedGroup:
        del kept, context
        return concatenate(category, members, chars=self._chars)


class DensityRoutingOp:
    """Keeps the facts of a group that is mostly dense, shortens one that is not (SPEC 16.9).

    Without a *summarizer*, or with one without a language model, by rule.
    """

    def __init__(
        self,
        *,
        classifier: DensityClassifier | None = None,
        extractor: ExtractivePreserver | None = None,
        summarizer: AbstractiveSummarizer | None = None,
    ) -> None:
        self._classifier = classifier or DensityClassifier()
        self._extractor = extractor or ExtractivePreserver()
        self._summarizer = summarizer or AbstractiveSummarizer()

    async def condense(
        self,
        category: MemoryCategory,
        members: Sequence[GroupMember],
        *,
        kept: GroupMember | None = None,
        context: Sequence[str] = (),
    ) -> CondensedGroup:
        del category, context
        voters = members if kept is None else (*members, kept)
        mode = vote_mode(self._classifier, (voter.text for voter in voters))
        if mode is ArchivalMode.EXTRACTIVE:
            parts = [self._extractor.extract(member.text) for member in members]
        else:
            parts = await gather_limited(self._summarizer.summarize, [one.text for one in members])
        return join_parts(mode, members, parts)


def concatenate(
    category: MemoryCategory,
    members: Sequence[GroupMember],
    *,
    chars: int = SHORT_CHARS,
    tags: tuple[str, ...] = (CONSOLIDATED_TAG,),
) -> CondensedGroup:
    """Return a heading and one line for each of *members*: its first *chars* characters."""
    heading = f"Consolidated {category.value} memories:"
    lines = [f"- {truncate(member.text, chars)}" for member in members]
    return _join((heading,), members, lines, "\n", tags)


def vote_mode(classifier: DensityClassifier, texts: Iterable[str]) -> ArchivalMode:
    """Return EXTRACTIVE when more than half of *texts* are dense, else ABSTRACTIVE."""
    votes = [classifier.classify(text) is ContentDensity.DENSE for text in texts]
    return ArchivalMode.EXTRACTIVE if 2 * sum(votes) > len(votes) else ArchivalMode.ABSTRACTIVE


def join_parts(
    mode: ArchivalMode, members: Sequence[GroupMember], parts: Sequence[str]
) -> CondensedGroup:
    """Join *parts*, one for each of *members* and made in *mode*, into one text."""
    joined = _join((), members, parts, SEPARATOR, (CONSOLIDATED_TAG, f"mode:{mode.value}"))
    return CondensedGroup(
        text=joined.text,
        tags=joined.tags,
        removable_ids=joined.removable_ids,
        assignments=tuple(
            ArchivalModeAssignment(original_id=each, mode=mode) for each in joined.removable_ids
        ),
    )


def _join(
    heading: tuple[str, ...],
    members: Sequence[GroupMember],
    parts: Sequence[str],
    separator: str,
    tags: tuple[str, ...],
) -> CondensedGroup:
    """Join as many *parts* as a memory may hold; the members of the others are not removable."""
    if not members:
        raise ValueError("a group has at least one member to condense")
    lines: list[str] = [*heading]
    room = TEXT_CHARS_MAX - sum(len(line) + len(separator) for line in heading)
    for part in parts:
        room -= len(part) + len(separator)
        if room < 0:
            break
        lines.append(part)
    count = len(lines) - len(heading)
    return CondensedGroup(separator.join(lines), tags, tuple(one.id for one in members[:count]))
