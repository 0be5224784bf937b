"""The daemon's own state (hello, status, metrics), and the OpenRPC document of its methods.

Nothing here loads the embedding model.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from memd import __version__
from memd.base import limits, log
from memd.base.clock import Clock
from memd.base.errors import MemdError
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.encoding import InstalledModel
from memd.domain.enums import MemoryCategory, MemoryState
from memd.domain.sleep.sleep import SleepStatus
from memd.rpc.faults import CODES
from memd.serve.metrics import Metrics
from memd.serve.routes.routes import PROTOCOL, Route, methods, records

if TYPE_CHECKING:
    from memd.domain.settings.reload import ReloadResult
    from memd.serve.rooms import DaemonRooms
    from memd.serve.server import Server


_PUBLISHED_LIMITS = (
    "FRAME_BYTES_MAX",
    "FRAME_DEPTH_MAX",
    "REPLY_BYTES_MAX",
    "BATCH_REQUESTS_MAX",
    "IN_FLIGHT_REQUESTS_MAX",
    "CONNECTIONS_MAX",
    "TEXT_CHARS_MAX",
    "NAME_CHARS_MAX",
    "QUERY_CHARS_MAX",
    "INGEST_ITEMS_MAX",
    "PAGE_ITEMS_MAX",
    "RECALL_TOP_K_MAX",
    "CONNECTION_IDLE_MS_MAX",
)


class System:
    """State behind ``system.*``, ``rpc.discover`` and ``model.status``."""

    def __init__(
        self,
        rooms: DaemonRooms,
        metrics: Metrics,
        clock: Clock,
        stop: Callable[[], None],
        reload: Callable[[], Awaitable[ReloadResult]],
    ) -> None:
        self._rooms = rooms
        self._metrics = metrics
        self._clock = clock
        self._stop = stop
        self.reload = reload
        self._started_us = clock.monotonic_us()
        self._work = Work("discover")
        self.server: Server | None = None

    def hello(self, caller: Caller) -> dict[str, Any]:
        """Return versions, capabilities, limits, and the caller's identity."""
        return {
            "name": "memd",
            "version": __version__,
            "protocol": PROTOCOL,
            "pid": os.getpid(),
            "capabilities": {
                "batch": True,
                "cancel": True,
                "progress": True,
                "embedding": self._rooms.embedder.fingerprint is not None,
                "memory": self._capabilities(),
            },
            "limits": {name.lower(): getattr(limits, name) for name in _PUBLISHED_LIMITS},
            "caller": {
                "client": caller.client,
                "agent_id": caller.agent_id,
                "scopes": sorted(caller.scopes),
                "seniority": caller.seniority,
                "autonomy_level": caller.autonomy_level,
            },
        }

    def _capabilities(self) -> dict[str, Any]:
        """Return the fields of ``MemoryCapabilities`` (SPEC 7.11)."""
        return {
            "supported_categories": sorted(MemoryCategory),
            "supports_graph": True,
            "supports_temporal": True,
            "supports_vector_search": self._rooms.embedder.fingerprint is not None,
            "supports_shared_access": self._rooms.shares,
            "max_memories_per_agent": self._rooms.memories_max,
        }

    async def status(self) -> dict[str, Any]:
        """Return ``ok`` or ``degraded`` with the reasons, and figures; never raises MemdError."""
        why: list[str] = []
        stats: dict[str, Any] = {}
        try:
            stats = await self._rooms.upkeep.stats()
        except MemdError as error:
            why.append(error.message)
        if self._rooms.embedder.fingerprint is None:
            why.append('no embedding model: run "memd model install"; words are still searched')
        why.extend(stats.pop("degraded", ()))
        return {
            "status": "degraded" if why else "ok",
            "why": why,
            "version": __version__,
            "pid": os.getpid(),
            "uptime_s": self._uptime_s(),
            "rss_bytes": rss_bytes(),
            **self._gauges(),
            "model": await self.model_status(),
            "sleep": await self._sleep_status(),
            **stats,
        }

    async def metrics(self, *, prometheus: bool) -> dict[str, Any] | str:
        """Return the counters as JSON, or in Prometheus' text format."""
        now = await self.snapshot()
        return self._metrics.as_prometheus(now) if prometheus else self._metrics.as_json(now)

    async def snapshot(self) -> dict[str, Any]:
        """Return the current gauges, those of the store only if it can be read."""
        works, uptake = self._rooms.naps.work_report(), self._rooms.uptake
        stored: dict[str, Any] = {}
        try:
            stored = await self._rooms.upkeep.stats()
        except MemdError as error:
            log.warning("the store was not counted", kind=error.kind)
        waiting = {"embedding": stored["pending"]} if "pending" in stored else {}
        return {
            "uptime_s": self._uptime_s(),
            "rss_bytes": rss_bytes(),
            **self._gauges(),
            **works,
            "queues": {**works.get("queues", {}), **waiting},
            "model": {"embedding": _model_state(self._rooms.embedder),
                      "reranker": _model_state(self._rooms.reranker)},
            "memories": {state: stored[state] for state in MemoryState if state in stored},
            "records": stored.get("records", {}),
            **({} if uptake is None else {"uptake": dict(uptake.counts)}),
            "file_bytes": stored.get("file_bytes", 0),
        }  # fmt: skip

    def _uptime_s(self) -> int:
        return (self._clock.monotonic_us() - self._started_us) // 1_000_000

    def shutdown(self) -> None:
        """Stop after 20 ms, so that the answer is sent first."""
        asyncio.get_running_loop().call_later(0.02, self._stop)

    async def discover(self) -> dict[str, Any]:
        """Return the OpenRPC document."""
        return await self._work.run(document)  # takes half a second the first time

    async def _sleep_status(self) -> SleepStatus | None:
        """Return the state of nights, None if the store fails."""
        try:
            return await self._rooms.scheduler.status()
        except MemdError:
            return None

    async def _model_switch(self) -> dict[str, Any]:
        """Return the model in use and the progress of a switch, {} if the store fails."""
        try:
            return await self._rooms.models.status()
        except MemdError:
            return {}

    async def model_status(self) -> dict[str, Any]:
        """Return the models, whether they are loaded, and the progress of a switch."""
        return {**self.model_states(), **await self._model_switch()}

    def model_states(self) -> dict[str, Any]:
        """Return the models, and whether they are loaded."""
        return {
            **_model_state(self._rooms.embedder),
            "reranker": _model_state(self._rooms.reranker),
        }

    def _gauges(self) -> dict[str, int]:
        if self.server is None:
            return {"connections": 0, "in_flight": 0}
        return {"connections": self.server.connections, "in_flight": self.server.in_flight}


