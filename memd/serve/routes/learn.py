"""``learn.*``, ``skill.*`` and ``tune.*``: outcomes of tasks, lessons, patterns, tuning."""

from __future__ import annotations

from pydantic import Field

from memd.base.limits import LEARNINGS_READ_ITEMS_MAX
from memd.domain.learn import (
    DistillationOutcome,
    FailureAnalysisPayload,
    Learning,
    LessonOutcome,
    PlaybookEntry,
    PlaybookQuery,
    Skill,
    SkillExport,
    SkillPage,
    SuccessReport,
    TaskDistillation,
    TaskReport,
    TuneRequest,
    TuneRun,
    TuneStatus,
)
from memd.domain.values import Name, SafePath, Value
from memd.serve.routes.routes import (
    AgentParams,
    Context,
    IdParams,
    KeyParams,
    Page,
    Params,
    Router,
    ShortId,
    WriteParams,
)

router = Router()


class OutcomeParams(TaskReport, WriteParams):
    """The outcome of a finished task."""


class SuccessParams(SuccessReport, WriteParams):
    """A pattern that worked."""


class LessonsParams(AgentParams):
    """The number of lessons."""

    limit: int = Field(default=20, ge=1, le=LEARNINGS_READ_ITEMS_MAX)


class PlaybookParams(PlaybookQuery, AgentParams):
    """The patterns to list."""


class StartParams(TuneRequest, KeyParams):
    """A tuning run; with *resume* the last one continues, with its original params."""

    resume: bool = False


class ActivateParams(KeyParams):
    """The run whose result to use."""

    run_id: Name


@router.method("learn.outcome", "Report the outcome of a task.", scope="write")
async def outcome(context: Context, params: OutcomeParams) -> Learning:
    return await context.rooms.learn.record_outcome(context.caller, params)


@router.method("learn.success", "Report a tool pattern that worked.", scope="write")
async def success(context: Context, params: SuccessParams) -> PlaybookEntry:
    return await context.rooms.learn.record_success(context.caller, params)


@router.method("learn.list", "List lessons, newest first.")
async def lessons(context: Context, params: LessonsParams) -> Page[Learning]:
    return Page[Learning](items=await context.rooms.learn.latest(context.caller, params.limit))


@router.method("learn.playbook", "List tool patterns that worked.")
async def playbook(context: Context, params: PlaybookParams) -> Page[PlaybookEntry]:
    return Page[PlaybookEntry](items=await context.rooms.learn.playbook(context.caller, params))


@router.method("tune.start", "Start a tuning run.", scope="admin", repeats="when done")
async def tune(context: Context, params: StartParams) -> TuneRun:
    """Start a run in the background; ``tune.status`` and ``event.tuned`` report it."""
    return await context.rooms.tuning.start(context.caller, params, resume=params.resume)


@router.method("tune.status", "Get the tuning in use, and the progress and results of runs.")
async def tune_status(context: Context, _params: Params) -> TuneStatus:
    return await context.rooms.tuning.status()


@router.method("tune.cancel", "Cancel the tuning run.", scope="admin", repeats="anew")
async def cancel_tuning(context: Context, _params: KeyParams) -> TuneStatus:
    """Stop the run at its next step; it can be resumed."""
    return await context.rooms.tuning.cancel()


@router.method("tune.activate", "Use the result of a run.", scope="admin", repeats="when done")
async def activate(context: Context, params: ActivateParams) -> TuneStatus:
    return await context.rooms.tuning.activate(context.caller, params.run_id)


@router.method("tune.rollback", "Revert to the tuning before.", scope="admin", repeats="when done")
async def rollback(context: Context, _params: KeyParams) -> TuneStatus:
    """Stop using the active run; use the previous one again, or the shipped model."""
    return await context.rooms.tuning.rollback(context.caller)


class FailureParams(FailureAnalysisPayload, WriteParams):
    """A task that failed."""


class DistilParams(TaskDistillation, WriteParams):
    """A finished task to distil."""


class PruneParams(WriteParams):
    """Prune outdated lessons, or with *dry_run* only list them."""

    dry_run: bool = False


class PruneResult(Value):
    """The lessons that were, or would be, archived."""

    ids: tuple[Name, ...]


class SkillExportParams(WriteParams):
    """The folder below which skills are written."""

    target: SafePath | None = None


@router.method("learn.failure", "Report a failure; returns the lesson.", scope="write")
async def failure(context: Context, params: FailureParams) -> LessonOutcome:
    return await context.rooms.lessons.learn_failure(context.caller, params)


@router.method("learn.distil", "Store a finished task as one memory.", scope="write")
async def distil(context: Context, params: DistilParams) -> DistillationOutcome:
    return await context.rooms.lessons.distil(context.caller, params)


@router.method(
    "learn.prune",
    "Archive lessons that are too old or outweighed.",
    scope="write",
    repeats="when done",
)
async def prune(context: Context, params: PruneParams) -> PruneResult:
    ids = await context.rooms.lessons.prune(context.caller, dry_run=params.dry_run)
    return PruneResult(ids=ids)


@router.method("skill.list", "List skills: the lessons of failures.")
async def skills(context: Context, params: AgentParams) -> Page[Skill]:
    return Page[Skill](items=await context.rooms.skills.list_skills(context.caller))


@router.method("skill.show", "Get one skill with all its tiers.", short_id=ShortId("id", "memory"))
async def show(context: Context, params: IdParams) -> SkillPage:
    return await context.rooms.skills.show(context.caller, params.id)


@router.method(
    "skill.export", "Write skills as SKILL.md files.", scope="admin", repeats="when done"
)
async def skill_export(context: Context, params: SkillExportParams) -> SkillExport:
    return await context.rooms.skills.export(context.caller, params.target)
