"""From one well-formed request to its answer.

Params become models, errors carry a kind, bugs get an incident id and a trace, what
leaves is screened, and the log never sees a param (docs/decisions/0013).
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_json, to_jsonable_python

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import DeniedError, MemdError, TooLargeError, UnknownMethodError
from memd.base.later import later
from memd.base.limits import METHOD_CHARS_MAX, REPLY_BYTES_MAX
from memd.domain.caller import ERASURES_SEEN, WORKING_FOR, Caller, Identity
from memd.domain.trust import SecretsPolicy
from memd.domain.values import DEFAULT_AGENT, RESERVED_AGENT, alike
from memd.guard.outgoing import check_refused, incoming, outgoing_all
from memd.rpc import envelope, faults
from memd.serve.authority import Authority, Credentials, refuse_claims
from memd.serve.beside import LARGE_WEIGHT_A_BYTE, Beside, is_large
from memd.serve.events import Peer
from memd.serve.metrics import Metrics
from memd.serve.params import Params, validate
from memd.serve.route import Context, JsonAnswer, ProgressCallback, Route
from memd.serve.routes.routes import find
from memd.serve.routes.system import HelloParams
from memd.serve.status import System

if TYPE_CHECKING:
    from memd.serve.mcp.mcp import Mcp
    from memd.serve.rooms import Rooms

Send = Callable[[bytes], None]


@dataclass(slots=True)
class ActiveRequest:
    """One request on its way: who sent it and how to tell the sender something meanwhile."""

    credentials: Credentials
    notify: Send | None = None
    writing: bool = False
    """It has begun to write: it is finished, whoever goes away."""
    peer: Peer | None = None
    """The connection, for who wants to listen."""


MCP_METHODS: Final = frozenset(
    {
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
    }
)
"""What assistants speak on the same socket (decision 0128); ours have a dot in their names."""

_MCP_NOTIFICATIONS: Final = "notifications/"

_LOOKING: Final = (
    "system.",
    "rpc.",
    "model.",
    "events.",
    "sleep.status",
    "sleep.report",
    "usage.list",
)
"""What a window that shows memd's state asks again and again; no night waits for its end."""


