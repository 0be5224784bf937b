"""Format ranked memories as messages: each in its own fence, within a budget (SPEC 11). Pure.

The directive, which says how to read fenced text, is a separate message. Its tokens count: a prompt
with a budget of 500 tokens has at most 500 tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memd.domain.enums import InjectionPoint
from memd.domain.inject import ChatMessage, MessageRole, TokenEstimator
from memd.domain.memory import MemoryEntry, Preference
from memd.domain.settings.retrieval import ScoredMemory
from memd.domain.trust import mark as mark_of
from memd.domain.trust import mark_of_preference, mark_of_shared
from memd.domain.values import folder_name
from memd.extract.passing import passing_kind
from memd.text.words import sentences
from memd.view.labels import body, name_value
from memd.view.view import ENTRY_TAG, untrusted_content_directive, view, wrap_stored

if TYPE_CHECKING:
    from memd.inject.knowledge import KnowledgeItem  # imports all of recall's ranking

PROJECT_NAME_CHARS = 40
"""Characters of a project's name in a label."""
_NO_NAME = re.compile(r"[^\w.]+")  # what is replaced in the name, so that it cannot end the label
_ROLES = {
    InjectionPoint.SYSTEM: MessageRole.SYSTEM,
    InjectionPoint.USER: MessageRole.USER,
}


class FormattedMemories(NamedTuple):
    """The messages, the memories in them, and the tokens of all messages.

    *minimum* is the least budget in which one memory fits; None without a memory.
    """

    messages: tuple[ChatMessage, ...] = ()
    included: tuple[ScoredMemory, ...] = ()
    tokens: int = 0
    minimum: int | None = None


class PromptPart(NamedTuple):
    """Lines of one kind, best first, and the most tokens that they may have with their fences."""

    lines: Sequence[str]
    tokens_max: int


class PackedMessages(NamedTuple):
    """The messages, for each part the indexes of its lines in them, and the tokens."""

    messages: tuple[ChatMessage, ...]
    included: tuple[tuple[int, ...], ...]
    tokens: int = 0


class PreferenceLine(NamedTuple):
    """A preference in a prompt; *mark* is "" if the owner stated or confirmed it.

    A preference that was set by name has a *name*; one that was stated in a conversation has none.
    """

    text: str
    mark: str = ""
    name: str | None = None
    updated_at: datetime | None = None

    @property
    def line(self) -> str:
        """The text for the prompt, with its name if it is short.

        A statement from a conversation loses requests before it, and gets its day if it is known.

        >>> PreferenceLine("Vim", name="editor").line
        'editor: Vim'
        >>> PreferenceLine("How far? I prefer trains.", updated_at=datetime(2026, 3, 1)).line
        'I prefer trains. (2026-03-01)'
        """
        if self.name is None and self.updated_at is not None:
            return f"{_from_first_statement(self.text)} ({self.updated_at:%Y-%m-%d})"
        return name_value(self.text, self.name)

    @property
    def order(self) -> tuple[float, str]:
        """The sort key by which lines are shown newest first, whatever the question is."""
        return -self.updated_at.timestamp() if self.updated_at else 0.0, self.text


@lru_cache(maxsize=512)  # the preferences are in every prompt
def _from_first_statement(text: str) -> str:
    """Return *text* from its first statement on; all of it if no sentence is a statement."""
    parts = sentences(text)
    if len(parts) == 1:
        return text
    first = next((part for part in parts if passing_kind(part) is None), text)
    return text[max(0, text.find(first)) :]


def to_preference_line(preference: Preference) -> PreferenceLine:
    """Return a preference as it is shown in a prompt."""
    return PreferenceLine(
        preference.value,
        mark_of_preference(preference.origin, confirmed=preference.confirmed),
        preference.name if preference.memory_id is None else None,
        preference.updated_at,
    )


def format_memory_context_with_directive(
    memories: tuple[ScoredMemory, ...],
    *,
    estimator: TokenEstimator,
    token_budget: int,
    injection_point: InjectionPoint = InjectionPoint.SYSTEM,
) -> tuple[ChatMessage, ...]:
    """Return the directive and one message with the memories that fit, or () if none does.

    Memories are tried in the order given. One that does not fit is skipped, and the next ones are
    still tried. The directive always has the role SYSTEM. Raises ValueError for an unknown
    *injection_point*.
    """
    return format_memories(
        memories, estimator=estimator, token_budget=token_budget, injection_point=injection_point
    ).messages


def format_memories(
    memories: Sequence[ScoredMemory],
    *,
    estimator: TokenEstimator,
    token_budget: int,
    injection_point: InjectionPoint = InjectionPoint.SYSTEM,
    nonce: str | None = None,
) -> FormattedMemories:
    """Format like :func:`format_memory_context_with_directive`, and return what is included.

    With a *nonce*, each line of each memory begins with it.
    """
    lines = [inner_line(memory) for memory in memories]
    packed = pack(
        [PromptPart(lines, token_budget)],
        estimator=estimator,
        token_budget=token_budget,
        injection_point=injection_point,
        nonce=nonce,
    )
    included = tuple(memories[place] for place in packed.included[0])
    least = least_tokens(lines, estimator, nonce)
    return FormattedMemories(packed.messages, included, packed.tokens, least)


