"""Whether a tool's run failed, and the line that says best what did. Pure.

A result may be very long, and what a program prints is its own: the exit code decides
where it is told, else what stands at the head and at the tail. What a log or a file says
is no failure of the command that shows it.
"""

from __future__ import annotations

import re

from memd.sleep.distil.agent.calls import command, only_reads
from memd.sleep.distil.exchanges import Run
from memd.text.alternations import Phrases

ERROR_CHARS_MAX = 160
_LOOKED_AT_CHARS = 4_000  # of a result, at its head and at its tail each
_EXIT_CHARS = 300  # at either end, where programs tell the exit code
_LINE_CHARS_MIN = 6
_HEAD_CHARS = 70  # of a line that is too long; the rest is its tail

_EXIT = re.compile(
    r"(?:^|[\n\"{ <])(?:exit[ _]code|exited with code|exit status|return ?code)[\"'>]?"
    r":?\s*(-?\d{1,4})",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"""(?:
      Traceback\ \(most\ recent | [\w.]{0,60}(?:Error|Exception|Panic)(?::|\ in\ |$)
    | error(?:\[\w+\])?: | ERROR\b | fatal: | panic: | npm\ (?:ERR!|error) | <tool_use_error>
    | ---\ FAIL | FAIL(?:ED|URE)?\b | BUILD\ FAILED | Command\ failed | make:\ \*\*\* | E999
    | \S{0,80}:\ (?:line\ \d+:\ )?\S{1,60}:?\ (?:command\ not\ found|No\ such\ file|not\ found)
    | \S{0,80}:\ (?:line\ \d+:\ )?\S{1,60}:?\ Permission\ denied | .{0,80}command\ not\ found
    | [\u2a2f✖✗]\  | =+\ .{0,60}\d+\ failed | Tests:\ .{0,40}\d+\ failed
    | .{0,30}\d+\ (?:failed|errors?)\b
    )""",
    re.VERBOSE,
)
_NONE_FAILED = re.compile(r"\b0 (?:failed|errors?|failures|issues)\b", re.IGNORECASE)
_SAYS = Phrases(
    r"(?:Error|Exception|Panic|\b[Ee]rror(?:\[\w+\])?|ERROR|fatal|panic|npm (?:ERR!|error))[:=\s]"
    r"|command not found|No such file|Permission denied|not recognized",
    0,
)
_TELLS = Phrases(
    r"error|exception|fail|panic|fatal|not found|no such|denied|cannot|can't|undefined|unknown"
    r"|invalid|missing|refused|timed? ?out|unsupported|only .{0,40} supported|expected|\bwant\b"
    r"|assert|✖"
)
_SAYS_LITTLE = re.compile(
    r"=== RUN|--- |PASS|ok\s|FAIL\b|exit status|Command failed|Traceback"
    r"|\W*\d+ (?:failed|errors?)\b"
)
_EXIT_ONLY = re.compile(r"\W*(?:Error:\s*)?(?:Exit code:?\s*-?\d+)?\W*", re.IGNORECASE)
_ANSI = re.compile(r"\x1b\[[0-9;]{0,12}[A-Za-z]")


def has_failed(run: Run) -> bool:
    r"""Return whether the result of *run* is a failure: by its exit code, or by what it prints.

    >>> has_failed(Run(0, "1", "Bash", {"command": "make"}, "Exit code 2\nno rule"))
    True
    """
    if run.result is None:
        return False
    head, tail = run.result[:_LOOKED_AT_CHARS], run.result[-_LOOKED_AT_CHARS:]
    for part in (head[:_EXIT_CHARS], tail[-_EXIT_CHARS:]):
        code = _EXIT.search(part)
        if code:
            return code[1] != "0"
    if head.lstrip().startswith(("<tool_use_error>", "Error:", "error:")):
        return True
    called = command(run)
    if called is None or only_reads(called):
        return False
    return any(map(_prints_failure, _lines(run.result)))


def error_line(result: str) -> str:
    r"""Return the line of *result* that says best what failed, "" where none does.

    >>> error_line("Exit code 1\ncollecting\nTypeError: no such key")
    'TypeError: no such key'
    """
    if "<tool_use_error>" in result[:_LOOKED_AT_CHARS]:
        return ""  # the program's own refusal, which no command printed
    lines = _lines(result)
    for pattern in (_SAYS, _TELLS):
        for line in lines:
            if pattern.search(line) and not _SAYS_LITTLE.match(line):
                return line
    return next((line for line in lines if _prints_failure(line)), "")


def _lines(result: str) -> list[str]:
    """Return the lines at the head and the tail of *result*, each in one piece and not too long."""
    head, tail = result[:_LOOKED_AT_CHARS], result[-_LOOKED_AT_CHARS:]
    whole = head if len(result) <= _LOOKED_AT_CHARS else f"{head}\n{tail}"
    short = (_ANSI.sub("", line[: 4 * ERROR_CHARS_MAX]) for line in whole.splitlines())
    lines = (" ".join(line.split()) for line in short)
    return [
        _fitting(line)
        for line in lines
        if len(line) >= _LINE_CHARS_MIN and not _EXIT_ONLY.fullmatch(line)
    ]


def _fitting(line: str) -> str:
    """Return *line* in ERROR_CHARS_MAX characters: what went wrong stands at its end."""
    if len(line) <= ERROR_CHARS_MAX:
        return line
    return f"{line[:_HEAD_CHARS]} … {line[_HEAD_CHARS + 3 - ERROR_CHARS_MAX :]}"


def _prints_failure(line: str) -> bool:
    return _FAILED.match(line) is not None and not _NONE_FAILED.search(line)
