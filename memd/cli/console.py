"""Output of the command line: data to stdout, everything else to stderr.

So a pipe such as ``memd export | gzip`` or ``memd search x --json | jq`` gets data only.

Stored text may contain escape sequences, so it must be escaped before it is printed. ``printable``
keeps its lines, ``line`` joins them. ``quote``, ``mark_line`` and ``quote_prompt`` return lines
that cannot be mistaken for memd's own (docs/decisions/0141). As a second safeguard, ``out`` and
``note`` drop invisible characters except memd's own colours, and JSON escapes them.

Colours are used only on a terminal and never with ``NO_COLOR`` (decision 0019).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, TextIO

from memd.base.errors import CallerError, DegradedError, MemdError, NotFoundError, NotRunningError

JSON_VERSION = 1
"""Incremented when a field of a ``--json`` answer changes its meaning or is removed."""


_COLOURS = re.compile(r"(\x1b\[[012]m)")
"""The sequences of :func:`bold` and :func:`dim`."""
_ID_CHARS = 36
"""Length of a whole id, a UUID."""
_WORDS = re.compile(r"[^0-9a-f-]", re.IGNORECASE)  # in no id
_ID_BEGINS = re.compile(r"[0-9a-f]{3,8}(?:-[0-9a-f-]{0,27})?")
"""The beginning of an id, such as ``0199f3a1-5c``."""
_BREAKS = frozenset("\x85\u2028\u2029")
"""Line breaks that JSON need not escape, but some programs split lines at."""

BAR = "│ "
"""Prefix of each line of stored text on a terminal; memd's own lines never have it."""


class Exit(IntEnum):
    """Exit codes (decision 0019; 78 is EX_CONFIG of sysexits)."""

    OK = 0
    ERROR = 1
    USAGE = 2
    NOT_RUNNING = 3
    DEGRADED = 4
    CONFIG = 78


class CommandExit(Exception):  # noqa: N818  # not an error, only an exit code
    """Ends a command with an exit code. The command has already reported the reason."""

    def __init__(self, code: Exit) -> None:
        super().__init__(code.name)
        self.code = code


def out(text: str = "") -> None:
    """Write one line of data to stdout."""
    sys.stdout.write(f"{_clean(text)}\n")


def out_lines(lines: Iterable[str]) -> None:
    """Write lines of data to stdout."""
    for text in lines:
        out(text)


def note(text: str) -> None:
    """Write one line for the person to stderr."""
    sys.stderr.write(f"{_clean(text)}\n")


def note_fields(fields: Mapping[str, Any], cells: int) -> None:
    """Write *fields* to stderr, a line each, with names padded to *cells*.

    A field whose name ends in ``_at`` is a time.
    """
    for name, value in fields.items():
        detail = local_time(value, zone=True) if name.endswith("_at") else line(str(value))
        note(f"{name + ':':<{cells}} {detail}")


def steer(sequence: str) -> None:
    """Write a control sequence of the terminal, unescaped."""
    sys.stdout.write(sequence)


_output = {"json": False}


def use_json(chosen: bool) -> None:
    """Set whether ``--json`` was typed; called once before a command runs."""
    _output["json"] = chosen


def is_json() -> bool:
    """Return whether ``--json`` was typed."""
    return _output["json"]


def print_json(answer: Mapping[str, Any]) -> None:
    """Write *answer* as one JSON object that begins with its version."""
    sys.stdout.write(f"{to_json({'v': JSON_VERSION, **answer})}\n")


def print_if_json(answer: Mapping[str, Any]) -> bool:
    """Write *answer* as JSON if ``--json`` was typed, and return whether it was."""
    if is_json():
        print_json(answer)
    return is_json()


def answer(result: Mapping[str, Any], text: str) -> None:
    """Write *result* as JSON with ``--json``, otherwise *text* as one line of data."""
    if not print_if_json(result):
        out(text)