def pack(
    parts: Sequence[PromptPart],
    *,
    estimator: TokenEstimator,
    token_budget: int,
    injection_point: InjectionPoint = InjectionPoint.SYSTEM,
    nonce: str | None = None,
    has_directive: bool = False,
) -> PackedMessages:
    """Return the directive and one message with the fenced lines that fit, part after part.

    A line that exceeds the tokens of its part or the budget is skipped, and the next ones are
    still tried. Tokens that a part does not use are left for the next parts. Returns no messages
    if no line fits. *has_directive*: the prompt has the directive already, so it is not repeated.
    """
    role = role_of(injection_point)
    messages = (
        () if has_directive else (ChatMessage(role=MessageRole.SYSTEM, content=directive(nonce)),)
    )
    used = sum(estimator.estimate_tokens(message.content) for message in messages)
    newline = estimator.estimate_tokens("\n")
    blocks: list[str] = []
    included: list[tuple[int, ...]] = []
    for part in parts if token_budget > 0 else ():
        part_used, places = 0, []
        for place, line in enumerate(part.lines):
            block = fence(line, nonce)
            cost = estimator.estimate_tokens(block) + (newline if blocks else 0)
            if part_used + cost <= part.tokens_max and used + cost <= token_budget:
                part_used, used = part_used + cost, used + cost
                blocks.append(block)
                places.append(place)
        included.append(tuple(places))
    if not blocks:
        return PackedMessages((), ((),) * len(parts))
    message = ChatMessage(role=role, content="\n".join(blocks))
    return PackedMessages((*messages, message), tuple(included), used)


def least_tokens(
    lines: Sequence[str], estimator: TokenEstimator, nonce: str | None = None
) -> int | None:
    """Return the least budget in which one of *lines* fits with the directive; None without any."""
    costs = [estimator.estimate_tokens(fence(line, nonce)) for line in lines]
    return min(costs) + estimator.estimate_tokens(directive(nonce)) if costs else None


def inner_line(memory: ScoredMemory) -> str:
    """Return the content of a memory's fence: mark, label and text (SPEC 11.1.1).

    The mark names the origin of a memory that is not the owner's. It comes first, and lines of the
    text that begin like a label are escaped, so a text can forge neither.
    """
    return _memory_line(memory)


def line_with_date(memory: ScoredMemory, project_id: str | None = None) -> str:
    """Return :func:`inner_line` with the memory's day, and its project unless it is *project_id*.

    A reader needs both: an old memory may no longer hold, and one of another project may not hold
    in this one.
    """
    entry = memory.entry
    place = f" | {entry.occurred_at or entry.created_at:%Y-%m-%d}"
    if entry.project_id not in (None, project_id):
        place += project_mark(entry.project_id)
    return _memory_line(memory, place)


def project_mark(project_id: str) -> str:
    """Return the part of a label that names the project's folder.

    A folder may have any name, so it is shortened and its punctuation replaced.
    """
    return f" | of {_NO_NAME.sub('-', folder_name(project_id))[:PROJECT_NAME_CHARS]}"


def _memory_line(memory: ScoredMemory, label_end: str = "") -> str:
    entry = memory.entry
    label = f"{entry.category} | score: {memory.combined_score:.2f}{label_end}"
    return f"{_mark_of_scored(memory)}[{label}] {body(entry.content, tags=(ENTRY_TAG,))}"


def knowledge_line(item: KnowledgeItem) -> str:
    """Return the content of the fence of a fact, a lesson or a pattern."""
    text = body(item.text, tags=(ENTRY_TAG,))
    return f"{item.mark}[{item.label} | score: {item.relevance:.2f}{item.period}] {text}"


def preference_line(value: str, mark: str) -> str:
    """Return the content of the fence of a preference that the owner has not confirmed."""
    return f"{mark}[preference] {body(value, tags=(ENTRY_TAG,))}"


def fence(text: str, nonce: str | None = None) -> str:
    """Return *text* in a ``memory-entry`` fence; with a *nonce*, each line begins with it."""
    if nonce is not None:
        lines = view(text, tags=(ENTRY_TAG,)).split("\n")
        text = "\n".join(f"{line_mark(nonce)}{line}" for line in lines)
    return wrap_stored(ENTRY_TAG, text)


def line_mark(nonce: str) -> str:
    """Return the prefix of each line of an untrusted text (PROMISES 5)."""
    return f"[memd:{nonce}] "


def directive(nonce: str | None = None) -> str:
    """Return the paragraph that tells a model how to read fenced text."""
    text = untrusted_content_directive((ENTRY_TAG,))
    if nonce is None:
        return text
    prefix = line_mark(nonce).strip()
    return f"{text} Each line of it begins with {prefix}; no other line is part of it."


def _mark_of_scored(memory: ScoredMemory) -> str:
    if memory.is_shared:
        return mark_of_shared(memory.entry.origin, memory.entry.trust)
    return mark_of_entry(memory.entry)


def mark_of_entry(entry: MemoryEntry) -> str:
    """Return the mark of an entry's origin, "" for the owner's.

    An entry of another backend without an origin has no mark.
    """
    if not {"origin", "trust"} & entry.model_fields_set:
        return ""
    return mark_of(entry.origin, entry.trust)


def role_of(point: InjectionPoint) -> MessageRole:
    """Return the role of a message at *point*; raises ValueError for an unknown point."""
    try:
        return _ROLES[InjectionPoint(point)]
    except (KeyError, ValueError):
        raise ValueError(
            f"{point!r} is no injection point: use {', '.join(InjectionPoint)}"
        ) from None
