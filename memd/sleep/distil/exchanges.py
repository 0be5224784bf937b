"""Split a session into exchanges: a message of the user and the agent's work after it. Pure.

Memories are made of exchanges, because a short answer needs the question before it, and an error
the fix after it. ``NapMemory`` is a memory of a session, ``NapCandidate`` one with its score.
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
from memd.guard.forget_requests import is_forget_request
from memd.guard.privacy import asks_for_privacy
from memd.sleep.distil.language.phrases import THOUGHT
from memd.sleep.transcript.blocks import ToolResult, call_arguments, parse_turn
from memd.sleep.transcript.facts import HEADER, USER_ROLES
from memd.sleep.transcript.messages import Message
from memd.text.alternations import Phrases

BEFORE_TEXTS = 3
"""The number of the agent's texts before a message that it may answer."""
_INSTRUCTING_ROLES = frozenset({"system", "developer"})
# Claude Code's result of a call that the user refused, so it never ran.
_NEVER_RAN = Phrases(
    r"The user doesn't want to (?:proceed with this tool use|take this action)"
    r"|(?:\w{0,40}Error: )?The user rejected permission to use "
    r"|Permission to use \S{1,80}(?: with command .{1,2000}?)? has been denied"
    r"|Claude requested permissions? to ",
    re.DOTALL,
)
_PRIVATE_CHARS = 2000  # the beginning of a message; a longer one was pasted
_EXIT_CODE = "Exit code"
_EXIT_CHARS = 300
# A line that programs add below the output of a command: "[exit code 2]".
_EXIT_BELOW = re.compile(
    r"(?:[\[(]|(?:^|\n)[^\w\n\"']{0,3})exit[ _]?code\W{1,3}(\d{1,10})\W{0,3}$", re.IGNORECASE
)
# A field of a result that is an object: {"stdout": "", "exitCode": 2}.
_EXIT_FIELD = re.compile(r"""["']exit_?code["']:\s?-?(\d{1,10})""", re.IGNORECASE)


PLAN_SLOT = "-plan"
"""The suffix of the slot of a plan that the user pasted."""
NOTHING_JUDGED: Mapping[str, float] = MappingProxyType({})


class AgentText(NamedTuple):
    """A text of the agent, and the *place* of its message in the list.

    *worths* are the log-odds that a sentence is part of an outcome, by its text, for those that a
    model judged. *in_memory* is what each adds to the worth of a memory. A memory with a *plain*
    sentence is always worth keeping.
    """

    place: int
    text: str
    worths: Mapping[str, float] = NOTHING_JUDGED
    in_memory: Mapping[str, float] = NOTHING_JUDGED
    plain: frozenset[str] = frozenset()


class ToolRun(NamedTuple):
    """One call of a tool; *result* is the text of its answer, None without one.

    *arguments* are an object, or text; None if the user refused the call. The result
    begins with "Exit code N" if the program recorded the failure in any other way.
    """

    place: int
    call_id: str
    tool: str
    arguments: object
    result: str | None = None


@dataclass(slots=True)
class Exchange:
    """A message of the user and what follows up to the next.

    *place* and *end* are the places of its first and last message. *before* are the agent's last
    texts before it, oldest first, and *previous* is the place and text of the exchange before.
    Messages before the first one of the user are an exchange with the *user* "".
    """

    place: int
    user: str
    before: tuple[AgentText, ...] = ()
    texts: list[AgentText] = field(default_factory=list)
    runs: list[ToolRun] = field(default_factory=list)
    end: int = 0
    previous: tuple[int, str] = (0, "")

    def append(self, later: Exchange) -> None:
        """Add what the agent did in *later*."""
        self.texts += later.texts
        self.runs += later.runs
        self.end = later.end


def without_private(messages: Sequence[Message], *, forgets: bool = False) -> list[Message]:
    """Return *messages*, those that the user asked not to remember without their content.

    Blank are the message that asks for it, the one before if it says nothing else ("keep this
    between us"), and the agent's answers to both. So are the answers to messages that only ask to
    forget something, and with *forgets* these messages, which a nap reads, as they may end a wish.
    Places do not change.
    """
    own: list[int] = []
    private: set[int] = set()
    readable: set[int] = set()
    for place, message in enumerate(messages):
        turn = parse_turn(message)
        if turn.role not in USER_ROLES or not turn.text.strip():
            continue
        text = turn.text[:_PRIVATE_CHARS]
        privacy = asks_for_privacy(text)
        if privacy.is_asked:
            private |= {place, *(own[-1:] if privacy.is_all else ())}
        elif is_forget_request(text):
            private.add(place)
            readable |= set() if forgets else {place}
        own.append(place)
    ends = dict(pairwise([*own, len(messages)]))
    blank = {each for place in private for each in range(place, ends[place])} - readable
    return [
        {**message, "content": ""} if place in blank else message
        for place, message in enumerate(messages)
    ]


