"""How memd speaks to a person: data on stdout, everything else on stderr.

So ``memd export | gzip`` and ``memd search x --json | jq`` never meet a stray
sentence. What comes out of the store passes ``view`` before it reaches a
terminal, because a remembered text may hold escape sequences: ``shown`` keeps its
lines, ``line`` is one; ``quoted``, ``begun`` and ``composed`` are lines that cannot be
mistaken for memd's own (docs/decisions/0141). What is written drops what nobody
sees once more, whoever forgot it, but for memd's own colours; JSON says it by
number. Colour only on a terminal, and never with ``NO_COLOR`` (decision 0019).

``begun`` and what is beside it choose the part of a long memory to show first.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, TextIO

from memd.base.errors import CallerError, DegradedError, MemdError, NotRunningError

JSON_VERSION = 1
"""Raised when a field of a ``--json`` answer changes its meaning or goes."""


_COLOURS = re.compile(r"(\x1b\[[012]m)")
_SECRET = re.compile(r"\[secret:[a-z0-9-]+#\d+\]")
_BREAKS = frozenset("\x85\u2028\u2029")

BAR = "│ "
"""What a line of a remembered text begins with on a terminal, and no line of memd's own."""


class Exit(IntEnum):
    """What the shell is told (decision 0019; 78 is sysexits' EX_CONFIG)."""

    OK = 0
    ERROR = 1
    USAGE = 2
    NOT_RUNNING = 3
    DEGRADED = 4
    CONFIG = 78


class Leave(Exception):  # noqa: N818  # not an error: the command is over, with this exit code
    """Ends a command early with an exit code, after it has said what there is to say."""

    def __init__(self, code: Exit) -> None:
        super().__init__(code.name)
        self.code = code


def out(text: str = "") -> None:
    """Write one line of data."""
    sys.stdout.write(f"{_clean(text)}\n")


def note(text: str) -> None:
    """Write one line for the person, which no pipe sees."""
    sys.stderr.write(f"{_clean(text)}\n")


def steer(sequence: str) -> None:
    """Write what moves a terminal's cursor, and nothing else does."""
    sys.stdout.write(sequence)


def as_json(answer: Mapping[str, Any]) -> None:
    """Write *answer* as one JSON object with its version first."""
    sys.stdout.write(f"{json_of({'v': JSON_VERSION, **answer})}\n")


def json_of(answer: Mapping[str, Any]) -> str:
    r"""Return *answer* as JSON in one line, with escapes for what a terminal must not get.

    >>> print(json_of({"a": chr(0x202E)}))
    {"a": "\u202e"}
    """
    from memd.view.view import hidden

    text = json.dumps(answer, ensure_ascii=False)
    if text.isascii() and text.isprintable():
        return text
    unseen = {*hidden(text), *(_BREAKS & set(text))}
    return text.translate({ord(one): json.dumps(one)[1:-1] for one in unseen})


def _clean(text: str) -> str:
    """Return *text* without what nobody sees, memd's own colours apart."""
    from memd.view.view import view

    if text.isascii() and text.isprintable():
        return text
    parts = _COLOURS.split(text)
    return "".join(part if n % 2 else view(part, tags=()) for n, part in enumerate(parts))


def dim(text: str) -> str:
    """Return *text* in the quiet colour of this terminal, or as it is."""
    return f"\x1b[2m{text}\x1b[0m" if coloured(sys.stdout) else text


def bold(text: str) -> str:
    """Return *text* in bold, or as it is."""
    return f"\x1b[1m{text}\x1b[0m" if coloured(sys.stdout) else text


def coloured(stream: TextIO) -> bool:
    """Return whether *stream* is a terminal whose owner wants colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """Return a remembered text as a terminal may see it, lines kept."""
    from memd.view.view import view

    return view(text)


def line(text: str, cells_max: int | None = None) -> str:
    """Return a remembered text as one line that takes at most *cells_max* cells of a terminal."""
    from memd.view.view import one_line

    folded = one_line(text)
    if cells_max is None:
        return folded
    from memd.view.cells import cut

    return cut(folded, cells_max)


def quoted(text: str) -> str:
    r"""Return a remembered text as lines of its own, none of which can pass for one of memd's.

    On a terminal each stands behind the bar. A pipe gets the text bare, but for a backslash
    where a line begins like memd's: whoever reads both streams as one must tell them apart.
    """
    return "\n".join(map(begun, printable(text).split("\n")))


def begun(line: str) -> str:
    """Return a line of memd's that begins with what somebody stored, so that it shows that."""
    if sys.stdout.isatty():
        return f"{BAR}{line}"
    from memd.view.labels import apart

    return apart(line)


