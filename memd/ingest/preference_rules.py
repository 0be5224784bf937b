"""Changes of preferences: only the owner changes what the owner stated or confirmed."""

from __future__ import annotations

from memd.base.errors import ConflictError, DeniedError
from memd.domain.caller import Caller
from memd.domain.enums import Origin
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.memory import preferences
from memd.store.memory.preferences import NewPreference


def put(conn: Writing, caller: Caller, new: NewPreference, now_us: int) -> None:
    """Set a preference by name, in the caller's name: the owner's, or a program's.

    Raises DeniedError where it would replace the owner's and the caller is not the owner.
    """
    agent_key = names.ensure_agent(conn, caller.agent_id, now_us)
    new = new._replace(
        origin=Origin.PERSON if caller.is_owner else Origin.ASSISTANT,
        client_key=names.ensure_client(conn, caller.client, now_us),
        confirmed_at_us=now_us if caller.is_owner else None,
    )
    if not preferences.put(conn, agent_key, new, now_us):
        raise _owners_error(new.name)


def confirm(conn: Writing, caller: Caller, name: str, value: str | None, now_us: int) -> bool:
    """Record the owner's confirmation of a preference; False when there is none of that name.

    Raises ConflictError when its value is no longer *value*.
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

    Raises DeniedError where it is the owner's and the caller is not the owner.
    """
    agent_key = names.find_agent(conn, caller.agent_id)
    if agent_key is None:
        return False
    if not caller.is_owner and preferences.is_confirmed(conn, agent_key, name):
        raise _owners_error(name)
    return preferences.delete(conn, agent_key, name)


def _owners_error(name: str) -> DeniedError:
    return DeniedError(
        f"the owner set or confirmed the preference {name}; only the owner can change it",
        field="name",
        hint=f"as the owner: memd preference set {name} ...",
    )
