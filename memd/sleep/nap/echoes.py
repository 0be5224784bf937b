"""What memd itself said in a session, taken out before anything is learnt from it. Pure.

Recalled memories come back into the conversation: as answers of memd's own tools, in
fences that a hook adds, and one client writes them into the user's own message. Learnt
again they would be told twice, and a text of the web would become its reader's word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memd.sleep.nap.blocks import TOOL_ROLE, TranscriptTurn, paired, turn
from memd.sleep.nap.cleaning import Message
from memd.text.restating import KnownWords, unsaid
from memd.view.echo import fenced_texts, spoken, unlabelled

_OWN_TOOL = re.compile(r"(?:mcp_{1,2})?(?:plugin_memd_)?memd(?:[_.:/-].*)?", re.IGNORECASE)


def without_echoes(messages: Sequence[Message], texts: Sequence[str] = ()) -> list[Message]:
    """Return *messages* without what memd said: as many, in their places, some of them blank.

    An assistant's sentence that only says again what memd had shown in them, or one of the *texts*
    that it gave their session, is memd's as well.

    >>> without_echoes([{"role": "tool", "name": "memd_search", "content": "8443"}])
    [{'role': 'tool', 'name': 'memd_search', 'content': ''}]
    """
    turns = [turn(message) for message in messages]
    names = paired(turns).names
    known = KnownWords([*texts, *_shown_in(turns, names)])
    heard = [_heard(message, place, names) for place, message in enumerate(messages)]
    return [_own_words(message, known) for message in heard] if known else heard


def _shown_in(
    turns: Sequence[TranscriptTurn], names: Mapping[tuple[int, int], str]
) -> Iterator[str]:
    """Yield what memd's fences and its tools' answers showed."""
    for place, each in enumerate(turns):
        yield from fenced_texts(each.text)
        for number, result in enumerate(each.results):
            texts = fenced_texts(result.text)
            if not texts and _is_own(names.get((place, number)) or result.name):
                texts = [line for part in result.text.splitlines() if (line := unlabelled(part))]
            yield from texts


def _own_words(message: Message, known: KnownWords) -> Message:
    """Return an assistant's *message* without the sentences that memd had told it."""
    content = message.get("content")
    if message.get("role") != "assistant":
        return message
    if isinstance(content, str):
        return message | {"content": unsaid(content, known)}
    if isinstance(content, list):
        return message | {"content": [_own_block(block, known) for block in content]}
    return message


def _own_block(block: Any, known: KnownWords) -> Any:
    if isinstance(block, str):
        return unsaid(block, known)
    text = block.get("text") if isinstance(block, Mapping) else None
    return {**block, "text": unsaid(text, known)} if isinstance(text, str) else block


def _heard(message: Message, place: int, names: Mapping[tuple[int, int], str]) -> Message:
    if message.get("role") == TOOL_ROLE and _is_own(names.get((place, 0))):
        return message | {"content": ""}
    changed: Message = {}
    content = message.get("content")
    if isinstance(content, str):
        changed["content"] = spoken(content)
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
            kept.append(spoken(block))
        elif kind != "tool_use" or not _is_own(block.get("name")):
            kept.append(_shown(block, "text"))
    return kept


def _shown(block: Any, field: str) -> Any:
    text = block.get(field) if isinstance(block, Mapping) else None
    if isinstance(text, list):
        return {**block, field: [_shown(each, "text") for each in text]}
    return {**block, field: spoken(text)} if isinstance(text, str) else block


def _calls_own(call: object) -> bool:
    if not isinstance(call, Mapping):
        return False
    function = call.get("function")
    return _is_own((function if isinstance(function, Mapping) else call).get("name"))


def _is_own(name: object) -> bool:
    return isinstance(name, str) and _OWN_TOOL.fullmatch(name.strip()) is not None
