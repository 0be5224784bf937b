"""Short ids: every method that takes an id also takes the end of one, as lists show it.

They are resolved here alone, before the method is called, among the ids that the caller may
name. An end that matches nothing stays as it is, so the method answers as for any unknown id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memd.base.errors import InvalidError
from memd.domain.caller import Caller
from memd.domain.settings.org import OrgMemoryConfig
from memd.domain.values import RESERVED_AGENT
from memd.org.access import readable_categories
from memd.serve.routes.routes import IdKind, P, ShortId
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.search import short_ids as stored

IDS_SHOWN_MAX = 5
"""How many of the ambiguous ids the error names."""


_END = re.compile(rf"[0-9a-f-]{{{stored.END_CHARS},35}}")


@dataclass(frozen=True)
class ShortIds:
    """Resolver of short ids."""

    db: Database
    org: OrgMemoryConfig

    async def resolve(self, caller: Caller, short_id: ShortId, params: P) -> P:
        """Return *params*, which name an item or several, with short ids replaced by whole ones."""
        value = getattr(params, short_id.field)
        many = value if isinstance(value, tuple) else (value,)
        ends = [item_id for item_id in many if _END.fullmatch(item_id)]
        if not ends:
            return params
        expanded = await self.expand(caller, short_id.kind, ends)
        ids = tuple(expanded.get(item_id, item_id) for item_id in many)
        update = {short_id.field: ids if isinstance(value, tuple) else ids[0]}
        return params.model_copy(update=update)

    async def expand(self, caller: Caller, kind: IdKind, ends: Sequence[str]) -> Mapping[str, str]:
        """Return the id of each of *ends*; an end that matches nothing is left out.

        Raises InvalidError, naming the ids, for an end that matches more than one and is none.
        """
        ids = await self.db.read(self._ids, caller, kind, ends)
        return {end: _only(end, fits) for end in ends if (fits := _fitting(end, ids))}

    def _ids(self, conn: Reading, caller: Caller, kind: IdKind, ends: Sequence[str]) -> list[str]:
        match kind:
            case "memory" | "archived" | "forgettable":
                ids = stored.of_memories(conn, (caller.agent_id, RESERVED_AGENT), ends)
                if kind == "archived":
                    ids += stored.of_archive(conn, caller.agent_id, ends)
                if kind == "forgettable":
                    ids += stored.of_lessons(conn, caller.agent_id, ends)
                return ids
            case "any agent's":
                return [
                    memory_id
                    for agent_id, memory_id in stored.of_all_agents(conn, ends)
                    if caller.may_be(agent_id)
                ]
            case "fact":
                return stored.of_facts(
                    conn, readable_categories([self.org.read_access], caller), ends
                )
            case "session":
                return stored.of_sessions(conn, caller.agent_id, ends)
            case "run":
                return stored.of_runs(conn, ends)


def _fitting(end: str, ids: Sequence[str]) -> list[str]:
    return [item_id for item_id in ids if item_id.endswith(end)]


def _only(end: str, fits: Sequence[str]) -> str:
    if end in fits:
        return end
    if len(fits) == 1:
        return fits[0]
    named = ", ".join(sorted(fits)[:IDS_SHOWN_MAX])
    more = f" and {len(fits) - IDS_SHOWN_MAX} more" if len(fits) > IDS_SHOWN_MAX else ""
    raise InvalidError(
        f"{len(fits)} ids end in {end}", field="id", hint=f"type more of it: {named}{more}"
    )
