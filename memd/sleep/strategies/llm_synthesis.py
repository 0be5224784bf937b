"""One summary of a group of memories, written by a language model (SPEC 16.11, D8).

Remembered texts are data: each stands in a fence of its own, rendered by
``view``, and the instructions say so. Members that do not fit the prompt are not read
by the model, so the summary does not cover them.

Where the model does not answer, the members' beginnings are listed instead, and
all of them may be removed. By the specification that loses everything after 200
characters; in memd a removed original is hidden and archived, byte for byte, and
restored by its id (SPEC D9). A caller that cannot archive originals first must not
remove on a fallback: ``CondensedGroup.fallback`` says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from memd.domain.backend import CompletionProvider
from memd.domain.enums import MemoryCategory
from memd.domain.sleep.consolidation import CONSOLIDATED_TAG, LLMConsolidationConfig
from memd.sleep.strategies.ask import ask, build_model
from memd.sleep.strategies.operations import CondensedGroup, GroupMember, concatenate
from memd.view.view import untrusted_content_directive, wrap_stored

SYNTHESIZED_TAG = "llm-synthesized"
FALLBACK_TAG = "concat-fallback"

_MEMORY = "memory-entry"
_CONTEXT = "trajectory"


class LLMSynthesisOp:
    """Lets a language model write one summary of a group.

    Without a *provider* every summary is the fallback list, on purpose (SPEC D8). With
    one the *model* must be named; raises ValueError when it
    is not, or is blank.
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

        Raises ProviderRefusedError when the provider needs its owner.
        """
        del kept
        if self._model is not None and members:
            prompt_members, prompt = build_prompt(members, context, self._config)
            answer = await ask(self._model, prompt, system=_system(category))
            if answer is not None:
                ids = tuple(member.id for member in prompt_members)
                return CondensedGroup(answer, (CONSOLIDATED_TAG, SYNTHESIZED_TAG), ids)
        fallback = concatenate(category, members, chars=self._config.fallback_truncate_length)
        return CondensedGroup(
            fallback.text,
            (CONSOLIDATED_TAG, FALLBACK_TAG),
            fallback.removable_ids,
            fallback=self._model is not None,
        )


def build_prompt(
    members: Sequence[GroupMember], context: Sequence[str], config: LLMConsolidationConfig
) -> tuple[tuple[GroupMember, ...], str]:
    """Return the members that fit a prompt, in order and at least one, and the prompt.

    The prompt has at most ``max_total_user_content_chars``. *context* comes last
    and fills the remaining characters.
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
    """Return *text* in its fence, truncated to at most *total* characters."""
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
