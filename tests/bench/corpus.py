"""Made-up short memories, about thirty tokens each, and questions about them. Pure, seeded.

The words are ordinary ones in ordinary sentences; projects and tickets have names
of their own, so that the words index meets common and rare terms as in a real store.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

PEOPLE = [
    "Ada", "Ben", "Carla", "Dmitri", "Elena", "Farid", "Greta", "Hassan", "Ines", "Jonas", "Kim",
    "Lena", "Marek", "Nadia", "Oskar", "Priya", "Quentin", "Rosa", "Samir", "Tessa", "Umar", "Vera",
    "Wei", "Xenia", "Yusuf", "Zoe",
]  # fmt: skip
THINGS = [
    "deploy server", "release branch", "login page", "invoice service", "search index",
    "backup job", "test suite", "message queue", "cache", "database migration", "mobile app",
    "API gateway", "billing report", "design review", "team meeting", "kitchen", "garden",
    "bicycle", "birthday party", "train ticket", "guitar lesson", "passport", "apartment",
    "holiday plan", "dentist appointment", "coffee machine", "running club", "photo album",
    "language course", "tax form", "monitoring dashboard", "feature flag", "access token",
    "staging cluster", "log archive", "customer survey", "press release", "office lease",
    "parking permit", "book club",
]  # fmt: skip
DEEDS = [
    "moved", "repaired", "postponed", "cancelled", "finished", "started", "reviewed", "replaced",
    "documented", "tested", "forgot", "ordered", "explained", "cleaned up", "bought", "sold",
    "renamed", "shared", "rewrote", "measured", "approved", "rejected", "scheduled", "painted",
    "planned",
]  # fmt: skip
REASONS = [
    "the old one kept failing at night", "the customer asked for it twice",
    "nobody had time before", "it was cheaper than expected", "the weather was too bad",
    "the contract ends soon", "two people were ill", "it blocked everybody else",
    "the documentation was wrong", "the new version is much faster", "the key was lost",
    "the neighbours complained", "it has to be ready for the audit", "we agreed on it last spring",
    "the disk was almost full",
]  # fmt: skip
WHEN = [
    "on Monday", "last week", "yesterday", "in March", "two days ago", "before lunch",
    "at the end of the month", "in the summer of 2024", "this morning", "right after the call",
]  # fmt: skip
SYLLABLES = [
    "ka", "lo", "mi", "ren", "tu", "va", "so", "pel", "dor", "nix", "bra", "qui", "zan", "fy",
    "tro", "lum",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """One memory and a question about it."""

    text: str
    asked: str


def made(chance: random.Random, number: int) -> list[Made]:
    """Return *number* memories."""
    return [_one(chance) for _ in range(number)]


def _one(chance: random.Random) -> Made:
    who, other = chance.sample(PEOPLE, 2)
    thing, deed = chance.choice(THINGS), chance.choice(DEEDS)
    project = "".join(chance.choices(SYLLABLES, k=3)).capitalize()
    text = (
        f"{who} {deed} the {thing} of {project} {chance.choice(WHEN)} because"
        f" {chance.choice(REASONS)}, and {other} wants to hear about ticket"
        f" {chance.randrange(1, 20_000)} next."
    )
    asked = chance.choice(
        (
            f"Why was the {thing} of {project} {deed}?",
            f"What happened to the {thing} that {who} cares about?",
            f"Who {deed} the {thing}?",
            f"What does {other} want to know about {project}?",
        )
    )
    return Made(text, asked)
