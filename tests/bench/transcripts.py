"""Reads recorded coding sessions into messages: SpecStory's Markdown, SWE-agent's trajectories.

What a window holds is what counts: thoughts are left out, and the sidechains of
sub-agents where they are not asked for. Where a trajectory was recorded as plain
chat, the observation that follows an action is read as what it is, the result of
a tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Message = dict[str, Any]

_SPEAKER = re.compile(r"_\*\*(User|Agent)\b([^*]*)\*\*_\s*")
_TOOL = re.compile(r'<tool-use data-tool-type="[^"]*" data-tool-name="([^"]*)">')
_TOOL_END = "</details></tool-use>"
_RULE = "---"
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_OPENINGS = ("\n```text\n", "\n```\n")
_SUMMARY = re.compile(r"<summary>.*?</summary>")


def exported(folder: Path, *, sidechains: bool) -> dict[str, list[Message]]:
    """Return the messages of every Markdown session below *folder*, by name."""
    paths = sorted(folder.rglob("*.md"))
    return {path.stem: specstory(path.read_text("utf-8"), sidechains) for path in paths}


def trajectories(folder: Path) -> dict[str, list[Message]]:
    """Return the messages of every trajectory below *folder*, by name."""
    paths = sorted(folder.rglob("*.traj"))
    return {path.stem: swe_agent(json.loads(path.read_text("utf-8"))) for path in paths}


def specstory(text: str, sidechains: bool) -> list[Message]:
    """Return the messages of one exported session; what stands inside a tool's output is output."""
    messages: list[Message] = []
    for who, tool, said in _parts(text):
        if who == "sidechain" and not sidechains:
            continue
        if tool:
            _use(messages, tool, said)
        elif said:
            role = "user" if who == "User" else "assistant"
            messages.append({"role": role, "content": said})
    return messages


def swe_agent(trajectory: dict[str, Any]) -> list[Message]:
    """Return the messages of one trajectory in the shape of ``tool_calls``."""
    messages: list[Message] = []
    action = ""
    for number, said in enumerate(trajectory["history"]):
        message = {"role": said["role"], "content": said["content"]}
        if said.get("tool_calls"):
            message["tool_calls"] = said["tool_calls"]
        elif said["role"] == "tool":
            message["tool_call_id"] = said["tool_call_ids"][0]
        elif said["role"] == "assistant" and (action := str(said.get("action") or "").strip()):
            call = {"name": action.split()[0], "arguments": action}
            message["tool_calls"] = [{"id": f"call-{number}", "function": call}]
        elif said["role"] == "user" and action:
            message |= {"role": "tool", "tool_call_id": f"call-{number - 1}"}
            action = ""
        messages.append(message)
    return messages


def _parts(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield who (User, Agent or sidechain), the tool's name or "", and the text."""
    who, tool, lines = "", "", list[str]()
    for line in [*text.splitlines(), "_**User**_"]:
        speaker = None if tool else _SPEAKER.fullmatch(line)
        begins = None if tool else _TOOL.match(line)
        if not (speaker or begins or (tool and line.strip() == _TOOL_END)):
            lines.append(line)
            continue
        if who:
            said = "\n".join(line for line in lines if tool or line != _RULE)
            yield who, tool, said if tool else _THOUGHT.sub("", said).strip()
        lines = []
        tool = begins[1] if begins else ""
        if speaker:
            who = "sidechain" if "sidechain" in speaker[2] else speaker[1]


def _use(messages: list[Message], tool: str, said: str) -> None:
    """Add the call of *tool*, to what the assistant said just before, and its result."""
    asked, result = _asked(f"\n{said}")
    call_id = f"call-{len(messages)}"
    call = {"id": call_id, "function": {"name": tool, "arguments": asked}}
    if not messages or messages[-1]["role"] != "assistant" or "tool_calls" in messages[-1]:
        messages.append({"role": "assistant", "content": ""})
    messages[-1]["tool_calls"] = [call]
    messages.append({"role": "tool", "tool_call_id": call_id, "content": result})


def _asked(said: str) -> tuple[str, str]:
    """Return what a tool was asked and what it answered: the last block of text or of nothing."""
    asked, result = said, ""
    for opening in _OPENINGS:
        before, found, after = said.partition(opening)
        # A fence that closes a block of code looks like one that opens a block of nothing.
        if found and before.count("\n```") % 2 == 0:
            asked, result = before, after.rpartition("\n```")[0]
            break
    return _SUMMARY.sub("", asked).strip(), result
