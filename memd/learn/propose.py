"""Propose the lesson of a failure by rule, from its error, tools and retries (SPEC D8). Pure.

Each rule has the pattern of one kind of error, and advice. An unknown error still makes a
lesson, with what was tried and what cured it, if that was reported.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

from memd.domain.learn import (
    DISCOVERY_CHARS_MAX,
    TIER_CHARS_MAX,
    FailureAnalysisPayload,
    ProceduralMemoryProposal,
    TerminationReason,
)
from memd.learn.sanitise import REDACTED, sanitise_error
from memd.learn.tiers import one_line

CONFIDENCE_UNKNOWN, CONFIDENCE_KNOWN, CONFIDENCE_CURED, CONFIDENCE_TITLE_ONLY = 0.5, 0.6, 0.3, 0.4
"""Of an unknown error, of a known one, added for a reported cure, of nothing but a title."""
_TITLE_CHARS, _CURE_CHARS, _DISCOVERED_CURE_CHARS = 120, 1_500, 160
_REPEATS_MIN = 3


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
          "check that the dependency is declared and installed in the environment that runs",
          "Find out which environment runs the command.",
          "Install the dependency there, and declare it.", "Run the command again."),
    _rule("missing-command",
          r"command not found|not recognized as|executable file not found|No such command",
          "check that the program is installed and on the PATH before it is called",
          "Ask which program is there (command -v).", "Install it, or use the one that is there."),
    _rule("missing-file",
          r"No such file|FileNotFound|ENOENT|does not exist|cannot find the (?:file|path)",
          "list the folder and check the working directory before a path is used",
          "Print the working directory.", "List the folder.", "Use the path as it is there."),
    _rule("permission", r"permission denied|EACCES|EPERM|not permitted|forbidden|\b403\b",
          "check who owns it and with which rights the command runs; ask before rights are raised",
          "Look at owner and mode.", "Use a place that may be written, or ask for the right."),
    _rule("authentication",
          r"unauthori[sz]ed|\b401\b|authentication failed|invalid (?:api key|credentials|token)",
          "check that credentials are configured for this service before the call is repeated",
          "Check which credentials are used.", "Ask for valid ones; a repetition does not help."),
    _rule("rate-limit", r"rate.?limit|too many requests|\b429\b|quota|overloaded",
          "wait longer between calls and make fewer of them, instead of trying again at once",
          "Wait as long as the answer says, else twice as long each time.", "Batch the calls."),
    _rule("timeout", r"time[d]?[ -]?out|deadline exceeded|ETIMEDOUT",
          "do it in smaller steps or in the background, with a timeout that fits",
          "Find the part that is slow.", "Run that alone, with a longer timeout."),
    _rule("connection",
          r"connection (?:refused|reset)|ECONNREFUSED|could not connect|Name or service not known"
          r"|network is unreachable|no port \d+",
          "check that the service runs and listens where it is looked for",
          "Check whether the service runs.", "Start it and wait until it answers.", "Try again."),
    _rule("port-in-use", r"address already in use|EADDRINUSE|port .{0,20}in use",
          "find what holds the port, and stop it or take another port",
          "Ask who listens on the port.", "Stop it, or choose another."),
    _rule("out-of-memory", r"out of memory|MemoryError|OOM|heap limit|Cannot allocate",
          "work on a part at a time", "Cut the input into parts.", "Work on one after the other."),
    _rule("disk-full", r"No space left|ENOSPC|disk (?:is )?full|quota exceeded",
          "free room before anything is written", "Look at what is full.", "Free room there."),
    _rule("edit-mismatch",
          r"String to replace not found|old_str(?:ing)?\b.{0,60}(?:not found|multiple)"
          r"|did not appear verbatim|has not been read yet|modified since read"
          r"|patch (?:failed|does not apply)"
          r"|Found \d+ matches",
          "read the file again just before the edit, and match its text exactly once",
          "Read the part of the file that is to change.", "Copy the old text exactly, with enough "
          "around it to be unique.", "Edit."),
    _rule("syntax", r"SyntaxError|IndentationError|syntax error|unexpected token|unexpected indent"
          r"|E999|parse error|expected ['\"`;)}]|introduced new syntax error",
          "check the indentation and the lines around the edit, and parse the file before going on",
          "Look at the lines around the place.", "Correct them.", "Check the syntax."),
    _rule("merge-conflict",
          r"merge conflict|CONFLICT \(|non-fast-forward|rejected.{0,40}fetch first"
          r"|unmerged|would be overwritten",
          "bring the branch up to date and resolve by hand before the next push",
          "Fetch.", "Rebase or merge, and resolve.", "Push."),
    _rule("test-failure",
          r"AssertionError|\d+ failed|FAIL(?:ED)?\b|expected .{0,80}(?:got|but|received|to)",
          "run the failing test alone and compare expected and actual before the code is changed",
          "Run the failing test alone.", "Compare what is expected with what came.",
          "Change the cause.", "Run all tests."),
    _rule("undefined-name",
          r"NameError|is not defined|undefined: |undefined ref"
          r"|ReferenceError|cannot find symbol|has no (?:attribute|field)|AttributeError",
          "look up the name where it is defined, in the version that is used",
          "Search for the definition.", "Use the name and place that it has."),
    _rule("type-error",
          r"TypeError|type mismatch|cannot use .{0,60} as|not assignable|error TS\d|mypy",
          "look at the signature before the call is written",
          "Look up the signature.", "Give it what it takes."),
    _rule("bad-json", r"JSONDecodeError|invalid json|Unexpected end of JSON|not valid json",
          "look at the raw text before it is parsed", "Print the beginning of the raw text.",
          "Mend what makes it, or parse what it is."),
    _rule("bad-value",
          r"ValueError|KeyError|IndexError|out of range|invalid (?:argument|value|option)"
          r"|unrecognized (?:argument|option)|unknown (?:option|flag|argument)|usage:",
          "look at the values that are allowed (--help, the keys that are there) before the call",
          "Print what is allowed.", "Use one of these."),
)  # fmt: skip
_TERMINATIONS = {
    TerminationReason.MAX_TURNS: ("ran out of turns", "split the task, and check after each part"),
    TerminationReason.BUDGET_EXHAUSTED: (
        "ran out of its budget", "look at the parts that matter first, and read less at a time"),
    TerminationReason.STAGNATION: (
        "made no more progress", "change the approach after the second attempt without a change"),
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
    outlook = (
        f"What cured it: {one_line(cure, _DISCOVERED_CURE_CHARS)}"
        if cure
        else f"Next time {advice}."
    )
    return ProceduralMemoryProposal(
        discovery=one_line(f"When {title} {failure}. {outlook}", DISCOVERY_CHARS_MAX),
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
        other = " or give the task to somebody who has it" if payload.can_reassign else ""
        return f"make sure of {lacking} first{other}"
    return "read the whole message before the next attempt, and change one thing at a time"


def _condition(payload: FailureAnalysisPayload, error: str, what: str) -> str:
    parts = [f"{what} ({payload.task_type.value})."]
    if error:
        parts.append(f"The error reads: {error}.")
    if payload.error_category != "unknown":
        parts.append(f"Its category is {payload.error_category}.")
    tools = list(dict.fromkeys(payload.tool_calls_made))[:10]
    if tools:
        parts.append(f"Tools: {', '.join(tools)}.")
    return " ".join(parts)


def _rationale(payload: FailureAnalysisPayload, cure: str) -> str:
    ended = payload.termination_reason.value.replace("_", " ")
    parts = [f"It ended by {ended} after {payload.turn_count} turns,"
             f" retries {payload.retry_count} of {payload.max_retries}."]  # fmt: skip
    runs = ((tool, sum(1 for _ in same)) for tool, same in groupby(payload.tool_calls_made))
    tool, times = max(runs, key=lambda each: each[1], default=("", 0))
    if times >= _REPEATS_MIN:
        parts.append(f"{tool} was called {times} times in a row: repeating it did not help.")
    if payload.retry_count and payload.retry_count == payload.max_retries:
        parts.append("All retries were used: the same attempt fails the same way.")
    parts.append(
        "The cure was seen to work." if cure else "No cure was seen: this is a first step."
    )
    return " ".join(parts)


def _tags(payload: FailureAnalysisPayload, rule: _Rule | None) -> list[str]:
    tags = [rule.tag] if rule else []
    if payload.termination_reason in _TERMINATIONS:
        tags.append(payload.termination_reason.value)
    if payload.error_category != "unknown":
        tags.append(payload.error_category)
    return [*tags, payload.task_type.value]


def _sentence(text: str) -> str:
    """Return *text* with a full stop; its first letter stays, since it may be a command's."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
