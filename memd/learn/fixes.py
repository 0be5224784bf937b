"""What a nap saw cured, as a lesson in tiers, by the same rules as a reported failure. Pure."""

from __future__ import annotations

import re

from memd.domain.learn import (
    DISCOVERY_CHARS_MAX,
    FAILURE_SOURCE,
    TIER_CHARS_MAX,
    FailedTaskType,
    ProceduralMemoryProposal,
)
from memd.learn.propose import KNOWN, MENDED, UNKNOWN, kind_of_error
from memd.learn.sanitise import sanitised_error
from memd.learn.tiers import as_tiers, one_line
from memd.store.learn.lessons import LessonRow
from memd.store.learn.playbook import FixRow

# As sleep/distil/fixes.py tells it; what was too long ends after a sentence.
_FIX = re.compile(
    r"(?P<command>.+?) failed: (?P<told>.+?)"
    r"(?: Changed (?P<changed>.+?)\.)?(?: Ran (?P<ran>.+?)\.)?"
    r"(?P<end> It passes now\.| Passes now: (?P<passes>.+))?",
    re.DOTALL,
)
_NEXT_SENTENCE = re.compile(r"(?<=[.!]) (?=[A-Z`'\"])|(?<=\S…) ")
_COMMAND_CHARS = 120
_FIX_CHARS = 1_000  # twice what a nap tells: whoever bears its tags may be long
_RATIONALE = (
    "The command failed in a session and passed later in it; this is what was done between."
)


def proposal_of(fix: str) -> ProceduralMemoryProposal | None:
    """Return the lesson of the text of a fix, None where it is none.

    The error is its first sentence, what stands between it and the cure is why. A fix of
    which neither a change nor a command is told is cured by what the reason says.

    >>> found = proposal_of("npm test failed: no port 6380. Ran docker compose up. It passes now.")
    >>> found.discovery, found.confidence
    ('When npm test fails with: no port 6380. What cured it: run docker compose up.', 0.9)
    >>> found.execution_steps
    ('Run docker compose up.', 'Run npm test.')
    """
    match = _FIX.fullmatch(fix) if len(fix) <= _FIX_CHARS else None
    if match is None or not (match["changed"] or match["ran"] or match["end"]):
        return None
    first, *others = _NEXT_SENTENCE.split(match["told"], maxsplit=1)
    error, why = sanitised_error(first.rstrip(".")), one_line("".join(others), TIER_CHARS_MAX)
    command = one_line(match["command"], _COMMAND_CHARS)
    done = [f"{word} {match[part]}." for word, part in (("Change", "changed"), ("Run", "ran"))
            if match[part]]  # fmt: skip
    again = f"Run {match['passes'] or command}."
    cure = " ".join(done) or (again if match["passes"] else why)
    if not cure:
        return None
    reason = "" if cure == why else why
    cured = f"What cured it: {cure[0].lower()}{cure[1:]}"
    kind = kind_of_error(error)
    return ProceduralMemoryProposal(
        discovery=one_line(
            f"When {command} fails with: {error}. {reason} {cured}", DISCOVERY_CHARS_MAX
        ),
        condition=one_line(f"{command} fails. The error reads: {error}.", TIER_CHARS_MAX),
        action=one_line(cure, TIER_CHARS_MAX),
        rationale=one_line(f"{reason} {_RATIONALE}", TIER_CHARS_MAX),
        execution_steps=tuple(one_line(step, TIER_CHARS_MAX) for step in (*done, again)),
        confidence=round((KNOWN if kind else UNKNOWN) + MENDED, 2),
        tags=(*filter(None, [kind]), FailedTaskType.DEVELOPMENT.value),
    )


def as_lesson(row: FixRow) -> LessonRow | None:
    """Return a nap's memory of a cure as a lesson, None where its text is none."""
    proposal = proposal_of(row.content)
    if proposal is None:
        return None
    return LessonRow(
        memory_key=row.memory_key,
        memory_id=row.memory_id,
        discovery=proposal.discovery,
        text=as_tiers(proposal),
        source=f"{FAILURE_SOURCE}{row.session_id or row.memory_id}",
        confidence=proposal.confidence,
        trust=row.trust,
        created_at_us=row.created_at_us,
        of_nap=True,
    )
