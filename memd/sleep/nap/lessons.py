"""What a session taught: whatever says that it is a lesson (docs/decisions/0077). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memd.sleep.nap.blocks import turn
from memd.sleep.nap.facts import HEADER, Fact
from memd.text.lessons import lessons_in

SPEAKING_ROLES = frozenset({"user", "human", "assistant"})


def taught(messages: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    """Return what messages of user and assistant say as lessons, each once, where it came first.

    What a tool answered teaches nothing, and an earlier summary's lessons are known.
    """
    first: dict[str, Fact] = {}
    for index, message in enumerate(messages):
        if message.get("role") not in SPEAKING_ROLES:
            continue
        said = turn(message)
        if said.text.startswith(HEADER):
            continue
        for text in lessons_in(said.text):
            first.setdefault(text, Fact(text, said.role, None, index))
    return tuple(first.values())