def composed(text: str) -> str:
    """Return what memd put together for a prompt as lines, none of which looks like a role's."""
    if sys.stdout.isatty():
        return "\n".join(f"{BAR}{line}" for line in text.split("\n"))
    from memd.view import labels

    return "\n".join(map(labels.composed, text.split("\n")))


def passage(text: str, query: str, cells_max: int) -> str:
    """Return what of a remembered text answers *query*, as one line for a terminal."""
    room = max(20, cells_max)
    return line(excerpt(printable(text), query, room), room)


def moment(text: str, *, zone: bool = False) -> str:
    """Return a time of the wire on this computer's clock, with the zone's name if asked for.

    >>> moment("2026-03-02T10:05:59.123456+00:00")[:8]
    '2026-03-'
    """
    from datetime import datetime

    local = datetime.fromisoformat(text).astimezone()
    return local.strftime("%Y-%m-%d %H:%M %Z" if zone else "%Y-%m-%d %H:%M")


def width() -> int:
    """Return how many columns a line may have: the terminal's, or plenty for a pipe."""
    if not sys.stdout.isatty():
        return 10_000
    try:
        return max(40, os.get_terminal_size(sys.stdout.fileno()).columns)
    except OSError:
        return 80


def complain(error: MemdError) -> Exit:
    """Say what went wrong and what to do; return the exit code that fits."""
    from memd.cli.as_typed import message_and_hint

    message, hint = message_and_hint(error)
    note(f"memd: {_under(message)}")
    if hint:
        note(f"      {_under(hint)}")
    return code_of(error)


def _under(text: str) -> str:
    """Return what an error says, its lines under its first: none can pass for another's."""
    return printable(text).replace("\n", "\n      ")


def unknown(memory_id: str) -> None:
    """Say that no memory has the id that was typed."""
    note(f"memd: no memory has the id {line(memory_id)}")


def replaced(typed: str, kept: str) -> None:
    """Say which secrets of a text that was *typed* were replaced in what is *kept* of it."""
    marks = [mark for mark in dict.fromkeys(_SECRET.findall(kept)) if mark not in typed]
    if marks:
        number = f"{len(marks)} secret{'s were' if len(marks) > 1 else ' was'}"
        note(f"{number} replaced by {', '.join(marks)}")


def code_of(error: MemdError) -> Exit:
    """Return the exit code of *error*.

    >>> code_of(NotRunningError("no daemon")).name
    'NOT_RUNNING'
    """
    if isinstance(error, NotRunningError):
        return Exit.NOT_RUNNING
    if isinstance(error, DegradedError):
        return Exit.DEGRADED
    if error.kind == "config":
        return Exit.CONFIG
    if isinstance(error, CallerError) and error.kind == "invalid":
        return Exit.USAGE
    return Exit.ERROR


def sure(question: str, *, yes: bool, read: Callable[[], str] | None = None) -> None:
    """Ask before destroying anything; *yes* answers in advance. Leaves unless told yes.

    Without a terminal nobody can answer, so nothing happens.
    """
    if yes:
        return
    if read is None and not sys.stdin.isatty():
        note(f"memd: {question} Nothing was done; without a terminal, confirm with --yes.")
        raise Leave(Exit.USAGE)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = (read or sys.stdin.readline)()
    if answer.strip().lower() not in {"y", "yes"}:
        note("nothing was done")
        raise Leave(Exit.ERROR)


def typed(name: str, question: str, *, yes: bool, read: Callable[[], str] | None = None) -> None:
    """Ask for *name* to be typed before all of it is destroyed; as ``sure`` else."""
    if yes:
        return
    if read is None and not sys.stdin.isatty():
        sure(question, yes=False)
    sys.stderr.write(f"{question} Type {name} to confirm: ")
    sys.stderr.flush()
    if (read or sys.stdin.readline)().strip() != name:
        note("nothing was done")
        raise Leave(Exit.ERROR)


_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w{3,}")


def excerpt(text: str, query: str, chars_max: int) -> str:
    """Return at most *chars_max* characters of *text*, from the sentence nearest to *query*.

    A text that is short enough is returned whole.

    >>> excerpt("A first one. The server is called heron. A last one.", "which server?", 40)
    '… The server is called heron. A last on…'
    >>> excerpt("Short.", "anything", 40)
    'Short.'
    """
    if len(text) <= chars_max:
        return text
    words = set(_WORD.findall(query.casefold()))
    starts = [0, *(match.end() for match in _BREAK.finditer(text))]
    ends = [*starts[1:], len(text)]
    shared = [
        len(words & set(_WORD.findall(text[start:end].casefold())))
        for start, end in zip(starts, ends, strict=True)
    ]
    start = starts[shared.index(max(shared))]
    room = chars_max - (2 if start else 0)
    part = text[start:] if len(text) - start <= room else text[start : start + room - 1] + "…"
    return f"… {part}" if start else part
