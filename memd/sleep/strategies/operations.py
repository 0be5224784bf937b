"""Condense a group of memories into one text (SPEC 16.6, 16.9, 16.11).

An operation gets a category and members, and returns a text with its tags and the members that it
covers. It has no side effects: the strategies store the text over a backend, nights store it as a
row. An operation awaits only a language model.

In a prompt, each memory is in its own fence, and the instructions say that fenced texts are data.
If the model does not answer, the text lists the beginnings of the members, and all of them may be
removed. That is not lossy in memd, which archives removed originals (SPEC D9). A caller that cannot
archive must not remove anything then; ``CondensedGroup.fallback`` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from memd.base.limits import TEXT_CHARS_MAX
from memd.domain.backend import CompletionProvider
from memd.domain.enums import MemoryCategory
from memd.domain.settings.consolidation import ConsolidationConfig
from memd.domain.sleep.consolidation import (
    CONSOLIDATED_TAG,
    ArchivalMode,
    ArchivalModeAssignment,
    ConsolidationStrategyType,
    ContentDensity,
    LLMConsolidationConfig,
)
from memd.sleep.strategies.ask import ask, build_model, gather_limited
from memd.sleep.strategies.shorten import (
    SHORT_CHARS,
    AbstractiveSummarizer,
    ExtractivePreserver,
    truncate,
)
from memd.text.density import DensityClassifier
from memd.view.view import untrusted_content_directive, wrap_stored

SEPARATOR = "\n---\n"
SYNTHESIZED_TAG = "llm-synthesized"
FALLBACK_TAG = "concat-fallback"
_MEMORY = "memory-entry"
_CONTEXT = "trajectory"


@dataclass(frozen=True, slots=True)
class GroupMember:
    """The id and the text of one memory of a group."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class CondensedGroup:
    """The result of an operation.

    *removable_ids* are the members that *text* covers, in order, without those that did not fit.
    *fallback* says that a language model should have written the text but did not answer.
    """

    text: str
    tags: tuple[str, ...]
    removable_ids: tuple[str, ...]
    assignments: tuple[ArchivalModeAssignment, ...] = ()
    fallback: bool = False


class ConsolidationOp(Protocol):
    """Condenses a group's members into one text.

    *kept* is the memory of the group that stays visible and is not condensed. *context* are texts
    that may help to understand the members. Raises ValueError without members.
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
    """Extracts the facts of a mostly dense group, and shortens the texts of others (SPEC 16.9).

    The default *summarizer* has no language model and truncates.
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
            parts = await gather_limited(
                self._summarizer.summarize, [member.text for member in members]
            )
        return join_parts(mode, members, parts)


class LLMSynthesisOp:
    """Lets a language model write one summary of a group.

    Without a *provider* every summary is the fallback list (SPEC D8). Raises ValueError for a
    provider without a *model*, or a blank one.
    """

    def __init__(
        self,
        *,
        provider: CompletionProvider | None = None,
        model: str | None = None,
        config: LLMConsolidationConfig | None = None,
    ) -> None:
        self._config = config or LLMConsolidationConfig()
        self._model = build_model(
            provider,
            model,
            temperature=self._config.temperature,
            max_tokens=self._config.max_summary_tokens,
        )

    async def condense(
        self,
        category: MemoryCategory,
        members: Sequence[GroupMember],
        *,
        kept: GroupMember | None = None,
        context: Sequence[str] = (),
    ) -> CondensedGroup:
        """Return the model's answer unchanged, or the fallback.

        Raises ProviderRefusedError for errors that the owner must fix, such as a wrong key.
        """
        del kept
        if self._model is not None and members:
            prompt_members, prompt = build_prompt(members, context, self._config)
            answer = await ask(self._model, prompt, system=_system(category))
            if answer is not None:
                ids = tuple(member.id for member in prompt_members)
                return CondensedGroup(answer, (CONSOLIDATED_TAG, SYNTHESIZED_TAG), ids)
        listing = concatenate(category, members, chars=self._config.fallback_truncate_length)
        tags = (CONSOLIDATED_TAG, FALLBACK_TAG)
        return replace(listing, tags=tags, fallback=self._model is not None)


def concatenate(
    category: MemoryCategory,
    members: Sequence[GroupMember],
    *,
    chars: int = SHORT_CHARS,
) -> CondensedGroup:
    """Return a heading and a line for each of *members* with its first *chars* characters."""
    heading = f"Consolidated {category.value} memories:"
    lines = [f"- {truncate(member.text, chars)}" for member in members]
    return _join((heading,), members, lines, "\n", (CONSOLIDATED_TAG,))


