"""What becomes of a group of memories: one text, and which of them it stands for (SPEC 16.6, 16.9).

An operation decides and touches nothing: it is given a category and members, and
returns a text with its tags. Who stores the text and puts the originals away is
somebody else's: the strategies do it over a backend, a night with rows. So both
make the same summaries.

An operation waits only for a language model. Without one it returns at once and
is what its function here returns, which may also be called in a thread.
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
from memd.sleep.strategies.abstractive import SHORT_CHARS, AbstractiveSummarizer, shortened
from memd.sleep.strategies.ask import together
from memd.sleep.strategies.extractive import ExtractivePreserver
from memd.text.density import DensityClassifier

SEPARATOR = "\n---\n"


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One memory of a group: what an operation needs to know of it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Condensed:
    """What an operation made of a group.

    *removable_ids* are the members that *text* stands for, in order; what it has no
    room for is not among them. *fallback* says that a language model was to write
    the text and did not.
    """

    text: str
    tags: tuple[str, ...]
    removable_ids: tuple[str, ...]
    assignments: tuple[ArchivalModeAssignment, ...] = ()
    fallback: bool = False


class ConsolidationOp(Protocol):
    """Makes one text of a group's members.

    *kept* is the member that stays beside the summary. *context* are texts that may
    help to understand the others. Without a member it raises ValueError.
    """

    async def condense(
        self,
        category: MemoryCategory,
        members: Sequence[GroupMember],
        *,
        kept: GroupMember | None = None,
        context: Sequence[str] = (),
    ) -> Condensed:
        """Return what is to be stored for *members*, and which of them it stands for."""
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
    ) -> Condensed:
        del kept, context
        return concatenated(category, members, chars=self._chars)


class DensityRoutingOp:
    """Keeps the facts of a group that is mostly dense, shortens one that is not (SPEC 16.9).

    Without a *summarizer*, or with one that has no language model, by rule.
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
    ) -> Condensed:
        del category, context
        voters = members if kept is None else (*members, kept)
        mode = voted(self._classifier, (voter.text for voter in voters))
        if mode is ArchivalMode.EXTRACTIVE:
            parts = [self._extractor.extract(member.text) for member in members]
        else:
            parts = await together(self._summarizer.summarize, [one.text for one in members])
        return routed(mode, members, parts)


def concatenated(
    category: MemoryCategory,
    members: Sequence[GroupMember],
    *,
    chars: int = SHORT_CHARS,
    tags: tuple[str, ...] = (CONSOLIDATED_TAG,),
) -> Condensed:
    """Return a heading and one line for each of *members*: its first *chars* characters."""
    heading = f"Consolidated {category.value} memories:"
    lines = [f"- {shortened(member.text, chars)}" for member in members]
    return _joined((heading,), members, lines, "\n", tags)


def voted(classifier: DensityClassifier, texts: Iterable[str]) -> ArchivalMode:
    """Return EXTRACTIVE when more than half of *texts* are dense, else ABSTRACTIVE."""
    votes = [classifier.classify(text) is ContentDensity.DENSE for text in texts]
    return ArchivalMode.EXTRACTIVE if 2 * sum(votes) > len(votes) else ArchivalMode.ABSTRACTIVE


def routed(mode: ArchivalMode, members: Sequence[GroupMember], parts: Sequence[str]) -> Condensed:
    """Return *parts*, one for each of *members* and made in *mode*, as one text."""
    made = _joined((), members, parts, SEPARATOR, (CONSOLIDATED_TAG, f"mode:{mode.value}"))
    return Condensed(
        text=made.text,
        tags=made.tags,
        removable_ids=made.removable_ids,
        assignments=tuple(
            ArchivalModeAssignment(original_id=each, mode=mode) for each in made.removable_ids
        ),
    )


def _joined(
    heading: tuple[str, ...],
    members: Sequence[GroupMember],
    parts: Sequence[str],
    separator: str,
    tags: tuple[str, ...],
) -> Condensed:
    """Join *parts* as long as a memory may hold them; what is left out keeps its original."""
    if not members:
        raise ValueError("a group has at least one member to condense")
    taken: list[str] = [*heading]
    room = TEXT_CHARS_MAX - sum(len(line) + len(separator) for line in heading)
    for part in parts:
        room -= len(part) + len(separator)
        if room < 0:
            break
        taken.append(part)
    count = len(taken) - len(heading)
    return Condensed(separator.join(taken), tags, tuple(one.id for one in members[:count]))
