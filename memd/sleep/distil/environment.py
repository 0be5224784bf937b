"""Where things are and how they are run: commands that worked, ports, paths, variables. Pure.

Two kinds of memory: the commands that build, run and check the project, in one; and the
agent's own sentences that say where something is or how it is set. A slot names what a
memory is about, so that what a newer session says of the same thing takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.sleep.distil import phrases
from memd.sleep.distil.candidates import Distilled, NapCandidate, NapKind
from memd.sleep.distil.commands import commands
from memd.sleep.distil.exchanges import Exchange
from memd.sleep.distil.prose import sentences

ENVIRONMENT_CHARS_MAX = 480
_WORDS_MIN, _WORDS_MAX = 5, 45
_STRETCH_CHARS = 120_000  # thirty thousand tokens; one sentence is told of each
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


class _Told(NamedTuple):
    text: str
    place: int
    score: float
    subject: str


def environment(exchanges: Sequence[Exchange]) -> list[NapCandidate]:
    """Return what *exchanges* tell of where and how things run, in their order.

    At most two memories for each stretch of thirty thousand tokens, ENVIRONMENT_CHARS_MAX
    characters each.
    """
    found = [*_sentences(exchanges), *commands(exchanges)]
    return sorted(found, key=lambda each: each.memory.places[0])


def _sentences(exchanges: Sequence[Exchange]) -> Iterator[NapCandidate]:
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
        memory = Distilled(told.text, NapKind.ENVIRONMENT, (told.place,), slot, Origin.ASSISTANT)
        yield NapCandidate(memory, min(_SCORE_MAX, told.score))


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