def _model_state(model: InstalledModel) -> dict[str, Any]:
    fingerprint = model.fingerprint
    return {
        "installed": fingerprint is not None,
        "loaded": model.loaded,
        "name": fingerprint.name if fingerprint else None,
        "fingerprint": str(fingerprint) if fingerprint else None,
        "dimension": fingerprint.dimension if fingerprint else None,
        "window_tokens": fingerprint.window_tokens if fingerprint else None,
    }


def rss_bytes() -> int:
    """Return the resident memory of the process; on macOS its peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * resource.getpagesize()


_OPENRPC = "1.3.2"
_REF = "#/components/schemas/{model}"


@cache
def document() -> dict[str, Any]:
    """Return the OpenRPC document: the methods with their params and results, and the errors.

    Schemas that several methods use are under ``components``. Built once per process.
    """
    routes = [*methods().values(), *records().values()]
    inputs = [(route.params, "validation") for route in routes]
    _, shared = models_json_schema(inputs, ref_template=_REF)  # type: ignore[arg-type]  # a list of pairs, as asked
    schemas: dict[str, Any] = shared.get("$defs", {})
    return {
        "openrpc": _OPENRPC,
        "info": {
            "title": "memd",
            "version": __version__,
            "description": "JSON-RPC 2.0, one message a line, on a Unix socket.",
        },
        "methods": [_method(route, schemas) for route in routes],
        "components": {"schemas": schemas},
        "x-error-kinds": dict(CODES),
    }


def _method(method: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    schema = schemas[method.params.__name__]
    required = set(schema.get("required", ()))
    return {
        "name": method.name,
        "summary": method.summary,
        "paramStructure": "by-name",
        "params": [
            {"name": name, "required": name in required, "schema": inner}
            for name, inner in schema.get("properties", {}).items()
        ],
        "result": {"name": "result", "schema": _result(method, schemas)},
        "x-writes": method.writes,
        "x-scope": method.scope,
    }


def _result(method: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    schema = TypeAdapter(method.result).json_schema(ref_template=_REF, mode="serialization")
    for name, inner in schema.pop("$defs", {}).items():
        schemas.setdefault(name, inner)
    title = schema.get("title")
    if schema.get("type") == "object" and title and title not in schemas:
        schemas[title] = schema
        return {"$ref": _REF.format(model=title)}
    return schema
