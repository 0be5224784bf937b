"""Trajectories of SWE-agent: a document whose ``history`` has the messages.

What a tool printed has there the role of the user; it is told by the action before it. As the
user's words it would become decisions and preferences.
"""

from __future__ import annotations

from collections.abc import Sequence

from memd.signals.lines import Message, Record, text


def knows(record: Record) -> bool:
    """Return whether *record* is a message of a trajectory: each names its agent."""
    return all(isinstance(record.get(key), str) for key in ("role", "agent")) and (
        "content" in record
    )


def messages(records: Sequence[Record]) -> list[Message]:
    """Return the messages of *records*, an action as a call of a tool, and its result."""
    read: list[Message] = []
    call_id = ""
    for number, record in enumerate(filter(knows, records)):
        role, action = record["role"], text(record.get("action"))
        message: Message = {"role": role, "content": record["content"]}
        calls, answered = record.get("tool_calls"), record.get("tool_call_ids")
        if calls:
            message["tool_calls"] = calls
        elif role == "tool" and isinstance(answered, list) and answered:
            message["tool_call_id"] = answered[0]
        elif role == "user" and call_id:
            message |= {"role": "tool", "tool_call_id": call_id}
        call_id = ""
        if role == "assistant" and action and not calls:
            call_id = f"call-{number}"
            function = {"name": action.split(maxsplit=1)[0], "arguments": action.strip()}
            message["tool_calls"] = [{"id": call_id, "function": function}]
        read.append(message)
    return read
