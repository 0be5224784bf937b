"""Let a language model write in nights, for the purposes in the settings (SPEC 16.15).

This module has the providers of summaries, and the task that compresses experiences. An experience
itself is stored unchanged, read by id, and never injected. Its compressed form states the decisions
and where they apply, and names the experience, which is not compressed again. Without a valid
answer the experience is not compressed, and the next night asks again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memd.base.ids import Ids
from memd.domain.backend import CompletionProvider
from memd.domain.encoding import TokenCounter
from memd.domain.enums import ArchiveReason, MemoryCategory
from memd.domain.settings.consolidation import ExperienceCompressorConfig
from memd.domain.settings.settings import Settings
from memd.domain.sleep.consolidation import COMPRESSED_EXPERIENCE_TAG
from memd.domain.values import NotBlankStr, Value
from memd.llm.completion import PurposeProvider
from memd.llm.llm import LanguageModel, parse_answer
from memd.llm.provider import Purpose
from memd.sleep.night.tasks import Cursor, NightScope, NightTask, PlannedStep, new_summary
from memd.sleep.sleep import NightProviders
from memd.sleep.strategies.ask import Model, ask
from memd.sleep.strategies.batches import summary_row
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import groups, transitions
from memd.store.memory.groups import MemberRow
from memd.store.memory.transitions import PlannedSummary, RunStep
from memd.view.view import untrusted_content_directive, wrap_stored

if TYPE_CHECKING:
    from memd.backends.rooms import Rooms

NIGHT_PURPOSES = (Purpose.SUMMARY, Purpose.COMPRESSION, Purpose.EXPERIENCE)
VERSION = "llm-v1"
"""The ``compressor_version`` of compressed experiences."""
_RATIO_MIN, _RATIO_MAX = 0.01, 1.0
_PROMPT_CHARS_MAX = 20_000
_TAG = "task-data"

_SYSTEM = (
    "You read the record of one task that an assistant worked on. Say what it teaches: the "
    "strategic decisions that mattered, each in one sentence that holds beyond this task, and the "
    "contexts in which they apply. Answer with JSON alone: "
    '{"strategic_decisions": ["..."], "applicable_contexts": ["..."]}. '
    + untrusted_content_directive((_TAG,))
)


def night_purposes(settings: Settings) -> frozenset[Purpose]:
    """Return the purposes that the consolidation settings assign to a language model."""
    compresses_experiences = settings.memory.consolidation.experience_compressor.enabled
    return frozenset(
        ({Purpose.SUMMARY} if _model_summarises(settings) else set())
        | ({Purpose.EXPERIENCE} if compresses_experiences else set())
    )


def night_providers(settings: Settings, model: LanguageModel) -> NightProviders | None:
    """Return the providers for nights, None if the settings allow no tokens for them."""
    if settings.llm.night_tokens == 0:
        return None
    return NightProviders(
        PurposeProvider(model, Purpose.SUMMARY) if _model_summarises(settings) else None,
        PurposeProvider(model, Purpose.COMPRESSION) if settings.llm.uses.compression else None,
        settings.llm.model or settings.llm.provider,
        lambda: model.call_counts(NIGHT_PURPOSES),
        _experience_task(settings, model),
    )


def _experience_task(
    settings: Settings, model: LanguageModel
) -> Callable[[Rooms], NightTask] | None:
    config = settings.memory.consolidation.experience_compressor
    if not config.enabled:
        return None

    def build(rooms: Rooms) -> NightTask:
        provider = PurposeProvider(model, Purpose.EXPERIENCE)
        name = config.model or provider.name
        return Experiences(rooms.db, rooms.ids, rooms.counter, provider, name, config)

    return build


def _model_summarises(settings: Settings) -> bool:
    """Return whether a model summarises memories.

    It does with strategy ``llm``, and with ``dual_mode`` if that names a model.
    """
    config = settings.memory.consolidation
    is_named = config.archival.dual_mode.summarization_model is not None
    return config.strategy == "llm" or (config.strategy == "dual_mode" and is_named)


class ExperienceLessons(Value):
    """The answer expected of the model."""

    strategic_decisions: Annotated[tuple[NotBlankStr, ...], Field(min_length=1, max_length=20)]
    applicable_contexts: Annotated[tuple[NotBlankStr, ...], Field(max_length=20)] = ()


@dataclass(frozen=True)
class Experiences:
    """The task that compresses experiences, one transaction each."""

    db: Database
    ids: Ids
    counter: TokenCounter
    provider: CompletionProvider
    model: str
    config: ExperienceCompressorConfig
    name: str = "experiences"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        del limit  # one experience is one request to the model
        after = int(cursor.get("after", 0))
        while (
            row := await self.db.read(groups.next_experience, scope.agent_key, after)
        ) is not None:
            after = row.memory_key
            text = await self._compress(row)
            if text is not None:
                return self._plan_step(scope, row, text)
        return None

    async def _compress(self, row: MemberRow) -> str | None:
        """Return the compressed form of *row* as JSON; None without an answer that is accepted.

        An answer shorter than ``min_compression_ratio`` of the experience is not accepted.
        """
        parts = split_parts(row.text)
        config = self.config
        model = Model(self.provider, self.model, config.temperature, config.max_tokens)
        prompt = wrap_stored(_TAG, "\n\n".join(parts)[:_PROMPT_CHARS_MAX])
        reply = await ask(model, prompt, system=_SYSTEM)
        if reply is None:
            return None
        ratio = compression_ratio(reply, parts)
        lessons = parse_answer(reply, ExperienceLessons)
        if lessons is None or ratio < config.min_compression_ratio:
            return None
        return json.dumps(
            {
                "strategic_decisions": lessons.strategic_decisions,
                "applicable_contexts": lessons.applicable_contexts,
                "compression_ratio": ratio,
                "compressor_version": VERSION,
                "source_artifact_ids": [row.memory_id],
            },
            ensure_ascii=False,
        )

    def _plan_step(self, scope: NightScope, row: MemberRow, text: str) -> PlannedStep:
        def apply(conn: Writing, step: RunStep) -> int:
            if not transitions.is_unchanged(
                conn, [transitions.PlannedRow(row.memory_key, row.row_hash)]
            ):
                return 0
            count = self.counter.count(text)
            new = new_summary(conn, scope, self.ids, None, count)
            tags = (COMPRESSED_EXPERIENCE_TAG,)
            row_of_summary = summary_row(new, [row], text, MemoryCategory.EPISODIC, tags)
            summary = PlannedSummary(
                row_of_summary, [row.memory_key], [], ArchiveReason.CONSOLIDATED
            )
            transitions.summarise(conn, step, [summary])
            return 1

        return PlannedStep(1, {"after": row.memory_key}, apply)


def split_parts(content: str) -> list[str]:
    """Return prompt, output, feedback and trace of an experience; any other text is one part.

    >>> split_parts('{"prompt": "p", "output": "o", "reasoning_trace": ["a", "b"]}')
    ['p', 'o', 'a', 'b']
    >>> split_parts("just a text")
    ['just a text']
    """
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return [content]
    if not isinstance(fields, dict) or not isinstance(fields.get("prompt"), str):
        return [content]
    trace = fields.get("reasoning_trace")
    parts = [fields["prompt"], fields.get("output"), fields.get("verification_feedback")]
    parts += trace if isinstance(trace, list) else []
    return [part for part in parts if isinstance(part, str) and part.strip()] or [content]


def compression_ratio(reply: str, parts: list[str]) -> float:
    """Return the length of *reply* relative to *parts*, from 0.01 to 1.

    >>> compression_ratio("x" * 10, ["y" * 30, "z" * 10]), compression_ratio("x" * 10, ["y"])
    (0.25, 1.0)
    """
    share = len(reply) / max(1, sum(map(len, parts)))
    return round(min(max(share, _RATIO_MIN), _RATIO_MAX), 4)
