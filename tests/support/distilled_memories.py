"""The memories that are distilled from a session's messages, without its digest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.nap_scores import stands_in

from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.exchanges import NapKind, NapMemory
from memd.text.words import sentences


def without_digest(messages: Sequence[dict[str, Any]]) -> list[NapMemory]:
    return [each for each in distil(SessionTurns.of(messages)) if each.kind is not NapKind.DIGEST]


def sections_of(page: Path) -> dict[str, list[str]]:
    """Return the lines of *page* by the section that they stand in."""
    _, *sections = page.read_text("utf-8").split("\n[")
    parts = (section.strip().partition("]\n") for section in sections)
    return {name: lines.splitlines() for name, _, lines in parts}


def kept(saying: str, shape: str = "{}") -> bool:
    """Return whether a message that says *saying* becomes a memory that holds it."""
    longest = max(sentences(saying), key=len)
    return any(stands_in(longest, text) for text in memories_of(shape.format(saying)))


def memories_of(message: str) -> list[str]:
    """Return the memories of a session that ends with *message*, by rule alone."""
    messages = [
        {"role": "user", "content": "Look at the folder of the project and say what is in it."},
        {"role": "assistant", "content": "It holds twelve files, most of them changed last week."},
        {"role": "user", "content": message},
        {"role": "assistant", "content": "Understood."},
    ]
    return [each.text for each in without_digest(messages)]
