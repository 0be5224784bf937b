"""A language model's answer in JSON, or none: for whoever has a rule to fall back on."""

from __future__ import annotations

import json
from typing import Any

from memd.inject.isolated import isolated
from memd.sleep.strategies.ask import Model, stripped_answer

_FENCE = "```"


async def json_reply(model: Model, prompt: str, *, system: str, what: str) -> dict[str, Any] | None:
    """Return the object that *model* answers with; None when it fails or answers otherwise.

    Raises the process's own errors only.
    """
    reply = await isolated(stripped_answer(model, prompt, system=system), None, what)
    return None if reply is None else parsed(reply)


def parsed(reply: str) -> dict[str, Any] | None:
    """Return the JSON object that *reply* is, with or without a code fence; None if it is none.

    >>> parsed('```json' + chr(10) + '{"retry": false}' + chr(10) + '```')
    {'retry': False}
    >>> parsed("[1]") is None
    True
    """
    text = reply.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.removesuffix(_FENCE).partition("\n")[2]
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # nested too deep to be an answer
        return None
    return found if isinstance(found, dict) else None
