"""What a nap may remember of a session: memories, and how much each is worth. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from memd.domain.enums import Origin


class NapKind(StrEnum):
    """What a memory of a nap is; also its tag."""

    DECISION = "decision"
    CORRECTION = "correction"
    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    ENVIRONMENT = "environment"
    FIX = "fix"
    OUTCOME = "outcome"
    DIGEST = "digest"


class Distilled(NamedTuple):
    """One memory of a session.

    *places* are the messages it is made of, the one it is about first. *slot* names what
    it is about within the session: a later nap that says something else of the same slot
    replaces it. *origin* is that of the least trusted of its words.
    """

    text: str
    kind: NapKind
    places: tuple[int, ...]
    slot: str
    origin: Origin


class NapCandidate(NamedTuple):
    """A memory and its *score*, 0 to 1: the best ones of a stretch of the session are kept.

    *fills* says that it takes only room which others leave.
    """

    memory: Distilled
    score: float
    fills: bool = False
