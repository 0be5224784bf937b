"""Outcomes and patterns of tasks (SPEC 5a), lessons from failures (SPEC 17), tuning (SPEC 18.2).

A lesson has three tiers. The first, *discovery*, is short and searched. The second (condition
and action) and the third (execution steps) are read by the lesson's id (SPEC D24).
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Protocol, Self, runtime_checkable

from pydantic import Field, field_validator, model_validator

from memd.base.limits import FAILED_TOOL_CALLS_MAX, TASK_TOOLS_MAX
from memd.domain.enums import LearningOutcome
from memd.domain.memory import distinct
from memd.domain.values import Count, Name, NotBlankStr, PlainText, Query, Share, Text, Time, Value

Tools = Annotated[tuple[Name, ...], Field(max_length=TASK_TOOLS_MAX)]
"""The names of the tools that a task used, in order of use."""


class TaskReport(Value):
    """A finished task: the *tools* it used and its *final_response*.

    By default *task_type* is derived from the tools, *outcome* from the *final_response*, and
    *lesson* is a sentence about the outcome. *final_response* or *lesson* is required.
    """

    final_response: Text | None = None
    tools: Tools = ()
    task_type: Name | None = None
    lesson: Text | None = None
    outcome: LearningOutcome | None = None

    @model_validator(mode="after")
    def _require_text(self) -> Self:
        if self.final_response is None and self.lesson is None:
            raise ValueError("final_response or lesson is required")
        return self


class Learning(Value):
    """The outcome of one task, and its lesson."""

    id: Name
    task_type: Name
    approach: tuple[Name, ...]
    outcome: LearningOutcome
    lesson: NotBlankStr
    timestamp: Time


class SuccessReport(Value):
    """A sequence of *tools* that worked, with a prompt to repeat it."""

    description: Text
    tools: Tools = Field(min_length=1)
    task_type: Name | None = None
    prompt_template: str = Field(default="", max_length=4096)


class PlaybookEntry(Value):
    """A pattern that worked, and how often. The *pattern_id* ignores the order of the tools.

    A fix that a nap observed has a *memory_id* and no tools. The memory describes the fix, in
    part with words that a tool printed. ``memory.why`` shows its messages, and erasing the
    memory erases the entry.
    """

    pattern_id: Name
    task_type: Name
    description: NotBlankStr
    tool_sequence: tuple[Name, ...]
    prompt_template: str = ""
    success_count: int = Field(default=1, ge=1)
    created_at: Time
    updated_at: Time
    promoted: bool = False
    memory_id: Name | None = None


class PlaybookQuery(Value):
    """A filter of patterns: by type, by similarity to *query*, or only *promotable* ones.

    Promotable patterns have succeeded often enough to become a skill.
    """

    task_type: Name | None = None
    query: Query | None = None
    promotable: bool = False
    limit: int = Field(default=3, ge=1, le=100)


class TuneStage(StrEnum):
    """The stage of a run (SPEC 18.2.2)."""

    IDLE = "idle"
    GENERATING_DATA = "generating_data"
    MINING_NEGATIVES = "mining_negatives"
    TRAINING = "training"
    EVALUATING = "evaluating"
    DEPLOYING = "deploying"
    COMPLETE = "complete"
    FAILED = "failed"


TERMINAL = frozenset({TuneStage.COMPLETE, TuneStage.FAILED})


class TuneRequest(Value):
    """The parameters of a run; defaults are the documents' (SPEC 18.2.3)."""

    temperature: float = Field(default=0.02, gt=0.0, le=1.0)
    top_k: int = Field(default=4, ge=1, le=64)
    """Hard negatives per question."""
    batch_size: int = Field(default=128, ge=2, le=4096)
    validation_split: float = Field(default=0.1, gt=0.0, lt=1.0)
    """The share of the pairs, the newest ones, held out for evaluation."""
    pairs: int = Field(default=1_500, ge=2, le=5_000)
    """The maximum number of pairs, spread over the store."""
    encoder: bool = False
    """Train the embedding model itself, and nothing else; needs torch."""
    epochs: int = Field(default=3, ge=1, le=100)
    """For an encoder."""
    learning_rate: float = Field(default=1e-5, gt=0.0, le=1.0)
    """For an encoder."""
    weights: bool = False
    """Fit the ranker's weights too. Weights that are fitted to questions of conversations find
    less for later questions to memories (docs/tuning.md).
    """


