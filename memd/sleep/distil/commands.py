"""How a project is run: the commands that passed, by what they are for, in one memory. Pure.

A bare list of commands says nothing a week later. What a command is for is told by its
words; one that tells nothing is kept when it passed again and again, and a script that
was written in the session itself was for that day.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.sleep.distil.calls import Command, about, command, edited, is_check, is_noise, shortened
from memd.sleep.distil.candidates import Distilled, NapCandidate, NapKind
from memd.sleep.distil.exchanges import Exchange
from memd.sleep.distil.failures import failed

COMMANDS_SLOT = "env:commands"
COMMANDS_CHARS_MAX = 480
_COMMANDS_MIN = 2
_FOR_MAX = 2  # commands for one purpose
_TIMES_MIN = 3  # that a command passed whose words do not tell what it is for
_COMMAND_CHARS_MAX = 120
_SCORE = 0.6
_BY_HAND_MAX = 2
_USER_CHARS = 8_000
_BY_HAND = "the user runs"
_OTHER = "also"
_HEAD = "How this is run here:"

_PURPOSES = (
    ("test", re.compile(r"\b(?:\w*tests?|jest|vitest|rspec|nox|tox|e2e|playwright|cypress)\b")),
    ("build", re.compile(r"\b(?:build|compile|bundle|webpack|package|assemble|make)\b")),
    ("deploy", re.compile(r"\b(?:deploy|publish|release|push|ship)\b")),
    ("install", re.compile(r"\b(?:install|ci|sync|add|get|restore|bootstrap|setup|download)\b")),
    ("migrate", re.compile(r"\b(?:migrat\w+|seed|createdb|alembic|schema)\b")),
    ("run", re.compile(r"\b(?:start|serve|dev|up|run|watch|preview|exec)\b|^\./|^\S*bin/")),
)  # fmt: skip
_ORDER = ("test", "check", "build", "run", "install", "migrate", "deploy", _OTHER, _BY_HAND)
_SCRIPT = re.compile(r"(?:^|[\s/])([\w.-]+\.(?:py|sh|js|ts|rb|go|pl|php|mjs|cjs))\b")
_ASIDE = re.compile(
    r"\s--?help\b|^(?:gofmt|prettier|black)\b|\b(?:info|doc|docs|show|list|search|version|help)\b"
    r"|/tmp/|/dev/null"
)
# A line of a terminal that the user pasted: where they were, and what they typed.
_PROMPT = re.compile(
    r"^[ \t]*(?:\[[^\]\n]{0,60}?(?P<bracketed>~?/[^\]\s]{1,120})\]"
    r"|[\w.-]{1,40}@[\w.-]{1,40}[:\s](?P<hosted>~?[\w./-]{0,120})\s?[$#%]"
    r"|(?P<bare>~?/[\w./-]{1,120})\s?[$%\u276f]|[$\u276f])\s+(?P<line>[~./\w][^\n]{2,160})$",
    re.MULTILINE,
)


class _Passed(NamedTuple):
    command: Command
    times: int
    place: int


def commands(exchanges: Sequence[Exchange]) -> Iterator[NapCandidate]:
    """Yield the memory of the commands that passed and of what the user runs by hand."""
    by_hand = {
        name: (line, exchange.place)
        for exchange in exchanges
        for name, line in _typed(exchange.user[:_USER_CHARS])
    }
    ran = _passed(exchanges)
    told: dict[str, list[str]] = {name: [] for name in _ORDER}
    for each in ran:
        told[_purpose(each.command)].append(each.command.line)
    if sum(map(len, told.values())) < _COMMANDS_MIN:
        told = {}
    told[_BY_HAND] = [line for line, _ in by_hand.values()][-_BY_HAND_MAX:]
    if text := _told(told):
        place = max([each.place for each in ran] + [place for _, place in by_hand.values()])
        memory = Distilled(text, NapKind.ENVIRONMENT, (place,), COMMANDS_SLOT, Origin.ASSISTANT)
        yield NapCandidate(memory, _SCORE)


def _passed(exchanges: Sequence[Exchange]) -> list[_Passed]:
    """Return the commands that passed and are told, each in its shortest form, oftenest first."""
    found: dict[str, _Passed] = {}
    written: set[str] = set()
    for run in (run for exchange in exchanges for run in exchange.runs):
        if path := edited(run):
            written.add(path.rpartition("/")[2])
        called = command(run)
        if called is None or run.result is None or not _is_worth(called) or failed(run):
            continue
        now = Command(shortened(called.line), called.about)
        known = found.get(now.about, _Passed(now, 0, 0))
        best = now if len(now.line) <= len(known.command.line) else known.command
        found[now.about] = _Passed(best, known.times + 1, run.place)
    often = sorted(found.values(), key=lambda each: -each.times)
    return [each for each in often if _is_told(each, written)]


def _is_told(each: _Passed, written: Container[str]) -> bool:
    if any(script in written for script in _SCRIPT.findall(each.command.line)):
        return False
    return each.times >= _TIMES_MIN or _purpose(each.command) != _OTHER


def _told(found: Mapping[str, Sequence[str]]) -> str:
    parts = [_HEAD]
    for name in _ORDER:
        if lines := found.get(name):
            more = f"{name}: {'; '.join(lines[:_FOR_MAX])}"
            if len("\n".join([*parts, more])) <= COMMANDS_CHARS_MAX:
                parts.append(more)
    return "\n".join(parts) if len(parts) > 1 else ""


def _purpose(called: Command) -> str:
    if is_check(called):
        return "check"
    return next((name for name, one in _PURPOSES if one.search(called.line)), _OTHER)


def _is_worth(called: Command) -> bool:
    line = shortened(called.line)
    return not is_noise(called) and len(line) <= _COMMAND_CHARS_MAX and not _ASIDE.search(line)


def _typed(user: str) -> Iterator[tuple[str, str]]:
    """Yield what the user typed in a terminal, by its program, and where."""
    for prompt in _PROMPT.finditer(user):
        line = " ".join(prompt["line"].split())
        name = about(line)
        folder = prompt["bracketed"] or prompt["hosted"] or prompt["bare"]
        if name and not is_noise(Command(line, name)):
            yield name, f"{line} in {folder}" if folder else line
