"""What memd itself said in a session, taken out before anything is learnt from it. Pure.

Recalled memories come back into the conversation: as answers of memd's own tools, in
fences that a hook adds, and one client writes them into the user's own message. Learnt
again they would be told twice, and a text of the web would become its reader's word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memd.sleep.nap.blocks import TOOL_ROLE, paired, turn
from memd.sleep.nap.cleaning import Message
from memd.view.view import ENTRY_TAG, MEMORY_TAG

_OWN_TOOL = re.compile(r"(?:mcp_{1,2})?(?:plugin_memd_)?memd(?:[_.:/-].*)?", re.IGNORECASE)
_OPENS, _CLOSES = r"(?:<|&lt;)", r"(?:>|&gt;)"
# A fence stands on lines of its own; one that is cut off reaches to the end.
_FENCE = re.compile(
    rf"^[ \t]*{_OPENS}({ENTRY_TAG}|{MEMORY_TAG}){_CLOSES}[ \t]*$"
    rf".*?(?:^[ \t]*{_OPENS}/\1{_CLOSES}[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_ADDED = re.compile(r"<hook_context>.*?(?:</hook_context>|\Z)", re.DOTALL)


def without_echoes(messages: Sequence[Message]) -> list[Message]:
    """Return *messages* without what memd said: as many, in their places, some of them blank.

    >>> without_echoes([{"role": "tool", "name": "memd_search", "content": "8443"}])
    [{'role': 'tool', 'name': 'memd_search', 'content': ''}]
    """
    names = paired([turn(message) for message in messages]).names
    return [_heard(message, place, names) for place, message in enumerate(messages)]


def _heard(message: Message, place: int, names: Mapping[tuple[int, int], str]) -> Message:
    if message.get("role") == TOOL_ROLE and _is_own(names.get((place, 0))):
        return message | {"content": ""}
    changed: Message = {}
    content = message.get("content")
    if isinstance(content, str):
        changed["content"] = _spoken(content)
    elif isinstance(content, list):
        changed["content"] = _blocks(content, place, names)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        changed["tool_calls"] = [call for call in calls if not _calls_own(call)]
    return message | changed


def _blocks(blocks: Sequence[Any], place: int, names: Mapping[tuple[int, int], str]) -> list[Any]:
    kept: list[Any] = []
    number = 0
    for block in blocks:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "tool_result":
            if not _is_own(names.get((place, number))):
                kept.append(_shown(block, "content"))
            number += 1
        elif isinstance(block, str):
            kept.append(_spoken(block))
        elif kind != "tool_use" or not _is_own(block.get("name")):
            kept.append(_shown(block, "text"))
    return kept


def _shown(block: Any, field: str) -> Any:
    text = block.get(field) if isinstance(block, Mapping) else None
    if isinstance(text, list):
        return {**block, field: [_shown(each, "text") for each in text]}
    return {**block, field: _spoken(text)} if isinstance(text, str) else block


def _calls_own(call: object) -> bool:
    if not isinstance(call, Mapping):
        return False
    function = call.get("function")
    return _is_own((function if isinstance(function, Mapping) else call).get("name"))


def _is_own(name: object) -> bool:
    return isinstance(name, str) and _OWN_TOOL.fullmatch(name.strip()) is not None


def _spoken(text: str) -> str:
    if "<hook_context>" in text:
        text = _ADDED.sub("", text)
    return _FENCE.sub("", text) if MEMORY_TAG in text else text
