"""A session as its exchanges: what the user wrote, and what the agent did until they wrote again.

The unit in which a session is remembered: a short answer is understood only with
what it answers, an error only with what cured it, and both stand close together.
``Candidate`` is what a nap may remember of it, and how much that is worth. Pure.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import is_answer, user_part
from memd.guard.privacy import asks_for_privacy
from memd.sleep.distil.language.phrases import THOUGHT
from memd.sleep.transcript.blocks import ToolResult, call_arguments, parse_turn
from memd.sleep.transcript.facts import HEADER, USER_ROLES
from memd.sleep.transcript.messages import Message
from memd.text.alternations import Phrases

BEFORE_TEXTS = 3
_INSTRUCTING_ROLES = frozenset({"system", "developer"})
# How Claude Code answers a call in the user's name that never ran.
_NEVER_RAN = Phrases(
    r"The user doesn't want to (?:proceed with this tool use|take this action)"
    r"|Permission to use \S{1,80}(?: with command .{1,2000}?)? has been denied"
    r"|Claude requested permissions? to ",
    re.DOTALL,
)
_PRIVATE_CHARS = 2000  # what is longer was not typed
_EXIT_CODE = "Exit code"
_EXIT_CHARS = 300
# How programs end what a command printed: "[exit code 2]".
_EXIT_BELOW = re.compile(
    r"(?:[\[(]|(?:^|\n)[^\w\n\"']{0,3})exit[ _]?code\W{1,3}(\d{1,10})\W{0,3}$", re.IGNORECASE
)
# A field of a result that is an object: {"stdout": "", "exitCode": 2}.
_EXIT_FIELD = re.compile(r"""["']exit_?code["']:\s?-?(\d{1,10})""", re.IGNORECASE)


PLAN_SLOT = "-plan"
"""How the slot of a plan that the user pasted ends."""
NOTHING_JUDGED: Mapping[str, float] = MappingProxyType({})


class AgentText(NamedTuple):
    """A text of the agent, and the place of its message in the list.

    *worths* are the log-odds of its sentences that they are worth telling, by their texts; a
    sentence that no model judged has none. *in_memory* is what each adds to the worth of a memory;
    those that are *plain* are worth one whatever it is.
    """

    place: int
    text: str
    worths: Mapping[str, float] = NOTHING_JUDGED
    in_memory: Mapping[str, float] = NOTHING_JUDGED
    plain: frozenset[str] = frozenset()


class Run(NamedTuple):
    """One call of a tool and its answer, None while there is none.

    *given* is what it was called with: an object, or the text that the program sent; None where
    the user refused the call, which did nothing. Whether it failed stands at the head of *result*
    where the program tells it elsewhere: "Exit code 1".
    """

    place: int
    call_id: str
    tool: str
    given: object
    result: str | None = None


@dataclass(slots=True)
class Exchange:
    """One message of the user up to the next; *place* and *end* are its first and last message.

    *before* are the last texts that the agent wrote before it, oldest first, and *previous* is what
    the user wrote before these. What stands before the first message of the user has the *user* "".
    """

    place: int
    user: str
    before: tuple[AgentText, ...] = ()
    texts: list[AgentText] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    end: int = 0
    previous: tuple[int, str] = (0, "")


def without_private(messages: Sequence[Message]) -> list[Message]:
    """Return *messages* with those blank that somebody asked not to remember, in the same places.

    That is the message that asks it, the one before it where it says nothing else ("keep this
    between us"), and all that an agent answered to either.
    """
    own: list[int] = []
    private: set[int] = set()
    for place, message in enumerate(messages):
        turn = parse_turn(message)
        if turn.role not in USER_ROLES or not turn.text.strip():
            continue
        privacy = asks_for_privacy(turn.text[:_PRIVATE_CHARS])
        if privacy.is_asked:
            private |= {place, *(own[-1:] if privacy.is_all else ())}
        own.append(place)
    ends = dict(pairwise([*own, len(messages)]))
    blank = {each for place in private for each in range(place, ends[place])}
    return [
        {**message, "content": ""} if place in blank else message
        for place, message in enumerate(messages)
    ]


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
        by_user = now.role in USER_ROLES and bool(now.text.strip())
        if by_user or not made:
            previous = (made[-1].place, made[-1].user) if made else (0, "")
            made.append(
                Exchange(place, now.text if by_user else "", tuple(lately), previous=previous)
            )
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
            given = None if _NEVER_RAN.match(result.text) else runs[at].given
            runs[at] = runs[at]._replace(given=given, result=_result_text(result))
            return
    runs.append(Run(place, result.id, result.name, None, _result_text(result)))


def _result_text(result: ToolResult) -> str:
    r"""Return the text of *result* below its exit code, which programs tell in their own ways.

    >>> _result_text(ToolResult("", "Bash", "no route to host\n[exit code 2]"))
    'Exit code 1\nno route to host\n[exit code 2]'
    """
    failed = _tells_failure(result.text) if result.failed is None else result.failed
    if failed is None or result.text.startswith(_EXIT_CODE):
        return result.text
    return f"{_EXIT_CODE} {failed:d}\n{result.text}"


def _tells_failure(text: str) -> bool | None:
    """Return whether the exit code at the end of *text*, or in its fields, is none but 0."""
    head, tail = text[:_EXIT_CHARS].lstrip(), text[-_EXIT_CHARS:].rstrip()
    code = _EXIT_BELOW.search(tail)
    if code is None and head.startswith("{"):
        code = _EXIT_FIELD.search(head) or _EXIT_FIELD.search(tail)
    return int(code[1]) != 0 if code else None


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


USERS_KINDS = frozenset(
    {NapKind.DECISION, NapKind.CORRECTION, NapKind.PREFERENCE, NapKind.CONSTRAINT}
    | {NapKind.ENVIRONMENT}
)
"""What users tell; an environment is also what tools show."""


class NapMemory(NamedTuple):
    """One memory of a session.

    *places* are the messages it is made of, the one it is about first. *slot* names what
    it is about within the session: a later nap that says something else of the same slot
    replaces it. *origin* is that of the least trusted of its words. *gone* are the runners
    of commands that the session showed to be no more. *is_everywhere* says that it holds in
    whatever project.
    """

    text: str
    kind: NapKind
    places: tuple[int, ...]
    slot: str
    origin: Origin
    gone: tuple[str, ...] = ()
    is_everywhere: bool = False

    @property
    def users_words(self) -> str:
        """What of the text the user said, "" where it may be the agent's."""
        if self.origin is Origin.PERSON:
            return self.text
        return user_part(self.text) if is_answer(self.text) else ""


class NapCandidate(NamedTuple):
    """A memory and its *score*, 0 to 1: the best ones of a stretch of the session are kept.

    *fills* says that it takes only room which others leave, *by_model* that no rule speaks for it.
    """

    memory: NapMemory
    score: float
    fills: bool = False
    by_model: bool = False
