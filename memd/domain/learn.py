"""What was learnt: lessons and patterns of work done (SPEC 5a), what failures teach, and tuning.

What failures teach (SPEC 17) has three tiers: discovery is short and ranked, condition, action
and execution steps come by id (SPEC D24). Tuning on the owner's own data (SPEC 18.2): what is
asked for, how far it is, what came of it.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Protocol, Self, runtime_checkable

from pydantic import Field, field_validator, model_validator

from memd.base.limits import FAILED_TOOL_CALLS_MAX, TASK_TOOLS_MAX
from memd.domain.enums import LearningOutcome
from memd.domain.memory import distinct
from memd.domain.values import Name, NotBlankStr, PlainText, Share, Text, Time, Value

Tools = Annotated[tuple[Name, ...], Field(max_length=TASK_TOOLS_MAX)]
"""The names of the tools that a task used, in the order of their use."""


class TaskReport(Value):
    """A task that is over: the *tools* that it used and the last thing that was said.

    Without a *task_type* the tools tell it, without a *lesson* what became of the task. Who
    knows the *outcome* says it; otherwise the *final_response* tells. One of that and a
    *lesson* must be there.
    """

    final_response: Text | None = None
    tools: Tools = ()
    task_type: Name | None = None
    lesson: Text | None = None
    outcome: LearningOutcome | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.final_response is None and self.lesson is None:
            raise ValueError("say the final_response or the lesson")
        return self


class Learning(Value):
    """What became of one task, and what to take from it."""

    id: Name
    task_type: Name
    approach: tuple[Name, ...]
    outcome: LearningOutcome
    lesson: NotBlankStr
    timestamp: Time


class SuccessReport(Value):
    """A pattern of *tools* that worked, and how to ask for it again."""

    description: Text
    tools: Tools = Field(min_length=1)
    task_type: Name | None = None
    prompt_template: str = Field(default="", max_length=4096)


class PlaybookEntry(Value):
    """A pattern that worked, and how often. The *pattern_id* does not know the tools' order.

    What a nap saw cured has a *memory_id*, and no tools: the memory tells it, ``why`` shows
    the turns that it is made of, and it goes with them. A tool printed words of it.
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
    """Which patterns are wanted: of a type, near a *query*, or those ready to become a skill."""

    task_type: Name | None = None
    query: Text | None = None
    promotable: bool = False
    limit: int = Field(default=3, ge=1, le=100)


Count = Annotated[int, Field(ge=0)]


class TuneStage(StrEnum):
    """How far a run is (SPEC 18.2.2)."""

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
    """What a run is asked for; the defaults are the documents' (SPEC 18.2.3)."""

    temperature: float = Field(default=0.02, gt=0.0, le=1.0)
    top_k: int = Field(default=4, ge=1, le=64)
    """Hard negatives of a question."""
    batch_size: int = Field(default=128, ge=2, le=4096)
    validation_split: float = Field(default=0.1, gt=0.0, lt=1.0)
    """The share of the pairs, the newest, that judges and is not trained on."""
    pairs: int = Field(default=1_500, ge=2, le=5_000)
    """At most so many, spread over the store."""
    encoder: bool = False
    """Whether the embedding model itself is trained, and nothing else: needs torch."""
    epochs: int = Field(default=3, ge=1, le=100)
    """Of an encoder."""
    learning_rate: float = Field(default=1e-5, gt=0.0, le=1.0)
    """Of an encoder."""
    weights: bool = False
    """Whether the ranker's weights are fitted, too: fitted to what is asked in conversations they
    find less of what is asked of memories later (docs/tuning.md).
    """


class Verdict(Value):
    """What was in use and what was trained, on the pairs held out (SPEC 18.2.7)."""

    questions: Count
    base_ndcg: Share
    tuned_ndcg: Share
    base_recall: Share
    tuned_recall: Share
    improvement_ndcg: float
    """As a share of the base's; 0 where that is 0."""
    improvement_recall: float
    base_told: Share
    """For which share a default answer held the right memory."""
    tuned_told: Share
    better: bool
    """Whether it is ahead by more than chance would put it, and nothing else is lost."""


class TuneRun(Value):
    """One run. It is over when ``completed_at`` is set, with an error or without one."""

    run_id: Name
    stage: TuneStage
    progress: Share | None = None
    """Of the stage under way."""
    pairs: Count = 0
    training: Count = 0
    held_out: Count = 0
    trained: str | None = None
    """What was judged: ``encoder``, or of ``adapter``, ``weights`` and ``both`` the best on pairs
    set apart."""
    model: str | None = None
    """The embedding model that was trained and put to use: ``memd model undo`` takes it back."""
    verdict: Verdict | None = None
    deployed: bool = False
    """Whether it was put to use; one that is not better never is."""
    active: bool = False
    """Whether it is in use now."""
    error: str | None = None
    started_at: Time
    completed_at: Time | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """SPEC 18.2.10."""
        over = self.stage in TERMINAL
        if self.stage is TuneStage.IDLE and (self.progress is not None or self.error is not None):
            raise ValueError("what is idle has neither progress nor an error")
        if (self.stage is TuneStage.FAILED) != (self.error is not None):
            raise ValueError("what failed has an error, and nothing else has")
        if over != (self.completed_at is not None):
            raise ValueError("what is over has a time when it ended, and nothing else has")
        return self


