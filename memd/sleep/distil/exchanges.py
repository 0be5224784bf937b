"""A session as its exchanges: what the user wrote, and what the agent did until they wrote again.

The unit in which a session is remembered: a short answer is understood only with
what it answers, an error only with what cured it, and both stand close together.
``Candidate`` is what a nap may remember of it, and how much that is worth. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from memd.domain.enums import Origin
from memd.sleep.distil.language.phrases import THOUGHT
from memd.sleep.nap.blocks import ToolResult, call_arguments, parse_turn
from memd.sleep.nap.facts import HEADER

BEFORE_TEXTS = 3
_USER_ROLES = frozenset({"user", "human"})
_INSTRUCTING_ROLES = frozenset({"system", "developer"})


PLAN_SLOT = "-plan"
"""How the slot of a plan that the user pasted ends."""
NOTHING_JUDGED: Mapping[str, float] = MappingProxyType({})


class AgentText(NamedTuple):
    """A text of the agent, and the place of its message in the list.

    *worths* are the log-odds of its sentences that they are worth telling, by their texts; a
    sentence that no model judged has none. *in_memory* is what each adds to the worth of a memory.
    """

    place: int
    text: str
    worths: Mapping[str, float] = NOTHING_JUDGED
    in_memory: Mapping[str, float] = NOTHING_JUDGED


class Run(NamedTuple):
    """One call of a tool and its answer, None while there is none.

    *given* is what it was called with: an object, or the text that the program sent.
    """

    place: int
    call_id: str
    tool: str
    given: object
    result: str | None = None


@dataclass(slots=True)
class Exchange:
    """One message of the user up to the next; *place* and *end* are its first and last message.

    *before* are the last texts that the agent wrote before it, oldest first. What
    stands before the first message of the user has the *user* "".
    """

    place: int
    user: str
    before: tuple[AgentText, ...] = ()
    texts: list[AgentText] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    end: int = 0


def split_exchanges(messages: Sequence[Mapping[str, Any]]) -> tuple[Exchange, ...]:
    """Return the exchanges of *messages* in order.

    The summary of an earlier nap, what a program instructs its model with, and what an agent
    only thought ("The user wants to ...") are in none.

    >>> [each.user for each in split_exchanges([{"role": "user", "content": "use tabs"}])]
    ['use tabs']
    """
    made: list[Exchange] = []
    lately: deque[AgentText] = deque(maxlen=BEFORE_TEXTS)
    for place, message in enumerate(messages):
        now = parse_turn(message)
        if now.text.startswith(HEADER) or now.role in _INSTRUCTING_ROLES:
            continue
        by_user = now.role in _USER_ROLES and bool(now.text.strip())
        if by_user or not made:
            made.append(Exchange(place, now.text if by_user else "", tuple(lately)))
        current = made[-1]
        current.end = place
        if not by_user and now.text.strip() and not THOUGHT.match(now.text):
            lately.append(AgentText(place, now.text))
            current.texts.append(lately[-1])
        for call, texts in zip(now.calls, call_arguments(message), strict=False):
            current.runs.append(Run(place, call.id, call.name, texts))
        for result in now.results:
            _attach_result(current.runs, result, place)
    return tuple(made)


def _attach_result(runs: list[Run], result: ToolResult, place: int) -> None:
    """Give *result* to the run that it answers; what was called before the exchange is its own.

    An id is that of the nearest call (``pair_results``); without one the first open run counts.
    """
    for at in reversed(range(len(runs))) if result.id else range(len(runs)):
        if runs[at].result is None and (not result.id or runs[at].call_id == result.id):
            runs[at] = runs[at]._replace(result=result.text)
            return
    runs.append(Run(place, result.id, result.name, None, result.text))


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


class NapMemory(NamedTuple):
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

    *fills* says that it takes only room which others leave, *by_model* that no rule speaks for it.
    """

    memory: NapMemory
    score: float
    fills: bool = False
    by_model: bool = False
