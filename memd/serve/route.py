"""A method of the socket, declared once, beside the function that answers it.

``memd/serve/routes`` has a module for each area. What a declaration there says (params,
result, a line of summary, the scope that its caller needs, which parameter is an id) is
what dispatch, the OpenRPC document, ``docs/api.md`` and the tests go by.
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
"""Where the answer of a write is kept for a repetition with the same idempotency key.

Most are one transaction that keeps it. What takes many keeps it *when done*. What has the
same effect however often it is asked for, and says how things are now, is done *anew*.
"""

IdKind = Literal["memory", "forgettable", "archived", "anybody's", "fact", "run"]


class ProgressCallback(Protocol):
    """What long work calls as it goes."""

    def __call__(self, done: int, total: int) -> None: ...


class JsonAnswer(NamedTuple):
    """An answer that writes its own JSON, with every text in it as it may leave.

    *weighed* is what it is made of: large ones are written beside the loop.
    """

    weighed: Any
    json: Callable[[], bytes]


class ShortId(NamedTuple):
    """The parameter that takes the end of an id for the id, and what it is the id of."""

    field: str
    kind: IdKind


@dataclass(frozen=True, slots=True)
class Context:
    """What a method is called with, beside its params."""

    rooms: Rooms
    system: System
    caller: Caller
    progress: ProgressCallback | None = None
    """Where the client wants to hear how far long work is."""
    peer: Peer | None = None
    """The connection that the request came by."""


P = TypeVar("P", bound=Params)
Call = Callable[[Context, P], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Route:
    """One method. *result* is anything that pydantic has a schema for.

    A method that *writes* is finished when its client goes away, takes an idempotency
    key, and *repeats* its answer for the same one. *scope* is what its caller must
    have; None is open to everybody, for it is how one says who one is.
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

    def method(  # noqa: PLR0913  # all that is to be said of one
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
        """Declare what is decorated as the method *name*.

        It *writes* unless its scope is to read, or *writes* says otherwise.
        """
        writing = scope not in (None, "read") if writes is None else writes

        def declare(call: Call[P]) -> Call[P]:
            self.routes.append(
                Route(name, params, result, summary, call, scope, writing, short_id, repeats)
            )
            return call

        return declare
