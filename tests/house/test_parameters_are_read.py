"""What a caller may say, somebody hears: each method reads every parameter of its own."""

from __future__ import annotations

import inspect
import re
from typing import Any

from memd.serve.routes.routes import methods

# Read before a handler is called: by who asks, by the transaction, by progress.
ELSEWHERE = frozenset(
    {"agent_id", "session_id", "project_id", "idempotency_key", "progress_token", "system_prompt"}
)  # system_prompt plays no part in a nap, as documented (SPEC 6.3)
TOLD_ONLY = frozenset({"system.hello"})  # what a client says of itself is for the log


def _read(source: str, takes: type[Any]) -> set[str]:
    """Return the fields that *source* reads, also through a property of the params."""
    read = set(re.findall(r"\bparams\.(\w+)", source))
    for name, member in inspect.getmembers(takes, lambda member: isinstance(member, property)):
        if name in read and member.fget is not None:
            read |= set(re.findall(r"\bself\.(\w+)", inspect.getsource(member.fget)))
    return read


def test_a_handler_reads_every_parameter_or_hands_all_of_them_on() -> None:
    ignored = {name: _unread(name) for name in sorted(methods().keys() - TOLD_ONLY)}
    assert len(ignored) > 100
    assert not {name: unread for name, unread in ignored.items() if unread}


def _unread(name: str) -> list[str]:
    takes = methods()[name].params
    source = inspect.getsource(methods()[name].call)
    body = source.partition("async def ")[2].partition(":\n")[2]
    if re.search(r"\bparams\b[,)]", body.replace("del params", "")):
        return []  # handed on as a whole
    return sorted(takes.model_fields.keys() - ELSEWHERE - _read(body, takes))
