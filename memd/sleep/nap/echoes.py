"""Removal of memd's own texts from a session before anything is learnt from it. Pure.

Recalled memories return in the conversation: as answers of memd's tools, in fences
that a hook adds, and with one client within the user's own message. Learnt
again they would be duplicates, and a web text would get the trust of its reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memd.sleep.nap.blocks import TOOL_ROLE, TranscriptTurn, pair_results, parse_turn
from memd.sleep.nap.cleaning import Message
from memd.text.repetition import KnownWords, remove_known
from memd.view.labels import find_fenced, strip_injected, strip_labels

_OWN_TOOL = re.compile(r"(?:mcp_{1,2})?(?:plugin_memd_)?memd(?:[_.:/-].*)?", re.IGNORECASE)


def remove_echoes(messages: Sequence[Message], texts: Sequence[str] = ()) -> list[Message]:
    """Return *messages* without memd's own texts: same number and order, some of them blank.

    Sentences of an assistant that only repeat a text that memd showed in *messages*, or one of the
    *texts* that it injected into the session, are removed too.

    >>> remove_echoes([{"role": "tool", "name": "memd_search", "content": "8443"}])
    [{'role': 'tool', 'name': 'memd_search', 'content': ''}]
    """
    turns = [parse_turn(message) for message in messages]
    names = pair_results(turns).names
    known = KnownWords([*texts, *_memd_texts(turns, names)])
    cleaned = [_remove_own_parts(message, place, names) for place, message in enumerate(messages)]
    return [_remove_repeats(message, known) for message in cleaned] if known else cleaned


def _memd_texts(
    turns: Sequence[TranscriptTurn], names: Mapping[tuple[int, int], str]
) -> Iterator[str]:
    """Yield the texts within memd's fences and in the answers of its tools."""
    for place, each in enumerate(turns):
        yield from find_fenced(each.text)
        for number, result in enumerate(each.results):
            texts = find_fenced(result.text)
            if not texts and _is_own_tool(names.get((place, number)) or result.name):
                texts = [line for part in result.text.splitlines() if (line := strip_labels(part))]
            yield from texts


def _remove_repeats(message: Message, known: KnownWords) -> Message:
    """Return an assistant's *message* without sentences that repeat memd's texts."""
    content = message.get("content")
    if message.get("role") != "assistant":
        return message
    if isinstance(content, str):
        return message | {"content": remove_known(content, known)}
    if isinstance(content, list):
        return message | {"content": [_remove_block_repeats(block, known) for block in content]}
    return message


def _remove_block_repeats(block: Any, known: KnownWords) -> Any:
    if isinstance(block, str):
        return remove_known(block, known)
    text = block.get("text") if isinstance(block, Mapping) else None
    return {**block, "text": remove_known(text, known)} if isinstance(text, str) else block


def _remove_own_parts(
    message: Message, place: int, names: Mapping[tuple[int, int], str]
) -> Message:
    if message.get("role") == TOOL_ROLE and _is_own_tool(names.get((place, 0))):
        return message | {"content": ""}
    changes: Message = {}
    content = message.get("content")
    if isinstance(content, str):
        changes["content"] = strip_injected(content)
    elif isinstance(content, list):
        changes["content"] = _remove_own_blocks(content, place, names)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        changes["tool_calls"] = [call for call in calls if not _is_own_call(call)]
    return message | changes


def _remove_own_blocks(
    blocks: Sequence[Any], place: int, names: Mapping[tuple[int, int], str]
) -> list[Any]:
    remaining: list[Any] = []
    number = 0
    for block in blocks:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "tool_result":
            if not _is_own_tool(names.get((place, number))):
                remaining.append(_clean_field(block, "content"))
            number += 1
        elif isinstance(block, str):
            remaining.append(strip_injected(block))
        elif kind != "tool_use" or not _is_own_tool(block.get("name")):
            remaining.append(_clean_field(block, "text"))
    return remaining


def _clean_field(block: Any, field: str) -> Any:
    text = block.get(field) if isinstance(block, Mapping) else None
    if isinstance(text, list):
        return {**block, field: [_clean_field(each, "text") for each in text]}
    return {**block, field: strip_injected(text)} if isinstance(text, str) else block


def _is_own_call(call: object) -> bool:
    if not isinstance(call, Mapping):
        return False
    function = call.get("function")
    return _is_own_tool((function if isinstance(function, Mapping) else call).get("name"))


def _is_own_tool(name: object) -> bool:
    return isinstance(name, str) and _OWN_TOOL.fullmatch(name.strip()) is not None
