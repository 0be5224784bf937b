"""Ranked memories as messages: each in a fence of its own, within a budget (SPEC 11).

The directive, which says how to read what stands in the fences, is a message of
its own and comes out of the same budget: a prompt that was promised 500 tokens
has 500 tokens. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from memd.domain.enums import InjectionPoint
from memd.domain.inject import ChatMessage, MessageRole, TokenEstimator
from memd.domain.memory import MemoryEntry
from memd.domain.settings.retrieval import ScoredMemory
from memd.domain.trust import mark as mark_of
from memd.domain.trust import mark_of_shared
from memd.view.labels import body
from memd.view.view import ENTRY_TAG, untrusted_content_directive, view, wrapped

if TYPE_CHECKING:
    from memd.inject.known import KnownText  # with it comes all that ranks

_ROLES = {
    InjectionPoint.SYSTEM: MessageRole.SYSTEM,
    InjectionPoint.USER: MessageRole.USER,
}


class Formatted(NamedTuple):
    """The messages, which memories are in them, and what all of it costs.

    *minimum* is the least budget in which one memory would have fitted; None when
    there was none.
    """

    messages: tuple[ChatMessage, ...] = ()
    taken: tuple[ScoredMemory, ...] = ()
    tokens: int = 0
    minimum: int | None = None


class PromptPart(NamedTuple):
    """Lines of one kind, best first, and the most tokens that their fences may take."""

    lines: Sequence[str]
    tokens_max: int


class PackedMessages(NamedTuple):
    """The messages, the places of the lines of each part that are in them, and the cost."""

    messages: tuple[ChatMessage, ...]
    taken: tuple[tuple[int, ...], ...]
    tokens: int = 0


def format_memory_context_with_directive(
    memories: tuple[ScoredMemory, ...],
    *,
    estimator: TokenEstimator,
    token_budget: int,
    injection_point: InjectionPoint = InjectionPoint.SYSTEM,
) -> tuple[ChatMessage, ...]:
    """Return the directive and one message with the memories that fit, or () when none does.

    Memories are tried in the order given; one that does not fit is skipped and
    smaller ones are still tried. The directive has the role SYSTEM whatever the
    *injection_point*, and its tokens count. Raises ValueError for an injection
    point that is none.
    """
    return formatted(
        memories, estimator=estimator, token_budget=token_budget, injection_point=injection_point
    ).messages


def formatted(
    memories: Sequence[ScoredMemory],
    *,
    estimator: TokenEstimator,
    token_budget: int,
    injection_point: InjectionPoint = InjectionPoint.SYSTEM,
    nonce: str | None = None,
) -> Formatted:
    """Do what :func:`format_memory_context_with_directive` does, and say what was taken.

    With a *nonce* every line of every memory begins with it.
    """
    lines = [inner_line(memory) for memory in memories]
    packed = pack(
        [PromptPart(lines, token_budget)],
        estimator=estimator,
        token_budget=token_budget,
        injection_point=injection_point,
        nonce=nonce,
    )
    taken = tuple(memories[place] for place in packed.taken[0])
    least = least_tokens(lines, estimator, nonce)
    return Formatted(packed.messages, taken, packed.tokens, least)


def pack(
    parts: Sequence[PromptPart],
    *,
    estimator: TokenEstimator,
    token_budget: int,
    injection_point: InjectionPoint = InjectionPoint.SYSTEM,
    nonce: str | None = None,
    directed: bool = False,
) -> PackedMessages:
    """Return one message of fenced lines, part after part, behind the directive.

    A prompt that is *directed* has the directive already.

    A line that does not fit into its part or into what is left of the budget is skipped
    and smaller ones are still tried. What one part leaves is there for the next. Nothing
    when no line fits.
    """
    role = role_of(injection_point)
    messages = () if directed else (ChatMessage(role=MessageRole.SYSTEM, content=directive(nonce)),)
    used = sum(estimator.estimate_tokens(message.content) for message in messages)
    newline = estimator.estimate_tokens("\n")
    blocks: list[str] = []
    taken: list[tuple[int, ...]] = []
    for part in parts if token_budget > 0 else ():
        own, places = 0, []
        for place, line in enumerate(part.lines):
            block = fenced(line, nonce)
            cost = estimator.estimate_tokens(block) + (newline if blocks else 0)
            if own + cost <= part.tokens_max and used + cost <= token_budget:
                own, used = own + cost, used + cost
                blocks.append(block)
                places.append(place)
        taken.append(tuple(places))
    if not blocks:
        return PackedMessages((), ((),) * len(parts))
    message = ChatMessage(role=role, content="\n".join(blocks))
    return PackedMessages((*messages, message), tuple(taken), used)


def least_tokens(
    lines: Sequence[str], estimator: TokenEstimator, nonce: str | None = None
) -> int | None:
    """Return the least budget in which one of *lines* fits alone; None when there is none."""
    blocks = [estimator.estimate_tokens(fenced(line, nonce)) for line in lines]
    return min(blocks) + estimator.estimate_tokens(directive(nonce)) if blocks else None


def inner_line(memory: ScoredMemory) -> str:
    """Return what stands inside a memory's fence, before it is fenced (SPEC 11.1.1).

    What is not the owner's says whose it is; the mark is memd's own and stands before
    everything that the memory says of itself, and no line of the memory begins like a
    label.
    """
    entry = memory.entry
    return (
        f"{_mark_of(memory)}[{entry.category} | score: {memory.combined_score:.2f}] "
        f"{body(entry.content, tags=(ENTRY_TAG,))}"
    )


def known_line(known: KnownText) -> str:
    """Return what stands inside the fence of a fact, a lesson or a pattern."""
    text = body(known.text, tags=(ENTRY_TAG,))
    return f"{known.mark}[{known.label} | score: {known.relevance:.2f}] {text}"


def preference_line(value: str, doubt: str) -> str:
    """Return what stands inside the fence of a preference that the owner has not confirmed."""
    return f"{doubt}[preference] {body(value, tags=(ENTRY_TAG,))}"


def fenced(text: str, nonce: str | None = None) -> str:
    """Return *text* inside a ``memory-entry`` fence, each line marked when there is a *nonce*."""
    if nonce is not None:
        lines = view(text, tags=(ENTRY_TAG,)).split("\n")
        text = "\n".join(f"{mark(nonce)}{line}" for line in lines)
    return wrapped(ENTRY_TAG, text)


def mark(nonce: str) -> str:
    """Return what each line of an untrusted text begins with (PROMISES 5)."""
    return f"[memd:{nonce}] "


def directive(nonce: str | None = None) -> str:
    """Return the paragraph that tells how to read what stands in the fences."""
    text = untrusted_content_directive((ENTRY_TAG,))
    if nonce is None:
        return text
    return f"{text} Each line of it begins with {mark(nonce).strip()}; no other line is part of it."


def _mark_of(memory: ScoredMemory) -> str:
    if memory.is_shared:
        return mark_of_shared(memory.entry.origin, memory.entry.trust)
    return warning(memory.entry)


def warning(entry: MemoryEntry) -> str:
    """Return the mark of an entry that is not the owner's.

    An entry of another backend, on which nobody has stamped an origin, has none.
    """
    if not {"origin", "trust"} & entry.model_fields_set:
        return ""
    return mark_of(entry.origin, entry.trust)


def role_of(point: InjectionPoint) -> MessageRole:
    """Return the role of a message; raises ValueError for an injection point that is none."""
    try:
        return _ROLES[InjectionPoint(point)]
    except (KeyError, ValueError):
        raise ValueError(
            f"{point!r} is no injection point: use {', '.join(InjectionPoint)}"
        ) from None
