"""Detect failed tool runs, and pick the line of the output that best describes the error. Pure.

The exit code decides if the output contains one. Otherwise the first and last lines are searched
for error messages, except for commands that only read: a log with errors is not a failed command.
"""

from __future__ import annotations

import re

from memd.sleep.distil.agent.calls import command, only_reads
from memd.sleep.distil.exchanges import ToolRun
from memd.text.alternations import Phrases

ERROR_CHARS_MAX = 160
"""Length of the error line in a memory."""
_SCANNED_CHARS = 4_000  # at each end of a result
_EXIT_CHARS = 300  # at each end, where programs print the exit code
_LINE_CHARS_MIN = 6
_HEAD_CHARS = 70  # kept from the start of a line that is too long; the rest from its end

# "Exit code 2", "exited with code 1", "exit status: 0"; the group is the code.
_EXIT = re.compile(
    r"(?:^|[\n\"{ <])(?:exit[ _]code|exited with code|exit status|return ?code)[\"'>]?"
    r":?\s*(-?\d{1,4})",
    re.IGNORECASE,
)
# The start of a line that reports a failure: "Traceback (most recent", "--- FAIL", "2 failed".
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
# A line that names the error itself: "TypeError: no such key", "make: command not found".
_NAMES_ERROR = Phrases(
    r"(?:Error|Exception|Panic|\b[Ee]rror(?:\[\w+\])?|ERROR|fatal|panic|npm (?:ERR!|error))[:=\s]"
    r"|command not found|No such file|Permission denied|not recognized",
    0,
)
# A line that may describe the error, if no line names it.
_HINTS_AT_ERROR = Phrases(
    r"error|exception|fail|panic|fatal|not found|no such|denied|cannot|can't|undefined|unknown"
    r"|invalid|missing|refused|timed? ?out|unsupported|only .{0,40} supported|expected|\bwant\b"
    r"|assert|✖"
)
# Lines that report a failure without its cause: "=== RUN", "FAIL pkg", "exit status 1".
_UNINFORMATIVE = re.compile(
    r"=== RUN|--- |PASS|ok\s|FAIL\b|exit status|Command failed|Traceback"
    r"|\W*\d+ (?:failed|errors?)\b"
)
_EXIT_ONLY = re.compile(r"\W*(?:Error:\s*)?(?:Exit code:?\s*-?\d+)?\W*", re.IGNORECASE)
_ANSI = re.compile(r"\x1b\[[0-9;]{0,12}[A-Za-z]")


def has_failed(run: ToolRun) -> bool:
    r"""Return whether *run* failed, by its exit code or its output; False without a result.

    >>> has_failed(ToolRun(0, "1", "Bash", {"command": "make"}, "Exit code 2\nno rule"))
    True
    """
    if run.result is None:
        return False
    head, tail = run.result[:_SCANNED_CHARS], run.result[-_SCANNED_CHARS:]
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
    r"""Return the line of *result* that best describes the failure, "" if there is none.

    >>> error_line("Exit code 1\ncollecting\nTypeError: no such key")
    'TypeError: no such key'
    """
    if "<tool_use_error>" in result[:_SCANNED_CHARS]:
        return ""  # the assistant refused the call; no command ran
    lines = _lines(result)
    for pattern in (_NAMES_ERROR, _HINTS_AT_ERROR):
        for line in lines:
            if pattern.search(line) and not _UNINFORMATIVE.match(line):
                return line
    return next((line for line in lines if _prints_failure(line)), "")


def _lines(result: str) -> list[str]:
    """Return the first and last lines of *result*, normalised and cut to ERROR_CHARS_MAX."""
    head, tail = result[:_SCANNED_CHARS], result[-_SCANNED_CHARS:]
    text = head if len(result) <= _SCANNED_CHARS else f"{head}\n{tail}"
    short = (_ANSI.sub("", line[: 4 * ERROR_CHARS_MAX]) for line in text.splitlines())
    lines = (" ".join(line.split()) for line in short)
    return [
        _shorten(line)
        for line in lines
        if len(line) >= _LINE_CHARS_MIN and not _EXIT_ONLY.fullmatch(line)
    ]


def _shorten(line: str) -> str:
    """Return *line* in at most ERROR_CHARS_MAX characters; the cause is usually at its end."""
    if len(line) <= ERROR_CHARS_MAX:
        return line
    return f"{line[:_HEAD_CHARS]} … {line[_HEAD_CHARS + 3 - ERROR_CHARS_MAX :]}"


def _prints_failure(line: str) -> bool:
    return _FAILED.match(line) is not None and not _NONE_FAILED.search(line)