def to_json(answer: Mapping[str, Any]) -> str:
    r"""Return *answer* as one line of JSON, escaping what a terminal must not receive.

    >>> print(to_json({"a": chr(0x202E)}))
    {"a": "\u202e"}
    """
    from memd.view.view import hidden_characters

    text = json.dumps(answer, ensure_ascii=False)
    if text.isascii() and text.isprintable():
        return text
    unseen = {*hidden_characters(text), *(_BREAKS & set(text))}
    return text.translate({ord(letter): json.dumps(letter)[1:-1] for letter in unseen})


def _clean(text: str) -> str:
    """Return *text* without invisible characters, except memd's own colours."""
    from memd.view.view import view

    if text.isascii() and text.isprintable():
        return text
    parts = _COLOURS.split(text)
    return "".join(part if n % 2 else view(part, tags=()) for n, part in enumerate(parts))


def dim(text: str) -> str:
    """Return *text* dimmed, or unchanged without colours."""
    return f"\x1b[2m{text}\x1b[0m" if has_colour(sys.stdout) else text


def bold(text: str) -> str:
    """Return *text* in bold, or unchanged without colours."""
    return f"\x1b[1m{text}\x1b[0m" if has_colour(sys.stdout) else text


def has_colour(stream: TextIO) -> bool:
    """Return whether *stream* is a terminal with colours enabled."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """Return a stored text made safe for a terminal; it keeps its lines."""
    from memd.view.view import view

    return view(text)


def line(text: str, cells_max: int | None = None) -> str:
    """Return a stored text as one safe line, its lines joined, cut to *cells_max* cells."""
    from memd.view.view import one_line

    folded = one_line(" · ".join(filter(None, map(str.strip, text.splitlines()))))
    if cells_max is None:
        return folded
    from memd.view.cells import cut

    return cut(folded, cells_max)


def quote(text: str) -> str:
    r"""Return a stored text with each line marked, so that none can pass for a line of memd's.

    On a terminal each line gets the bar. In a pipe a line gets a backslash only if it begins
    like a line of memd's, since stdout and stderr may be read as one.
    """
    return "\n".join(map(mark_line, printable(text).split("\n")))


def mark_line(line: str) -> str:
    """Mark a line that begins with stored text, so that it cannot pass for a line of memd's."""
    if sys.stdout.isatty():
        return f"{BAR}{line}"
    from memd.view.labels import escape_output_line

    return escape_output_line(line)


def quote_prompt(text: str) -> str:
    """Return the text of a prompt with each line marked, so that none looks like a role's."""
    if sys.stdout.isatty():
        return "\n".join(f"{BAR}{line}" for line in text.split("\n"))
    from memd.view import labels

    return "\n".join(map(labels.escape_prompt_line, text.split("\n")))


def passage(text: str, query: str, cells_max: int) -> str:
    """Return the part of a stored text that fits *query* best, as one safe line."""
    return passages(text, query, cells_max, 1)[0]


def passages(text: str, query: str, cells_max: int, lines_max: int) -> list[str]:
    """Like ``passage``, but in up to *lines_max* safe lines on a terminal; in a pipe one line."""
    from memd.view.cells import wrap

    room = max(20, cells_max)
    lines_max = lines_max if sys.stdout.isatty() else 1
    part = line(excerpt(printable(text), query, room * lines_max))
    return wrap(part, room, lines_max) or [""]


def local_time(text: str, *, zone: bool = False) -> str:
    """Format a time of the API (RFC 3339) in local time, optionally with the name of the zone.

    >>> local_time("2026-03-02T10:05:59.123456+00:00")[:8]
    '2026-03-'
    """
    from datetime import datetime

    from memd.base.clock import localize

    local = localize(datetime.fromisoformat(text))
    return local.strftime("%Y-%m-%d %H:%M %Z" if zone else "%Y-%m-%d %H:%M")


def count(number: int, noun: str) -> str:
    """Format a number with its noun.

    >>> count(1, "memory"), count(1_200, "memory"), count(0, "day")
    ('1 memory', '1,200 memories', '0 days')
    """
    plural = f"{noun}s" if noun.endswith("ay") or noun[-1] != "y" else f"{noun[:-1]}ies"
    return f"{number:,} {noun if number == 1 else plural}"


