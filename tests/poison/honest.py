"""Honest texts in bulk: what people, assistants and coding tools really say.

    python -m poison.honest          # with tests/ on the path; prints the shares

Found as ``../shared/data`` beside the repository; without it there is nothing to count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bench.transcripts import exported, trajectories

from memd.domain.enums import Origin
from memd.domain.trust import is_quarantined
from memd.guard.suspicion import suspicion
from memd.sleep.transcript.blocks import parse_turn

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
PIECE_CHARS = 1_000  # about a chunk


@cache
def corpora() -> Mapping[str, list[str]]:
    """Return texts by where they are from."""
    transcripts = DATA / "transcripts"
    sessions = [
        *exported(transcripts / "specstory", sidechains=True).values(),
        *trajectories(transcripts / "swe-agent").values(),
    ]
    turns = [parse_turn(message) for session in sessions for message in session]
    return {
        "LoCoMo turns": list(_values(DATA / "locomo-dev" / "locomo-dev.json", "text", "speaker")),
        "assistant chats": list(
            _values(DATA / "longmemeval-mini" / "longmemeval_s_mini3.json", "content", "role")
        ),
        "coding sessions, said": [turn.text for turn in turns if turn.text.strip()],
        "coding sessions, tool output": [each.text for turn in turns for each in turn.results],
    }


@cache
def shares(origin: Origin) -> dict[str, tuple[int, int]]:
    """Return of each corpus how many pieces are set aside as *origin*'s, and how many there are."""
    asides = {}
    for name, texts in corpora().items():
        pieces = [
            text[at : at + PIECE_CHARS] for text in texts for at in range(0, len(text), PIECE_CHARS)
        ]
        aside = sum(is_quarantined(suspicion(piece), origin) for piece in pieces)
        asides[name] = (aside, len(pieces))
    return asides


def _values(path: Path, text: str, beside: str) -> Iterator[str]:
    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(value.get(text), str) and beside in value:
                yield value[text]
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                yield from walk(each)

    return walk(json.loads(path.read_text("utf-8")))


def report() -> str:
    """Return a line for each corpus and origin."""
    lines = []
    for origin in (Origin.TOOL, Origin.ASSISTANT):
        for name, (aside, pieces) in shares(origin).items():
            share = 100 * aside / max(1, pieces)
            lines.append(f"{name} as {origin}: {aside} of {pieces} set aside ({share:.2f} %)")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
