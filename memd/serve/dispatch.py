"""Dispatch of a well-formed request to its method, and the encoding of its answer.

Params are validated as models, errors get their kind, and bugs an incident id and a trace in
the log. Outgoing texts are screened for secrets. No param is logged (docs/decisions/0013).
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_json, to_jsonable_python

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import DeniedError, InvalidError, MemdError, TooLargeError, UnknownMethodError
from memd.base.lazy import lazy
from memd.base.limits import METHOD_CHARS_MAX, REPLY_BYTES_MAX
from memd.base.work import LARGE_WEIGHT_A_BYTE, Work, is_large
from memd.domain.caller import ERASURES_SEEN, LOCAL, WORKING_FOR, Caller, Identity
from memd.domain.trust import SecretsPolicy
from memd.domain.values import DEFAULT_AGENT, RESERVED_AGENT, alike
from memd.guard.redaction import redact_all, redact_params, refuse_secrets
from memd.rpc import envelope, faults
from memd.serve.authority import Authority, Credentials, refuse_claims
from memd.serve.events import Peer
from memd.serve.metrics import Metrics
from memd.serve.routes.routes import (
    Context,
    JsonAnswer,
    Params,
    ProgressCallback,
    Route,
    find,
    find_nearest,
)
from memd.serve.routes.system import HelloParams
from memd.serve.status import System
from memd.serve.validation import validate

if TYPE_CHECKING:
    from memd.serve.mcp.mcp import Mcp
    from memd.serve.rooms import DaemonRooms

Send = Callable[[bytes], None]


@dataclass(slots=True)
class ActiveRequest:
    """A request in flight: its sender's credentials, and how to notify the sender meanwhile."""

    credentials: Credentials
    notify: Send | None = None
    writing: bool = False
    """The request has begun to write: it is finished even when its client disconnects."""
    peer: Peer | None = None
    """The connection, for subscriptions."""


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
"""The methods of MCP, on the same socket (decision 0128); memd's own have a dot in their names."""

_MCP_NOTIFICATIONS: Final = "notifications/"

_OBSERVING: Final = (
    "system.",
    "rpc.",
    "model.",
    "events.",
    "sleep.status",
    "sleep.report",
    "usage.list",
)
"""Method prefixes that monitoring polls; they do not count as use, so no night waits for them."""


