"""Extract a project's environment: commands that worked, ports, paths, variables. Pure.

There are two kinds of memory: the commands for each purpose (tests, builds, checks), and sentences
of the agent that say where something is or how it is set. The slot names the subject, so a newer
session replaces exactly the memory about the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.sleep.distil.answers import denies
from memd.sleep.distil.environment.commands import ENVIRONMENT_SLOT, commands
from memd.sleep.distil.exchanges import Exchange, NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language import phrases
from memd.sleep.distil.language.prose import sentences
from memd.text.alternations import Phrases

_WORDS_MIN, _WORDS_MAX = 5, 45
_STRETCH_CHARS = 120_000  # about 30,000 tokens; each stretch has at most one sentence
_SCORE_MIN = 0.54
_SCORE_MAX = 0.7
_WORTH_MIN = -2.0  # the least log-odds of a sentence that a model judged

# Patterns of places and settings, each with what it adds to the score of a sentence.
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
        Phrases(
            r"(?<![\w/])(?:~|\.{0,2})/[\w.@-]+(?:/[\w.@*-]+)+/?"
            r"|(?<![\w/.])[\w.-]+/[A-Za-z_.][\w.-]*/[\w.@-]*[A-Za-z][\w.@-]*",
            0,
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


def _at_word_start(*alternatives: str) -> Phrases:
    return Phrases(rf"\b(?:{'|'.join(alternatives)})")


_SAYS_WHERE = _at_word_start(
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
_SAYS_HOW_SET = _at_word_start(
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
# An instruction ("check", "go to") or a guess: neither states where a thing is.
_ADVISES = Phrases(
    r"(?:^|[:.;\u2192] )(?:then |please )?(?:confirm|check|verify|make sure|ensure|go to|click)\b"
    r"|^(?:so )?either\b|\bor it (?:is|was)\b"
)
_PLANS = re.compile(r"(?:[A-Z][a-z]+ing|Either|Option)\b(?! (?:is|are|was|has|runs)\b)")


class _Statement(NamedTuple):
    """A sentence of the agent about the place or setting of its *subject*."""

    text: str
    place: int
    score: float
    subject: str


def environment(exchanges: Sequence[Exchange]) -> list[NapCandidate]:
    """Return the memories of the environment in *exchanges*, in order of their places.

    At most one for each purpose of a command, and one sentence for each 30,000 tokens.
    """
    candidates = [*_sentences(exchanges), *commands(exchanges)]
    return sorted(candidates, key=lambda candidate: candidate.memory.places[0])


def _sentences(exchanges: Sequence[Exchange]) -> Iterator[NapCandidate]:
    """Yield the best sentence of each stretch, considering only the newest of each subject."""
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
    """Return the number of the stretch of each text of the agent, by its place."""
    chars = 0
    stretches: dict[int, int] = {}
    for exchange in exchanges:
        chars += len(exchange.user) + sum(len(run.result or "") for run in exchange.runs)
        for text in exchange.texts:
            chars += len(text.text)
            stretches[text.place] = chars // _STRETCH_CHARS
    return stretches


def _statements(exchanges: Sequence[Exchange]) -> Iterator[_Statement]:
    """Yield the agent's statements of places and settings, without a text that the user denies."""
    for exchange, after in zip_longest(exchanges, exchanges[1:]):
        texts = exchange.texts if exchange.user else []
        if texts and after and denies(after.user, texts[-1].text):
            texts = texts[:-1]
        for agent_text in texts:
            for sentence in sentences(agent_text.text):
                text = sentence.text
                if not (_SAYS_WHERE.search(text) or _SAYS_HOW_SET.search(text)):
                    continue
                names = [
                    (match[0], weight)
                    for pattern, weight in _PLACES
                    if (match := pattern.search(text))
                ]
                score = _score(text, sum(weight for _, weight in names)) if names else 0.0
                if score >= _SCORE_MIN and agent_text.worths.get(text, 0.0) >= _WORTH_MIN:
                    yield _Statement(
                        text, agent_text.place, score, names[0][0].strip(" .:,").casefold()
                    )


def _score(text: str, names_weight: float) -> float:
    """Return the score of a sentence as a statement of the environment, 0 to leave it out.

    *names_weight* is the sum of the weights of the places and settings that it names.
    """
    words = len(text.split())
    if not _WORDS_MIN <= words <= _WORDS_MAX or text.endswith(("?", ":")):
        return 0.0
    if phrases.NARRATION.match(text) or phrases.UNSURE.search(text) or _PLANS.match(text):
        return 0.0
    if phrases.PRINTED.search(text) or _ADVISES.search(text):
        return 0.0
    return (
        0.3
        + min(names_weight, 0.4)
        + 0.15 * bool(_SAYS_WHERE.search(text))
        + 0.05 * bool(_SAYS_HOW_SET.search(text))
        - 0.2 * bool(phrases.POINTING.match(text))
        - 0.2 * bool(phrases.TASK.match(text))
        - 0.15 * bool(_CODE_TALK.search(text))
    )
