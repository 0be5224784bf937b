"""Questions that a store cannot answer, to see whether memd says nothing. Pure.

A: other people's questions, about persons this store does not know. B: the same
questions with this store's names put in: the hard test, about a third of them can
even be answered. O: other domains. U: this store's own questions with a stranger's
name put in: what is asked about exists, but of somebody else.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.locomo import Dialogue

PER_DIALOGUE = 100
SEED = 7
STRANGERS = ("Priscilla", "Thaddeus", "Ottoline", "Barnaby")
OTHER_DOMAINS = tuple(Path(__file__).with_name("foreign.txt").read_text("utf-8").splitlines())


def questions(dialogues: Sequence[Dialogue]) -> dict[str, list[tuple[str, str]]]:
    """Return for each kind which agent is asked which question; the same ones every time."""
    chance = random.Random(SEED)
    by_kind: dict[str, list[tuple[str, str]]] = {"A": [], "B": [], "O": [], "U": []}
    for here in dialogues:
        others = [there for there in dialogues if there is not here]
        asked = [(there, q.text) for there in others for q in there.honest]
        for there, text in chance.sample(asked, min(PER_DIALOGUE, len(asked))):
            strange = dict(zip(there.people, STRANGERS, strict=False))
            known = {
                name: here.people[at % len(here.people)] for at, name in enumerate(there.people)
            }
            shared = {n: s for n, s in strange.items() if n in here.people}
            by_kind["A"].append((here.name, renamed(text, shared)))
            by_kind["B"].append((here.name, renamed(text, known)))
        own = [q.text for q in here.honest]
        strange = dict(zip(here.people, STRANGERS, strict=False))
        swapped = [new for text in own if (new := renamed(text, strange)) != text]
        by_kind["U"] += [
            (here.name, text) for text in chance.sample(swapped, min(PER_DIALOGUE, len(swapped)))
        ]
        by_kind["O"] += [(here.name, text) for text in OTHER_DOMAINS]
    return by_kind


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return *text* with whole-word names put in the place of others, all at once.

    >>> renamed("Did Ann see Anna's dog?", {"Ann": "Bob", "Anna": "Eve"})
    "Did Bob see Eve's dog?"
    """
    if not names:
        return text
    pattern = r"\b(" + "|".join(map(re.escape, names)) + r")\b"
    return re.sub(pattern, lambda match: names[match[1]], text)
