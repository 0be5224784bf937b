"""One prompt within one budget (SPEC D23): policies, preferences, then what fits the question.

The owner's decisions come first and are plain text; memories come last and are fenced. Each
message is paid from the same budget. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from memd.base import log
from memd.domain.enums import InjectionPoint
from memd.domain.inject import (
    ChatMessage,
    InjectedMemory,
    InjectedText,
    MessageRole,
    OmittedCounts,
    PreparedPrompt,
    TokenEstimator,
)
from memd.domain.memory import Preference
from memd.domain.settings.retrieval import ScoredMemory
from memd.domain.trust import mark_of_preference
from memd.extract.passing import passing_kind
from memd.inject.format import (
    FormattedMemories,
    PackedMessages,
    PromptPart,
    directive,
    fence,
    knowledge_line,
    least_tokens,
    pack,
    placed_line,
    preference_line,
    role_of,
)
from memd.inject.knowledge import KnowledgeItem, RelevantKnowledge
from memd.inject.pipeline import exclude, tell_digests_once
from memd.text.words import sentences
from memd.view.labels import name_value
from memd.view.view import ENTRY_TAG, MEMORY_TAG, view

POLICIES = "Policies of this organisation. They hold for everything that follows:"
PREFERENCES = "What the user prefers:"
PREFERENCES_SHARE = 2  # preferences take at most one part in two of the budget (SPEC D5)
FACTS_SHARE = 0.25
LESSONS_SHARE = 0.15  # S0's share of learnings
PATTERNS_SHARE = 0.05  # S0's share of the playbook


@dataclass(frozen=True, slots=True)
class PromptContent:
    """The texts that fit a question, by kind, and how to fence them."""

    knowledge: RelevantKnowledge
    memories: Sequence[ScoredMemory]
    point: InjectionPoint = InjectionPoint.SYSTEM
    nonce: str | None = None

    @property
    def texts(self) -> list[str]:
        """All texts, not fenced yet."""
        lines = (*self.knowledge.facts, *self.knowledge.lessons, *self.knowledge.patterns)
        return [*(item.text for item in lines), *(item.entry.content for item in self.memories)]


class PreferenceLine(NamedTuple):
    """A preference; *mark* is set unless the owner said or confirmed it.

    *name* is that of one that was set by name, *said_at* when one that was said was.
    """

    text: str
    mark: str = ""
    name: str | None = None
    said_at: datetime | None = None

    @property
    def line(self) -> str:
        """The text; a few words are not understood without their name.

        What was said is told without what was asked for before it, and with its day: of two that
        differ a reader sees the newer one.

        >>> PreferenceLine("Vim", name="editor").line
        'editor: Vim'
        >>> PreferenceLine("How far? I prefer trains.", said_at=datetime(2026, 3, 1)).line
        'I prefer trains. (2026-03-01)'
        """
        if self.said_at is not None:
            return f"{_without_requests(self.text)} ({self.said_at:%Y-%m-%d})"
        return name_value(self.text, self.name)


def _without_requests(text: str) -> str:
    """Return *text* from its first sentence on that states something, all of it without one."""
    parts = sentences(text)
    if len(parts) == 1:
        return text
    first = next((part for part in parts if passing_kind(part) is None), text)
    return text[max(0, text.find(first)) :]


@dataclass(slots=True)
class Prompt:
    """A prompt being composed: its messages, their cost in tokens, and what was left out."""

    budget: int
    estimator: TokenEstimator
    messages: list[ChatMessage] = field(default_factory=list)
    memories: tuple[InjectedMemory, ...] = ()
    facts: tuple[InjectedText, ...] = ()
    lessons: tuple[InjectedText, ...] = ()
    used: int = 0
    left_out: OmittedCounts = field(default_factory=OmittedCounts)
    minimum: int | None = None
    policies: Sequence[str] = ()
    preferences: Sequence[PreferenceLine] = ()
    warnings: tuple[str, ...] = ()
    nonce: str | None = None
    project_id: str | None = None
    """The project that asks."""
    standing: int = 0
    """How many messages are policies and preferences; they come first."""
    has_directive: bool = False
    """Whether it has the directive, which says how to read fenced text."""

    @property
    def tokens_left(self) -> int:
        """The tokens that remain of the budget."""
        return max(0, self.budget - self.used)

    @property
    def ids(self) -> list[str]:
        """The ids of all texts in the prompt but policies and preferences."""
        texts = (*self.facts, *self.lessons)
        return [*(memory.id for memory in self.memories), *(text.id for text in texts)]

    def finish(
        self, strategy: str, nonce: str | None, in_window: Collection[str] = ()
    ) -> PreparedPrompt:
        """Return the finished prompt, and log how many policies were left out.

        *in_window*: the ids that the session has already.
        """
        if self.left_out.policies:
            log.warning(
                "policies left out", left_out=self.left_out.policies, token_budget=self.budget
            )
        return PreparedPrompt(
            strategy=strategy,
            messages=tuple(self.messages),
            standing=self.standing,
            facts=self.facts,
            lessons=self.lessons,
            memories=self.memories,
            token_budget=self.budget,
            tokens_used=self.used,
            left_out=self.left_out.model_copy(update={"in_window": len(in_window)}),
            in_window=tuple(in_window),
            minimum_required_tokens=self.minimum,
            warnings=self.warnings,
            nonce=nonce,
        )

    def add_policies(self, texts: Sequence[str]) -> None:
        """Add the policies that fit, in the order given, and warn of others."""
        self.policies = texts
        included = self._add_list(POLICIES, texts, self.tokens_left)
        left_out = len(texts) - len(included)
        self._leave_out(policies=left_out)
        if left_out:
            self.warnings = (
                f"{left_out} of {len(texts)} policies do not fit into {self.budget} tokens "
                "and are left out",
            )

    def add_preferences(self, preferences: Sequence[PreferenceLine]) -> list[int]:
        """Add the preferences that fit into half of the budget; return their indexes.

        Those that the owner neither said nor confirmed come last, in a fence.
        """
        self.preferences = preferences
        most = min(self.tokens_left, self.budget // PREFERENCES_SHARE)
        own = [place for place, preference in enumerate(preferences) if not preference.mark]
        others = [place for place, preference in enumerate(preferences) if preference.mark]
        fenced = [preferences[place] for place in others]
        used = self.used
        included = self._add_list(PREFERENCES, [preferences[place].line for place in own], most)
        most -= self.used - used
        packed = pack(
            [PromptPart([preference_line(one.line, one.mark) for one in fenced], most)],
            estimator=self.estimator,
            token_budget=most,
            nonce=self.nonce,
        )
        self.messages.extend(packed.messages)
        self.used += packed.tokens
        self.has_directive = self.has_directive or bool(packed.messages)
        self.standing = len(self.messages)
        shown = [own[place] for place in included] + [others[place] for place in packed.included[0]]
        self._leave_out(preferences=len(preferences) - len(shown))
        return shown

    def add_content(self, content: PromptContent) -> None:
        """Add facts, lessons and patterns, each up to its share, and then memories.

        Memories may use what the shares leave.
        """
        content = self._drop_duplicates(content)
        lines = [placed_line(memory, self.project_id) for memory in content.memories]
        packed = self._pack(content, lines)
        self.messages.extend(packed.messages)
        self.used += packed.tokens
        facts, lessons, patterns, memories = packed.included
        knowledge = content.knowledge
        self.facts = _to_injected_texts(knowledge.facts, facts)
        self.lessons = (
            *_to_injected_texts(knowledge.lessons, lessons),
            *_to_injected_texts(knowledge.patterns, patterns),
        )
        self.memories = tuple(to_injected_memory(content.memories[place]) for place in memories)
        if lines and not memories:
            self.minimum = self._least_with_content(content, lines)
        self._leave_out(
            facts=len(knowledge.facts) - len(facts),
            lessons=len(knowledge.lessons) + len(knowledge.patterns) - len(self.lessons),
            memories=len(lines) - len(memories),
        )

    def _drop_duplicates(self, content: PromptContent) -> PromptContent:
        """Return *content* with each thing once: as a lesson (0077), or outside of a digest."""
        content = replace(content, memories=tell_digests_once(content.memories))
        lessons = content.knowledge.lessons
        if not lessons:
            return content
        included = [lessons[place] for place in self._pack(content, ()).included[1]]
        parts = [part for lesson in included for part in (lesson.id, lesson.text)]
        return replace(content, memories=exclude(content.memories, parts))

    def _pack(self, content: PromptContent, memories: Sequence[str]) -> PackedMessages:
        knowledge = content.knowledge
        shares = (
            (knowledge.facts, FACTS_SHARE),
            (knowledge.lessons, LESSONS_SHARE),
            (knowledge.patterns, PATTERNS_SHARE),
        )
        parts = [
            PromptPart([*map(knowledge_line, items)], int(self.budget * share))
            for items, share in shares
        ]
        return pack(
            [*parts, PromptPart(memories, self.tokens_left)],
            estimator=self.estimator,
            token_budget=self.tokens_left,
            injection_point=content.point,
            nonce=content.nonce,
            has_directive=self.has_directive,
        )

    def _least_with_content(self, content: PromptContent, lines: Sequence[str]) -> int:
        """Return the least budget in which one memory fits after all that precedes it."""
        alone = least_tokens(lines, self.estimator, content.nonce)
        assert alone is not None
        fixed = self.estimator.estimate_tokens(directive(content.nonce))
        newline = self.estimator.estimate_tokens("\n")
        least = alone
        while True:  # a larger budget also admits more policies, so iterate to a fixed point
            larger = self._with_budget(least)
            knowledge = larger._pack(content, ())  # noqa: SLF001  # another prompt of this class
            memory = newline + alone - fixed if knowledge.messages else alone
            if larger.has_directive and not knowledge.messages:
                memory -= fixed
            needed = larger.used + knowledge.tokens + memory
            if needed <= least:
                return least
            least = needed

    def _with_budget(self, budget: int) -> Prompt:
        """Return a prompt of *budget* with the same policies and preferences."""
        larger = Prompt(budget, self.estimator, nonce=self.nonce)
        larger.add_policies(self.policies)
        larger.add_preferences(self.preferences)
        return larger

    def add_memories(self, formatted: FormattedMemories, candidate_count: int) -> None:
        """Add the fenced memories, chosen from *candidate_count*."""
        self.messages.extend(formatted.messages)
        self.used += formatted.tokens
        self.memories = tuple(map(to_injected_memory, formatted.included))
        if formatted.minimum is not None and not formatted.included:
            self.minimum = self._least(formatted.minimum)
        self._leave_out(memories=candidate_count - len(formatted.included))

    def add_instructions(self, messages: Sequence[ChatMessage], reserved: int = 0) -> None:
        """Add all *messages* or, if they do not fit, none; *reserved* tokens stay free."""
        cost = self._cost(messages)
        if cost + reserved <= self.tokens_left:
            self.messages.extend(messages)
            self.used += cost
        else:
            self._leave_out(instructions=len(messages))

    def room_for_block(self, nonce: str | None = None) -> int:
        """Return how many tokens a block may have besides its fence and the directive."""
        around = (directive(nonce), fence("", nonce))
        return self.tokens_left - sum(self.estimator.estimate_tokens(text) + 1 for text in around)

    def add_block(self, block: str, point: InjectionPoint, nonce: str | None = None) -> int:
        """Add a fenced block and the directive, or nothing if they do not fit.

        Return by how many tokens they are too large. A blank block adds nothing and fits.
        """
        if not block.strip():
            return 0
        messages = (
            ChatMessage(role=MessageRole.SYSTEM, content=directive(nonce)),
            ChatMessage(role=role_of(point), content=fence(block, nonce)),
        )
        cost = self._cost(messages)
        if cost > self.tokens_left:
            return cost - self.tokens_left
        self.messages.extend(messages)
        self.used += cost
        return 0

    def leave_out_block(self) -> None:
        """Count a block that does not fit as one memory left out."""
        self._leave_out(memories=self.left_out.memories + 1)

    def _least(self, needed: int) -> int:
        """Return the least budget that leaves *needed* tokens for memories.

        A larger budget also admits more policies and preferences, which come first.
        """
        least = needed
        while True:
            larger = self._with_budget(least)
            if larger.tokens_left >= needed:
                return least
            least = larger.used + needed

    def _cost(self, messages: Sequence[ChatMessage]) -> int:
        return sum(self.estimator.estimate_tokens(message.content) for message in messages)

    def _add_list(self, heading: str, texts: Sequence[str], most: int) -> list[int]:
        """Add those *texts* under *heading* that fit into *most* tokens; return their indexes."""
        lines, included = [heading], []
        for place, text in enumerate(texts):
            line = f"- {view(text, one_line=True, tags=(ENTRY_TAG, MEMORY_TAG))}"
            if self.estimator.estimate_tokens("\n".join([*lines, line])) <= most:
                lines.append(line)
                included.append(place)
        if included:
            content = "\n".join(lines)
            self.messages.append(ChatMessage(role=MessageRole.SYSTEM, content=content))
            self.used += self.estimator.estimate_tokens(content)
        return included

    def _leave_out(self, **counts: int) -> None:
        self.left_out = self.left_out.model_copy(update=counts)


def to_preference_line(preference: Preference) -> PreferenceLine:
    """Return a preference with its mark."""
    is_said = preference.memory_id is not None
    return PreferenceLine(
        preference.value,
        mark_of_preference(preference.origin, confirmed=preference.confirmed),
        None if is_said else preference.name,
        preference.updated_at if is_said else None,
    )


def _to_injected_texts(
    items: Sequence[KnowledgeItem], included: Sequence[int]
) -> tuple[InjectedText, ...]:
    chosen = [items[place] for place in included]
    return tuple(
        InjectedText(id=text.id, label=text.label, score=text.relevance) for text in chosen
    )


def to_injected_memory(memory: ScoredMemory) -> InjectedMemory:
    """Return a memory of the prompt as the reply lists it."""
    entry = memory.entry
    return InjectedMemory(
        id=entry.id,
        category=entry.category,
        score=memory.combined_score,
        shared=memory.is_shared,
        origin=entry.origin,
        trust=entry.trust,
    )