class TuneStatus(Value):
    """How far tuning is: the stage under way, or ``idle``; all runs that are remembered."""

    stage: TuneStage
    active: Name | None = None
    """The run whose result recall uses; None for what was shipped."""
    runs: tuple[TuneRun, ...] = ()
    """The newest first."""


@runtime_checkable
class FineTuningPipeline(Protocol):
    """The documents' pipeline over files (S4): from a folder of texts to a checkpoint."""

    async def generate_training_data(self, source_dir: str) -> Path:
        """Make pairs of the texts below *source_dir*; return the file of those to train on."""
        ...

    async def mine_hard_negatives(self, training_data: Path) -> Path:
        """Add to each pair the passages that only look as if; return the file of triples."""
        ...

    async def fine_tune(self, training_data: Path, base_model: str) -> Path:
        """Train on the triples for *base_model*; return the checkpoint."""
        ...


DISCOVERY_CHARS_MAX = 600
TIER_CHARS_MAX = 2_000
STEPS_MAX = 50
PROPOSAL_TAGS_MAX = 20
NON_INFERABLE_TAG = "non-inferable"
SUCCESS_TAG = "success-derived"
FAILURE_SOURCE, SUCCESS_SOURCE = "failure:", "success:"
_TASK_CHARS_MAX = 240  # with the word before it a task's id is still a name

Tier = Annotated[NotBlankStr, Field(max_length=TIER_CHARS_MAX)]


class FailedTaskType(StrEnum):
    """What kind of work it was."""

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
    """Whom a lesson is for."""

    AGENT = "agent"
    ROLE = "role"
    DEPARTMENT = "department"
    ORG = "org"


class FailureAnalysisPayload(Value):
    """What is told of a task that failed: no word of its conversation (SPEC 17.1).

    *tool_calls_made* are in order, with repeats. *mended_by* goes beyond the documents: what
    cured it, where somebody knows. A task that was *completed* may teach what worked.
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
    def _within_its_retries(self) -> Self:
        if self.retry_count > self.max_retries:
            raise ValueError("retry_count must not be above max_retries")
        return self


class TaskDistillation(Value):
    """A task that is over, however it ended, as one memory tells it (SPEC 16.14)."""

    task_id: Annotated[Name, Field(max_length=_TASK_CHARS_MAX)]
    termination_reason: TerminationReason = TerminationReason.COMPLETED
    error_message: str = ""
    """Why it failed, where it ended by an error."""
    turn_count: int = Field(default=0, ge=0)
    total_tokens: int = Field(default=0, ge=0)
    tool_calls_made: tuple[Name, ...] = Field(default=(), max_length=FAILED_TOOL_CALLS_MAX)
    """In order, with repeats."""


class DistillationOutcome(Value):
    """The id of the memory, or *why_not*: the task's own result stands either way."""

    id: Name | None = None
    why_not: str | None = None


class ProceduralMemoryProposal(Value):
    """A lesson before it is stored (SPEC 17.2). More than 20 tags are cut, not refused."""

    discovery: Annotated[NotBlankStr, Field(max_length=DISCOVERY_CHARS_MAX)]
    condition: Tier
    action: Tier
    rationale: Tier
    execution_steps: tuple[Tier, ...] = Field(default=(), max_length=STEPS_MAX)
    confidence: Share
    tags: tuple[Name, ...] = ()
    scope: LessonScope = LessonScope.AGENT
    supersedes: tuple[Name, ...] = ()
    superseded_by: Name | None = None
    application_count: int = Field(default=0, ge=0)
    last_applied_at: Time | None = None

    @field_validator("tags")
    @classmethod
    def _few(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        return distinct(tags)[:PROPOSAL_TAGS_MAX]

    @model_validator(mode="after")
    def _not_by_what_it_supersedes(self) -> Self:
        if self.superseded_by is not None and self.superseded_by in self.supersedes:
            raise ValueError("superseded_by must not be in supersedes")
        return self


class LessonOutcome(Value):
    """What became of a report: the lesson's id, or *why_not*. The task's own result stands.

    *is_new* is False for a lesson that was there already. *superseded* are the lessons that it
    replaces, *conflicts* those that advise something else for the same condition.
    """

    id: Name | None = None
    why_not: str | None = None
    proposal: ProceduralMemoryProposal | None = None
    is_new: bool = False
    skill_path: str | None = None
    superseded: tuple[Name, ...] = ()
    conflicts: tuple[Name, ...] = ()


class Skill(Value):
    """A lesson as a skill is listed: its name, and its discovery tier."""

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
    """What was written to a folder of skills."""

    path: str
    written: int
    removed: int = 0
    failed: tuple[Name, ...] = ()
    """The names of skills that could not be written: something else is there."""
