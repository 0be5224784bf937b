"""``sleep.*``: naps, nights and compressions on request, their reports, and undoing them.

A run continues when its client disconnects or cancels the request; only the waiting ends.
``sleep.pause`` stops a night at its next step (docs/decisions/0044).
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from memd.base.clock import DAY_US
from memd.base.errors import NotFoundError
from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.caller import Caller
from memd.domain.sleep.sleep import NapResult, RunReport, SleepStatus
from memd.domain.values import Name, ProjectId
from memd.serve.routes.routes import (
    Context,
    KeyParams,
    Page,
    Params,
    ProgressParams,
    Router,
    ShortId,
    WriteParams,
)
from memd.serve.routes.session import Messages, Path, Tokens

router = Router()

NightStep = Literal["retention", "consolidation", "compression", "ageing", "cap"]
"""The steps of a night, in order."""

_RUN_ID = ShortId("run_id", "run")


class ConsolidateParams(WriteParams):
    """A nap over *messages*, over the transcript at a path, or over a session's own messages."""

    messages: Messages | None = None
    transcript_path: Path | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    """The context window; the summary must fit into a quarter of it."""
    system_prompt: str = ""
    """Accepted, without effect (SPEC 6.3)."""


class ShouldConsolidateParams(Params):
    """The tokens used of *max_tokens*, by default the window of the settings."""

    current_tokens: Tokens
    max_tokens: int | None = Field(default=None, le=2**53)
    threshold_pct: float | None = Field(default=None, gt=0.0, le=1.0)


class EstimateTokensParams(Params):
    """The messages to measure."""

    messages: Messages


class NightParams(WriteParams, ProgressParams):
    """A night now: all *steps* or some, for every agent or for *agent_id* alone.

    A dry run reports what the night in *in_days* days would do if nothing else happened.
    """

    dry_run: bool = False
    in_days: int = Field(default=0, ge=0, le=36_500)
    steps: frozenset[NightStep] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _check_in_days(self) -> Self:
        if self.in_days and not self.dry_run:
            raise ValueError("only a dry run can be of a later day")
        return self


class CompressParams(WriteParams, ProgressParams):
    """Compress the oldest sessions, at most *sessions*; with *force* however few there are."""

    force: bool = False
    sessions: int | None = Field(default=None, ge=1)


class UndoParams(KeyParams, ProgressParams):
    """The run to undo."""

    run_id: Name


class ReportParams(Params):
    """The run *run_id*, or all runs, newest first, paged.

    The memories of a single run are paged too: those after *memories_after*.
    """

    run_id: Name | None = None
    memories_after: int = Field(default=0, ge=0)
    after: Name | None = None
    limit: int = Field(default=20, ge=1, le=PAGE_ITEMS_MAX)


@router.method(
    "sleep.consolidate", "Nap: consolidate messages into facts and a shorter list.", scope="write"
)
async def consolidate(context: Context, params: ConsolidateParams) -> NapResult:
    from memd.sleep.nap.source import NapRequest

    request = NapRequest(
        messages=params.messages,
        transcript_path=params.transcript_path,
        max_tokens=params.max_tokens,
        replaces_window=params.messages is not None,
    )
    return await context.rooms.naps.nap.nap(context.caller, request)


@router.method("sleep.should_consolidate", "Check whether a context window needs a nap.")
async def should_consolidate(context: Context, params: ShouldConsolidateParams) -> bool:
    from memd.sleep.transcript.consolidator import MemoryConsolidator

    rule = context.rooms.naps.rule
    max_tokens = rule.max_tokens if params.max_tokens is None else params.max_tokens
    threshold = params.threshold_pct or rule.threshold_pct
    return MemoryConsolidator(threshold, max_tokens).should_consolidate(params.current_tokens)


@router.method("sleep.estimate_tokens", "Estimate the tokens of messages.")
async def estimate_tokens(context: Context, params: EstimateTokensParams) -> int:
    return context.rooms.naps.rule.estimate_tokens(params.messages)


@router.method(
    "sleep.run", "Run a night now, entirely or some steps.", scope="admin", repeats="when done"
)
async def run(context: Context, params: NightParams) -> RunReport:
    night = context.rooms.sleep.run(
        context.caller,
        dry_run=params.dry_run,
        steps=frozenset(params.steps) if params.steps else None,
        agent_id=params.agent_id,
        ahead_us=params.in_days * DAY_US,
        progress=context.progress,
    )
    return await context.rooms.scheduler.run_shielded(night)


@router.method(
    "sleep.compress", "Compress the oldest sessions.", scope="write", repeats="when done"
)
async def compress(context: Context, params: CompressParams) -> RunReport:
    compression = context.rooms.sleep.compress(
        context.caller, force=params.force, sessions=params.sessions, progress=context.progress
    )
    return await context.rooms.scheduler.run_shielded(compression)


@router.method("sleep.status", "Get the state of nights: running, next, and what it waits for.")
async def status(context: Context, _params: Params) -> SleepStatus:
    return await context.rooms.scheduler.status()


@router.method("sleep.report", "Report on one run, or on the newest.", short_id=_RUN_ID)
async def report(context: Context, params: ReportParams) -> Page[RunReport]:
    """Return one run, or a page of them, newest first.

    A client bound to one agent sees that agent's runs and the runs over all agents, and in
    the latter only its own memories.
    """
    sleep, caller = context.rooms.sleep, context.caller
    if params.run_id is not None:
        run_report = await sleep.report(params.run_id, caller, params.memories_after)
        if not _may_see(caller, run_report):
            raise NotFoundError("there is no such run", field="run_id")
        return Page[RunReport](items=(run_report,))
    reports = await sleep.reports(params.after, params.limit)
    visible = tuple(run_report for run_report in reports if _may_see(caller, run_report))
    return Page[RunReport](
        items=visible, next=reports[-1].run_id if len(reports) == params.limit else None
    )


@router.method(
    "sleep.undo",
    "Undo a run exactly, or fail with the reason.",
    scope="admin",
    repeats="when done",
    short_id=_RUN_ID,
)
async def undo(context: Context, params: UndoParams) -> RunReport:
    undoing = context.rooms.sleep.undo(context.caller, params.run_id, progress=context.progress)
    return await context.rooms.scheduler.run_shielded(undoing)


@router.method("sleep.pause", "Pause nights until sleep.resume.", scope="admin", repeats="anew")
async def pause(context: Context, _params: KeyParams) -> SleepStatus:
    """Start no night until ``sleep.resume``; a running one stops at its next step."""
    await context.rooms.sleep.pause(context.caller)
    return await context.rooms.scheduler.status()


@router.method("sleep.resume", "Resume nights.", scope="admin", repeats="anew")
async def resume(context: Context, _params: KeyParams) -> SleepStatus:
    await context.rooms.sleep.resume(context.caller)
    return await context.rooms.scheduler.status()


def _may_see(caller: Caller, run_report: RunReport) -> bool:
    return run_report.agent_id is None or caller.may_be(run_report.agent_id)
