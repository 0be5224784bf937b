"""Exported chats are read with what their programs left out."""

from __future__ import annotations

import json
from typing import Any

from memd.cli.transfer.chats import Chat, parse_chats


def _claude(text: str) -> dict[str, Any]:
    return {"chat_messages": [{"sender": "human", "text": text}]}


def _chatgpt(text: str) -> dict[str, Any]:
    message = {"author": {"role": "user"}, "content": {"parts": [text]}}
    return {"current_node": "n", "mapping": {"n": {"parent": None, "message": message}}}


def _parse(*rows: dict[str, Any]) -> list[Chat]:
    chats = parse_chats(json.dumps(rows))
    assert chats is not None
    return chats


def test_a_message_without_a_time_has_none() -> None:
    for row in (_claude("We deploy on Monday."), _chatgpt("We deploy on Monday.")):
        ((_, messages, _),) = _parse(row)
        assert [message.at for message in messages] == [""]


def test_chats_without_an_id_are_chats_of_their_own() -> None:
    for export in (_claude, _chatgpt):
        rows = [export("We deploy on Monday."), export("My cat is Tom.")]
        names = [chat.name for chat in _parse(*rows)]
        assert len(set(names)) == 2
        assert [chat.name for chat in _parse(*rows)] == names


def test_an_empty_line_in_a_prompt_to_aider_does_not_divide_it() -> None:
    text = "# aider chat started at 2026-01-01 10:00:00\n\n#### a\n#### \n#### b\n\nDone.\n"
    chats = parse_chats(text) or []
    assert [(line.role, line.content) for chat in chats for line in chat.messages] == [
        ("user", "a\n\nb"),
        ("assistant", "Done."),
    ]
