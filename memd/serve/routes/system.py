"""``system.*``, ``rpc.discover``, ``model.*``: the daemon's own state, and its models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from memd.domain.settings.reload import ReloadResult
from memd.domain.sleep.upkeep import GrowthHistory
from memd.domain.values import Name
from memd.serve.routes.routes import Context, KeyParams, Params, Router

router = Router()

BENCH_MODELS_MAX = 8


class HelloParams(Params):
    """The client's introduction. Only *client_key* grants anything; the rest is for the log."""

    client: Name | None = None
    version: Name | None = None
    protocol: int | None = None
    client_key: Name | None = None


class MetricsParams(Params):
    """The format of the counters."""

    format: Literal["json", "prometheus"] = "json"


class HistoryParams(Params):
    """The number of days back, today included."""

    days: int = Field(default=90, ge=1, le=3_650)


@router.method(
    "system.hello",
    "Identify the caller; returns versions, limits and who the caller is.",
    scope=None,
)
async def hello(context: Context, _params: HelloParams) -> dict[str, Any]:
    return context.system.hello(context.caller)


@router.method("system.status", "Get the daemon's health: ok, or degraded and why; queues, counts.")
async def status(context: Context, _params: Params) -> dict[str, Any]:
    return await context.system.status()


@router.method("system.metrics", "Get metrics, as JSON or in the Prometheus text format.")
async def metrics(context: Context, params: MetricsParams) -> dict[str, Any] | str:
    return await context.system.metrics(prometheus=params.format == "prometheus")


@router.method("system.history", "Get the growth of the store by day, and naps and nights.")
async def history(context: Context, params: HistoryParams) -> GrowthHistory:
    return await context.rooms.upkeep.history(params.days)


@router.method(
    "system.reload",
    "Reload the settings, as SIGHUP does; returns which changed.",
    scope="admin",
    repeats="anew",
)
async def reload(context: Context, _params: KeyParams) -> ReloadResult:
    return await context.system.reload()


@router.method("system.shutdown", "Stop the daemon cleanly.", scope="admin", repeats="anew")
async def shutdown(context: Context, _params: KeyParams) -> None:
    """Stop once this answer has been sent."""
    context.system.shutdown()


@router.method("rpc.discover", "Get this document, as OpenRPC.")
async def discover(context: Context, _params: Params) -> dict[str, Any]:
    return await context.system.discover()


@router.method(
    "model.status", "Get the models: which are in use and loaded, and a switch under way."
)
async def model(context: Context, _params: Params) -> dict[str, Any]:
    return await context.system.model_status()


class UseParams(KeyParams):
    """The model to change to."""

    name: Name


@router.method(
    "model.use",
    "Switch to another embedding model, in the background.",
    scope="admin",
    repeats="anew",
)
async def use(context: Context, params: UseParams) -> dict[str, Any]:
    return await context.rooms.models.use(context.caller, params.name)


@router.method(
    "model.undo",
    "Cancel the current switch of models, or switch back.",
    scope="admin",
    repeats="anew",
)
async def undo(context: Context, _params: KeyParams) -> dict[str, Any]:
    return await context.rooms.models.undo(context.caller)


class BenchParams(Params):
    """The models to measure."""

    names: tuple[Name, ...] = Field(min_length=1, max_length=BENCH_MODELS_MAX)


@router.method(
    "model.bench", "Measure how well models find your own memories.", scope="admin", writes=False
)
async def bench(context: Context, params: BenchParams) -> dict[str, Any]:
    from memd.learn.tuning.bench import measure

    rooms = context.rooms
    return await measure(rooms.db, rooms.work, rooms.models.embedder, params.names)
