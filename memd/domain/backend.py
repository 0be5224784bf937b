"""What a store of memories can do, as protocols (SPEC 7.6, 7.11, 10.1).

Whoever writes code against ``MemoryBackend`` runs on every backend: the SQLite
file, the one in memory, a composite of several. Sharing and capabilities are
protocols of their own, so that a backend without them stays small. All three
are runtime checkable; that checks the names of methods, not their signatures.

The names and parameters are the documents' (seed 004) and do not change.

``CompletionProvider`` is a language model, which memd does not have and does not need (SPEC D8).

Whoever is given None in place of a provider does the same work by rule. What a
provider is sent has every remembered text fenced, and what it answers is kept as
a text like any other: a provider never writes.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest
from memd.domain.values import NotBlankStr


@runtime_checkable
class MemoryBackend(Protocol):
    """Keeps the memories of agents. Nothing works before ``connect``.

    Every operation on memories raises MemoryConnectionError while the backend
    is not connected. An agent never sees, counts or deletes what another one
    keeps, nor learns that it exists. Expired memories are invisible.
    """

    async def connect(self) -> None:
        """Make the backend usable; raises MemoryConnectionError when it cannot be."""
        ...

    async def disconnect(self) -> None:
        """Let go of what ``connect`` took. Safe to call twice, or without a connection."""
        ...

    async def health_check(self) -> bool:
        """Return whether the backend answers. A lost connection is False and a warning."""
        ...

    @property
    def is_connected(self) -> bool:
        """Return whether ``connect`` has succeeded and ``disconnect`` has not been called."""
        ...

    @property
    def backend_name(self) -> NotBlankStr:
        """Return the name under which the registry knows this kind of backend."""
        ...

    async def store(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Keep *request* as it is and return its id. Raises MemoryStoreError when refused."""
        ...

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return what matches, best first; without a text, newest first.

        Raises MemoryRetrievalError.
        """
        ...

    async def get(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> MemoryEntry | None:
        """Return one memory, or None when there is none of that id. Raises MemoryRetrievalError."""
        ...

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Take one memory away; return False when there is none. Raises MemoryStoreError."""
        ...

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """Return how many memories the agent has. Raises MemoryRetrievalError."""
        ...


@runtime_checkable
class MemoryCapabilities(Protocol):
    """What a backend can do, so that a caller may ask before it tries."""

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        """Return the categories that may be stored."""
        ...

    @property
    def supports_graph(self) -> bool:
        """Return whether entities and their relations can be followed."""
        ...

    @property
    def supports_temporal(self) -> bool:
        """Return whether one can ask what was true at a time."""
        ...

    @property
    def supports_vector_search(self) -> bool:
        """Return whether a text is searched by meaning."""
        ...

    @property
    def supports_shared_access(self) -> bool:
        """Return whether agents can share memories (``SharedKnowledgeStore``)."""
        ...

    @property
    def max_memories_per_agent(self) -> int | None:
        """Return the most memories an agent may have, or None when there is no bound."""
        ...


@runtime_checkable
class SharedKnowledgeStore(Protocol):
    """What agents share: copies, kept apart from everybody's own memories."""

    async def publish(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Share *request* in the name of *agent_id*; return the id of the shared copy.

        Raises MemoryStoreError, or MemoryCapabilityError when sharing is switched off.
        """
        ...

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return shared memories that match; ``agent_id`` of each is its publisher.

        What *exclude_agent* published is left out before the limit is applied.
        Raises MemoryRetrievalError.
        """
        ...

    async def retract(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Take a shared copy back; False when there is none of that id.

        Raises MemoryStoreError when it is not shared or another agent published it.
        """
        ...


@runtime_checkable
class CompletionProvider(Protocol):
    """Completes a prompt. Retrying, keys and addresses are its own affair."""

    async def complete(
        self,
        prompt: str,
        *,
        model: NotBlankStr,
        system: str = "",
        temperature: float = 0.3,
        max_tokens: int = 200,
    ) -> str:
        """Return the model's answer to *prompt*, at most *max_tokens* long.

        Raises ProviderBusyError when the same prompt may succeed later, and
        ProviderRefusedError when it never will: wrong key, unknown model.
        """
        ...
