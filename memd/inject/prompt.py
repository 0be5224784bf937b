"""Assemble one prompt within one budget (SPEC D23). Pure.

Policies and preferences come first and are plain text. The texts that fit the question follow and
are fenced. The tokens of every message count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

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
from memd.domain.settings.retrieval import ScoredMemory
from memd.inject.format import (
    FormattedMemories,
    PackedMessages,
    PreferenceLine,
    PromptPart,
    directive,
    fence,
    knowledge_line,
    least_tokens,
    line_with_date,
    pack,
    preference_line,
    role_of,
)
from memd.inject.knowledge import KnowledgeItem, RelevantKnowledge
from memd.inject.pipeline import exclude, trim_digests
from memd.view.view import ENTRY_TAG, MEMORY_TAG, view

POLICIES = "Policies of this organisation. They hold for everything that follows:"
PREFERENCES = "What the user prefers:"
PREFERENCES_DIVISOR = 2  # preferences get at most half of the budget (SPEC D5)
# Shares of the budget. Those of lessons and patterns are S0's for learnings and the playbook.
FACTS_SHARE = 0.25
LESSONS_SHARE = 0.15
PATTERNS_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class PromptContent:
    """The texts that fit a question, and the role and nonce of their message."""

    knowledge: RelevantKnowledge
    memories: Sequence[ScoredMemory]
    point: InjectionPoint = InjectionPoint.SYSTEM
    nonce: str | None = None

    @property
    def texts(self) -> list[str]:
        """All texts, without fences."""
        items = (*self.knowledge.facts, *self.knowledge.lessons, *self.knowledge.patterns)
        return [*(item.text for item in items), *(memory.entry.content for memory in self.memories)]


@dataclass(slots=True)
class Prompt:
    """A prompt that is being assembled: messages, their tokens, and what was left out."""

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
    """The project of the request."""
    standing: int = 0
    """The number of messages with policies and preferences, which come first."""
    has_directive: bool = False
    """Whether the messages include the directive, which says how to read fenced text."""

    @property
    def tokens_left(self) -> int:
        """The tokens of the budget that are not used yet."""
        return max(0, self.budget - self.used)

    @property
    def ids(self) -> list[str]:
        """The ids of all texts in the prompt except policies and preferences."""
        texts = (*self.facts, *self.lessons)
        return [*(memory.id for memory in self.memories), *(text.id for text in texts)]

    def finish(
        self, strategy: str, nonce: str | None, in_window: Collection[str] = ()
    ) -> PreparedPrompt:
        """Return the finished prompt; log a warning if policies were left out.

        *in_window*: the ids left out because the session has them already.
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
        """Add the policies that fit, in the order given; add a warning if some do not."""
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

        They are tried in the order given and shown in that of ``PreferenceLine.order``, so that
        prompts with the same preferences begin with the same messages.
        """
        self.preferences = preferences
        trial = replace(self, messages=[])
        indexes = trial._add_preference_lines(preferences)  # noqa: SLF001  # of this class
        indexes.sort(key=lambda place: preferences[place].order)
        self._add_preference_lines([preferences[place] for place in indexes])
        self.standing = len(self.messages)
        self._leave_out(preferences=len(preferences) - len(indexes))
        return indexes

    def _add_preference_lines(self, preferences: Sequence[PreferenceLine]) -> list[int]:
        """Add the preferences that fit, in the order given; return their indexes.

        Preferences that the owner neither stated nor confirmed come last, in fences.
        """
        tokens = min(self.tokens_left, self.budget // PREFERENCES_DIVISOR)
        plain = [place for place, preference in enumerate(preferences) if not preference.mark]
        marked = [place for place, preference in enumerate(preferences) if preference.mark]
        used_before = self.used
        included = self._add_list(PREFERENCES, [preferences[place].line for place in plain], tokens)
        tokens -= self.used - used_before
        lines = [preference_line(item.line, item.mark) for item in preferences if item.mark]
        packed = pack(
            [PromptPart(lines, tokens)],
            estimator=self.estimator,
            token_budget=tokens,
            nonce=self.nonce,
        )
        self.messages.extend(packed.messages)
        self.used += packed.tokens
        self.has_directive = self.has_directive or bool(packed.messages)
        return [plain[place] for place in included] + [marked[at] for at in packed.included[0]]

    def add_content(self, content: PromptContent) -> None:
        """Add facts, lessons and patterns, each up to its share, then memories in what is left."""
        content = self._drop_duplicates(content)
        lines = [line_with_date(memory, self.project_id) for memory in content.memories]
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
        """Return *content* without memories that repeat lessons (0077), and digests trimmed."""
        content = replace(content, memories=trim_digests(content.memories))
        lessons = content.knowledge.lessons
        if not lessons:
            return content
        included = [lessons[place] for place in self._pack(content, ()).included[1]]
        texts = [text for lesson in included for text in (lesson.id, lesson.text)]
        return replace(content, memories=exclude(content.memories, texts))

    def _pack(self, content: PromptContent, memory_lines: Sequence[str]) -> PackedMessages:
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
            [*parts, PromptPart(memory_lines, self.tokens_left)],
            estimator=self.estimator,
            token_budget=self.tokens_left,
            injection_point=content.point,
            nonce=content.nonce,
            has_directive=self.has_directive,
        )

    def _least_with_content(self, content: PromptContent, lines: Sequence[str]) -> int:
        """Return the least budget in which one memory fits after all other texts.

        A larger budget admits more of those, so it is increased until it suffices for all.
        """
        alone = least_tokens(lines, self.estimator, content.nonce)
        assert alone is not None
        directive_tokens = self.estimator.estimate_tokens(directive(content.nonce))
        newline = self.estimator.estimate_tokens("\n")
        least = alone
        while True:
            larger = self._with_budget(least)
            knowledge = larger._pack(content, ())  # noqa: SLF001  # another prompt of this class
            # *alone* includes the directive, which a prompt has once.
            memory = newline + alone - directive_tokens if knowledge.messages else alone
            if larger.has_directive and not knowledge.messages:
                memory -= directive_tokens
            needed = larger.used + knowledge.tokens + memory
            if needed <= least:
                return least
            least = needed

    def _with_budget(self, budget: int) -> Prompt:
        """Return another prompt of *budget*, with those policies and preferences that fit."""
        larger = Prompt(budget, self.estimator, nonce=self.nonce)
        larger.add_policies(self.policies)
        larger.add_preferences(self.preferences)
        return larger

    def add_memories(self, formatted: FormattedMemories, candidate_count: int) -> None:
        """Add the formatted memories, which were chosen from *candidate_count*."""
        self.messages.extend(formatted.messages)
        self.used += formatted.tokens
        self.memories = tuple(map(to_injected_memory, formatted.included))
        if formatted.minimum is not None and not formatted.included:
            self.minimum = self._least(formatted.minimum)
        self._leave_out(memories=candidate_count - len(formatted.included))

    def add_instructions(self, messages: Sequence[ChatMessage], reserved: int = 0) -> None:
        """Add all *messages* or, if they do not fit, none; *reserved* tokens must remain."""
        cost = self._cost(messages)
        if cost + reserved <= self.tokens_left:
            self.messages.extend(messages)
            self.used += cost
        else:
            self._leave_out(instructions=len(messages))

    def room_for_block(self, nonce: str | None = None) -> int:
        """Return the tokens for a block, without those of its fence and the directive."""
        extra = (directive(nonce), fence("", nonce))
        return self.tokens_left - sum(self.estimator.estimate_tokens(text) + 1 for text in extra)

    def add_block(self, block: str, point: InjectionPoint, nonce: str | None = None) -> int:
        """Add the directive and a fenced block, or nothing if they do not fit or it is blank.

        Return the number of tokens by which they exceed the budget, or 0.
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
        """Return the least budget that leaves *needed* tokens after policies and preferences.

        A larger budget admits more of these, so it is increased until it suffices.
        """
        least = needed
        while True:
            larger = self._with_budget(least)
            if larger.tokens_left >= needed:
                return least
            least = larger.used + needed

    def _cost(self, messages: Sequence[ChatMessage]) -> int:
        return sum(self.estimator.estimate_tokens(message.content) for message in messages)

    def _add_list(self, heading: str, texts: Sequence[str], tokens_max: int) -> list[int]:
        """Add a message with *heading* and the *texts* that fit; return their indexes."""
        lines, included = [heading], []
        for place, text in enumerate(texts):
            line = f"- {view(text, one_line=True, tags=(ENTRY_TAG, MEMORY_TAG))}"
            if self.estimator.estimate_tokens("\n".join([*lines, line])) <= tokens_max:
                lines.append(line)
                included.append(place)
        if included:
            content = "\n".join(lines)
            self.messages.append(ChatMessage(role=MessageRole.SYSTEM, content=content))
            self.used += self.estimator.estimate_tokens(content)
        return included

    def _leave_out(self, **counts: int) -> None:
        self.left_out = self.left_out.model_copy(update=counts)


def _to_injected_texts(
    items: Sequence[KnowledgeItem], included: Sequence[int]
) -> tuple[InjectedText, ...]:
    texts = [items[place] for place in included]
    return tuple(InjectedText(id=text.id, label=text.label, score=text.relevance) for text in texts)


def to_injected_memory(memory: ScoredMemory) -> InjectedMemory:
    """Return a memory of the prompt as it is listed in the reply."""
    entry = memory.entry
    return InjectedMemory(
        id=entry.id,
        category=entry.category,
        score=memory.combined_score,
        shared=memory.is_shared,
        origin=entry.origin,
        trust=entry.trust,
    )
