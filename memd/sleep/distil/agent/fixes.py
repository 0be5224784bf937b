"""Find commands that failed and passed later, with the error, the change and the reason. Pure.

A fix is a failed command and a later successful run of the same program and subcommand, with an
edit, another command or a message of the user in between. It becomes a memory if the agent gives a
reason, or if the command lines show what was missing. The reason names something of the failure or
of its cure, unless nothing else can be meant (decision 0381). Errors of compilers and linters, and
tests that were broken on purpose, are skipped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from math import inf
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.sleep.distil.agent.calls import (
    Command,
    accepts_change,
    command,
    edited_path,
    is_check,
    is_noise,
    parts_of,
    shorten,
)
from memd.sleep.distil.agent.outcomes import plain_reason, reason
from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import (
    AgentText,
    Exchange,
    NapCandidate,
    NapKind,
    NapMemory,
    ToolRun,
)
from memd.sleep.distil.language.failures import error_line, has_failed
from memd.text.alternations import Phrases
from memd.text.words import content_stems

FIX_CHARS_MAX = 480
CURED = "cure:"
"""The prefix of the slots of failures fixed by a command or setting, independent of folders."""
_REASON_CHARS = 180
_COMMAND_CHARS = 110
_FILES_MAX = 2
_SCORE, _WITH_REASON = 0.7, 0.85
_APART_MAX = 60  # runs between failure and success; further apart, they are unrelated

# Errors in code that is being written do not occur again.
_COMPILING = Phrases(
    r"undefined: |declared and not used|imported and not used|syntax error|SyntaxError|cannot use"
    r"|has no field or method|cannot find symbol|error TS\d|error\[E\d|expected ['\"`;)}]"
    r"|IndentationError|unused (?:variable|import)|is not assignable|does not implement",
    0,
)
_ON_PURPOSE = re.compile(
    r"invert|tautolog|on purpose|intentional|deliberate|should fail|expected to fail|opposite",
    re.IGNORECASE,
)
_SETS_UP = Phrases(
    r"\b(?:install|ci|add|upgrade|up|start|restart|enable|createdb|create|migrate|pull|login|init"
    r"|sync|use|chmod|ln -s|rm -rf \S*(?:node_modules|cache|dist|build|target))(?!\S)",
    0,
)
_CHANGING = ("rm", "chmod", "ln")  # programs that are noise elsewhere
# Stems that do not show that two texts are about the same failure.
_GENERIC = content_stems(
    "error exception failed fails failing failure tests passed cause problem reason issue line file"
    " module found cannot missing expected value build command code exit status undefined null"
    " wrong fixed py js ts md go rs json"
)
_PLACE = re.compile(r"\S*[/\\]\S*")
_SETTING = re.compile(r"^[A-Za-z_]\w*=\S*$|^--?[a-z][\w-]*(?:=\S+)?$")


class _Cure(NamedTuple):
    """The parts of the text of a fix; "" and no files where unknown.

    *did* is the command that set up what was missing.
    """

    error: str
    why: str
    files: Sequence[str]
    did: str


class _Broken(NamedTuple):
    """A failed run, its *number* among all runs, and its exchange."""

    run: ToolRun
    command: Command
    number: int
    exchange: Exchange


def fixes(exchanges: Sequence[Exchange]) -> list[NapCandidate]:
    """Return a memory for each fix in *exchanges*, in the order of the successful runs.

    A text has at most FIX_CHARS_MAX characters, and its first place is that of the failure. It
    quotes the error that a tool printed, so its origin is the tool.
    """
    broken: dict[str, _Broken] = {}
    cured: list[NapCandidate] = []
    runs = [(run, exchange) for exchange in exchanges for run in exchange.runs]
    for number, (run, exchange) in enumerate(runs):
        called = command(run)
        if called is None or is_noise(called) or is_check(called) or run.result is None:
            continue
        if has_failed(run):
            broken[called.about] = _Broken(run, called, number, exchange)
            continue
        for part in parts_of(called.line):
            if (before := broken.pop(part.about, None)) is not None:
                between = [later for later, _ in runs[before.number + 1 : number + 1]]
                cured += _find_cure(before, called, between, exchange)
    return cured


def _find_cure(
    before: _Broken, now: Command, between: Sequence[ToolRun], exchange: Exchange
) -> Iterator[NapCandidate]:
    """Yield the memory of a fix, nothing if it is not worth one.

    *between* are the runs after the failure, the last of which is the successful one.
    """
    error = error_line(before.run.result or "") if len(between) <= _APART_MAX else ""
    if not error or _COMPILING.search(error) or _ON_PURPOSE.search(error):
        return
    if accepts_change(now.line):
        return
    last = between[-1].place
    parts = [before.exchange] if before.exchange is exchange else [before.exchange, exchange]
    texts = [text for part in parts for text in part.texts if text.place >= before.run.place]
    early = [text for text in texts if text.place <= last]
    late = [text for text in texts if text.place > last][:1]
    if any(_ON_PURPOSE.search(text.text) for text in (*early, *late)):
        return
    added = _added_parts(before.command, now.line)
    files = dict.fromkeys(path.rpartition("/")[2] for run in between if (path := edited_path(run)))
    did = _did(between[:-1])
    other_at = _next_failure(before, between)
    changes = (added, did, *(files if other_at > last else ()))
    named = content_stems(" ".join((error, *changes))) - content_stems(before.command.line)
    near = [text for text in early if text.place <= min(other_at, before.exchange.end)]
    alone = late if not (added or did) and _is_alone(before, exchange) else []
    tied = [(part_texts, named - _GENERIC) for part_texts in (early, late)]
    why, score = _explain(error, (*tied, (near, None), (alone, None)))
    if not (why or added or did) or not (files or added or did or before.exchange is not exchange):
        return
    text = _render_fix(before.command, _Cure(error, why, list(files), did), now)
    about, cure = f"{before.command.about}:{error}", added or did
    slot = f"{CURED}{_hash(f'{_without_paths(about)}:{cure}')}" if cure else f"fix:{_hash(about)}"
    memory = NapMemory(text, NapKind.FIX, (before.run.place, last), slot, Origin.TOOL)
    yield NapCandidate(memory, score)


def _next_failure(before: _Broken, between: Sequence[ToolRun]) -> float:
    """Return the place of the first failure of another command in *between*, else infinity."""
    failed = [
        (run.place, called) for run in between if has_failed(run) and (called := command(run))
    ]
    others = (
        place
        for place, called in failed
        if not is_noise(called) and called.about != before.command.about
    )
    return next(others, inf)


def _is_alone(before: _Broken, exchange: Exchange) -> bool:
    """Return whether the failure is the only trouble that *exchange* is known to have fixed.

    It is not if the agent had changed files before: then it may tell the cause of what the user
    reported.
    """
    runs = (run for run in exchange.runs if run.place < before.run.place)
    return before.exchange is exchange and not any(map(edited_path, runs))


def _explain(
    error: str, sources: Sequence[tuple[Sequence[AgentText], frozenset[str] | None]]
) -> tuple[str, float]:
    """Return the cause of *error* and the score of its memory.

    The cause is "" if none of *sources*, the best first, has one: texts, and the stems of which
    the cause must have one, None for any cause.
    """
    for explain, score in ((partial(reason, trouble=error), _WITH_REASON), (plain_reason, _SCORE)):
        for texts, stems in sources:
            if why := explain([text.text for text in texts], stems=stems):
                return why, score
    return "", _SCORE


def _without_paths(about: str) -> str:
    """Return *about* with each path replaced by "/", so that it is equal in every folder.

    >>> _without_paths("npm test:connect ECONNREFUSED /run/a.sock")
    'npm test:connect ECONNREFUSED /'
    """
    return _PLACE.sub("/", about)


def _hash(about: str) -> str:
    return hashlib.sha256(about.encode(errors="replace")).hexdigest()[:12]


def _did(between: Sequence[ToolRun]) -> str:
    """Return the last command of *between* that set something up, "" if there is none."""
    for run in reversed(between):
        called = command(run)
        if called is not None and _sets_up(called) and not has_failed(run):
            return shorten(called.line)
    return ""


def _sets_up(called: Command) -> bool:
    is_change = not is_noise(called) or called.about.startswith(_CHANGING)
    return is_change and _SETS_UP.search(called.line) is not None


def _render_fix(before: Command, cure: _Cure, now: Command) -> str:
    """Return the text of a fix: "X failed: error. Reason. Changed a.py. Ran Y. It passes now."."""
    first = f"{cut(shorten(before.line), _COMMAND_CHARS)} failed: {cure.error}"
    parts = [first if first.endswith((".", "!", "…")) else f"{first}."]
    if cure.why:
        parts.append(cut(cure.why, _REASON_CHARS))
    if cure.files:
        more = len(cure.files) - _FILES_MAX
        names = ", ".join(cure.files[:_FILES_MAX])
        parts.append(f"Changed {names}{f' and {more} more' if more > 0 else ''}.")
    if cure.did:
        ran = f"Ran {cut(cure.did, _COMMAND_CHARS)}"
        parts.append(ran if ran.endswith((" .", "…")) else f"{ran}.")
    line = cut(shorten(now.line), _COMMAND_CHARS)
    parts.append("It passes now." if line in first else f"Passes now: {line}")
    return cut(" ".join(parts), FIX_CHARS_MAX)


def _added_parts(before: Command, now: str) -> str:
    """Return the variables and options that *now* has and *before* has not, or what it did first.

    >>> _added_parts(Command("make release", "make release"), "TOKEN=x make release")
    'TOKEN=x'
    >>> _added_parts(Command("npm run build", "npm run build"), "nvm use 22 && npm run build")
    'nvm use 22'
    """
    first = takewhile(lambda part: part.about != before.about, parts_of(now))
    if setup := [part.line for part in first if _sets_up(part)]:
        return " && ".join(setup)
    known = set(before.line.split())
    new = [word for word in now.split() if word not in known and _SETTING.match(word)]
    return " ".join(new) if shorten(before.line) != shorten(now) else ""
