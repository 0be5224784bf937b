"""Set, confirm and delete preferences by name.

Preferences that a text states are set when it is stored (``arrivals.py``). Only the owner can
replace what the owner stated or confirmed; the client that brought the statement can delete it.
"""

from __future__ import annotations

from dataclasses import dataclass

from memd.archive.authorship import may_change, supersede_stated
from memd.base.clock import Clock
from memd.base.errors import ConflictError, DeniedError
from memd.base.ids import Ids
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.encoding import TokenCounter
from memd.domain.enums import MemoryLevel, Origin
from memd.domain.trust import SecretsPolicy
from memd.domain.values import DEFAULT_AGENT
from memd.guard.secrets import admit, refuse_kinds, screen_name
from memd.guard.suspicion import refuse_orders
from memd.ingest.filing import check_agent
from memd.store.access import agents, names
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import preferences
from memd.store.memory.preferences import NewPreference


@dataclass(frozen=True)
class PreferenceWriter:
    """Sets, confirms and deletes preferences."""

    db: Database
    counter: TokenCounter
    clock: Clock
    ids: Ids
    work: Work
    level: MemoryLevel
    secrets: SecretsPolicy = "redact"

    async def set(self, caller: Caller, name: str, value: str) -> None:
        """Set a preference by name.

        Raises QuarantinedError if somebody else than the owner sets one that gives orders
        (PROMISES H48), DeniedError if it would replace one of the owner's.
        """
        check_agent(caller)
        size = len(value)
        await self.work.run_sized(size, refuse_orders, caller, name=name, value=value)
        await self.db.read(agents.require_level, caller.agent_id, self.level)
        screening = await self.work.run_sized(size, admit, value, self.secrets)
        refuse_kinds(screening.kinds, self.secrets, "value")
        tokens = max(1, await self.work.run_sized(size, self.counter.count, screening.text))
        new = NewPreference(screen_name(name), screening.text, 1.0, tokens, None, self.ids.salt())

        def work(conn: Writing) -> None:
            now_us = self.clock.now_us()
            agent_key = names.ensure_agent(conn, caller.agent_id, now_us)
            row = new._replace(
                origin=Origin.PERSON if caller.is_owner else Origin.ASSISTANT,
                client_key=names.ensure_client(conn, caller.client, now_us),
                confirmed_at_us=now_us if caller.is_owner else None,
            )
            replaced = preferences.put(conn, agent_key, row, now_us)
            if replaced is None:
                raise _owners_error(caller, row.name, "set", "VALUE")
            supersede_stated(conn, caller, replaced, now_us, self.ids.new)

        await self.db.write(caller, work, reply=type(None))

    async def confirm(self, caller: Caller, name: str, value: str | None) -> bool:
        """Confirm a preference in the owner's name, so that prompts no longer fence it.

        Returns False if there is none of that name. Raises ConflictError if its value is not
        *value*.
        """

        def work(conn: Writing) -> bool:
            agent_key = names.find_agent(conn, caller.agent_id)
            if preferences.find(conn, agent_key, name) is None:
                return False
            if not preferences.confirm(conn, agent_key, name, value, self.clock.now_us()):
                raise ConflictError(
                    "the preference has another text now",
                    field="value",
                    hint=f"memd preference get {name}",
                )
            return True

        return await self.db.write(caller, work, reply=bool)

    async def delete(self, caller: Caller, name: str) -> bool:
        """Remove a preference and archive the memories that state it; return False if unknown.

        Raises DeniedError if it is the owner's, and the caller is neither the owner nor allowed to
        remove the memory that set it.
        """

        def work(conn: Writing) -> bool:
            agent_key = names.find_agent(conn, caller.agent_id)
            current = preferences.find(conn, agent_key, name)
            is_confirmed = current is not None and current.confirmed_at_us is not None
            stating = preferences.list_stating(conn, agent_key, name)
            setting = [memory.memory_key for memory in stating if memory.has_set_it]
            may_remove = caller.is_owner or bool(setting and may_change(conn, caller, setting))
            if is_confirmed and not may_remove:
                raise _owners_error(caller, name, "delete")
            now_us = self.clock.now_us()
            supersede_stated(conn, caller, stating, now_us, self.ids.new)
            return preferences.delete(conn, agent_key, name, now_us)

        return await self.db.write(caller, work, reply=bool)


def _owners_error(caller: Caller, name: str, command: str, *values: str) -> DeniedError:
    """Return the error for a preference of the owner, with the *command* that may do it."""
    import shlex  # late: for this error alone

    words = [command, shlex.quote(name), *values]
    if caller.agent_id != DEFAULT_AGENT:
        words += ["--agent", shlex.quote(caller.agent_id)]
    return DeniedError(
        f"the owner set or confirmed the preference {name}; only the owner can change it",
        field="name",
        hint=f"as the owner: memd preference {' '.join(words)}",
    )
