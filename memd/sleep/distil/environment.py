"""Where things are and how they are run: commands that worked, ports, paths, variables. Pure.

Two kinds of memory: the commands for each purpose (tests, builds, checks ...), and the
agent's own sentences that say where something is or how it is set. A slot names what a
memory is about, so that what a newer session says of the same thing takes its place, and
of nothing else.

A bare list of commands says nothing a week later. What a command is for is told by its
words; one that tells nothing is kept when it passed again and again, and a script that
was written in the session itself was for that day.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.sleep.distil.answers import denies
from memd.sleep.distil.calls import (
    WHOLE_PATH,
    Command,
    about,
    command,
    edited_path,
    entered_folder,
    folder_below,
    is_check,
    is_noise,
    shorten,
)
from memd.sleep.distil.exchanges import Exchange, NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language import phrases
from memd.sleep.distil.language.failures import has_failed
from memd.sleep.distil.language.prose import sentences
from memd.text.languages import FUNCTION_WORDS

ENVIRONMENT_SLOT = "env:"
"""How the slots begin of what holds for the project as a whole, by what tools and agents said."""
_WORDS_MIN, _WORDS_MAX = 5, 45
_STRETCH_CHARS = 120_000  # thirty thousand tokens; one sentence is told of each
_SCORE_MIN = 0.54
_SCORE_MAX = 0.7
_WORTH_MIN = -2.0  # the log-odds from which a sentence is told, where a model judged it

# What is worth naming, and how much each tells of a place or a setting.
_PLACES = (
    (
        re.compile(
            r"\bhttps?://[\w.-]+(?::\d+)?[\w/.-]*|\b(?:localhost|\d{1,3}(?:\.\d{1,3}){3}):\d{2,5}\b"
        ),
        0.2,
    ),
    (re.compile(r"\bports? (?:number )?\d{2,5}\b|(?<![\w:]):\d{4,5}\b", re.IGNORECASE), 0.2),
    (re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b"), 0.2),
    (re.compile(r"\bv?\d+\.\d+(?:\.\d+)?\b|\b[Vv]ersion \d+"), 0.15),
    (
        re.compile(
            r"(?<![\w/])(?:~|\.{0,2})/[\w.@-]+(?:/[\w.@*-]+)+/?"
            r"|(?<![\w/.])[\w.-]+/[A-Za-z_.][\w.-]*/[\w.@-]*[A-Za-z][\w.@-]*"
        ),
        0.15,
    ),
    (
        re.compile(
            r"(?<!\w)\.[a-z][\w-]+(?=\s|$)"
            r"|\b[\w-]+\.(?:ya?ml|toml|json|ini|conf|env|lock|db|sqlite)\b"
        ),
        0.1,
    ),
)


def _anywhere(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})", re.IGNORECASE)


_LIES = _anywhere(
    r"runs? (?:on|at|in|under)\b",
    r"running (?:on|at)\b",
    r"listens? on\b",
    r"lives? (?:in|at|under|on)\b",
    r"(?:located|stored|saved|kept|installed|mounted|served|deployed|published|hosted|exposed)"
    r" (?:in|at|to|on|under|by|from|with|via|inside)\b",
    r"defaults? (?:to|is|port|path)\b",
    r"must be set\b",
    r"can be (?:set|overridden)\b",
    r"(?:environment|env) var(?:iable)?s?\b",
    r"the (?:path|port|address|url|endpoint|host|branch|folder|directory|command|version|config\w*"
    r"|database|db) (?:is|are)\b",
    r"connects? to\b",
)
_CONCERNS = _anywhere(
    r"(?:written|set|read|configured|defined|created) (?:in|at|to|by|from|with|via|through)\b",
    r"(?:is|are) (?:called|named|in|at|under) ",
    r"stores? ",
    r"points? (?:to|at)\b",
    r"requires?\b",
    r"needs? ",
    r"expects? ",
)
_CODE_TALK = re.compile(
    r"\b(?:function|method|struct|class|field|parameter|argument|lines? \d+|constant|tests?)\b"
)
# What somebody is told to look at, and a guess: neither says where a thing is.
_ADVISES = re.compile(
    r"(?:^|[:.;\u2192] )(?:then |please )?(?:confirm|check|verify|make sure|ensure|go to|click)\b"
    r"|^(?:so )?either\b|\bor it (?:is|was)\b",
    re.IGNORECASE,
)
_PLANS = re.compile(r"(?:[A-Z][a-z]+ing|Either|Option)\b(?! (?:is|are|was|has|runs)\b)")


class _Statement(NamedTuple):
    text: str
    place: int
    score: float
    subject: str


def environment(exchanges: Sequence[Exchange]) -> list[NapCandidate]:
    """Return what *exchanges* tell of where and how things run, in their order.

    At most one memory for each purpose of a command, and a sentence for each stretch of thirty
    thousand tokens.
    """
    candidates = [*_sentences(exchanges), *commands(exchanges)]
    return sorted(candidates, key=lambda each: each.memory.places[0])


def _sentences(exchanges: Sequence[Exchange]) -> Iterator[NapCandidate]:
    """Yield the best sentence of each stretch; of one subject only the newest."""
    newest: dict[str, _Statement] = {}
    for statement in _statements(exchanges):
        newest[statement.subject] = statement
    best: dict[int, _Statement] = {}
    stretches = _stretches(exchanges)
    for statement in newest.values():
        stretch = stretches[statement.place]
        if stretch not in best or statement.score > best[stretch].score:
            best[stretch] = statement
    for statement in best.values():
        slot = f"{ENVIRONMENT_SLOT}{statement.subject}"
        memory = NapMemory(
            statement.text, NapKind.ENVIRONMENT, (statement.place,), slot, Origin.ASSISTANT
        )
        yield NapCandidate(memory, min(_SCORE_MAX, statement.score))


def _stretches(exchanges: Sequence[Exchange]) -> dict[int, int]:
    """Return of each text of the agent in which stretch of the session it stands."""
    chars = 0
    stretches: dict[int, int] = {}
    for exchange in exchanges:
        chars += len(exchange.user) + sum(len(run.result or "") for run in exchange.runs)
        for text in exchange.texts:
            chars += len(text.text)
            stretches[text.place] = chars // _STRETCH_CHARS
    return stretches


def _statements(exchanges: Sequence[Exchange]) -> Iterator[_Statement]:
    for exchange, after in zip_longest(exchanges, exchanges[1:]):
        texts = exchange.texts if exchange.user else []
        if texts and after and denies(after.user, texts[-1].text):
            texts = texts[:-1]
        for agent_text in texts:
            for sentence in sentences(agent_text.text):
                text = sentence.text
                if not (_LIES.search(text) or _CONCERNS.search(text)):
                    continue
                names = [(m[0], tells) for one, tells in _PLACES if (m := one.search(text))]
                score = _score(text, sum(tells for _, tells in names)) if names else 0.0
                if score >= _SCORE_MIN and agent_text.worths.get(text, 0.0) >= _WORTH_MIN:
                    yield _Statement(
                        text, agent_text.place, score, names[0][0].strip(" .:,").casefold()
                    )


def _score(text: str, tells: float) -> float:
    """Return how much a sentence tells of a place or a setting, 0 for one that is not told."""
    words = len(text.split())
    if not _WORDS_MIN <= words <= _WORDS_MAX or text.endswith(("?", ":")):
        return 0.0
    if phrases.NARRATION.match(text) or phrases.UNSURE.search(text) or _PLANS.match(text):
        return 0.0
    if phrases.PRINTED.search(text) or _ADVISES.search(text):
        return 0.0
    return (
        0.3
        + min(tells, 0.4)
        + 0.15 * bool(_LIES.search(text))
        + 0.05 * bool(_CONCERNS.search(text))
        - 0.2 * bool(phrases.POINTING.match(text))
        - 0.2 * bool(phrases.TASK.match(text))
        - 0.15 * bool(_CODE_TALK.search(text))
        - 0.2 * bool(phrases.PRAISE.match(text))
    )


COMMANDS_SLOT = f"{ENVIRONMENT_SLOT}commands:"
"""The prefix of the slots of commands; one of ``_LABELS`` follows."""
WHOLE_SLOTS = frozenset(f"{COMMANDS_SLOT}{purpose}" for purpose in ("test", "check"))
"""Slots in which commands for the whole project stay when a later session runs a part."""
_COMMANDS_MIN = 2
_FOR_MAX = 2  # commands for one purpose
_TIMES_MIN = 3  # that a command passed whose words do not tell what it is for
_COMMAND_CHARS_MAX = 120
_SCORE = 0.6
_USER_CHARS = 8_000

# In the words in which somebody asks for a command later (decision 0243).
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
_PURPOSES = {
    "test": re.compile(r"\b(?:\w*tests?|jest|vitest|rspec|nox|tox|e2e|playwright|cypress)\b"),
    "build": re.compile(r"\b(?:build|compile|bundle|webpack|package|assemble|make)\b"),
    "deploy": re.compile(r"\b(?:deploy|publish|release|push|ship)\b"),
    "install": re.compile(
        r"\b(?:install|bootstrap|setup)\b"
        r"|\b(?:npm|pnpm|yarn|bun|uv|poetry|go|cargo|composer|mix|dotnet|flutter|pub)(?: mod)?"
        r" (?:ci|sync|add|get|restore|download)\b"
    ),
    "migrate": re.compile(r"\b(?:migrat\w+|seed|createdb|alembic|schema)\b"),
    "run": re.compile(r"\b(?:start|serve|dev|up|run|watch|preview|exec)\b|^\./|^\S*bin/"),
}
# Adds packages to a project: what it needs stands in its own files from then on.
_ADDS = re.compile(
    r"\b(?:npm|pnpm|yarn|bun|pip3?|uv|poetry|cargo|composer|dotnet|flutter|pub)\b(?! ci)[^;&|]*"
    r" (?:install|i|add|get|require)(?! [^;&|]*-[re]\b)(?: -\S+)* [@\w]"
)
_SCRIPT = re.compile(r"(?:^|[\s/])([\w.-]+\.(?:py|sh|js|ts|rb|go|pl|php|mjs|cjs))\b")
# An argument that chooses some of the tests or files: by name, or by a path of two names and more.
_PART = re.compile(
    r"-(?:k|t|run)|--(?:run|grep|filter)\b.*|(?:\./)?\w[^/\s]*/\S+|\S+::\S+"
    r"|\S+\.(?:py|rb|go|rs|php|java|cs|exs|[jt]sx?)"
)
_ASIDE = re.compile(
    r"\s--?help\b|^(?:gofmt|prettier|black)\b|\b(?:info|doc|docs|show|list|search|version|help)\b"
    r"|/tmp/|/dev/null"
)
# A line of a terminal that the user pasted: where they were, and what they typed. What a log has
# in brackets is no folder, and what a test runner points at ("\u276f src/cart.ts:31:7") or counts
# ("\u276f src/cart.ts (7 tests)") no command.
_PROMPT = re.compile(
    r"^[ \t]*(?:\[[^\]\n]{0,60}?(?<!\w)(?P<bracketed>~?/[^\]\s]{1,120})\]"
    r"|[\w.-]{1,40}@[\w.-]{1,40}[:\s](?P<hosted>~?[\w./-]{0,120})\s?[$#%]"
    r"|(?P<bare>~?/[\w./-]{1,120})\s?[$%\u276f]|[$\u276f])\s+"
    r"(?P<line>(?!\S+:\d|[^\n]*\(\d+ tests?\b)[~./\w][^\n]{2,160})$",
    re.MULTILINE,
)


_TEMPORARY = re.compile(r"(?:/private)?/(?:tmp|var/folders)\b")


class _PassingCommand(NamedTuple):
    """A command, its *folder* ("" for that of the project), and how often it passed."""

    command: Command
    folder: str
    times: int
    place: int

    @property
    def line(self) -> str:
        """The command with the folder that it is run in."""
        if not self.folder:
            return self.command.line
        folder = f'"{self.folder}"' if " " in self.folder else self.folder
        return f"cd {folder} && {self.command.line}"


def commands(exchanges: Sequence[Exchange]) -> Iterator[NapCandidate]:
    """Yield the commands that passed, a memory for each purpose, and what the user runs by hand.

    One command alone says little about how a project is run.
    """
    ran = _passing_commands(exchanges)
    by_purpose: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for each in ran if len(ran) >= _COMMANDS_MIN else ():
        by_purpose[_purpose(each.command)].append((each.line, each.place))
    by_hand = {
        name: (line, exchange.place)
        for exchange in exchanges
        for name, line in _typed_commands(exchange.user[:_USER_CHARS])
    }
    if by_hand:
        by_purpose["by-hand"] = list(by_hand.values())[-_FOR_MAX:]
    for purpose, used in by_purpose.items():
        lines, places = zip(*used[:_FOR_MAX], strict=True)
        text = f"{_LABELS[purpose]}: {'; '.join(lines)}"
        slot = f"{COMMANDS_SLOT}{purpose}"
        memory = NapMemory(text, NapKind.ENVIRONMENT, (max(places),), slot, Origin.ASSISTANT)
        yield NapCandidate(memory, _SCORE)


def _passing_commands(exchanges: Sequence[Exchange]) -> list[_PassingCommand]:
    """Return the commands that passed and are told, each in its shortest form, oftenest first."""
    passes: dict[tuple[str, str], _PassingCommand] = {}
    written: set[str] = set()
    runs = [(run, command(run)) for exchange in exchanges for run in exchange.runs]
    home = _find_home([called.line for _, called in runs if called and _is_worth(called)])
    for run, called in runs:
        if path := edited_path(run):
            written.add(path.rpartition("/")[2])
        if called is None or run.result is None or not _is_worth(called) or has_failed(run):
            continue
        folder = entered_folder(called.line)
        if folder is None or _TEMPORARY.match(folder):
            continue
        now = Command(shorten(called.line), called.about)
        place = folder_below(home, folder), now.about
        known = passes.get(place, _PassingCommand(now, place[0], 0, 0))
        best = now if len(now.line) <= len(known.command.line) else known.command
        passes[place] = _PassingCommand(best, known.folder, known.times + 1, run.place)
    often = sorted(passes.values(), key=lambda each: -each.times)
    return [each for each in often if _is_worth_telling(each, written)]


def _find_home(lines: Sequence[str]) -> str:
    """Return the folder that *lines* enter most often by its whole path, or one above that.

    "" where none is entered twice: then the project is where the commands are that enter none.
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


