"""Declaring the methods of the socket, and finding them by name.

A method is declared by a decorator on its function, in the module of its area in this package.
Dispatch, the OpenRPC document, ``docs/api.md`` and the tests read the declaration. A name
changes only with a decision page. A module is loaded with the first call of one of its methods,
because building all models would make the start slow (docs/decisions/0194).

The params of most methods are a model of ``memd/domain`` plus params that every call has: the
agent whose memories are meant, and for a write its idempotency key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    get_type_hints,
)

from pydantic import AliasChoices, ConfigDict, Field
from pydantic_core import to_json

from memd.base.limits import FRAME_BYTES_MAX, PAGE_ITEMS_MAX
from memd.domain.caller import Caller, Scope
from memd.domain.values import Name, Value

if TYPE_CHECKING:
    from memd.serve.events import Peer
    from memd.serve.rooms import DaemonRooms
    from memd.serve.status import System

PROTOCOL: Final = 1
"""The version of the protocol; incremented when an old client could misunderstand a new daemon."""

RECORDS: Final = "records"
"""The area of operational records."""

_AREAS: Final[Mapping[str, tuple[str, ...]]] = {
    "system": ("system", "rpc", "model"),
    "memory": ("memory",),
    "agent": ("agent", "preference", "shared"),
    "inject": ("inject",),
    "archive": ("trash", "archive", "wiki"),
    "learn": ("learn", "skill", "tune"),
    "session": ("session", "usage", "events"),
    "sleep": ("sleep",),
    "org": ("org",),
    "graph": ("graph",),
    "access": ("owner", "client", "audit"),
    "store": ("store",),
    "llm": ("llm",),
    "records": (RECORDS,),
}
"""The areas of each module in ``memd.serve.routes``; a method's name is ``area.verb``."""

_DEFAULT_AREA: Final = "memory"
_OTHER_VERBS: Final = {
    **dict.fromkeys(("add", "create", "insert", "remember", "save", "write"), "ingest"),
    **dict.fromkeys(("ask", "find", "query", "search"), "recall"),
    **dict.fromkeys(("edit", "modify", "set"), "update"),
    **dict.fromkeys(("fetch", "read", "show"), "get"),
    **dict.fromkeys(("delete_all", "erase", "purge", "remove_all", "reset"), "forget"),
    "remove": "delete",
    "get_all": "list",
    "history": "why",
}
"""Verbs of other programs for operations on memories, and memd's verb for each."""
_SIMILARITY_MIN: Final = 0.7  # so that "memory.find_one" is not taken for "memory.find"

_MODULE_OF_AREA: Final = {area: module for module, areas in _AREAS.items() for area in areas}


def find(name: str) -> Route | None:
    """Return the method of this name, None if there is none."""
    module = _MODULE_OF_AREA.get(name.partition(".")[0])
    return None if module is None else _routes(module).get(name)


def find_nearest(name: str) -> str | None:
    """Return the name of the method that an unknown *name* probably means, None if none is similar.

    Only the most similar area is searched, and ``memory`` if *name* has no area.

    >>> find_nearest("memory.add"), find_nearest("Sessions.List"), find_nearest("recall")
    ('memory.ingest', 'session.list', 'memory.recall')
    >>> find_nearest("memory.get_all"), find_nearest("memory.history")
    ('memory.list', 'memory.why')
    """
    area, dot, verb = name.lower().partition(".")
    area, verb = (area, verb) if dot else (_DEFAULT_AREA, area)
    area = next(iter(get_close_matches(area, _MODULE_OF_AREA, 1)), _DEFAULT_AREA)
    names = [name for name in _routes(_MODULE_OF_AREA[area]) if name.startswith(f"{area}.")]
    by_verb = {name.removeprefix(f"{area}."): name for name in names}
    if area == _DEFAULT_AREA:
        by_verb |= {other: f"{area}.{ours}" for other, ours in _OTHER_VERBS.items()}
    matches = get_close_matches(verb, by_verb, 1, _SIMILARITY_MIN)
    return by_verb[matches[0]] if matches else None


@cache
def methods() -> Mapping[str, Route]:
    """Return the methods by their names, without those of operational records."""
    return {
        name: route
        for module, areas in _AREAS.items()
        if RECORDS not in areas
        for name, route in _routes(module).items()
    }


def records() -> Mapping[str, Route]:
    """Return the methods of operational records by their names."""
    return _routes(_MODULE_OF_AREA[RECORDS])


