"""Turn a fix that a nap saw into a lesson, by the same rules as a reported failure. Pure."""

from __future__ import annotations

import re

from memd.domain.learn import (
    DISCOVERY_CHARS_MAX,
    FAILURE_SOURCE,
    TIER_CHARS_MAX,
    FailedTaskType,
    ProceduralMemoryProposal,
)
from memd.learn.propose import CONFIDENCE_CURED, CONFIDENCE_KNOWN, CONFIDENCE_UNKNOWN, kind_of_error
from memd.learn.sanitise import sanitise_error
from memd.learn.tiers import as_tiers, one_line
from memd.store.learn.lessons import LessonRow
from memd.store.learn.playbook import FixRow

# The format of sleep/distil/fixes.py; a text that was too long ends after a sentence.
_FIX = re.compile(
    r"(?P<command>.+?) failed: (?P<error>.+?)"
    r"(?: Changed (?P<changed>.+?)\.)?(?: Ran (?P<ran>.+?)\.)?"
    r"(?P<end> It passes now\.| Passes now: (?P<passes>.+))?",
    re.DOTALL,
)
_NEXT_SENTENCE = re.compile(r"(?<=[.!]) (?=[A-Z`'\"])|(?<=\S…) ")
_COMMAND_CHARS = 120
_FIX_CHARS = 1_000  # twice what a nap writes; other memories with its tags may be longer
_RATIONALE = (
    "The command failed in a session and passed later in it; this is what was steps between."
)


def proposal_of(fix: str) -> ProceduralMemoryProposal | None:
    """Return the lesson of a fix's text, None for another text.

    The error is the first sentence, the text up to the cure is the reason. Without a change or
    a command, the reason is the cure.

    >>> lesson = proposal_of("npm test failed: no port 6380. Ran docker compose up. It passes now.")
    >>> lesson.discovery, lesson.confidence
    ('When npm test fails with: no port 6380. What cured it: run docker compose up.', 0.9)
    >>> lesson.execution_steps
    ('Run docker compose up.', 'Run npm test.')
    """
    match = _FIX.fullmatch(fix) if len(fix) <= _FIX_CHARS else None
    if match is None or not (match["changed"] or match["ran"] or match["end"]):
        return None
    first, *others = _NEXT_SENTENCE.split(match["error"], maxsplit=1)
    error, why = sanitise_error(first.rstrip(".")), one_line("".join(others), TIER_CHARS_MAX)
    command = one_line(match["command"], _COMMAND_CHARS)
    steps = [f"{word} {match[part]}." for word, part in (("Change", "changed"), ("Run", "ran"))
            if match[part]]  # fmt: skip
    rerun = f"Run {match['passes'] or command}."
    cure = " ".join(steps) or (rerun if match["passes"] else why)
    if not cure:
        return None
    reason = "" if cure == why else why
    outcome = f"What cured it: {cure[0].lower()}{cure[1:]}"
    kind = kind_of_error(error)
    return ProceduralMemoryProposal(
        discovery=one_line(
            f"When {command} fails with: {error}. {reason} {outcome}", DISCOVERY_CHARS_MAX
        ),
        condition=one_line(f"{command} fails. The error reads: {error}.", TIER_CHARS_MAX),
        action=one_line(cure, TIER_CHARS_MAX),
        rationale=one_line(f"{reason} {_RATIONALE}", TIER_CHARS_MAX),
        execution_steps=tuple(one_line(step, TIER_CHARS_MAX) for step in (*steps, rerun)),
        confidence=round((CONFIDENCE_KNOWN if kind else CONFIDENCE_UNKNOWN) + CONFIDENCE_CURED, 2),
        tags=(*filter(None, [kind]), FailedTaskType.DEVELOPMENT.value),
    )


def as_lesson(row: FixRow) -> LessonRow | None:
    """Return a nap's memory of a fix as a lesson, None if its text has none."""
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
