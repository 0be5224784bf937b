"""Event subscriptions (``events.subscribe``) and their delivery.

An event is sent after its COMMIT to the connections that subscribed to it for its agent. A
client that does not read delays nobody: its events are queued up to ``EVENTS_WAITING_MAX``,
then the oldest are dropped. The next event that it reads says how many were lost.
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
    """The daemon's own requests to the client of a connection (``serve.routes.llm``)."""

    def resolve(self, answer: envelope.PeerAnswer) -> None: ...
    def close(self) -> None: ...


class Peer(Protocol):
    """The part of a connection that subscriptions use."""

    listener: Listener | None
    link: Link | None

    def may_receive(self, agent_id: str) -> bool:
        """Return whether the client may get events of *agent_id* now.

        It may not if the agent was given a key since the subscription, and the client has none.
        """
        ...

    def offer(self, frame: bytes) -> bool:
        """Send *frame* unless the client is slow to read; return whether it was sent."""
        ...


class Listener:
    """The subscriptions of one connection, and the events that wait for it."""

    def __init__(self, events: Events, peer: Peer) -> None:
        self._events = events
        self._peer = peer
        self._waiting: deque[tuple[EventName, dict[str, Any]]] = deque()
        self._lost = 0
        self.subscribed: dict[str, frozenset[EventName]] = {}
        """Event names by agent."""

    def find_agent(self, name: EventName) -> str:
        """Return an agent for which *name* is subscribed to and may be sent, "" without one."""
        agents = (agent_id for agent_id, names in self.subscribed.items() if name in names)
        return next(filter(self._peer.may_receive, agents), "")

    def push(self, agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
        """Send an event, if it is subscribed to, now or when the client reads again."""
        if name not in self.subscribed.get(agent_id, ()):
            return
        if len(self._waiting) == EVENTS_WAITING_MAX:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append((name, {"agent_id": agent_id, **body}))
        self.flush()

    def flush(self) -> None:
        """Send waiting events while the client reads; drop those it may no longer get."""
        while self._waiting:
            name, body = self._waiting[0]
            if not self._peer.may_receive(body["agent_id"]):
                self._waiting.popleft()
                continue
            payload = {**body, "lost": self._lost} if self._lost else body
            if not self._peer.offer(to_json(envelope.notification(name, payload)) + b"\n"):
                return
            self._waiting.popleft()
            self._lost = 0

    def close(self) -> None:
        """End all subscriptions."""
        self._events.drop(self)


class Events:
    """The listeners of all connections; the rooms get ``emit``."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()

    def emit(self, agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
        """Send an event to its subscribers; returns at once and never raises."""
        for listener in list(self._listeners):
            target = listener.find_agent(name) if agent_id == EVERYBODY else agent_id
            listener.push(target, name, body)

    def subscribe(
        self, peer: Peer | None, agent_id: str, names: Iterable[EventName]
    ) -> frozenset[EventName]:
        """Subscribe *peer* to *names* of *agent_id*; return all its subscriptions to that agent."""
        if peer is None:
            raise InvalidStateError("events need a connection; this call has none")
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
        """Unsubscribe *peer* from *names* of *agent_id*; return the remaining ones of that agent.

        A connection without any subscription may be closed when it is idle.
        """
        listener = None if peer is None else peer.listener
        if peer is None or listener is None:
            return frozenset()
        remaining = listener.subscribed.pop(agent_id, frozenset()) - frozenset(names)
        if remaining:
            listener.subscribed[agent_id] = remaining
        if not listener.subscribed:
            listener.close()
            peer.listener = None
        return remaining

    def drop(self, listener: Listener) -> None:
        """Send no more events to *listener*."""
        self._listeners.discard(listener)