@cache
def _routes(module: str) -> Mapping[str, Route]:
    router: Router = import_module(f"memd.serve.routes.{module}").router
    return {route.name: route for route in router.routes}


# Params.


class Params(Value):
    """The base of all params, and the params of a method that takes none."""

    model_config = ConfigDict(defer_build=True)


class ProgressParams(Params):
    """Params of a long operation: with a *progress_token* the daemon sends ``$/progress``."""

    progress_token: Name | int | None = None


class AgentParams(Params):
    """Params of a call about one agent's memories, by default the caller's agent."""

    agent_id: Name | None = Field(
        default=None, validation_alias=AliasChoices("agent_id", "user_id")
    )


class KeyParams(Params):
    """Params of a write; a repetition with the same *idempotency_key* gets the first answer."""

    idempotency_key: Name | None = None


class WriteParams(AgentParams, KeyParams):
    """Params of a write to one agent's memories."""


class IdParams(AgentParams):
    """Params that name one item by its id."""

    id: Name


class WriteIdParams(WriteParams):
    """Params of a write to one item, by its id."""

    id: Name


class PageParams(AgentParams):
    """Params of a paged list: *after* is the ``next`` of the page before."""

    after: Name | None = None
    limit: int = Field(default=100, ge=1, le=PAGE_ITEMS_MAX)


T = TypeVar("T")


class Page(Value, Generic[T]):
    """One page of a list: *next* is the ``after`` of the following one, None at the end."""

    items: tuple[T, ...]
    next: Name | None = None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """Return the name of a page of one kind in the OpenRPC document."""
        return f"{params[0].__name__}Page"


# Methods.

Repeats = Literal["in one transaction", "when done", "anew"]
"""How a write that is repeated with the same idempotency key gets the first answer.

Most writes are one transaction, which stores the answer too. A write of several transactions
stores it *when done*. An idempotent write, which returns the current state, is done *anew*.
A method of which only a part is a write, or whose answer has texts, stores it by itself.
"""

IdKind = Literal["memory", "forgettable", "archived", "any agent's", "fact", "run", "session"]


class ProgressCallback(Protocol):
    """Callback of a long operation for its progress."""

    def __call__(self, done: int, total: int) -> None: ...


class JsonAnswer(NamedTuple):
    """An answer that renders its own JSON from *source*, whose texts were screened already.

    If *source* is large, *json* is called in the work thread.
    """

    source: Any
    json: Callable[[], bytes]


class ShortId(NamedTuple):
    """The parameter that accepts a short id, and the kind of its item."""

    field: str
    kind: IdKind


@dataclass(frozen=True, slots=True)
class Context:
    """What a method gets in addition to its params."""

    rooms: DaemonRooms
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
    """One method. *result* is any type that pydantic has a schema for.

    A method that *writes* runs to its end even if its client disconnects. It takes an
    idempotency key; *repeats* says how it answers the same key again. The caller needs
    *scope*; with None everybody may call the method, which ``system.hello`` needs.
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
        summary: str,
        *,
        scope: Scope | None = "read",
        writes: bool | None = None,
        short_id: ShortId | None = None,
        repeats: Repeats = "in one transaction",
        types: tuple[type[Params], Any] | None = None,
    ) -> Callable[[Call[P]], Call[P]]:
        """Declare the decorated function as the method *name*.

        The types of params and result are its annotations, or *types* if they are created at run
        time. By default a method writes unless its scope is ``read`` or None.
        """
        writing = scope not in (None, "read") if writes is None else writes

        def declare(call: Call[P]) -> Call[P]:
            params, result = types or list(get_type_hints(call, include_extras=True).values())[1:]
            self.routes.append(
                Route(name, params, result, summary, call, scope, writing, short_id, repeats)
            )
            return call

        return declare


V = TypeVar("V", bound=Value)


async def fitting_page(page_of: Callable[[int], Awaitable[V]], limit: int) -> V:
    """Return a page of at most *limit* items that fits into a frame, or one with a single item."""
    while True:
        page = await page_of(limit)
        if limit == 1 or len(to_json(page)) <= FRAME_BYTES_MAX:
            return page
        limit = max(1, limit // 4)


def fitting_items(items: Sequence[V]) -> Iterator[V]:
    """Yield *items* while they fit into one frame, but always the first."""
    used = 0
    for number, item in enumerate(items):
        used += len(to_json(item)) + 1
        if number and used > FRAME_BYTES_MAX:
            return
        yield item
