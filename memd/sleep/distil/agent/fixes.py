"""Find commands that failed and passed later, with the error, the change and the reason. Pure.

A fix is a failed command and a later successful run of the same program and subcommand, with an
edit, another command or a message of the user in between. It becomes a memory if the agent gives a
reason, or if the command lines show what was missing. Errors of compilers and linters, and tests
that were broken on purpose, are skipped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.sleep.distil.agent.calls import Command, command, edited_path, is_check, is_noise, shorten
from memd.sleep.distil.agent.outcomes import plain_reason, reason
from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import Exchange, NapCandidate, NapKind, NapMemory, ToolRun
from memd.sleep.distil.language.failures import error_line, has_failed
from memd.text.alternations import Phrases

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
    r"|sync|chmod|ln -s|rm -rf \S*(?:node_modules|cache|dist|build|target))(?!\S)",
    0,
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
        elif called.about in broken:
            before = broken.pop(called.about)
            between = [later for later, _ in runs[before.number + 1 : number + 1]]
            if len(between) <= _APART_MAX:
                cured += _find_cure(before, called, between, exchange)
    return cured


def _find_cure(
    before: _Broken, now: Command, between: Sequence[ToolRun], exchange: Exchange
) -> Iterator[NapCandidate]:
    """Yield the memory of a fix, nothing if it is not worth one.

    *between* are the runs after the failure, the last of which is the successful one.
    """
    error = error_line(before.run.result or "")
    if not error or _COMPILING.search(error) or _ON_PURPOSE.search(error):
        return
    parts = [before.exchange] if before.exchange is exchange else [before.exchange, exchange]
    last = between[-1].place
    texts = [text for part in parts for text in part.texts if text.place >= before.run.place]
    early, late = (
        [text.text for text in texts if (text.place <= last) is is_early]
        for is_early in (True, False)
    )
    if any(_ON_PURPOSE.search(text) for text in (*early, *late[:1])):
        return
    why = reason(early, error) or reason(late[:1], error)
    score = _WITH_REASON if why else _SCORE
    why = why or plain_reason((*late[:1], *reversed(early)))
    added = _added_parts(before.command.line, now.line)
    files = dict.fromkeys(path.rpartition("/")[2] for run in between if (path := edited_path(run)))
    did = _did(between[:-1])
    if not (why or added or did) or not (files or added or did or before.exchange is not exchange):
        return
    text = _render_fix(before.command, _Cure(error, why, list(files), did), now)
    about, cure = f"{before.command.about}:{error}", added or did
    slot = f"{CURED}{_hash(f'{_without_paths(about)}:{cure}')}" if cure else f"fix:{_hash(about)}"
    memory = NapMemory(text, NapKind.FIX, (before.run.place, last), slot, Origin.TOOL)
    yield NapCandidate(memory, score)


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
        if called is None or not _SETS_UP.search(called.line) or has_failed(run):
            continue
        if not is_noise(called) or called.about.startswith("rm"):
            return shorten(called.line)
    return ""


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


def _added_parts(before: str, now: str) -> str:
    """Return the variables and options that *now* has and *before* has not.

    >>> _added_parts("make release", "TOKEN=x make release")
    'TOKEN=x'
    """
    known = set(before.split())
    new = [word for word in now.split() if word not in known and _SETTING.match(word)]
    return " ".join(new) if shorten(before) != shorten(now) else ""
