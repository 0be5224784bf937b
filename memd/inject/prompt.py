"""One prompt under one budget (SPEC D23): policies, preferences, then what fits the question.

What the owner decided comes first and is plain text; what was merely heard comes
last and is fenced. Every message is paid from the same budget. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from memd.base import log
from memd.domain.enums import InjectionPoint
from memd.domain.inject import (
    ChatMessage,
    InjectedMemory,
    InjectedText,
    LeftOut,
    MessageRole,
    PreparedPrompt,
    TokenEstimator,
)
from memd.domain.memory import Preference
from memd.domain.settings.retrieval import ScoredMemory
from memd.domain.trust import mark_of_preference
from memd.inject.format import (
    Formatted,
    PackedMessages,
    PromptPart,
    directive,
    fenced,
    inner_line,
    known_line,
    least_tokens,
    pack,
    preference_line,
    role_of,
)
from memd.inject.known import Fits, KnownText
from memd.inject.pipeline import without
from memd.view.view import ENTRY_TAG, MEMORY_TAG, view

POLICIES = "Policies of this organisation. They hold for everything that follows:"
PREFERENCES = "What the user prefers:"
PREFERENCES_SHARE = 2  # preferences take at most one part in two of the budget (SPEC D5)
FACTS_SHARE = 0.25
LESSONS_SHARE = 0.15  # S0's share of learnings
PATTERNS_SHARE = 0.05  # S0's share of the playbook


@dataclass(frozen=True, slots=True)
class Fitted:
    """What fits a question, by kind, and how it is fenced. Facts and lessons have shares."""

    known: Fits
    memories: Sequence[ScoredMemory]
    point: InjectionPoint = InjectionPoint.SYSTEM
    nonce: str | None = None

    @property
    def texts(self) -> list[str]:
        """Return everything that is put into a prompt, before it is fenced."""
        lines = (*self.known.facts, *self.known.lessons, *self.known.patterns)
        return [*(each.text for each in lines), *(each.entry.content for each in self.memories)]


class PreferenceLine(NamedTuple):
    """A preference, and memd's mark of one that the owner neither said nor confirmed."""

    text: str
    mark: str = ""