def width() -> int:
    """Return the maximum line width: that of the terminal, or a very large one for a pipe."""
    if not sys.stdout.isatty():
        return 10_000
    try:
        return max(40, os.get_terminal_size(sys.stdout.fileno()).columns)
    except OSError:
        return 80


def report_error(error: MemdError) -> Exit:
    """Print the message and hint of *error* and return its exit code."""
    from memd.cli.error_texts import message_and_hint

    message, hint = message_and_hint(error)
    note(f"memd: {_indent(message)}")
    if hint:
        note(f"      {_indent(hint)}")
    return exit_code(error)


def _indent(text: str) -> str:
    """Return the text of an error, later lines indented so that none looks like another error."""
    return printable(text).replace("\n", "\n      ")


NO_MEMORY = "no memory has the id"


def unknown_memory(memory_id: str) -> NotFoundError:
    """Return the error for an id that no memory has."""
    return NotFoundError(f"{NO_MEMORY} {line(memory_id)}", hint=id_hint(memory_id))


def id_hint(memory_id: str) -> str | None:
    """Return a hint about an id that no memory has, or None.

    It may be that of a preference, the beginning of an id instead of its end, or words.
    """
    name = memory_id.removeprefix("proc_")
    if name != memory_id or name.startswith("preference_"):
        return f"it is a preference: memd preference get {line(name)}, or delete, or set"
    if len(memory_id) == _ID_CHARS:
        return "another agent may have it: memd agent list, then add --agent NAME"
    if _ID_BEGINS.fullmatch(memory_id):
        return "type the whole id, or six or more characters of its end"
    if _WORDS.search(memory_id):
        return f"ids are printed by: memd search {line(memory_id)}"
    return None


def report_secrets(text: str, stored: str) -> None:
    """Report to stderr the secrets in *text* that were replaced by placeholders in *stored*."""
    from memd.view.view import SECRET

    marks = [mark for mark in dict.fromkeys(SECRET.findall(stored)) if mark not in text]
    if marks:
        verb = "was" if len(marks) == 1 else "were"
        note(f"{count(len(marks), 'secret')} {verb} replaced by {', '.join(marks)}")


def exit_code(error: MemdError) -> Exit:
    """Return the exit code of *error*.

    >>> exit_code(NotRunningError("no daemon")).name
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


def confirm(
    question: str, *, yes: bool, name: str | None = None, read: Callable[[], str] | None = None
) -> None:
    """Ask for confirmation, unless *yes* is set. Raises CommandExit if it is not given.

    With a *name* the user must type the name, which is safer than "y" where much is erased.
    Without a terminal, confirmation cannot be given.
    """
    if yes:
        return
    if read is None and not sys.stdin.isatty():
        note(f"memd: {question} Nothing was done; without a terminal, confirm with --yes.")
        raise CommandExit(Exit.USAGE)
    choice = "[y/N]" if name is None else f"Type {name} to confirm:"
    sys.stderr.write(f"{question} {choice} ")
    sys.stderr.flush()
    answer = (read or sys.stdin.readline)().strip()
    if answer != name if name else answer.lower() not in {"y", "yes"}:
        note("nothing was done")
        raise CommandExit(Exit.ERROR)


_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w{3,}")


def excerpt(text: str, query: str, chars_max: int) -> str:
    """Return at most *chars_max* characters of *text*, with the sentence that fits *query* best.

    They begin with that sentence, or with the text if both fit. A text that is short enough is
    returned unchanged.

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
    shared_words = [
        len(words & set(_WORD.findall(text[start:end].casefold())))
        for start, end in zip(starts, ends, strict=True)
    ]
    best = shared_words.index(max(shared_words))
    start = 0 if ends[best] < chars_max else starts[best]
    room = chars_max - (2 if start else 0)
    part = text[start:] if len(text) - start <= room else text[start : start + room - 1] + "…"
    return f"… {part}" if start else part
