"""The archives of a composite's children as one (SPEC 10.2, 16.13).

Ids say where a memory lies, as everywhere in a composite: ``<child>:<id there>``,
the original's as well as the archival one.
"""

from __future__ import annotations

from collections.abc import Mapping

from memd.base.errors import MemoryStoreError
from memd.domain.consolidation import ArchivalEntry, ArchivalStore
from memd.domain.memory import MemoryQuery


class CompositeArchive:
    """The documents' ``ArchivalStore`` over the archives of *children*."""

    def __init__(self, children: Mapping[str, ArchivalStore]) -> None:
        self._children = children

    async def archive(self, entry: ArchivalEntry) -> str:
        """Archive *entry* where its original lives; raises MemoryStoreError for another id."""
        name, _, there = entry.original_id.partition(":")
        if not there or name not in self._children:
            raise MemoryStoreError(
                f"no child with an archive has {entry.original_id!r}", field="original_id"
            )
        own = entry.model_copy(update={"original_id": there})
        return f"{name}:{await self._children[name].archive(own)}"

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return what the children find, each child's in its order."""
        found: list[ArchivalEntry] = []
        for name, child in self._children.items():
            found += [_prefixed(name, each) for each in await child.search(agent_id, query)]
        return tuple(found[: query.limit])

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        name, _, there = entry_id.partition(":")
        if not there or name not in self._children:
            return None
        found = await self._children[name].restore(agent_id, there)
        return None if found is None else _prefixed(name, found)

    async def count(self, agent_id: str) -> int:
        return sum([await child.count(agent_id) for child in self._children.values()])


def _prefixed(name: str, entry: ArchivalEntry) -> ArchivalEntry:
    return entry.model_copy(update={"original_id": f"{name}:{entry.original_id}"})
