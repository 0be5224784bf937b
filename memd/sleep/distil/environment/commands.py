"""Make memories of the commands that passed in a session, one for each purpose. Pure.

The words of a command tell its purpose: test, build, deploy. A command of unknown purpose is kept
only if it passed several times. Scripts that were written in the session itself are skipped.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterator, Sequence
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.sleep.distil.agent.calls import (
    WHOLE_PATH,
    Command,
    about,
    accepts_change,
    command,
    edited_path,
    entered_folder,
    folder_below,
    is_check,
    is_noise,
    only_reads,
    selects_part,
    shorten,
)
from memd.sleep.distil.environment.single_commands import COMMAND_PREFIX, runs_once
from memd.sleep.distil.exchanges import Exchange, NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language.failures import has_failed
from memd.sleep.distil.language.pasted_answers import is_from_others
from memd.text.alternations import Phrases
from memd.text.languages import FUNCTION_WORDS

ENVIRONMENT_SLOT = "env:"
"""The prefix of the slots that a project has once, whichever session fills them."""
COMMANDS_SLOT = f"{ENVIRONMENT_SLOT}commands:"
"""The prefix of the slots of commands; one of ``_LABELS`` follows."""
WHOLE_SLOTS = frozenset(f"{COMMANDS_SLOT}{purpose}" for purpose in ("test", "check"))
"""Slots in which commands for the whole project are not replaced by those for a part of it."""
RUNNER_SLOTS = WHOLE_SLOTS | {f"{COMMANDS_SLOT}{purpose}" for purpose in ("build", "run")}
"""Slots in which commands of different runners (pytest, playwright) do not replace each other."""
_COMMANDS_MIN = 2  # a session with fewer tells little; its command only fills room
_PER_PURPOSE_MAX = 2
_TIMES_MIN = 3  # runs that passed, for a command of unknown purpose
_COMMAND_CHARS_MAX = 120
_SCORE, _SCORE_ALONE = 0.6, 0.1
_USER_CHARS = 8_000
_GONE_CHARS = 2_000  # the beginning of a result

# Worded as somebody asks for a command later, so that recall finds it (decision 0243).
_LABELS = {
    "test": "To run the tests here",
    "check": "To lint or check the code here",
    "build": "To build or compile it here",
    "run": "To start or run it here",
    "install": "To install it or set it up here",
    "migrate": "To migrate the database here",
    "deploy": "To deploy or release it",
    "other": "Commands used here",
    "by-hand": "The user runs",
}
_PURPOSES: dict[str, re.Pattern[str] | Phrases] = {
    "test": re.compile(r"\b(?:\w*tests?|jest|vitest|rspec|nox|tox|e2e|playwright|cypress)\b"),
    "check": re.compile(r"\b(?:check|lint|typecheck|type-check|verify|clippy)\b"),
    "build": Phrases(
        r"(?<!--)\b(?:build|compile|bundle|webpack|package|assemble)\b"
        r"|\bmake\b(?! (?:deploy|publish|release|push|ship|install|setup|bootstrap|migrat\w+|seed"
        r"|start|serve|dev|up|run|watch|preview)\b)",
        0,
    ),
    "deploy": re.compile(r"\b(?:deploy|publish|release|push|ship)\b"),
    "install": Phrases(
        r"\b(?:install|bootstrap|setup)\b"
        r"|\b(?:npm|pnpm|yarn|bun|uv|poetry|go|cargo|composer|mix|dotnet|flutter|pub)(?: mod)?"
        r" (?:ci|sync|add|get|restore|download)\b",
        0,
    ),
    "migrate": re.compile(r"\b(?:migrat\w+|seed|createdb|alembic|schema)\b"),
    "run": Phrases(
        r"\b(?:start|serve|dev|up|run|watch|preview|exec)\b|^\./(?!(?:scripts?|tools?|hack)/)"
        r"|^(?!/(?:usr|s?bin)/)\S*bin/|\s(?:main|app|server)\.(?:py|[jt]s|mjs|rb)\b",
        0,
    ),
}
# For these purposes folders and hosts are ignored: a path "target/release" does not release, and
# "ssh deploy@web1" does not deploy.
_IGNORES_FOLDERS = frozenset(("build", "deploy"))
_FOLDERS = re.compile(r"(?:[\w.~-]*/)+(?=\w)|\b[\w.-]+@(?=[\w-]+\.\w)")
# A runner of an interpreter, whose "run" says nothing about the script: "uv run python".
_INTERPRETS = re.compile(
    r"(?:uv|poetry|pipenv|hatch|pdm|rye) run(?: -\S+)* (?=(?:python[\d.]*|\S+\.py)\b)"
)
# Adds a package to the project, whose files list it from then on: "npm install react".
_ADDS = Phrases(
    r"\b(?:npm|pnpm|yarn|bun|pip3?|uv|poetry|cargo|composer|dotnet|flutter|pub)\b(?! ci)[^;&|]*"
    r" (?:install|i|add|get|require)(?! [^;&|]*-[re]\b)(?: -\S+)* [@\w]",
    0,
)
_PARTS = re.compile(r"\s*(?:&&|\|\||;)\s*")
_INSTALLS = Phrases(
    rf"{COMMAND_PREFIX}(?:(?:[\w@./-]+(?: -\S+)* ){{1,3}}?(?:install|setup|bootstrap)"
    r"|(?:npm|pnpm|yarn|bun|uv|poetry|go|cargo|composer|mix|dotnet|flutter|pub)(?: mod)?(?: -\S+)*"
    r" (?:ci|sync|add|get|restore|download))(?=\s|$)",
    0,
)
# A wrapper that calls a runner: "npx", "uv run", "docker compose exec web".
_THROUGH = Phrases(
    r"(?:(?:npx|pnpx|bunx|uvx|(?:npm|pnpm|yarn|bun) (?:exec|dlx|x|run)"
    r"|(?:uv|poetry|pipenv|hatch|pdm) run|bundle exec|python[\d.]* -m"
    r"|docker[- ]compose (?:run|exec)(?: -\S+)* [\w-]+"
    r"|npm|pnpm|yarn|bun|bash|sh|node|python[\d.]*|sudo|time|env|[A-Za-z_]\w*=\S*)(?: -\S+)* )+",
    0,
)
_TARGETS = frozenset(
    "make just task rake gradle gradlew mvn mvnw composer cargo go dotnet dbt".split()  # noqa: SIM905
)
_REMOVES = re.compile(
    r"\b(?:npm|pnpm|yarn|bun|pip3?|uv|poetry|cargo)(?: -\S+)* (?:remove|rm|uninstall|un)\b([^;&|]*)"
)
_VERSION = re.compile(r"(?<![\w./-])[+@v]?\d+(?:\.\d+)+(?![\w./-])")
_REMOVED_NAME = re.compile(r"[\w-]{3,}")
_NO_RUNNERS = frozenset(("test", "tests", "build", "core", "types", "dev", "run", "start", "cli"))
# The error of a shell or package manager for a command that no longer exists.
_GONE = Phrases(
    r"missing script|NO_SCRIPT|no test specified|command not found"
    r"|command [\"'`]?[\w:-]+[\"'`]? (?:was )?not found|script not found|couldn't find a script"
    r"|no rule to make target|not recognized as an internal"
)
_SCRIPT = re.compile(r"(?:^|[\s/])([\w.-]+\.(?:py|sh|js|ts|rb|go|pl|php|mjs|cjs))\b")
_ASIDE = Phrases(
    r"\s--?help\b|^(?:gofmt|prettier|black)\b|\b(?:info|doc|docs|show|list|search|version|help)\b"
    r"|/tmp/|/dev/null|<<",
    0,
)
# A pasted line of a terminal with its prompt: "user@host:~/app$ make test", "[/srv/app] make".
# Brackets of a log have no path, and a test runner's "\u276f src/cart.ts:31:7" and
# "\u276f src/cart.ts (7 tests)" are no commands.
_PROMPT = Phrases(
    r"^[ \t]*(?:\[[^\]\n]{0,60}?(?<!\w)(?P<bracketed>~?/[^\]\s]{1,120})\]"
    r"|[\w.-]{1,40}@[\w.-]{1,40}[:\s](?P<hosted>~?[\w./-]{0,120})\s?[$#%]"
    r"|(?P<bare>~?/[\w./-]{1,120})\s?[$%\u276f]|[$\u276f])\s+"
    r"(?P<line>(?!\S+:\d|[^\n]*\(\d+ tests?\b)[~./\w][^\n]{2,160})$",
    re.MULTILINE,
)
_TEMPORARY = re.compile(r"(?:/private)?/(?:tmp|var/folders)\b")


class _PassingCommand(NamedTuple):
    """A command, its *folder* ("" for the project's own), and how many *times* it passed.

    *place* is that of its last run.
    """

    command: Command
    folder: str
    times: int
    place: int

    @property
    def line(self) -> str:
        """The command line, which enters the folder first."""
        if not self.folder:
            return self.command.line
        folder = f'"{self.folder}"' if " " in self.folder else self.folder
        return f"cd {folder} && {self.command.line}"


def commands(exchanges: Sequence[Exchange]) -> Iterator[NapCandidate]:
    """Yield a memory for each purpose of the commands that passed, and one of the user's commands.

    A single command says little about a project, so its memory only fills room.
    """
    ran = _passing_commands(exchanges)
    by_purpose: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for passing in ran:
        if lasting := _drop_one_off(passing):
            used = by_purpose[_purpose(lasting.command)]
            if lasting.line not in dict(used):
                used.append((lasting.line, lasting.place))
    by_hand = {
        name: (line, exchange.place)
        for exchange in exchanges
        for name, line in _typed_commands(exchange.user[:_USER_CHARS])
    }
    if by_hand:
        by_purpose["by-hand"] = list(by_hand.values())[-_PER_PURPOSE_MAX:]
    gone = tuple(sorted(_find_gone(exchanges)))
    for purpose, used in by_purpose.items():
        if f"{COMMANDS_SLOT}{purpose}" in WHOLE_SLOTS:
            used.sort(key=lambda command: selects_part(command[0]))
        lines, places = zip(*used[:_PER_PURPOSE_MAX], strict=True)
        text = f"{_LABELS[purpose]}: {'; '.join(lines)}"
        slot = f"{COMMANDS_SLOT}{purpose}"
        places = (max(places),)
        memory = NapMemory(text, NapKind.ENVIRONMENT, places, slot, Origin.ASSISTANT, gone)
        is_alone = len(ran) < _COMMANDS_MIN and not by_hand
        yield NapCandidate(memory, _SCORE_ALONE if is_alone else _SCORE, fills=is_alone)


def _passing_commands(exchanges: Sequence[Exchange]) -> list[_PassingCommand]:
    """Return the commands that passed and are worth keeping, the most frequent first.

    Each has its shortest form; commands are equal if folder and ``about`` are.
    """
    passes: dict[tuple[str, str], _PassingCommand] = {}
    written: set[str] = set()
    runs = [(run, command(run)) for exchange in exchanges for run in exchange.runs]
    home = _find_home([called.line for _, called in runs if called and _is_eligible(called)])
    for run, called in runs:
        if path := edited_path(run):
            written.add(path.rpartition("/")[2])
        if called is None or run.result is None or not _is_eligible(called) or has_failed(run):
            continue
        folder = entered_folder(called.line)
        if folder is None or _TEMPORARY.match(folder):
            continue
        now = Command(shorten(called.line), called.about)
        place = folder_below(home, folder), now.about
        known = passes.get(place, _PassingCommand(now, place[0], 0, 0))
        best = now if len(now.line) <= len(known.command.line) else known.command
        passes[place] = _PassingCommand(best, known.folder, known.times + 1, run.place)
    frequent = sorted(passes.values(), key=lambda passing: -passing.times)
    return [passing for passing in frequent if _is_worth_keeping(passing, written)]


def _find_home(lines: Sequence[str]) -> str:
    """Return the project's folder: the absolute one that *lines* enter most, or one above it.

    "" if no folder is entered twice: then commands run in the project's folder without ``cd``.
    """
    folders = Counter(
        folder
        for line in lines
        if (folder := entered_folder(line)) and WHOLE_PATH.match(folder)
        if not _TEMPORARY.match(folder)
    )
    home, times = next(iter(folders.most_common(1)), ("", 0))
    above = [folder for folder in folders if folder_below(folder, home) != home]
    return min(above, key=len) if times > 1 else ""


def _is_worth_keeping(passing: _PassingCommand, written: Container[str]) -> bool:
    """Return whether a command is short, runs no script *written* here, and has a known purpose.

    Of unknown purpose, it must have passed several times.
    """
    runs_new_script = any(script in written for script in _SCRIPT.findall(passing.command.line))
    if runs_new_script or len(passing.line) > _COMMAND_CHARS_MAX:
        return False
    return passing.times >= _TIMES_MIN or _purpose(passing.command) != "other"


def _drop_one_off(passing: _PassingCommand) -> _PassingCommand | None:
    """Return a command without leading changes of packages or expectations, None if it is one."""
    line = passing.command.line
    if any(map(runs_once, _PARTS.split(line))):
        return None
    if _is_once(line):
        while (end := _PARTS.search(line)) and (
            _INSTALLS.match(line) or _is_once(line[: end.start()])
        ):
            line = line[end.end() :]
    return None if _is_once(line) else passing._replace(command=Command(line, about(line)))


def _is_once(line: str) -> bool:
    return _REMOVES.search(line) is not None or accepts_change(line)


def renumbers(later: str, earlier: str) -> bool:
    """Return whether *later* has a command of *earlier* with another version number.

    Both are texts of memories of commands.

    >>> renumbers("To build it: cargo +1.80 check && make", "To check it: cargo +1.70 check; make")
    True
    """
    now, before = (
        {
            _VERSION.sub("#", part): part
            for line in text.partition(": ")[2].split("; ")
            for part in _PARTS.split(line)
        }
        for text in (later, earlier)
    )
    return any(now.get(name, part) != part for name, part in before.items())


def _purpose(called: Command) -> str:
    """Return the purpose of a command, a key of ``_LABELS``; a leading installation is ignored."""
    if is_check(called):
        return "check"
    parts = [part for part in _PARTS.split(called.line) if not _INSTALLS.match(part)]
    line = "; ".join(_INTERPRETS.sub("", part) for part in parts)
    if not line:
        return "install"
    without_folders = _FOLDERS.sub("", line)
    for purpose, pattern in _PURPOSES.items():
        if pattern.search(without_folders if purpose in _IGNORES_FOLDERS else line):
            return purpose
    return "other"


def _is_eligible(called: Command) -> bool:
    """Return whether a command is short, and no noise, look, help text or new package."""
    line = shorten(called.line)
    is_short = len(line) <= _COMMAND_CHARS_MAX and not (_ASIDE.search(line) or _ADDS.search(line))
    is_use = is_short and not (is_noise(called) or only_reads(called))
    return is_use and any(map(str.isalpha, line))


def _find_gone(exchanges: Sequence[Exchange]) -> set[str]:
    """Return the runners that were uninstalled, or whose last run was "command not found"."""
    gone: set[str] = set()
    for run in (run for exchange in exchanges for run in exchange.runs):
        called = command(run)
        if called is None or run.result is None:
            continue
        if not has_failed(run):
            gone.discard(runner(called.line))
            removed = " ".join(_REMOVES.findall(called.line))
            gone |= {name.casefold() for name in _REMOVED_NAME.findall(removed)} - _NO_RUNNERS
        elif _GONE.search(run.result[:_GONE_CHARS]):
            gone.add(runner(called.line))
    return gone


def runner(line: str) -> str:
    """Return the program that a command line runs in the end, without wrappers such as ``npx``.

    ``make``, ``cargo`` and the like keep what they are called for.

    >>> runner("cd web && pnpm exec playwright test"), runner("npm test"), runner("pnpm run test")
    ('playwright', 'test', 'test')
    >>> runner("uv run pytest -q"), runner("make test"), runner("CI=1 go test ./...")
    ('pytest', 'make test', 'go test')
    """
    last = _PARTS.split(shorten(line))[-1]
    program, *arguments = (_THROUGH.sub("", last, count=1) or last).split() or [""]
    name = program.rpartition("/")[2].casefold()
    target = next((word for word in arguments if word[0].isalpha()), "")
    return f"{name} {target}".strip() if name in _TARGETS else name


def runners(text: str, gone: Collection[str] = ()) -> frozenset[str]:
    """Return the runners in a memory of commands, each with its folder, without those in *gone*.

    A command may have a ";" of its own: what only sets up the shell has no runner.

    >>> sorted(runners("To run the tests here: pnpm test; cd web && npx playwright test"))
    ['test', 'web playwright']
    """
    lines = filter(about, text.partition(": ")[2].split("; "))
    left = {line: name for line in lines if (name := runner(line)) not in gone}
    return frozenset(f"{entered_folder(line) or ''} {name}".strip() for line, name in left.items())


def covers_a_part(text: str) -> bool:
    """Return whether each command in a memory of commands selects a file, a folder or a test.

    >>> covers_a_part("To run the tests here: go test -v ./pkg/cmd/...; pytest tests/a.py::test_b")
    True
    >>> covers_a_part("To run the tests here: go test ./...; pytest tests/a.py")
    False
    """
    return all(map(selects_part, filter(about, text.partition(": ")[2].split("; "))))


def _typed_commands(user: str) -> Iterator[tuple[str, str]]:
    """Yield the program and the line of each command in a terminal that the user pasted.

    None of what another person sent.
    """
    for prompt in _PROMPT.finditer(user):
        if is_from_others(user[: prompt.start()]):
            return
        line = " ".join(prompt["line"].split())
        name = about(line)
        is_prose = line.split(" ", 1)[0].casefold() in FUNCTION_WORDS
        folder = prompt["bracketed"] or prompt["hosted"] or prompt["bare"]
        if name and not (is_prose or is_noise(Command(line, name))):
            yield name, f"{line} in {folder}" if folder else line
