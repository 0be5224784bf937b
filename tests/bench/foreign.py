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

from bench.locomo import Dialogue

PER_DIALOGUE = 100
SEED = 7
STRANGERS = ("Priscilla", "Thaddeus", "Ottoline", "Barnaby")

OTHER_DOMAINS = (
    "How do I reverse a linked list in place?",
    "Why does my Rust code say the value was moved?",
    "What is the difference between a mutex and a semaphore?",
    "How do I squash the last three commits in git?",
    "Which port does PostgreSQL listen on by default?",
    "How can I profile memory usage of a Python process?",
    "What does the volatile keyword mean in C?",
    "How do I configure a reverse proxy with TLS certificates?",
    "Why is the build failing with an undefined reference at link time?",
    "What is the time complexity of Dijkstra's algorithm with a binary heap?",
    "How long should I boil eggs for a soft yolk?",
    "What temperature is right for roasting a leg of lamb?",
    "How do I keep hollandaise sauce from splitting?",
    "Which flour is best for sourdough bread?",
    "What can replace buttermilk in a pancake recipe?",
    "How far away is the Andromeda galaxy?",
    "What keeps the rings of Saturn in place?",
    "How do astronomers measure the mass of a black hole?",
    "When is the next total solar eclipse visible from Spain?",
    "What is the surface temperature of Venus?",
    "Who signed the Treaty of Westphalia?",
    "What caused the fall of Constantinople?",
    "In which century was the printing press invented?",
    "How does a diesel engine differ from a petrol engine?",
    "What is the boiling point of ethanol?",
    "How do vaccines train the immune system?",
    "What is the capital of Mongolia?",
    "How does compound interest work on a savings account?",
    "What is the statute of limitations for a contract dispute?",
    "How do I file a quarterly VAT return?",
    "Which amendment guarantees the freedom of the press?",
    "How is the consumer price index calculated?",
    "What is the offside rule in football?",
    "How do I bleed the brakes of a mountain bike?",
    "What tyre pressure does a 2015 Golf need?",
    "How do I remove limescale from a kettle?",
    "What is the half-life of caffeine?",
    "How do glaciers shape valleys?",
    "Which enzyme unwinds DNA during replication?",
    "What is the proof of the Pythagorean theorem?",
    "How do I solve a quadratic equation by completing the square?",
    "Why does the integral of one over x diverge?",
)


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
