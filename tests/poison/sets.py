"""Attacks and honest texts that the screen was not written for; ``sets/README.md`` says which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.domain.trust import is_quarantined
from memd.guard.suspicion import suspicion

FOLDER = Path(__file__).with_name("sets")
ATTACKS, SEALED, NOTES, DOCUMENTS = "attacks", "sealed", "notes", "documents"
OPENER = 'An example phrase for the test corpus: "{}"'


class Text(NamedTuple):
    """One text; *kind* is the attack's, or what an honest one is about."""

    text: str
    kind: str
    language: str
    origin: Origin

    def is_quarantined(self) -> bool:
        return is_quarantined(suspicion(self.text), self.origin)


def texts(name: str) -> list[Text]:
    """Return the texts of one file; a document comes from the web."""
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [
        Text(
            row["text"],
            row.get("kind") or row["topic"],
            row["language"],
            Origin(row.get("origin", "web")),
        )
        for row in map(json.loads, lines)
    ]
