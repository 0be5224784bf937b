"""Who listens, and what they are told (``events.subscribe``).

An event is told after the commit it speaks of, to the connections that asked for
it, and only about the agent they asked for. A client that does not read keeps
nobody waiting: what it has not taken is kept for it up to a bound, the oldest
goes first, and the next event that it does read says how many were lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from pydantic_core import to_json

from memd.base.errors import InvalidStateError
from memd.base.limits import EVENTS_WAITING_MAX
from memd.domain.values import EVERYBODY, EventName
from memd.rpc import envelope


class Link(Protocol):
    """Requests to the client of a connection (``serve.llm.routes``)."""

    def answered(self, answer: envelope.PeerAnswer) -> None: ...
    def close(self) -> None: ...


class Peer(Protocol):
    """A connection, as far as events go."""

    listener: Listener | None
    link: Link | None

    def may_hear(self, agent_id: str) -> bool:
        """Return whether the client may hear of *agent_id* now: a key may have closed it since."""
        ...

    def offer(self, frame: bytes) -> bool:
        """Send *frame* unless the client is behind with reading; return whether it was sent."""
        ...


class Listener:
    """What one connection wants to hear, and what it has not taken yet."""

    def __init__(self, events: Events, peer: Peer) -> None:
        self._events = events
        self._peer = peer
        self._waiting: deque[tuple[EventName, dict[str, Any]]] = deque()
        self._lost = 0
        self.subscribed: dict[str, frozenset[EventName]] = {}
        """Names by agent."""

    def hear(self, agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
        """Send an event if it is wanted, now or once the client reads again."""
        if name not in self.subscribed.get(agent_id, ()):
            return
        if len(self._waiting) == EVENTS_WAITING_MAX:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append((name, {"agent_id": agent_id, **body}))
        self.flush()

    def flush(self) -> None:
        """Send what waits, as far as the client takes it and may still hear it."""
        while self._waiting:
            name, body = self._waiting[0]
            if not self._peer.may_hear(body["agent_id"]):
                self._waiting.popleft()
                continue
            payload = {**body, "lost": self._lost} if self._lost else body
            if not self._peer.offer(to_json(envelope.notification(name, payload)) + b"\n"):
                return
            self._waiting.popleft()
            self._lost = 0

    def close(self) -> None:
        """Hear nothing more."""
        self._events.drop(self)


class Events:
    """Owns all listeners; ``emit`` is handed to the rooms."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()

    def emit(self, agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
        """Tell whoever wants to hear it; returns at once and never raises."""
        for listener in list(self._listeners):
            meant = next(iter(listener.subscribed), "") if agent_id == EVERYBODY else agent_id
            listener.hear(meant, name, body)

    def subscribe(
        self, peer: Peer | None, agent_id: str, names: Iterable[EventName]
    ) -> frozenset[EventName]:
        """Add *names* to what *peer* hears about *agent_id*; return all that it hears of it."""
        if peer is None:
            raise InvalidStateError("events go to a connection; there is none here")
        listener = peer.listener
        if listener is None:
            listener = peer.listener = Listener(self, peer)
            self._listeners.add(listener)
        events = listener.subscribed.get(agent_id, frozenset()) | frozenset(names)
        listener.subscribed[agent_id] = events
        return events

    def unsubscribe(
        self, peer: Peer | None, agent_id: str, names: Iterable[EventName]
    ) -> frozenset[EventName]:
        """Take *names* from what *peer* hears about *agent_id*; return what it still hears of it.

        A connection that hears nothing more is one like any other: closed when idle.
        """
        listener = None if peer is None else peer.listener
        if peer is None or listener is None:
            return frozenset()
        left = listener.subscribed.pop(agent_id, frozenset()) - frozenset(names)
        if left:
            listener.subscribed[agent_id] = left
        if not listener.subscribed:
            listener.close()
            peer.listener = None
        return left

    def drop(self, listener: Listener) -> None:
        self._listeners.discard(listener)
