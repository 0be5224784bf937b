"""Where things are and how they are run: commands that worked, ports, paths, variables. Pure.

Two kinds of memory: the commands that build, run and check the project, in one; and the
agent's own sentences that say where something is or how it is set. A slot names what a
memory is about, so that what a newer session says of the same thing takes its place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memd.model.enums import Origin
from memd.sleep.distil import phrases
from memd.sleep.distil.answers import cut
from memd.sleep.distil.calls import Command, about, command, is_noise, shortened
from memd.sleep.distil.candidates import Candidate, Distilled, Kind
from memd.sleep.distil.exchanges import Exchange
from memd.sleep.distil.failures import failed
from memd.sleep.distil.prose import sentences

ENVIRONMENT_CHARS_MAX = 480
COMMANDS_SLOT = "env:commands"
_COMMANDS_MIN, _COMMANDS_MAX = 2, 6
_COMMAND_CHARS_MAX = 120
_WORDS_MIN, _WORDS_MAX = 5, 45
_STRETCH_CHARS = 120_000  # thirty thousand tokens; one sentence is told of each
_COMMANDS_SCORE = 0.6
_BY_HAND_MAX = 2
_USER_CHARS = 8_000
_SCORE_MIN = 0.54
_SCORE_MAX = 0.7

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
_PLANS = re.compile(r"(?:[A-Z][a-z]+ing|Either|Option)\b(?! (?:is|are|was|has|runs)\b)")
# A line of a terminal that the user pasted: where they were, and what they typed.
_PROMPT = re.compile(
    r"^[ \t]*(?:\[[^\]\n]{0,60}?(?P<bracketed>~?/[^\]\s]{1,120})\]"
    r"|[\w.-]{1,40}@[\w.-]{1,40}[:\s](?P<hosted>~?[\w./-]{0,120})\s?[$#%]"
    r"|(?P<bare>~?/[\w./-]{1,120})\s?[$%\u276f]|[$\u276f])\s+(?P<line>[~./\w][^\n]{2,160})$",
    re.MULTILINE,
)
_ASIDE = re.compile(
    r"\s--?help\b|^(?:gofmt|prettier|black)\b|\b(?:info|doc|docs|show|list|search|version)\b"
)


class _Told(NamedTuple):
    text: str
    place: int
    score: float
    subject: str


def environment(exchanges: Sequence[Exchange]) -> list[Candidate]:
    """Return what *exchanges* tell of where and how things run, in their order.

    At most two memories for each stretch of thirty thousand tokens, ENVIRONMENT_CHARS_MAX
    characters each.
    """
    found = [*_sentences(exchanges), *_commands(exchanges)]
    return sorted(found, key=lambda each: each.memory.places[0])


def _commands(exchanges: Sequence[Exchange]) -> Iterator[Candidate]:
    """Yield the memory of the commands that passed and of what the user runs by hand."""
    count: Counter[str] = Counter()
    lines: dict[str, str] = {}
    by_hand: dict[str, str] = {}
    place = -1
    for exchange in exchanges:
        for name, line in _typed(exchange.user[:_USER_CHARS]):
            by_hand[name] = line
            place = exchange.place
        for run in exchange.runs:
            called = command(run)
            if called is None or run.result is None or not _is_worth(called) or failed(run):
                continue
            line = shortened(called.line)
            known = lines.get(called.about, line)
            lines[called.about] = line if len(line) <= len(known) else known
            count[called.about] += 1
            place = run.place
    kept = [lines[name] for name, _ in count.most_common(_COMMANDS_MAX)]
    parts = [f"Commands that worked: {'; '.join(kept)}"] if len(kept) >= _COMMANDS_MIN else []
    if by_hand:
        parts.append(f"The user runs by hand: {'; '.join(list(by_hand.values())[-_BY_HAND_MAX:])}")
    if parts:
        text = cut("\n".join(parts), ENVIRONMENT_CHARS_MAX)
        memory = Distilled(text, Kind.ENVIRONMENT, (place,), COMMANDS_SLOT, Origin.ASSISTANT)
        yield Candidate(memory, _COMMANDS_SCORE)


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


def _sentences(exchanges: Sequence[Exchange]) -> Iterator[Candidate]:
    """Yield the best sentence of each stretch; of one subject only the newest."""
    newest: dict[str, _Told] = {}
    for told in _told(exchanges):
        newest[told.subject] = told
    best: dict[int, _Told] = {}
    stretches = _stretches(exchanges)
    for told in newest.values():
        stretch = stretches[told.place]
        if stretch not in best or told.score > best[stretch].score:
            best[stretch] = told
    for told in best.values():
        slot = f"env:{told.subject}"
        memory = Distilled(told.text, Kind.ENVIRONMENT, (told.place,), slot, Origin.ASSISTANT)
        yield Candidate(memory, min(_SCORE_MAX, told.score))


def _stretches(exchanges: Sequence[Exchange]) -> dict[int, int]:
    """Return of each text of the agent in which stretch of the session it stands."""
    chars = 0
    stretches: dict[int, int] = {}
    for exchange in exchanges:
        chars += len(exchange.user) + sum(len(run.result or "") for run in exchange.runs)
        for said in exchange.said:
            chars += len(said.text)
            stretches[said.place] = chars // _STRETCH_CHARS
    return stretches


def _told(exchanges: Sequence[Exchange]) -> Iterator[_Told]:
    for exchange in exchanges:
        if not exchange.user:
            continue
        for said in exchange.said:
            for sentence in sentences(said.text):
                text = sentence.text
                if not (_LIES.search(text) or _CONCERNS.search(text)):
                    continue
                names = [(m[0], tells) for one, tells in _PLACES if (m := one.search(text))]
                score = _score(text, sum(tells for _, tells in names)) if names else 0.0
                if score >= _SCORE_MIN:
                    yield _Told(text, said.place, score, names[0][0].strip(" .:,").casefold())


def _score(text: str, tells: float) -> float:
    """Return how much a sentence tells of a place or a setting, 0 for one that is not told."""
    words = len(text.split())
    if not _WORDS_MIN <= words <= _WORDS_MAX or text.endswith(("?", ":")):
        return 0.0
    if phrases.NARRATION.match(text) or phrases.UNSURE.search(text) or _PLANS.match(text):
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
