"""Changing preferences: what the owner said or confirmed is changed by nobody else."""

from __future__ import annotations

from memd.base.errors import ConflictError, DeniedError
from memd.domain.caller import Caller
from memd.domain.enums import Origin
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.memory import preferences
from memd.store.memory.preferences import NewPreference


def put(conn: Writing, caller: Caller, new: NewPreference, now_us: int) -> None:
    """Set a preference by name, as the caller's word: the owner's, or some program's.

    Raises DeniedError where the owner's would be replaced by somebody else's.
    """
    agent_key = names.ensure_agent(conn, caller.agent_id, now_us)
    new = new._replace(
        origin=Origin.PERSON if caller.is_owner else Origin.ASSISTANT,
        client_key=names.ensure_client(conn, caller.client, now_us),
        confirmed_at_us=now_us if caller.is_owner else None,
    )
    if not preferences.put(conn, agent_key, new, now_us):
        raise _is_the_owners(new.name)


def confirm(conn: Writing, caller: Caller, name: str, value: str | None, now_us: int) -> bool:
    """Note that the owner stands by a preference; False when there is none of that name.

    Raises ConflictError when it says something else than *value* by now.
    """
    agent_key = names.find_agent(conn, caller.agent_id)
    if agent_key is None or preferences.value_of(conn, agent_key, name) is None:
        return False
    if not preferences.confirm(conn, agent_key, name, value, now_us):
        raise ConflictError(
            "the preference says something else by now",
            field="value",
            hint=f"memd preference get {name}",
        )
    return True


def delete(conn: Writing, caller: Caller, name: str) -> bool:
    """Remove a preference; False when there was none. The memory it came from stays.

    Raises DeniedError where it is the owner's and somebody else asks.
    """
    agent_key = names.find_agent(conn, caller.agent_id)
    if agent_key is None:
        return False
    if not caller.is_owner and preferences.is_confirmed(conn, agent_key, name):
        raise _is_the_owners(name)
    return preferences.delete(conn, agent_key, name)


def _is_the_owners(name: str) -> DeniedError:
    return DeniedError(
        f"the owner said or confirmed the preference {name}: nobody else changes it",
        field="name",
        hint=f"the owner may: memd preference set {name} ...",
    )
