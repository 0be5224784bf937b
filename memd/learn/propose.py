"""Propose the lesson of a failure by rule, from its error, tools and retries (SPEC D8). Pure.

A rule is the pattern of one kind of error with advice. The lesson of an unknown error has what
was tried, and the cure if one was reported. The same rules make lessons of the fixes that naps
see (:func:`proposal_of`).
"""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from memd.domain.learn import (
    DISCOVERY_CHARS_MAX,
    FAILURE_SOURCE,
    TIER_CHARS_MAX,
    FailedTaskType,
    FailureAnalysisPayload,
    ProceduralMemoryProposal,
    TerminationReason,
)
from memd.learn.tiers import REDACTED, as_tiers, one_line, sanitise_error
from memd.store.learn.learnings import LessonRow
from memd.store.learn.playbook import FixRow

CONFIDENCE_TITLE_ONLY = 0.4
"""The confidence if only the task's title is known."""
CONFIDENCE_UNKNOWN = 0.5
"""The confidence if the error matches no rule."""
CONFIDENCE_KNOWN = 0.6
"""The confidence if the error matches a rule."""
CONFIDENCE_CURED = 0.3
"""Added to the confidence if a cure is known."""
_TITLE_CHARS = 120
_CURE_CHARS = 1_500
_DISCOVERED_CURE_CHARS = 160  # of a cure in the discovery tier
_REPEATS_MIN = 3  # calls of one tool in a row that the rationale mentions


class _Rule(NamedTuple):
    tag: str
    shape: re.Pattern[str]
    advice: str
    steps: tuple[str, ...]


def _rule(tag: str, shape: str, advice: str, *steps: str) -> _Rule:
    return _Rule(tag, re.compile(shape, re.IGNORECASE), advice, steps)