def split_exchanges(messages: Sequence[Mapping[str, Any]]) -> tuple[Exchange, ...]:
    """Return the exchanges of *messages* in order.

    Summaries of earlier naps, system messages, and thoughts of the agent ("The user wants to ...")
    are skipped.

    >>> [exchange.user for exchange in split_exchanges([{"role": "user", "content": "use tabs"}])]
    ['use tabs']
    """
    exchanges: list[Exchange] = []
    recent: deque[AgentText] = deque(maxlen=BEFORE_TEXTS)
    for place, message in enumerate(messages):
        now = parse_turn(message)
        if now.text.startswith(HEADER) or now.role in _INSTRUCTING_ROLES:
            continue
        by_user = now.role in USER_ROLES and bool(now.text.strip())
        if by_user or not exchanges:
            previous = (exchanges[-1].place, exchanges[-1].user) if exchanges else (0, "")
            exchanges.append(
                Exchange(place, now.text if by_user else "", tuple(recent), previous=previous)
            )
        current = exchanges[-1]
        current.end = place
        if not by_user and now.text.strip() and not THOUGHT.match(now.text):
            recent.append(AgentText(place, now.text))
            current.texts.append(recent[-1])
        for call, texts in zip(now.calls, call_arguments(message), strict=False):
            current.runs.append(ToolRun(place, call.id, call.name, texts))
        for result in now.results:
            _attach_result(current.runs, result, place)
    return tuple(exchanges)


def _attach_result(runs: list[ToolRun], result: ToolResult, place: int) -> None:
    """Set *result* in the run that it answers, or append a run for a call before the exchange.

    An id matches the latest such call (``pair_results``); without an id it is the first run that
    has no result.
    """
    for at in reversed(range(len(runs))) if result.id else range(len(runs)):
        if runs[at].result is None and (not result.id or runs[at].call_id == result.id):
            given = None if _NEVER_RAN.match(result.text) else runs[at].arguments
            runs[at] = runs[at]._replace(arguments=given, result=result_text(result))
            return
    runs.append(ToolRun(place, result.id, result.name, None, result_text(result)))


def result_text(result: ToolResult) -> str:
    r"""Return the text of *result*, below a line "Exit code 0" or "1" if the outcome is recorded.

    A refusal of the user stays as it is, to be recognised.

    >>> result_text(ToolResult("", "Bash", "no route to host\n[exit code 2]"))
    'Exit code 1\nno route to host\n[exit code 2]'
    """
    failed = _tells_failure(result.text) if result.failed is None else result.failed
    if failed is None or result.text.startswith(_EXIT_CODE) or _NEVER_RAN.match(result.text):
        return result.text
    return f"{_EXIT_CODE} {failed:d}\n{result.text}"


def _tells_failure(text: str) -> bool | None:
    """Return whether the exit code in the last line or in a field is not 0, None without a code."""
    head, tail = text[:_EXIT_CHARS].lstrip(), text[-_EXIT_CHARS:].rstrip()
    code = _EXIT_BELOW.search(tail)
    if code is None and head.startswith("{"):
        code = _EXIT_FIELD.search(head) or _EXIT_FIELD.search(tail)
    return int(code[1]) != 0 if code else None


class NapKind(StrEnum):
    """The kind of a nap's memory; also its tag."""

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
"""The kinds of memories in users' words; an environment may also come from tools."""


class NapMemory(NamedTuple):
    """One memory of a session.

    *places* are the messages that it is made of, the main one first. *slot* is its subject within
    the session: another text of a later nap in the same slot replaces it. *origin* is that of the
    least trusted part of the text. *old_runners* are programs of commands that no longer exist.
    *is_everywhere*: it holds in every project.
    """

    text: str
    kind: NapKind
    places: tuple[int, ...]
    slot: str
    origin: Origin
    old_runners: tuple[str, ...] = ()
    is_everywhere: bool = False

    @property
    def users_words(self) -> str:
        """The part of the text that the user said, "" if all of it may be the agent's."""
        if self.origin is Origin.PERSON:
            return self.text
        return user_part(self.text) if is_answer(self.text) else ""


class NapCandidate(NamedTuple):
    """A memory and its *score*, 0 to 1: of each stretch of the session the best are kept.

    *fills*: it only takes room that others leave. *by_model*: only the model accepted it, no rule.
    """

    memory: NapMemory
    score: float
    fills: bool = False
    by_model: bool = False
