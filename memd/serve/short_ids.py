"""Short ids: methods that take an id also take its last characters, as lists show them.

They are resolved before the method is called, among the ids that the caller may use. One that
matches nothing is passed on, so that the method answers as for any unknown id.
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
"""How many of several matching ids the error names."""

_END = re.compile(rf"[0-9a-f-]{{{stored.END_CHARS},35}}")  # shorter than an id, which has 36


@dataclass(frozen=True)
class ShortIds:
    """Resolver of short ids."""

    db: Database
    org: OrgMemoryConfig

    async def resolve(self, caller: Caller, short_id: ShortId, params: P) -> P:
        """Return *params* with the short ids in one of its fields, an id or a tuple, expanded."""
        value = getattr(params, short_id.field)
        item_ids = value if isinstance(value, tuple) else (value,)
        ends = [item_id for item_id in item_ids if _END.fullmatch(item_id)]
        if not ends:
            return params
        expanded = await self.expand(caller, short_id.kind, ends)
        ids = tuple(expanded.get(item_id, item_id) for item_id in item_ids)
        update = {short_id.field: ids if isinstance(value, tuple) else ids[0]}
        return params.model_copy(update=update)

    async def expand(self, caller: Caller, kind: IdKind, ends: Sequence[str]) -> Mapping[str, str]:
        """Return the id of each of *ends*; an end that matches nothing is left out.

        Raises InvalidError, naming the ids, for an end that matches several.
        """
        ids = await self.db.read(self._list_ids, caller, kind, ends)
        matches = {end: [item_id for item_id in ids if item_id.endswith(end)] for end in ends}
        return {end: _only(end, ids_of_end) for end, ids_of_end in matches.items() if ids_of_end}

    def _list_ids(
        self, conn: Reading, caller: Caller, kind: IdKind, ends: Sequence[str]
    ) -> list[str]:
        match kind:
            case "memory" | "archived" | "forgettable":
                ids = stored.find_memories(conn, (caller.agent_id, RESERVED_AGENT), ends)
                if kind == "archived":
                    ids += stored.find_archived(conn, caller.agent_id, ends)
                if kind == "forgettable":
                    ids += stored.find_lessons(conn, caller.agent_id, ends)
                return ids
            case "any agent's":
                return [
                    memory_id
                    for agent_id, memory_id in stored.find_in_all_agents(conn, ends)
                    if caller.may_be(agent_id)
                ]
            case "fact":
                return stored.find_facts(
                    conn, readable_categories([self.org.read_access], caller), ends
                )
            case "session":
                return stored.find_sessions(conn, caller.agent_id, ends)
            case "run":
                return stored.find_runs(conn, ends)


def _only(end: str, ids: Sequence[str]) -> str:
    """Return the one of *ids* that *end* means: an equal id, or the only one."""
    if end in ids:
        return end
    if len(ids) == 1:
        return ids[0]
    names = ", ".join(sorted(ids)[:IDS_SHOWN_MAX])
    others = f" and {len(ids) - IDS_SHOWN_MAX} more" if len(ids) > IDS_SHOWN_MAX else ""
    raise InvalidError(
        f"{len(ids)} ids end in {end}", field="id", hint=f"type more of it: {names}{others}"
    )