_RULES = (
    _rule("missing-module",
          r"ModuleNotFoundError|ImportError|No module named|Cannot find module|MODULE_NOT_FOUND"
          r"|unresolved import|no required module provides",
          "check that the dependency is declared, and installed in the environment of the command",
          "Find out which environment runs the command.",
          "Install the dependency there, and declare it.", "Run the command again."),
    _rule("missing-command",
          r"command not found|not recognized as|executable file not found|No such command",
          "check that the program is installed and on the PATH before calling it",
          "Check which program is available (command -v).",
          "Install it, or use one that is available."),
    _rule("missing-file",
          r"No such file|FileNotFound|ENOENT|does not exist|cannot find the (?:file|path)",
          "check the working directory and list the folder before using a path",
          "Print the working directory.", "List the folder.",
          "Use the path that the listing shows."),
    _rule("permission", r"permission denied|EACCES|EPERM|not permitted|forbidden|\b403\b",
          "check who owns the file and which user runs the command; ask before raising privileges",
          "Check the owner and the mode.",
          "Use a path that you may write to, or ask for permission."),
    _rule("authentication",
          r"unauthori[sz]ed|\b401\b|authentication failed|invalid (?:api key|credentials|token)",
          "check the credentials for this service before repeating the call",
          "Check which credentials are used.",
          "Ask for valid credentials; retrying does not help."),
    _rule("rate-limit", r"rate.?limit|too many requests|\b429\b|quota|overloaded",
          "wait longer between calls and make fewer of them, instead of retrying at once",
          "Wait as long as the response says, or double the wait each time.", "Batch the calls."),
    _rule("timeout", r"time[d]?[ -]?out|deadline exceeded|ETIMEDOUT",
          "run it in smaller steps or in the background, with a longer timeout",
          "Find the slow part.", "Run it alone, with a longer timeout."),
    _rule("connection",
          r"connection (?:refused|reset)|ECONNREFUSED|could not connect|Name or service not known"
          r"|network is unreachable|no port \d+",
          "check that the service is running and listening on the expected address",
          "Check whether the service is running.", "Start it and wait until it responds.",
          "Retry."),
    _rule("port-in-use", r"address already in use|EADDRINUSE|port .{0,20}in use",
          "find the process that uses the port, and stop it or use another port",
          "Find out which process listens on the port.", "Stop it, or choose another port."),
    _rule("out-of-memory", r"out of memory|MemoryError|OOM|heap limit|Cannot allocate",
          "process the input in parts", "Split the input.", "Process one part at a time."),
    _rule("disk-full", r"No space left|ENOSPC|disk (?:is )?full|quota exceeded",
          "free disk space before writing anything", "Find the file system that is full.",
          "Free space on it."),
    _rule("edit-mismatch",
          r"String to replace not found|old_str(?:ing)?\b.{0,60}(?:not found|multiple)"
          r"|did not appear verbatim|has not been read yet|modified since read"
          r"|patch (?:failed|does not apply)"
          r"|Found \d+ matches",
          "read the file again just before the edit, and match its text exactly, in one place",
          "Read the part of the file to change.",
          "Copy the old text exactly, with enough context to be unique.", "Make the edit."),
    _rule("syntax", r"SyntaxError|IndentationError|syntax error|unexpected token|unexpected indent"
          r"|E999|parse error|expected ['\"`;)}]|introduced new syntax error",
          "check the indentation and the lines around the edit, and parse the file before going on",
          "Look at the lines around the error.", "Correct them.", "Check the syntax."),
    _rule("merge-conflict",
          r"merge conflict|CONFLICT \(|non-fast-forward|rejected.{0,40}fetch first"
          r"|unmerged|would be overwritten",
          "update the branch and resolve conflicts by hand before the next push",
          "Fetch.", "Rebase or merge, and resolve the conflicts.", "Push."),
    _rule("test-failure",
          r"AssertionError|\d+ failed|FAIL(?:ED)?\b|expected .{0,80}(?:got|but|received|to)",
          "run the failing test alone and compare expected and actual values before changing code",
          "Run the failing test alone.", "Compare the expected with the actual value.",
          "Fix the cause.", "Run all tests."),
    _rule("undefined-name",
          r"NameError|is not defined|undefined: |undefined ref"
          r"|ReferenceError|cannot find symbol|has no (?:attribute|field)|AttributeError",
          "look up the definition of the name in the version in use",
          "Search for the definition.", "Use the name and the import path that it has."),
    _rule("type-error",
          r"TypeError|type mismatch|cannot use .{0,60} as|not assignable|error TS\d|mypy",
          "check the signature before writing the call",
          "Look up the signature.", "Pass arguments of the types that it takes."),
    _rule("bad-json", r"JSONDecodeError|invalid json|Unexpected end of JSON|not valid json",
          "look at the raw text before parsing it", "Print the beginning of the raw text.",
          "Fix what produces it, or parse the format that it really has."),
    _rule("bad-value",
          r"ValueError|KeyError|IndexError|out of range|invalid (?:argument|value|option)"
          r"|unrecognized (?:argument|option)|unknown (?:option|flag|argument)|usage:",
          "check the allowed values (--help, the existing keys) before the call",
          "Print the allowed values.", "Use one of them."),
)  # fmt: skip
_TERMINATIONS = {
    TerminationReason.MAX_TURNS: (
        "ran out of turns", "split the task, and check the result after each part"),
    TerminationReason.BUDGET_EXHAUSTED: (
        "ran out of its budget", "start with the parts that matter, and read less at a time"),
    TerminationReason.STAGNATION: (
        "made no more progress", "change the approach after two attempts without progress"),
}  # fmt: skip


def kind_of_error(error: str) -> str | None:
    """Return the tag of the rule that matches *error*, or None.

    >>> kind_of_error("bash: jq: command not found"), kind_of_error("it broke")
    ('missing-command', None)
    """
    rule = _find_rule(error)
    return rule.tag if rule else None


def propose(payload: FailureAnalysisPayload) -> ProceduralMemoryProposal | None:
    """Return the lesson of *payload*, None if there is nothing to learn.

    The confidence grows with what is known; with nothing but a title it is below 0.5.
    """
    cure = one_line(payload.mended_by or "", _CURE_CHARS)
    if payload.termination_reason is TerminationReason.COMPLETED and not cure:
        return None
    error = sanitise_error(payload.error_message)
    is_error = error != REDACTED
    rule = _find_rule(error) if is_error else None
    termination = _TERMINATIONS.get(payload.termination_reason)
    title = one_line(payload.task_title, _TITLE_CHARS)
    failure = f"fails with: {error}" if is_error else (termination[0] if termination else "fails")
    advice = rule.advice if rule else (termination[1] if termination else _default_advice(payload))
    instruction = f"{advice[0].upper()}{advice[1:]}"
    confidence = (
        CONFIDENCE_KNOWN
        if rule or termination
        else CONFIDENCE_UNKNOWN
        if is_error or payload.missing_capability
        else CONFIDENCE_TITLE_ONLY
    )
    hint = (
        f"What cured it: {one_line(cure, _DISCOVERED_CURE_CHARS)}"
        if cure
        else f"Next time {advice}."
    )
    return ProceduralMemoryProposal(
        discovery=one_line(f"When {title} {failure}. {hint}", DISCOVERY_CHARS_MAX),
        condition=one_line(_condition(payload, error if is_error else "", title), TIER_CHARS_MAX),
        action=one_line(
            " ".join(map(_sentence, filter(None, [cure, instruction]))), TIER_CHARS_MAX
        ),
        rationale=one_line(_rationale(payload, cure), TIER_CHARS_MAX),
        execution_steps=((cure,) if cure else ()) + (rule.steps if rule else ()),
        confidence=round(min(1.0, confidence + (CONFIDENCE_CURED if cure else 0.0)), 2),
        tags=tuple(_tags(payload, rule)),
    )


