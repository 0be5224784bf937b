"""Format ranked memories as messages: each in its own fence, within a budget (SPEC 11).

The directive, which says how to read fenced text, is a message of its own and is paid from
the same budget: a prompt with a budget of 500 tokens has at most 500 tokens. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from memd.domain.enums import InjectionPoint
from memd.domain.inject import ChatMessage, MessageRole, TokenEstimator
from memd.domain.memory import MemoryEntry
from memd.domain.settings.retrieval import ScoredMemory
from memd.domain.trust import mark as mark_of
from memd.domain.trust import mark_of_shared
from memd.domain.values import folder_name
from memd.view.labels import body
from memd.view.view import ENTRY_TAG, untrusted_content_directive, view, wrap_stored

if TYPE_CHECKING:
    from memd.inject.knowledge import KnowledgeItem  # imports all of recall's ranking

PROJECT_NAME_CHARS = 40
_NO_NAME = re.compile(r"[^\w.]+")
_ROLES = {
    InjectionPoint.SYSTEM: MessageRole.SYSTEM,
    InjectionPoint.USER: MessageRole.USER,
}


class FormattedMemories(NamedTuple):
    """The messages, the memories in them, and their cost in tokens.

    *minimum* is the least budget in which one memory fits; None without any memory.
    """

    messages: tuple[ChatMessage, ...] = ()
    included: tuple[ScoredMemory, ...] = ()
    tokens: int = 0
    minimum: int | None = None


class PromptPart(NamedTuple):
    """Lines of one kind, best first, and the most tokens that they may take with fences."""

    lines: Sequence[str]
    tokens_max: int


class PackedMessages(NamedTuple):
    """The messages, the indexes of each part's lines that are in them, and the cost."""

    messages: tuple[ChatMessage, ...]
    included: tuple[tuple[int, ...], ...]
    tokens: int = 0


def format_memory_context_with_directive(
    memories: tuple[ScoredMemory, ...],
    *,
    estimator: TokenEstimator,
    token_budget: int,
    injection_point: InjectionPoint = InjectionPoint.SYSTEM,
) -> tuple[ChatMessage, ...]:
    """Return the directive and one message with the memories that fit, or () when none does.

    Memories are tried in the order given; one that does not fit is skipped and smaller ones
    are still tried. The directive always has the role SYSTEM, and its tokens count. Raises
    ValueError for an unknown *injection_point*.
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
    """Format like :func:`format_memory_context_with_directive`, and return what was included.

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
    """Return the directive and one message of fenced lines, part after part.

    *has_directive*: the prompt has the directive already. A line that does not fit into its
    part or the remaining budget is skipped and smaller ones are still tried. Tokens that a
    part leaves are there for the next. Returns no messages when no line fits.
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
        own, places = 0, []
        for place, line in enumerate(part.lines):
            block = fence(line, nonce)
            cost = estimator.estimate_tokens(block) + (newline if blocks else 0)
            if own + cost <= part.tokens_max and used + cost <= token_budget:
                own, used = own + cost, used + cost
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
    """Return the least budget in which one of *lines* fits alone; None when there is none."""
    blocks = [estimator.estimate_tokens(fence(line, nonce)) for line in lines]
    return min(blocks) + estimator.estimate_tokens(directive(nonce)) if blocks else None


def inner_line(memory: ScoredMemory) -> str:
    """Return the content of a memory's fence (SPEC 11.1.1).

    A memory that is not the owner's begins with a mark of its origin. The mark comes first, and
    no line of the memory may begin like a label, so a text cannot forge either.
    """
    return _memory_line(memory)


def placed_line(memory: ScoredMemory, project_id: str | None = None) -> str:
    """Return :func:`inner_line` with the memory's day, and its project unless that asks.

    What was so may be so no longer, and what is so elsewhere need not be so here.
    """
    entry = memory.entry
    place = f" | {entry.occurred_at or entry.created_at:%Y-%m-%d}"
    if entry.project_id not in (None, project_id):
        place += project_mark(entry.project_id)
    return _memory_line(memory, place)


def project_mark(project_id: str) -> str:
    """Return the part of a label that names the project's folder.

    A folder may have any name: nothing in it ends the label or says more than a name does.
    """
    return f" | of {_NO_NAME.sub('-', folder_name(project_id))[:PROJECT_NAME_CHARS]}"


def _memory_line(memory: ScoredMemory, more: str = "") -> str:
    """Return the line of a memory, *more* at the end of its label."""
    entry = memory.entry
    return (
        f"{_mark_of_scored(memory)}[{entry.category} | score: {memory.combined_score:.2f}{more}] "
        f"{body(entry.content, tags=(ENTRY_TAG,))}"
    )


def knowledge_line(item: KnowledgeItem) -> str:
    """Return the content of the fence of a fact, a lesson or a pattern."""
    text = body(item.text, tags=(ENTRY_TAG,))
    return f"{item.mark}[{item.label} | score: {item.relevance:.2f}] {text}"


def preference_line(value: str, doubt: str) -> str:
    """Return the content of the fence of a preference that the owner has not confirmed."""
    return f"{doubt}[preference] {body(value, tags=(ENTRY_TAG,))}"


def fence(text: str, nonce: str | None = None) -> str:
    """Put *text* into a ``memory-entry`` fence; with a *nonce*, mark each line."""
    if nonce is not None:
        lines = view(text, tags=(ENTRY_TAG,)).split("\n")
        text = "\n".join(f"{line_mark(nonce)}{line}" for line in lines)
    return wrap_stored(ENTRY_TAG, text)


def line_mark(nonce: str) -> str:
    """Return the prefix of each line of an untrusted text (PROMISES 5)."""
    return f"[memd:{nonce}] "


def directive(nonce: str | None = None) -> str:
    """Return the paragraph that says how to read fenced text."""
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
    """Return the mark of an entry that is not the owner's, "" for the owner's.

    An entry of another backend without a stamped origin has none.
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