class Dispatch:
    """Answers requests with the methods of the socket."""

    def __init__(
        self,
        rooms: Rooms,
        system: System,
        clock: Clock,
        metrics: Metrics,
        authority: Authority,
        secrets: SecretsPolicy = "redact",
    ) -> None:
        self.beside = Beside()
        self._secrets = secrets
        self._authority = authority
        self._clock = clock
        self._metrics = metrics
        self._in_use = 0
        self._used_us = clock.monotonic_us()
        self._rooms = rooms
        self._system = system
        self._mcp: Mcp = later(_mcp)

    async def answer(self, request: envelope.Request, call: ActiveRequest) -> bytes | None:
        """Return the answer to *request* as a frame, None for a notification.

        Never raises but for cancellation.
        """
        started_us = self._clock.monotonic_us()
        if request.method in MCP_METHODS or request.method.startswith(_MCP_NOTIFICATIONS):
            return await self._answer_mcp(request, call, started_us)
        route = find(request.method)
        if route is None:
            self._metrics.count("unknown", "unknown_method", 0)
            return None if request.notification else failed(request.id, _unknown(request.method))
        try:
            with self._using(route.name):
                body = {"result": await self._call(route, call, request.params)}
        except MemdError as error:
            body = {"error": faults.to_error(error)}
        try:
            reply, kind = await self.beside.call(body, _finish, body, request.id)
        except MemdError as error:  # a stored row that is none
            reply, kind = failed(request.id, error), error.kind
        except Exception as error:  # noqa: BLE001  # a result that JSON cannot carry is a bug too
            reply, kind = failed(request.id, self._bug(route.name, error)), "internal"
        elapsed_us = self._clock.monotonic_us() - started_us
        self._metrics.count(request.method, kind, elapsed_us)
        log.debug("answered", method=request.method, kind=kind, us=elapsed_us)
        return None if request.notification else reply

    async def _answer_mcp(
        self, request: envelope.Request, call: ActiveRequest, started_us: int
    ) -> bytes | None:
        """Answer a request of the Model Context Protocol, whose tools ask our own methods."""
        if request.notification:
            return None  # that it is initialized, say: nothing is kept of a client

        async def ask(name: str, raw: dict[str, Any]) -> Any:
            route = find(name)
            if route is None:
                raise _unknown(name)
            with self._using(name):
                return await self._call(route, call, raw)

        try:
            body = await self._mcp.answer(request.method, request.params, ask)
            reply, kind = _finish(body, request.id)
        except MemdError as error:
            reply, kind = failed(request.id, error), error.kind
        except Exception as error:  # noqa: BLE001  # as above
            reply, kind = failed(request.id, self._bug(request.method, error)), "internal"
        self._metrics.count(request.method, kind, self._clock.monotonic_us() - started_us)
        return reply

    def is_open(self, identity: Identity, agent_id: str) -> bool:
        """Return whether *identity* needs no other key for what is *agent_id*'s."""
        return alike(agent_id) not in self._authority.closed(identity)

    def quiet_s(self) -> float:
        """Return for how many seconds nobody has used the memory; to look at memd is no use."""
        if self._in_use:
            return 0.0
        return (self._clock.monotonic_us() - self._used_us) / 1e6

    @contextmanager
    def _using(self, method: str) -> Iterator[None]:
        counts = not method.startswith(_LOOKING)
        self._in_use += counts
        try:
            yield
        finally:
            if counts:
                self._in_use -= 1
                self._used_us = self._clock.monotonic_us()

    async def _call(self, route: Route, call: ActiveRequest, raw: dict[str, Any]) -> Any:
        """Return what the method returns; raises nothing but what a caller may be told."""
        try:
            # At this moment, not when the frame came: a hello before it counts, a revocation too.
            self._authority.check(call.credentials.identity, route)
            params, request_hash = await self.beside.call(
                raw, _understood, route, raw, self._secrets
            )
            if isinstance(params, HelloParams) and params.client_key is not None:
                self._authority.authenticate(call.credentials, params.client_key)
            caller = self._caller(route, params, request_hash, call.credentials.identity)
            WORKING_FOR.set(caller.agent_id)
            # What it asks is read from now on.
            ERASURES_SEEN.set(self._rooms.db.files.erasure_count)
            token = getattr(params, "progress_token", None)
            progress = None if token is None else _reporter(token, call)
            call.writing = route.writes
            if route.short_id is not None:
                params = await self._rooms.short_ids.resolve(caller, route.short_id, params)
            context = Context(self._rooms, self._system, caller, progress, call.peer)
            return self._counted(caller, params, await self._run(route, context, params))
        except MemdError as error:
            if isinstance(error, DeniedError):
                await self._authority.note(call.credentials.identity.client, route.name)
            if error.kind not in faults.CODES or error.kind == "internal":
                raise self._bug(route.name, error) from None
            raise
        except Exception as error:  # noqa: BLE001  # a bug becomes an incident, here and above
            raise self._bug(route.name, error) from None

    def _caller(
        self, route: Route, params: Params, request_hash: bytes, identity: Identity
    ) -> Caller:
        """Return who calls: as whom the key says, in the name of the agent that may be named."""
        named = getattr(params, "agent_id", None)
        agent_id = named or identity.agent_id or DEFAULT_AGENT
        if alike(agent_id) == RESERVED_AGENT:
            raise DeniedError(f"agent {RESERVED_AGENT} is reserved", field="agent_id")
        if identity.agent_id is not None and agent_id != identity.agent_id:
            raise DeniedError(
                f"client {identity.client} is agent {identity.agent_id} and no other",
                field="agent_id",
            )
        caller = Caller(
            client=identity.client,
            agent_id=agent_id,
            session_id=getattr(params, "session_id", None),
            project_id=getattr(params, "project_id", None),
            method=route.name,
            idempotency_key=getattr(params, "idempotency_key", None),
            request_hash=request_hash,
            scopes=identity.scopes,
            seniority=identity.seniority,
            autonomy_level=identity.autonomy_level,
            bound=identity.agent_id is not None,
            closed=self._authority.closed(identity),
        )
        return caller.acting_for(agent_id)

    def _counted(self, caller: Caller, params: Params, result: Any) -> Any:
        """Return *result*; what it gives, and what of it is taken up later, is counted."""
        if self._rooms.uptake is not None:
            self._rooms.uptake.hear(caller, params, result)
        return self._metrics.counting(result)

    async def _run(self, route: Route, context: Context, params: Params) -> Any:
        """Return the method's answer, or the one that was kept for the caller's key."""
        if route.repeats == "in one transaction":
            return await route.call(context, params)
        if route.repeats == "anew":
            caller = replace(context.caller, idempotency_key=None)
            return await route.call(replace(context, caller=caller), params)
        return await self._rooms.answers.once(
            context.caller,
            lambda caller: route.call(replace(context, caller=caller), params),
        )

    def _bug(self, method: str, error: Exception) -> MemdError:
        incident = uuid.uuid4().hex[:12]
        log.error("bug", method=method, incident=incident, trace=log.trace_of(error))
        return faults.bug(incident)


