"""Declaration of the socket's methods, each beside the function that answers it.

``memd/serve/routes`` has a module for each area. Dispatch, the OpenRPC document,
``docs/api.md`` and the tests all read the declaration: params, result, a line of summary,
the scope that the caller needs, which parameter is an id.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from memd.domain.caller import Caller, Scope
from memd.serve.params import Params

if TYPE_CHECKING:
    from memd.serve.events import Peer
    from memd.serve.rooms import Rooms
    from memd.serve.status import System

Repeats = Literal["in one transaction", "when done", "anew"]
"""When the answer of a write is stored for a repetition with the same idempotency key.

Most writes are one transaction, which stores it. A write of many transactions stores it
*when done*. An idempotent write, which returns the current state, is done *anew*.
"""

IdKind = Literal["memory", "forgettable", "archived", "anybody's", "fact", "run"]


class ProgressCallback(Protocol):
    """Callback of a long operation for its progress."""

    def __call__(self, done: int, total: int) -> None: ...


class JsonAnswer(NamedTuple):
    """An answer that renders its own JSON, its texts already screened.

    A large *source* is rendered in the thread for large frames.
    """

    source: Any
    json: Callable[[], bytes]


class ShortId(NamedTuple):
    """The parameter that accepts a short id, and the kind of its item."""

    field: str
    kind: IdKind


@dataclass(frozen=True, slots=True)
class Context:
    """What a method gets besides its params."""

    rooms: Rooms
    system: System
    caller: Caller
    progress: ProgressCallback | None = None
    """Progress callback, when the client sent a progress token."""
    peer: Peer | None = None
    """The connection of the request."""


P = TypeVar("P", bound=Params)
Call = Callable[[Context, P], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Route:
    """One method. *result* is anything that pydantic has a schema for.

    A method that *writes* runs to its end even when its client disconnects, takes an
    idempotency key, and *repeats* its answer for the same key. *scope* is what its caller
    must have; None is open to everybody, as ``system.hello`` must be.
    """

    name: str
    params: type[Params]
    result: Any
    summary: str
    call: Call[Any]
    scope: Scope | None
    writes: bool
    short_id: ShortId | None
    repeats: Repeats


class Router:
    """The methods of one area, in the order in which they are declared."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    def method(  # noqa: PLR0913  # one per property of a route
        self,
        name: str,
        params: type[P],
        result: Any,
        summary: str,
        *,
        scope: Scope | None = "read",
        writes: bool | None = None,
        short_id: ShortId | None = None,
        repeats: Repeats = "in one transaction",
    ) -> Callable[[Call[P]], Call[P]]:
        """Declare the decorated function as the method *name*.

        Without *writes*, a method writes unless its scope is ``read`` or None.
        """
        writing = scope not in (None, "read") if writes is None else writes

        def declare(call: Call[P]) -> Call[P]:
            self.routes.append(
                Route(name, params, result, summary, call, scope, writing, short_id, repeats)
            )
            return call

        return declare