@dataclass(slots=True)
class Prompt:
    """A prompt being composed: what is in it, what it cost, what had to stay out."""

    budget: int
    estimator: TokenEstimator
    messages: list[ChatMessage] = field(default_factory=list)
    memories: tuple[InjectedMemory, ...] = ()
    facts: tuple[InjectedText, ...] = ()
    lessons: tuple[InjectedText, ...] = ()
    used: int = 0
    left_out: LeftOut = field(default_factory=LeftOut)
    minimum: int | None = None
    policies: Sequence[str] = ()
    preferences: Sequence[PreferenceLine] = ()
    warnings: tuple[str, ...] = ()
    nonce: str | None = None
    directed: bool = False
    """Whether the directive is in it, which says how to read what is fenced."""

    @property
    def left(self) -> int:
        """Return how many tokens are still to be had."""
        return max(0, self.budget - self.used)

    @property
    def ids(self) -> list[str]:
        """Return what is in the prompt besides policies and preferences, by id."""
        texts = (*self.facts, *self.lessons)
        return [*(memory.id for memory in self.memories), *(text.id for text in texts)]

    def prepared(
        self, strategy: str, nonce: str | None, in_window: Collection[str] = ()
    ) -> PreparedPrompt:
        """Return the prompt as it is handed out; policies that are not in it are logged.

        *in_window* is what the session has already, by id.
        """
        if self.left_out.policies:
            log.warning(
                "policies left out", left_out=self.left_out.policies, token_budget=self.budget
            )
        return PreparedPrompt(
            strategy=strategy,
            messages=tuple(self.messages),
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
        """Add what everybody has to heed, in the order given, as far as it fits."""
        self.policies = texts
        taken = self._listed(POLICIES, texts, self.left)
        left_out = len(texts) - len(taken)
        self._leave_out(policies=left_out)
        if left_out:
            self.warnings = (
                f"{left_out} of {len(texts)} policies do not fit into {self.budget} tokens "
                "and are left out",
            )

    def add_preferences(self, preferences: Sequence[PreferenceLine]) -> list[int]:
        """Add what the owner prefers, for at most half of the budget; return which fitted.

        What he neither said nor confirmed stands behind it, in a fence.
        """
        self.preferences = preferences
        most = min(self.left, self.budget // PREFERENCES_SHARE)
        own = [place for place, each in enumerate(preferences) if not each.mark]
        others = [place for place, each in enumerate(preferences) if each.mark]
        used = self.used
        taken = self._listed(PREFERENCES, [preferences[place].text for place in own], most)
        most -= self.used - used
        packed = pack(
            [PromptPart([preference_line(*preferences[place]) for place in others], most)],
            estimator=self.estimator,
            token_budget=most,
            nonce=self.nonce,
        )
        self.messages.extend(packed.messages)
        self.used += packed.tokens
        self.directed = self.directed or bool(packed.messages)
        shown = [own[place] for place in taken] + [others[place] for place in packed.taken[0]]
        self._leave_out(preferences=len(preferences) - len(shown))
        return shown

    def add_fitting(self, fitted: Fitted) -> None:
        """Add facts, lessons and patterns, each up to its share, and then memories.

        What a share is not used for is there for the memories.
        """
        fitted = self._each_once(fitted)
        lines = list(map(inner_line, fitted.memories))
        packed = self._pack(fitted, lines)
        self.messages.extend(packed.messages)
        self.used += packed.tokens
        facts, lessons, patterns, memories = packed.taken
        known = fitted.known
        self.facts = _injected(known.facts, facts)
        self.lessons = (*_injected(known.lessons, lessons), *_injected(known.patterns, patterns))
        self.memories = tuple(injected(fitted.memories[place]) for place in memories)
        if lines and not memories:
            self.minimum = self._least_for(fitted, lines)
        self._leave_out(
            facts=len(known.facts) - len(facts),
            lessons=len(known.lessons) + len(known.patterns) - len(self.lessons),
            memories=len(lines) - len(memories),
        )

    def _each_once(self, fitted: Fitted) -> Fitted:
        """Return *fitted* without the memories that have room among the lessons (0077)."""
        lessons = fitted.known.lessons
        if not lessons:
            return fitted
        taken = [lessons[place] for place in self._pack(fitted, ()).taken[1]]
        parts = [part for lesson in taken for part in (lesson.id, lesson.text)]
        return replace(fitted, memories=without(fitted.memories, parts))

    def _pack(self, fitted: Fitted, memories: Sequence[str]) -> PackedMessages:
        known = fitted.known
        shares = (
            (known.facts, FACTS_SHARE),
            (known.lessons, LESSONS_SHARE),
            (known.patterns, PATTERNS_SHARE),
        )
        parts = [
            PromptPart([*map(known_line, its)], int(self.budget * share)) for its, share in shares
        ]
        return pack(
            [*parts, PromptPart(memories, self.left)],
            estimator=self.estimator,
            token_budget=self.left,
            injection_point=fitted.point,
            nonce=fitted.nonce,
            directed=self.directed,
        )

    def _least_for(self, fitted: Fitted, lines: Sequence[str]) -> int:
        """Return the least budget in which one memory fits behind everything that comes first."""
        alone = least_tokens(lines, self.estimator, fitted.nonce)
        assert alone is not None
        fixed = self.estimator.estimate_tokens(directive(fitted.nonce))
        newline = self.estimator.estimate_tokens("\n")
        least = alone
        while True:
            larger = self._larger(least)
            beside = larger._pack(fitted, ())  # noqa: SLF001  # another prompt of this class
            behind = newline + alone - fixed if beside.messages else alone
            if larger.directed and not beside.messages:
                behind -= fixed
            needed = larger.used + beside.tokens + behind
            if needed <= least:
                return least
            least = needed

    def _larger(self, budget: int) -> Prompt:
        """Return a prompt of *budget* with the same policies and preferences."""
        larger = Prompt(budget, self.estimator, nonce=self.nonce)
        larger.add_policies(self.policies)
        larger.add_preferences(self.preferences)
        return larger

    def add_memories(self, formatted: Formatted, offered: int) -> None:
        """Add the fenced memories, of *offered* ones."""
        self.messages.extend(formatted.messages)
        self.used += formatted.tokens
        self.memories = tuple(map(injected, formatted.taken))
        if formatted.minimum is not None and not formatted.taken:
            self.minimum = self._least(formatted.minimum)
        self._leave_out(memories=offered - len(formatted.taken))

    def add_instructions(self, messages: Sequence[ChatMessage], spared: int = 0) -> None:
        """Add messages that only make sense together, or none; *spared* tokens are promised."""
        cost = self._cost(messages)
        if cost + spared <= self.left:
            self.messages.extend(messages)
            self.used += cost
        else:
            self._leave_out(instructions=len(messages))

    def room_for_block(self, nonce: str | None = None) -> int:
        """Return how many tokens a block may have that is fenced and comes with the directive."""
        around = (directive(nonce), fenced("", nonce))
        return self.left - sum(self.estimator.estimate_tokens(text) + 1 for text in around)

    def add_block(self, block: str, point: InjectionPoint, nonce: str | None = None) -> int:
        """Add one block of text in a fence, with the directive, or nothing if it does not fit.

        Return by how many tokens it is too large. A blank block is no block, and fits.
        """
        if not block.strip():
            return 0
        messages = (
            ChatMessage(role=MessageRole.SYSTEM, content=directive(nonce)),
            ChatMessage(role=role_of(point), content=fenced(block, nonce)),
        )
        cost = self._cost(messages)
        if cost > self.left:
            return cost - self.left
        self.messages.extend(messages)
        self.used += cost
        return 0

    def leave_out_block(self) -> None:
        """Count a block that could not be made small enough."""
        self._leave_out(memories=self.left_out.memories + 1)

    def _least(self, needed: int) -> int:
        """Return the least budget that leaves *needed* tokens.

        A larger budget has room for more policies and preferences, which come first.
        """
        least = needed
        while True:
            larger = self._larger(least)
            if larger.left >= needed:
                return least
            least = larger.used + needed

    def _cost(self, messages: Sequence[ChatMessage]) -> int:
        return sum(self.estimator.estimate_tokens(message.content) for message in messages)

    def _listed(self, heading: str, texts: Sequence[str], most: int) -> list[int]:
        """Add a list under *heading* of what fits into *most* tokens; return which it is."""
        lines, taken = [heading], []
        for place, text in enumerate(texts):
            line = f"- {view(text, one_line=True, tags=(ENTRY_TAG, MEMORY_TAG))}"
            if self.estimator.estimate_tokens("\n".join([*lines, line])) <= most:
                lines.append(line)
                taken.append(place)
        if taken:
            content = "\n".join(lines)
            self.messages.append(ChatMessage(role=MessageRole.SYSTEM, content=content))
            self.used += self.estimator.estimate_tokens(content)
        return taken

    def _leave_out(self, **counts: int) -> None:
        self.left_out = self.left_out.model_copy(update=counts)


def said_of(known: Preference) -> PreferenceLine:
    """Return a preference with memd's mark, if it needs one."""
    return PreferenceLine(known.value, mark_of_preference(known.origin, confirmed=known.confirmed))


def _injected(known: Sequence[KnownText], taken: Sequence[int]) -> tuple[InjectedText, ...]:
    chosen = [known[place] for place in taken]
    return tuple(InjectedText(id=one.id, label=one.label, score=one.relevance) for one in chosen)


def injected(memory: ScoredMemory) -> InjectedMemory:
    """Return what is told about a memory that is in the prompt."""
    entry = memory.entry
    return InjectedMemory(
        id=entry.id,
        category=entry.category,
        score=memory.combined_score,
        shared=memory.is_shared,
        origin=entry.origin,
        trust=entry.trust,
    )