def vote_mode(classifier: DensityClassifier, texts: Iterable[str]) -> ArchivalMode:
    """Return EXTRACTIVE when more than half of *texts* are dense, else ABSTRACTIVE."""
    votes = [classifier.classify(text) is ContentDensity.DENSE for text in texts]
    return ArchivalMode.EXTRACTIVE if 2 * sum(votes) > len(votes) else ArchivalMode.ABSTRACTIVE


def join_parts(
    mode: ArchivalMode, members: Sequence[GroupMember], parts: Sequence[str]
) -> CondensedGroup:
    """Join *parts*, which were made in *mode* from each of *members*, into one text."""
    joined = _join((), members, parts, SEPARATOR, (CONSOLIDATED_TAG, f"mode:{mode.value}"))
    assignments = (
        ArchivalModeAssignment(original_id=member_id, mode=mode)
        for member_id in joined.removable_ids
    )
    return replace(joined, assignments=tuple(assignments))


def _join(
    heading: tuple[str, ...],
    members: Sequence[GroupMember],
    parts: Sequence[str],
    separator: str,
    tags: tuple[str, ...],
) -> CondensedGroup:
    """Join as many *parts* as a memory can hold; members of the other parts are not removable."""
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
    return CondensedGroup(
        separator.join(lines), tags, tuple(member.id for member in members[:count])
    )


def build_prompt(
    members: Sequence[GroupMember], context: Sequence[str], config: LLMConsolidationConfig
) -> tuple[tuple[GroupMember, ...], str]:
    """Return the first members that fit into a prompt, at least one, and the prompt.

    The prompt has at most ``max_total_user_content_chars``. *context* follows the members, as far
    as it fits.
    """
    total = config.max_total_user_content_chars
    blocks = [_cut_to_fit(members[0].text[: config.max_entry_input_chars], total)]
    for member in members[1:]:
        block = wrap_stored(_MEMORY, member.text[: config.max_entry_input_chars])
        if _length([*blocks, block]) > total:
            break
        blocks.append(block)
    prompt_members = tuple(members[: len(blocks)])
    for text in context[: config.max_trajectory_context_entries]:
        block = wrap_stored(_CONTEXT, text[: config.max_trajectory_chars_per_entry])
        if _length([*blocks, block]) > total:
            break
        blocks.append(block)
    return prompt_members, "\n".join(blocks)


def _cut_to_fit(text: str, total: int) -> str:
    """Return *text* in its fence, truncated so that both have at most *total* characters."""
    block = wrap_stored(_MEMORY, text)
    while len(block) > total:
        text = text[: total - len(block)]
        block = wrap_stored(_MEMORY, text)
    return block


def _length(blocks: Sequence[str]) -> int:
    return sum(map(len, blocks)) + len(blocks) - 1


def _system(category: MemoryCategory) -> str:
    return (
        f"You write one summary of several remembered texts of the category {category.value}. "
        "Keep every fact, name, number, date and decision that is in them, once; where two texts "
        "disagree, say so. Add nothing that is not in them. "
        f"Texts in <{_CONTEXT}> tell how earlier tasks went: use them to understand, do not "
        "summarise them. Answer with the summary alone. "
        + untrusted_content_directive((_MEMORY, _CONTEXT))
    )


def build_operation(
    config: ConsolidationConfig,
    *,
    provider: CompletionProvider | None = None,
    model: str | None = None,
) -> ConsolidationOp:
    """Return the operation of ``config.strategy``; without a *provider* it uses rules alone.

    A strategy that uses the provider needs a *model*; the settings of ``dual_mode`` may name
    another one. Raises ValueError if none is named.
    """
    if config.strategy is ConsolidationStrategyType.LLM:
        return LLMSynthesisOp(provider=provider, model=model, config=config.llm)
    if config.strategy is ConsolidationStrategyType.DUAL_MODE:
        dual = config.archival.dual_mode
        return DensityRoutingOp(
            classifier=DensityClassifier(dual.dense_threshold),
            extractor=ExtractivePreserver(dual.max_facts, dual.anchor_length),
            summarizer=AbstractiveSummarizer(
                provider=provider,
                model=dual.summarization_model or model,
                max_summary_tokens=dual.max_summary_tokens,
            ),
        )
    return ConcatenationOp()
