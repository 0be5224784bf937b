"""``learn.*``: what became of tasks, and patterns that worked."""

from __future__ import annotations

from pydantic import Field

from memd.base.limits import LEARNINGS_READ_ITEMS_MAX
from memd.domain.learn import Learning, PlaybookEntry, PlaybookQuery, SuccessReport, TaskReport
from memd.domain.values import Name, Value
from memd.serve.params import AgentParams, WriteParams
from memd.serve.route import Context, Router

router = Router()


class OutcomeParams(TaskReport, WriteParams):
    """A task that is over."""


class SuccessParams(SuccessReport, WriteParams):
    """A pattern that worked."""


class LessonsParams(AgentParams):
    """How many lessons are wanted."""

    limit: int = Field(default=20, ge=1, le=LEARNINGS_READ_ITEMS_MAX)


class PlaybookParams(PlaybookQuery, AgentParams):
    """Which patterns are wanted."""


class Lessons(Value):
    """What was learnt, newest first; there is one page."""

    items: tuple[Learning, ...]
    next: Name | None = None


class Patterns(Value):
    """Patterns, what worked most often or lies nearest first; there is one page."""

    items: tuple[PlaybookEntry, ...]
    next: Name | None = None


@router.method("learn.outcome", OutcomeParams, Learning, "What became of a task.", scope="write")
async def outcome(context: Context, params: OutcomeParams) -> Learning:
    return await context.rooms.learn.outcome(context.caller, params)


@router.method(
    "learn.success", SuccessParams, PlaybookEntry, "A pattern that worked.", scope="write"
)
async def success(context: Context, params: SuccessParams) -> PlaybookEntry:
    return await context.rooms.learn.success(context.caller, params)


@router.method("learn.list", LessonsParams, Lessons, "The newest lessons.")
async def lessons(context: Context, params: LessonsParams) -> Lessons:
    return Lessons(items=await context.rooms.learn.latest(context.caller, params.limit))


@router.method("learn.playbook", PlaybookParams, Patterns, "Patterns that worked.")
async def playbook(context: Context, params: PlaybookParams) -> Patterns:
    return Patterns(items=await context.rooms.learn.playbook(context.caller, params))
