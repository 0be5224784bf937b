"""What was learnt: lessons and patterns of work done (SPEC 5a), and tuning on the owner's own data.

Tuning: what is asked for, how far it is, what came of it (SPEC 18.2).
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Protocol, Self, runtime_checkable

from pydantic import Field, model_validator

from memd.base.limits import TASK_TOOLS_MAX
from memd.domain.enums import LearningOutcome
from memd.domain.values import Name, NotBlankStr, Share, Text, Time, Value

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
    """What was judged: ``adapter``, ``weights`` or ``both``, the best on pairs set apart."""
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
