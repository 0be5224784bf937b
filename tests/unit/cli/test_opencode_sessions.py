"""opencode's sessions are read with what their tools told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memd.cli.transfer import opencode


@pytest.mark.parametrize(
    ("state", "is_error", "exit_code"),
    [
        ({"output": "no rule", "metadata": {"exit": 2}}, False, 2),
        ({"output": "built", "metadata": {"exit": 0}}, False, 0),
        ({"output": "built"}, False, None),
        ({"error": "it was aborted"}, True, None),
    ],
)
def test_a_result_tells_how_its_command_ended(
    state: dict[str, Any], is_error: bool, exit_code: int | None
) -> None:
    call = {"type": "tool", "tool": "bash", "callID": "1", "state": state}
    exported = {"info": {"id": "s"}, "messages": [{"info": {"role": "assistant"}, "parts": [call]}]}
    chats = opencode.read_export(json.dumps(exported))
    assert chats is not None
    content = chats[0].messages[-1].content
    assert isinstance(content, list)
    (result,) = content
    assert (result["is_error"], result["exit_code"]) == (is_error, exit_code)


def test_a_message_without_a_time_has_none() -> None:
    part = {"type": "text", "text": "We deploy on Monday."}
    exported = {"info": {"id": "s"}, "messages": [{"info": {"role": "user"}, "parts": [part]}]}
    chats = opencode.read_export(json.dumps(exported))
    assert chats is not None
    assert [message.at for message in chats[0].messages] == [""]
