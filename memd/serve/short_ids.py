"""Short ids: the end of an id, as a list on a terminal shows it, is as good as the whole.

Each method that names something by its id takes an end of it too, resolved here and
nowhere else, before the method is called. Only what the caller may name is looked at. An end
of nothing stays as it is, so that the method says what it says of any unknown id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memd.base.errors import InvalidError
from memd.domain.caller import Caller
from memd.domain.settings.org import OrgMemoryConfig
from memd.domain.values import RESERVED_AGENT
from memd.org.access import readable
from memd.serve.params import P
from memd.serve.route import IdKind, ShortId
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.search import short_ids as stored

SHOWN_MAX = 5
"""How many of the ids that an end may mean are named."""


_END = re.compile(rf"[0-9a-f-]{{{stored.END_CHARS},35}}")


@dataclass(frozen=True)
class ShortIds:
    """Where ids are looked up."""

    db: Database
    org: OrgMemoryConfig

    async def resolve(self, caller: Caller, short_id: ShortId, params: P) -> P:
        """Return *params* with whole ids where a caller gave the end of one."""
        given = getattr(params, short_id.field)
        many = given if isinstance(given, tuple) else (given,)
        ends = [one for one in many if one is not None and _END.fullmatch(one)]
        if not ends:
            return params
        whole = await self.whole(caller, short_id.kind, ends)
        ids = tuple(whole.get(one, one) for one in many)
        value = ids if isinstance(given, tuple) else ids[0]
        return params.model_copy(update={short_id.field: value})

    async def whole(self, caller: Caller, kind: IdKind, ends: Sequence[str]) -> Mapping[str, str]:
        """Return the id that each of *ends* means, leaving out what is an end of nothing.

        Raises InvalidError, naming the ids, for an end of more than one.
        """

        def work(conn: Reading) -> list[str]:
            return self._ids(conn, caller, kind, ends)

        ids = await self.db.read(work)
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
            case "anybody's":
                return [
                    memory_id
                    for agent_id, memory_id in stored.of_everybody(conn, ends)
                    if caller.may_be(agent_id)
                ]
            case "fact":
                return stored.of_facts(conn, readable([self.org.read_access], caller), ends)
            case "run":
                return stored.of_runs(conn, ends)


def _fitting(end: str, ids: Sequence[str]) -> list[str]:
    return [one for one in ids if one.endswith(end)]


def _only(end: str, fits: Sequence[str]) -> str:
    if len(fits) == 1:
        return fits[0]
    named = ", ".join(sorted(fits)[:SHOWN_MAX])
    more = f" and {len(fits) - SHOWN_MAX} more" if len(fits) > SHOWN_MAX else ""
    raise InvalidError(
        f"{len(fits)} ids end in {end}", field="id", hint=f"type more of it: {named}{more}"
    )