class Verdict(Value):
    """The evaluation of base and tuned model on the held-out pairs (SPEC 18.2.7)."""

    questions: Count
    base_ndcg: Share
    tuned_ndcg: Share
    base_recall: Share
    tuned_recall: Share
    improvement_ndcg: float
    """Relative to the base; 0 if that is 0."""
    improvement_recall: float
    base_told: Share
    """The share of questions whose default answer has the right memory."""
    tuned_told: Share
    better: bool
    """Whether the improvement is significant, without a loss elsewhere."""


class TuneRun(Value):
    """One run. It is finished when ``completed_at`` is set, with or without an error."""

    run_id: Name
    stage: TuneStage
    progress: Share | None = None
    """Of the current stage."""
    pairs: Count = 0
    training: Count = 0
    held_out: Count = 0
    trained: str | None = None
    """What was evaluated: ``encoder``, or the best of ``adapter``, ``weights`` and ``both`` on
    separate pairs."""
    model: str | None = None
    """The trained embedding model in use; ``memd model undo`` reverts to the previous one."""
    verdict: Verdict | None = None
    deployed: bool = False
    """Whether it was put into use; one that is not better never is."""
    active: bool = False
    """Whether it is in use now."""
    error: str | None = None
    started_at: Time
    completed_at: Time | None = None

    @model_validator(mode="after")
    def _check_state(self) -> Self:
        """Check that progress, error and completion time fit the stage (SPEC 18.2.10)."""
        if self.stage is TuneStage.IDLE and (self.progress is not None or self.error is not None):
            raise ValueError("an idle run has neither progress nor an error")
        if (self.stage is TuneStage.FAILED) != (self.error is not None):
            raise ValueError("a failed run has an error, and no other run has one")
        if (self.stage in TERMINAL) != (self.completed_at is not None):
            raise ValueError("a finished run has a completed_at, and no other run has one")
        return self


class TuneStatus(Value):
    """The current stage, or ``idle``, and all recorded runs."""

    stage: TuneStage
    active: Name | None = None
    """The run whose result recall uses; None for the shipped model."""
    runs: tuple[TuneRun, ...] = ()
    """Newest first."""


@runtime_checkable
class FineTuningPipeline(Protocol):
    """The documents' pipeline over files (S4): from a folder of texts to a checkpoint."""

    async def generate_training_data(self, source_dir: str) -> Path:
        """Make pairs of the texts below *source_dir*; return the file with the training pairs."""
        ...

    async def mine_hard_negatives(self, training_data: Path) -> Path:
        """Add hard negatives to each pair; return the file of triples."""
        ...

    async def fine_tune(self, training_data: Path, base_model: str) -> Path:
        """Train on the triples for *base_model*; return the checkpoint."""
        ...


DISCOVERY_CHARS_MAX = 600
TIER_CHARS_MAX = 2_000
STEPS_MAX = 50
PROPOSAL_TAGS_MAX = 20
SUCCESS_TAG = "success-derived"
FAILURE_SOURCE, SUCCESS_SOURCE = "failure:", "success:"
_TASK_CHARS_MAX = 240  # with the prefix FAILURE_SOURCE a task's id must fit into a Name

Tier = Annotated[NotBlankStr, Field(max_length=TIER_CHARS_MAX)]


class FailedTaskType(StrEnum):
    """The kind of work of a task."""

    DEVELOPMENT = "development"
    DESIGN = "design"
    RESEARCH = "research"
    REVIEW = "review"
    MEETING = "meeting"
    ADMIN = "admin"


class TerminationReason(StrEnum):
    """Why a task ended."""

    COMPLETED = "completed"
    MAX_TURNS = "max_turns"
    BUDGET_EXHAUSTED = "budget_exhausted"
    SHUTDOWN = "shutdown"
    PARKED = "parked"
    STAGNATION = "stagnation"
    ERROR = "error"


class LessonScope(StrEnum):
    """The audience of a lesson."""

    AGENT = "agent"
    ROLE = "role"
    DEPARTMENT = "department"
    ORG = "org"