class Dispatch:
    """Answers requests by calling the methods of the socket."""

    def __init__(
        self,
        rooms: DaemonRooms,
        system: System,
        clock: Clock,
        metrics: Metrics,
        authority: Authority,
        secrets: SecretsPolicy = "redact",
    ) -> None:
        self.large_work = Work("large")
        self._secrets = secrets
        self._authority = authority
        self._clock = clock
        self._metrics = metrics
        self._in_use = 0
        self._used_us = clock.monotonic_us()
        self._rooms = rooms
        self._system = system
        self._mcp: Mcp = lazy(_mcp)

    async def answer(self, request: envelope.Request, call: ActiveRequest) -> bytes | None:
        """Return the answer to *request* as a frame, None for a notification.

        Raises nothing but CancelledError.
        """
        started_us = self._clock.monotonic_us()
        if request.method in MCP_METHODS or request.method.startswith(_MCP_NOTIFICATIONS):
            return await self._answer_mcp(request, call, started_us)
        route = find(request.method)
        if route is None:
            self._metrics.count("unknown", "unknown_method", 0)
            return (
                None
                if request.notification
                else error_frame(request.id, _unknown_method(request.method))
            )
        try:
            body = {"result": await self._call_method(route, call, request.params)}
        except MemdError as error:
            body = {"error": faults.to_error(error)}
        try:
            if is_large(body):
                reply, kind = await self.large_work.run(_encode_large, body, request.id)
            else:
                reply, kind = _encode_answer(body, request.id)
        except MemdError as error:  # JsonAnswer.json found an invalid row
            reply, kind = error_frame(request.id, error), error.kind
        except Exception as error:  # noqa: BLE001  # a result that cannot be encoded is a bug too
            reply, kind = error_frame(request.id, self._bug(route.name, error)), "internal"
        elapsed_us = self._clock.monotonic_us() - started_us
        self._metrics.count(request.method, kind, elapsed_us)
        log.debug("answered", method=request.method, kind=kind, us=elapsed_us)
        return None if request.notification else reply

    async def _answer_mcp(
        self, request: envelope.Request, call: ActiveRequest, started_us: int
    ) -> bytes | None:
        """Answer an MCP request; its tools call memd's own methods."""
        if request.notification:
            return None  # such as "notifications/initialized": no state is kept per client

        async def ask(name: str, raw: dict[str, Any]) -> Any:
            route = find(name)
            if route is None:
                raise _unknown_method(name)
            return await self._call_method(route, call, raw)

        try:
            body = await self._mcp.answer(request.method, request.params, ask)
            reply, kind = _encode_answer(body, request.id)
        except MemdError as error:
            reply, kind = error_frame(request.id, error), error.kind
        except Exception as error:  # noqa: BLE001  # as above
            reply, kind = error_frame(request.id, self._bug(request.method, error)), "internal"
        self._metrics.count(request.method, kind, self._clock.monotonic_us() - started_us)
        return reply

    def is_open(self, identity: Identity, agent_id: str) -> bool:
        """Return whether *identity* may see events of *agent_id* without another key."""
        return identity.client != LOCAL or alike(agent_id) not in self._authority.closed_agents()

    def idle_s(self) -> float:
        """Return the seconds since the last call, 0 during one; monitoring does not count."""
        if self._in_use:
            return 0.0
        return (self._clock.monotonic_us() - self._used_us) / 1e6

    async def _call_method(self, route: Route, call: ActiveRequest, raw: dict[str, Any]) -> Any:
        """Return the method's result. Raises only MemdErrors that a caller may see."""
        is_use = not route.name.startswith(_OBSERVING)
        self._in_use += is_use
        try:
            result = await self._run(route, call, raw)
        except MemdError as error:
            if isinstance(error, DeniedError):
                await self._authority.note(call.credentials.identity.client, route.name)
            if error.kind not in faults.CODES or error.kind == "internal":
                raise self._bug(route.name, error) from None
            raise
        except Exception as error:  # noqa: BLE001  # a bug becomes an incident, here and above
            raise self._bug(route.name, error) from None
        finally:
            if is_use:
                self._in_use -= 1
                self._used_us = self._clock.monotonic_us()
        return result

    async def _run(self, route: Route, call: ActiveRequest, raw: dict[str, Any]) -> Any:
        """Return the method's result for valid params of a caller that may call it."""
        # Checked now, not when the frame arrived: a hello before it may have changed the scopes.
        self._authority.check(call.credentials.identity, route)
        params, request_hash = await self.large_work.run_large(
            raw, _validate_params, route, raw, self._secrets
        )
        if isinstance(params, HelloParams) and params.client_key is not None:
            self._authority.authenticate(call.credentials, params.client_key)
        caller = self._build_caller(route, params, request_hash, call.credentials.identity)
        WORKING_FOR.set(caller.agent_id)
        ERASURES_SEEN.set(self._rooms.db.files.erasure_count)  # the method reads nothing earlier
        token = getattr(params, "progress_token", None)
        progress = None if token is None else _progress_reporter(token, call)
        call.writing = route.writes
        if route.short_id is not None and getattr(params, route.short_id.field) is not None:
            params = await self._rooms.short_ids.resolve(caller, route.short_id, params)
        context = Context(self._rooms, self._system, caller, progress, call.peer)
        # Again: the key may have been revoked while the params were validated or resolved.
        self._authority.check(call.credentials.identity, route)
        if route.repeats == "in one transaction":
            result = await route.call(context, params)
        else:
            result = await self._repeat(route, context, params)
        self._metrics.count_result(result)
        return result

    def _build_caller(
        self, route: Route, params: Params, request_hash: bytes, identity: Identity
    ) -> Caller:
        """Return the caller: the identity that the key proves, acting for the requested agent."""
        requested = getattr(params, "agent_id", None)
        agent_id = requested or identity.agent_id or DEFAULT_AGENT
        if agent_id != DEFAULT_AGENT and alike(agent_id) == RESERVED_AGENT:
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
            closed=self._authority.closed_agents() if identity.client == LOCAL else frozenset(),
        )
        return caller.acting_for(agent_id) if caller.closed else caller

    async def _repeat(self, route: Route, context: Context, params: Params) -> Any:
        """Return the method's result, or the one stored for the caller's idempotency key."""
        if route.repeats == "anew":
            caller = replace(context.caller, idempotency_key=None)
            return await route.call(replace(context, caller=caller), params)
        return await self._rooms.answers.run_once(
            context.caller,
            lambda caller: route.call(replace(context, caller=caller), params),
        )

    def _bug(self, method: str, error: Exception) -> MemdError:
        incident = uuid.uuid4().hex[:12]
        log.error("bug", method=method, incident=incident, trace=log.trace_of(error))
        return faults.bug(incident)