def _find_rule(error: str) -> _Rule | None:
    return next((rule for rule in _RULES if rule.shape.search(error)), None)


def _default_advice(payload: FailureAnalysisPayload) -> str:
    if payload.missing_capability:
        lacking = one_line(payload.missing_capability, _TITLE_CHARS)
        other = " or reassign the task to an agent that has it" if payload.can_reassign else ""
        return f"make sure that {lacking} is available first{other}"
    return "read the whole error message before the next attempt, and change one thing at a time"


def _condition(payload: FailureAnalysisPayload, error: str, title: str) -> str:
    parts = [f"{title} ({payload.task_type.value})."]
    if error:
        parts.append(f"The error reads: {error}.")
    if payload.error_category != "unknown":
        parts.append(f"Error category: {payload.error_category}.")
    tools = list(dict.fromkeys(payload.tool_calls_made))[:10]
    if tools:
        parts.append(f"Tools: {', '.join(tools)}.")
    return " ".join(parts)


def _rationale(payload: FailureAnalysisPayload, cure: str) -> str:
    ended = payload.termination_reason.value.replace("_", " ")
    parts = [f"It ended with {ended!r} after {payload.turn_count} turns"
             f" and {payload.retry_count} of {payload.max_retries} retries."]  # fmt: skip
    runs = ((tool, sum(1 for _ in same)) for tool, same in groupby(payload.tool_calls_made))
    tool, times = max(runs, key=itemgetter(1), default=("", 0))
    if times >= _REPEATS_MIN:
        parts.append(f"{tool} was called {times} times in a row: repeating it did not help.")
    if payload.retry_count and payload.retry_count == payload.max_retries:
        parts.append("All retries were used: repeating the same attempt fails the same way.")
    parts.append("The cure worked." if cure else "No cure is known yet: this is a first step.")
    return " ".join(parts)


def _tags(payload: FailureAnalysisPayload, rule: _Rule | None) -> list[str]:
    tags = [rule.tag] if rule else []
    if payload.termination_reason in _TERMINATIONS:
        tags.append(payload.termination_reason.value)
    if payload.error_category != "unknown":
        tags.append(payload.error_category)
    return [*tags, payload.task_type.value]


def _sentence(text: str) -> str:
    """Return *text* with a full stop; a lower-case start stays, as it may be a command."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


# The format of sleep/distil/agent/fixes.py, which cuts a long text after a sentence.
_FIX = re.compile(
    r"(?P<command>.+?) failed: (?P<error>.+?)"
    r"(?: Changed (?P<changed>.+?)\.)?(?: Ran (?P<ran>.+?)\.)?"
    r"(?P<end> It passes now\.| Passes now: (?P<passes>.+))?",
    re.DOTALL,
)
_NEXT_SENTENCE = re.compile(r"(?<=[.!]) (?=[A-Z`'\"])|(?<=\S…) ")
_COMMAND_CHARS = 120
_FIX_CHARS = 1_000  # twice what a nap writes; other memories with its tags may be longer
_RATIONALE = "The command failed in a session and passed later; this is what was done in between."


def proposal_of(fix: str) -> ProceduralMemoryProposal | None:
    """Return the lesson of a fix, a text that a nap wrote; None for another text.

    After "failed:", the first sentence is the error, the others are the reason. The cure is what
    was changed or run, or the reason if that is missing.

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
    error = sanitise_error(first.rstrip("."))
    reason = one_line("".join(others), TIER_CHARS_MAX)
    command = one_line(match["command"], _COMMAND_CHARS)
    steps = [f"{word} {match[part]}." for word, part in (("Change", "changed"), ("Run", "ran"))
            if match[part]]  # fmt: skip
    rerun = f"Run {match['passes'] or command}."
    cure = " ".join(steps) or (rerun if match["passes"] else reason)
    if not cure:
        return None
    if cure == reason:
        reason = ""
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
