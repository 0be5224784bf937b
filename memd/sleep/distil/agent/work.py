"""Summarise what a session's tools did for its digest: files, commands, addresses, failures. Pure.

A file is changed by an editing tool, or by a command line that writes into it.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from memd.sleep.distil.agent.calls import (
    WHOLE_PATH,
    Command,
    command,
    edited_path,
    entered_folder,
    is_check,
    is_noise,
    parts_of,
    shorten,
)
from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import Exchange, ToolRun
from memd.sleep.distil.language.failures import has_failed
from memd.text.alternations import Phrases

_FILES_MAX, _COMMANDS_MAX, _ADDRESSES_MAX, _COMMAND_CHARS = 8, 4, 3, 110
_LOCAL = Phrases(
    r"\bhttps?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d{2,5})?(?:/[\w./-]{0,60})?"
    r"|\b(?:localhost|127\.0\.0\.1):\d{2,5}\b",
    0,
)
_ASSISTANT_FOLDER = re.compile(r"/\.(?:claude|codex|gemini|cursor)/")  # its notes and plans
_SCRATCH = re.compile(r"(?:^|/)(?:tmp|scratchpad|node_modules|\.git)/|^/(?:private|dev)/")
_SHARE = 0.9  # of the files must be in their common folder
_PARTS_MAX = 3  # of a path outside the common folder
_SEPARATORS = frozenset((";", "&&", "||", "|", "&"))  # between the parts of a command line
# Only these write a given text; redirected output of other programs is a log.
_WRITERS = frozenset(("echo", "printf", "cat"))
_WRITES = re.compile(r">|\b(?:sed|tee)\b")
_FILE = re.compile(r"[^$*`<>|&]+")


class CommandRun(NamedTuple):
    """A command that ended, and whether it *failed*."""

    command: Command
    failed: bool


def ran_commands(runs: Sequence[ToolRun]) -> list[CommandRun]:
    """Return the commands of those *runs* that have a result."""
    return [
        CommandRun(line, has_failed(run))
        for run in runs
        if run.result is not None and (line := command(run))
    ]


def changed_files(runs: Sequence[ToolRun]) -> str:
    """Return a line with the written files, the latest first, and their common folder.

    Temporary files are left out: "a.py, b.py and 3 more in /srv/app".
    """
    written = (path for run in reversed(runs) for path in _find_paths(run))
    paths = dict.fromkeys(path for path in written if not _SCRATCH.search(path))
    folder = _common_folder(
        [path for path in paths if path[0] == "/" and not _ASSISTANT_FOLDER.search(path)]
    )
    names = dict.fromkeys(_within(path, folder) for path in paths)
    shown = list(names)[:_FILES_MAX]
    more = f" and {len(names) - _FILES_MAX} more" if len(names) > _FILES_MAX else ""
    return ", ".join(shown) + more + (f" in {folder.rstrip('/')}" if folder else "")


def _find_paths(run: ToolRun) -> list[str]:
    """Return the paths of the files that *run* wrote, by an edit or a command line."""
    if path := edited_path(run):
        return [path]
    called = command(run)
    if called is None or not _WRITES.search(called.line) or run.result is None or has_failed(run):
        return []
    folder = entered_folder(called.line)
    paths = find_written_files(called.line) if folder is not None else []
    return [
        path if WHOLE_PATH.match(path) else posixpath.join(folder or "", path) for path in paths
    ]


def find_written_files(line: str) -> list[str]:
    """Return the files into which a command *line* writes a text, or which it edits in place.

    >>> find_written_files("echo 'a > b' >> weak.md && sed -i 's/1/2/' hours.md; make > log")
    ['weak.md', 'hours.md']
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quotation without its end
        return []
    paths: list[str] = []
    part: list[str] = []
    for word in (*words, ";"):
        if word not in _SEPARATORS:
            part.append(word)
            continue
        paths += _find_files(part)
        part = []
    return [path for path in paths if _FILE.fullmatch(path)]


def _find_files(part: Sequence[str]) -> list[str]:
    """Return the files that one program writes; *part* are the words of its command line."""
    program, *arguments = [word for word in part if word not in {"(", ")", "{", "}"}] or [""]
    pairs = list(pairwise(("", *arguments)))
    plain = [word for before, word in pairs if word and word[0] != "-" and before != "-e"]
    if program == "tee":
        return plain
    if program == "sed" and any(word.startswith(("-i", "--in-place")) for word in arguments):
        return plain if "-e" in arguments else plain[1:]
    if program not in _WRITERS:
        return []
    return [path for operator, path in pairs if operator in {">", ">>"}]


def _common_folder(paths: Sequence[str]) -> str:
    """Return the deepest folder with nearly all of *paths*, with a slash, "" if there is none."""
    count = Counter(folder for path in paths for folder in _parents(path))
    common = [folder for folder, times in count.items() if times >= _SHARE * len(paths)]
    return max(common, key=len, default="")


def _parents(path: str) -> Iterator[str]:
    """Yield the folders above *path*, each with a slash at its end, without the root."""
    end = path.rfind("/")
    while end > 0:
        yield path[: end + 1]
        end = path.rfind("/", 0, end)


def _within(path: str, folder: str) -> str:
    """Return *path* relative to *folder*, or the last parts of a path that is elsewhere."""
    if folder and path.startswith(folder):
        return path.removeprefix(folder)
    parts = path.split("/")
    return path if len(parts) <= _PARTS_MAX else "/".join(("…", *parts[-_PARTS_MAX:]))


def working_commands(ran: Sequence[CommandRun]) -> list[str]:
    """Return the most used commands that passed, each in its shortest form."""
    count: Counter[str] = Counter()
    shortest: dict[str, str] = {}
    for called, failed in ran:
        name = called.about
        if failed or not name or is_noise(called):
            continue
        count[name] += 1
        line = shorten(called.line)
        known = shortest.get(name)
        shortest[name] = line if known is None or len(line) < len(known) else known
    return [shortest[name] for name, _ in count.most_common(_COMMANDS_MAX)]


def addresses(exchanges: Sequence[Exchange], ran: Sequence[CommandRun]) -> list[str]:
    """Return the local addresses in commands and messages, the last one first."""
    texts = [
        text
        for exchange in exchanges
        for text in (exchange.user, *(agent_text.text for agent_text in exchange.texts))
    ]
    texts += [called.line for called, _ in ran]
    addresses = [address for text in texts for address in _LOCAL.findall(text[-20_000:])]
    return list(dict.fromkeys(reversed(addresses)))[:_ADDRESSES_MAX]


def last_failure(ran: Sequence[CommandRun]) -> str:
    """Return the last command that still fails, else the last that failed and passes now.

    The error is left out: a digest has the agent's origin, and a tool may print anything. Memories
    of fixes quote it, with the tool as origin.
    """
    passed: set[str] = set()
    fixed = ""
    for called, failed in reversed(ran):
        if not failed:
            passed.update(part.about for part in parts_of(called.line))
        elif not (is_noise(called) or is_check(called)):
            line = f"{cut(shorten(called.line), _COMMAND_CHARS)} failed"
            if called.about not in passed:
                return line
            fixed = fixed or f"{line} (passes now)"
    return fixed