def _mcp() -> Mcp:
    from memd.serve.mcp.mcp import Mcp  # late: with the first MCP request

    return Mcp()


def error_frame(request_id: envelope.Id, error: BaseException) -> bytes:
    """Return the frame that answers *request_id* with *error*."""
    return to_json(envelope.failure(request_id, error)) + b"\n"


def _unknown_method(method: str) -> UnknownMethodError:
    """Return the error for an unknown *method*; a strange name is not repeated in the message."""
    if not method.isprintable() or len(method) > METHOD_CHARS_MAX:
        return UnknownMethodError("no method of this name", hint="rpc.discover lists all methods")
    nearest = find_nearest(method)
    guess = f"did you mean {nearest}? " if nearest else ""
    return UnknownMethodError(f"no method {method}", hint=f"{guess}rpc.discover lists all methods")


def _validate_params(
    route: Route, raw: dict[str, Any], secrets: SecretsPolicy
) -> tuple[Params, bytes]:
    """Return the screened params as the method's model, and the hash that identifies a write."""
    if route.writes:
        refuse_secrets(raw, secrets)
    raw = redact_params(raw)
    try:
        params = validate(route.params, raw)
    except InvalidError:
        refuse_claims(route, raw)  # a clearer error than "is unknown"
        raise
    return params, _hash_request(route, raw) if route.writes else b""


def _encode_large(answer: dict[str, Any], request_id: envelope.Id) -> tuple[bytes, str]:
    """Return the frame of a large *answer*; if it is far too large, it is not even encoded."""
    if is_large(answer, LARGE_WEIGHT_A_BYTE * REPLY_BYTES_MAX):
        return _refuse_answer(request_id)
    return _encode_answer(answer, request_id)


def _encode_answer(answer: dict[str, Any], request_id: envelope.Id) -> tuple[bytes, str]:
    """Return *answer* as a frame with the client's id, and the kind of its error, or ``ok``.

    *answer* has a result or an error, whose texts are screened. If the frame would be longer
    than ``REPLY_BYTES_MAX``, the error ``too_large`` is returned instead.
    """
    result = answer.get("result")
    if isinstance(result, JsonAnswer):
        head = to_json({"jsonrpc": "2.0", "id": request_id})[:-1]
        frame = head + b',"result":' + result.json() + b"}\n"
    else:
        answer = redact_all(to_jsonable_python(answer, inf_nan_mode="null"))
        frame = to_json({"jsonrpc": "2.0", "id": request_id, **answer}) + b"\n"
    if len(frame) > REPLY_BYTES_MAX:
        return _refuse_answer(request_id)
    failure = answer.get("error")
    return frame, failure["data"].get("kind", "refused") if failure else "ok"


def _refuse_answer(request_id: envelope.Id) -> tuple[bytes, str]:
    error = TooLargeError(
        f"the answer has more than {REPLY_BYTES_MAX} bytes", hint="ask for fewer with limit"
    )
    return error_frame(request_id, error), error.kind


def _hash_request(route: Route, raw: dict[str, Any]) -> bytes:
    """Return the hash of a request's params, without idempotency key and progress token."""
    params = {k: v for k, v in raw.items() if k not in ("idempotency_key", "progress_token")}
    text = json.dumps([route.name, params], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).digest()


def _progress_reporter(token: str | int, call: ActiveRequest) -> ProgressCallback:
    def report(done: int, total: int) -> None:
        if call.notify is not None:
            value = {"done": done, "total": total}
            notification = envelope.notification(
                envelope.PROGRESS, {"token": token, "value": value}
            )
            call.notify(to_json(notification) + b"\n")

    return report