def _is_worth_telling(each: _PassingCommand, written: Container[str]) -> bool:
    is_written_now = any(script in written for script in _SCRIPT.findall(each.command.line))
    if is_written_now or len(each.line) > _COMMAND_CHARS_MAX:
        return False
    return each.times >= _TIMES_MIN or _purpose(each.command) != "other"


def _purpose(called: Command) -> str:
    if is_check(called):
        return "check"
    return next((name for name, its in _PURPOSES.items() if its.search(called.line)), "other")


def _is_worth(called: Command) -> bool:
    line = shorten(called.line)
    is_told = len(line) <= _COMMAND_CHARS_MAX and not (_ASIDE.search(line) or _ADDS.search(line))
    return is_told and not is_noise(called) and any(map(str.isalpha, line))


def covers_a_part(text: str) -> bool:
    """Return whether each command of a memory of commands names a file, a folder or a test.

    >>> covers_a_part("To run the tests here: go test -v ./pkg/cmd/...; pytest tests/a.py::test_b")
    True
    >>> covers_a_part("To run the tests here: go test ./...; pytest tests/a.py")
    False
    """
    return all(_chooses(line) for line in text.partition(": ")[2].split("; "))


def _chooses(line: str) -> bool:
    if line.startswith("cd "):
        return True
    program = about(line).split()  # with the script that an interpreter runs
    arguments = line.rpartition("&& ")[2].split()[1:]
    return any(_PART.fullmatch(word) for word in arguments if word not in program)


def _typed_commands(user: str) -> Iterator[tuple[str, str]]:
    """Yield what the user typed in a terminal, by its program, and where."""
    for prompt in _PROMPT.finditer(user):
        line = " ".join(prompt["line"].split())
        name = about(line)
        is_prose = line.split(" ", 1)[0].casefold() in FUNCTION_WORDS
        folder = prompt["bracketed"] or prompt["hosted"] or prompt["bare"]
        if name and not (is_prose or is_noise(Command(line, name))):
            yield name, f"{line} in {folder}" if folder else line
