"""The documented protocols of memory backends and language models (SPEC 7.6, 7.11, 10.1).

Code written for ``MemoryBackend`` runs on every backend: the SQLite file, the in-memory one,
a composite of several. Sharing and capabilities are separate protocols, so that a backend
without them stays small. All three are runtime checkable; ``isinstance`` checks the names of
methods, not their signatures. Names and parameters come from the documents (seed 004) and do
not change.

``CompletionProvider`` is an optional language model (SPEC D8). Code that gets None instead
does the same work by rule. Stored texts in its prompts are fenced. A provider never writes:
its answers are stored like any other text.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest
from memd.domain.values import NotBlankStr


@runtime_checkable
class MemoryBackend(Protocol):
    """Storage of agents' memories. Nothing works before ``connect``.

    Every operation on memories raises MemoryConnectionError while the backend is not
    connected. An agent never sees, counts or deletes another one's memories, nor learns that
    they exist. Expired memories are invisible.
    """

    async def connect(self) -> None:
        """Make the backend usable. Raises MemoryConnectionError on failure."""
        ...

    async def disconnect(self) -> None:
        """Release what ``connect`` acquired. Safe to call twice, or without a connection."""
        ...

    async def health_check(self) -> bool:
        """Return whether the backend answers; for a lost connection log a warning."""
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
        """Store *request* unchanged and return its id. Raises MemoryStoreError when refused."""
        ...

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return the matching memories, best first; without a text, newest first.

        Raises MemoryRetrievalError.
        """
        ...

    async def get(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> MemoryEntry | None:
        """Return one memory, or None if no memory has that id. Raises MemoryRetrievalError."""
        ...

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Delete one memory; return False if there is none. Raises MemoryStoreError."""
        ...

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """Return how many memories the agent has. Raises MemoryRetrievalError."""
        ...


@runtime_checkable
class MemoryCapabilities(Protocol):
    """The capabilities of a backend, to be checked before a call."""

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        """Return the categories that may be stored."""
        ...

    @property
    def supports_graph(self) -> bool:
        """Return whether the backend has a graph of entities and relations."""
        ...

    @property
    def supports_temporal(self) -> bool:
        """Return whether past states can be queried."""
        ...

    @property
    def supports_vector_search(self) -> bool:
        """Return whether texts are searched by vector."""
        ...

    @property
    def supports_shared_access(self) -> bool:
        """Return whether agents can share memories (``SharedKnowledgeStore``)."""
        ...

    @property
    def max_memories_per_agent(self) -> int | None:
        """Return the maximum number of an agent's memories, or None without a bound."""
        ...


@runtime_checkable
class SharedKnowledgeStore(Protocol):
    """Memories shared by agents: copies, separate from the agents' own memories."""

    async def publish(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Share *request* in the name of *agent_id*; return the id of the shared copy.

        Raises MemoryStoreError, or MemoryCapabilityError if sharing is disabled.
        """
        ...

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return shared memories that match; ``agent_id`` of each is its publisher.

        Memories of *exclude_agent* are left out before the limit is applied.
        Raises MemoryRetrievalError.
        """
        ...

    async def retract(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Retract a shared copy; return False if there is none of that id.

        Raises MemoryStoreError if it is not shared or another agent published it.
        """
        ...


@runtime_checkable
class CompletionProvider(Protocol):
    """Completion of prompts. The provider handles retries, keys and addresses itself."""

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

        Raises ProviderBusyError if the same prompt may succeed later, and
        ProviderRefusedError if it never will: wrong key, unknown model.
        """
        ...
