"""Reads recorded coding sessions into messages: SpecStory's Markdown, SWE-agent's trajectories.

What a window holds is what counts: thoughts are left out, and the sidechains of
sub-agents where they are not asked for. Where a trajectory was recorded as plain
chat, the observation that follows an action is read as what it is, the result of
a tool.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memd.signals import specstory as product

Message = dict[str, Any]


def exported(folder: Path, *, sidechains: bool) -> dict[str, list[Message]]:
    """Return the messages of every Markdown session below *folder*, by name."""
    paths = sorted(folder.rglob("*.md"))
    return {path.stem: specstory(path.read_text("utf-8"), sidechains) for path in paths}


def trajectories(folder: Path) -> dict[str, list[Message]]:
    """Return the messages of every trajectory below *folder*, by name."""
    paths = sorted(folder.rglob("*.traj"))
    return {path.stem: swe_agent(json.loads(path.read_text("utf-8"))) for path in paths}


def specstory(text: str, sidechains: bool) -> list[Message]:
    """Return the messages of one exported session, as the product reads it."""
    return product.messages(text, sidechains=sidechains)


def swe_agent(trajectory: dict[str, Any]) -> list[Message]:
    """Return the messages of one trajectory in the shape of ``tool_calls``."""
    messages: list[Message] = []
    action = ""
    for number, entry in enumerate(trajectory["history"]):
        message = {"role": entry["role"], "content": entry["content"]}
        if entry.get("tool_calls"):
            message["tool_calls"] = entry["tool_calls"]
        elif entry["role"] == "tool":
            message["tool_call_id"] = entry["tool_call_ids"][0]
        elif entry["role"] == "assistant" and (action := str(entry.get("action") or "").strip()):
            call = {"name": action.split()[0], "arguments": action}
            message["tool_calls"] = [{"id": f"call-{number}", "function": call}]
        elif entry["role"] == "user" and action:
            message |= {"role": "tool", "tool_call_id": f"call-{number - 1}"}
            action = ""
        messages.append(message)
    return messages