def _mcp() -> Mcp:
    from memd.serve.mcp.mcp import Mcp  # loaded when the first assistant comes by it

    return Mcp()


def failed(request_id: envelope.Id, error: BaseException) -> bytes:
    """Return the frame that answers *request_id* with *error*."""
    return to_json(envelope.failure(request_id, error)) + b"\n"


def _unknown(method: str) -> UnknownMethodError:
    shown = method if method.isprintable() and len(method) <= METHOD_CHARS_MAX else "of this name"
    return UnknownMethodError(f"no method {shown}", hint="rpc.discover lists all methods")


def _understood(route: Route, raw: dict[str, Any], secrets: SecretsPolicy) -> tuple[Params, bytes]:
    """Return params screened, as the method's model, and what makes a write the same request."""
    if route.writes:
        check_refused(raw, secrets)
    raw = incoming(raw)
    refuse_claims(route, raw)
    params = validate(route.params, raw)
    return params, _hash(route, raw) if route.writes else b""


def _finish(answer: dict[str, Any], request_id: envelope.Id) -> tuple[bytes, str]:
    """Return the frame of *answer* under the id the client gave, and the error's kind or ``ok``.

    *answer* has a result or an error. Every text of it is screened, the client's id is not.
    """
    frame = b""
    result = answer.get("result")
    if isinstance(result, JsonAnswer):
        around = to_json({"jsonrpc": "2.0", "id": request_id})[:-1]
        frame = around + b',"result":' + result.json() + b"}\n"
    elif not is_large(answer, LARGE_WEIGHT_A_BYTE * REPLY_BYTES_MAX):
        answer = outgoing_all(to_jsonable_python(answer, inf_nan_mode="null"))
        frame = to_json({"jsonrpc": "2.0", "id": request_id, **answer}) + b"\n"
    if not frame or len(frame) > REPLY_BYTES_MAX:
        error = TooLargeError(
            f"the answer has more than {REPLY_BYTES_MAX} bytes", hint="ask for fewer with limit"
        )
        return failed(request_id, error), error.kind
    failure = answer.get("error")
    return frame, failure["data"].get("kind", "refused") if failure else "ok"


def _hash(route: Route, raw: dict[str, Any]) -> bytes:
    """Return what makes two writes the same request: all but their key and where progress goes."""
    params = {k: v for k, v in raw.items() if k not in ("idempotency_key", "progress_token")}
    text = json.dumps([route.name, params], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).digest()


def _reporter(token: str | int, call: ActiveRequest) -> ProgressCallback:
    def report(done: int, total: int) -> None:
        if call.notify is not None:
            value = {"done": done, "total": total}
            notification = envelope.notification(
                envelope.PROGRESS, {"token": token, "value": value}
            )
            call.notify(to_json(notification) + b"\n")

    return report