class FailureAnalysisPayload(Value):
    """The report of a failed task, without its conversation (SPEC 17.1).

    *tool_calls_made* are in order, with repeats. *mended_by*, which the documents do not have,
    describes the fix, if known. A task with the reason *completed* may teach what worked.
    """

    task_id: Annotated[Name, Field(max_length=_TASK_CHARS_MAX)]
    task_title: Text
    task_description: PlainText = ""
    task_type: FailedTaskType = FailedTaskType.DEVELOPMENT
    error_message: str = ""
    strategy_type: Name | None = None
    termination_reason: TerminationReason = TerminationReason.ERROR
    turn_count: int = Field(default=0, ge=0)
    tool_calls_made: tuple[Name, ...] = Field(default=(), max_length=FAILED_TOOL_CALLS_MAX)
    retry_count: int = Field(default=0, ge=0)
    max_retries: int = Field(default=0, ge=0)
    can_reassign: bool = False
    error_category: Name = "unknown"
    missing_capability: Name | None = None
    mended_by: Text | None = None

    @model_validator(mode="after")
    def _check_retries(self) -> Self:
        if self.retry_count > self.max_retries:
            raise ValueError("retry_count must not be above max_retries")
        return self


class TaskDistillation(Value):
    """A finished task, whatever its end, to store as one memory (SPEC 16.14)."""

    task_id: Annotated[Name, Field(max_length=_TASK_CHARS_MAX)]
    termination_reason: TerminationReason = TerminationReason.COMPLETED
    error_message: str = ""
    """Why it failed, if it ended with an error."""
    turn_count: int = Field(default=0, ge=0)
    total_tokens: int = Field(default=0, ge=0)
    tool_calls_made: tuple[Name, ...] = Field(default=(), max_length=FAILED_TOOL_CALLS_MAX)
    """In order, with repeats."""


class DistillationOutcome(Value):
    """The id of the memory, or *why_not*; the task's own result is unaffected."""

    id: Name | None = None
    why_not: str | None = None


class ProposedLesson(Value):
    """A lesson as a language model writes it: the schema of its answer."""

    discovery: NotBlankStr = Field(max_length=DISCOVERY_CHARS_MAX)
    condition: Tier
    action: Tier
    rationale: Tier
    execution_steps: tuple[Tier, ...] = Field(default=(), max_length=STEPS_MAX)
    confidence: Share
    tags: tuple[Name, ...] = ()


class ProceduralMemoryProposal(ProposedLesson):
    """A lesson before it is stored (SPEC 17.2). Tags beyond 20 are dropped, not refused."""

    scope: LessonScope = LessonScope.AGENT
    supersedes: tuple[Name, ...] = ()
    superseded_by: Name | None = None
    application_count: int = Field(default=0, ge=0)
    last_applied_at: Time | None = None

    @field_validator("tags")
    @classmethod
    def _check_count(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        return distinct(tags)[:PROPOSAL_TAGS_MAX]

    @model_validator(mode="after")
    def _check_superseded(self) -> Self:
        if self.superseded_by is not None and self.superseded_by in self.supersedes:
            raise ValueError("superseded_by must not be in supersedes")
        return self


class LessonOutcome(Value):
    """The result of a report: the lesson's id, or *why_not*; the task's own result is unaffected.

    *is_new* is False for a lesson that existed already. *superseded* are the lessons it
    replaces, *conflicts* those with other advice for the same condition.
    """

    id: Name | None = None
    why_not: str | None = None
    proposal: ProceduralMemoryProposal | None = None
    is_new: bool = False
    skill_path: str | None = None
    superseded: tuple[Name, ...] = ()
    conflicts: tuple[Name, ...] = ()


class Skill(Value):
    """A lesson as a skill: its name and discovery tier."""

    id: Name
    name: Name
    discovery: NotBlankStr
    source: Name | None = None
    confidence: Share
    tags: tuple[Name, ...] = ()
    created_at: Time


class SkillPage(Value):
    """A skill with all of its tiers, and its SKILL.md."""

    skill: Skill
    proposal: ProceduralMemoryProposal
    skill_md: str


class SkillExport(Value):
    """The result of writing skills to a folder."""

    path: str
    written: int
    removed: int = 0
    failed: tuple[Name, ...] = ()
    """The names of skills that were not written, because another program's file is there."""
