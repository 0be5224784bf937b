"""What a command expands to holds rules of the person who wrote it. Pure.

The orders of it are for the day; "we never ..." and the list of what is to be paid attention
to hold whenever the command is typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from memd.domain.enums import Origin
from memd.sleep.distil.acts import WORTH, Act, judge_sentence
from memd.sleep.distil.answers import cut
from memd.sleep.distil.exchanges import NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language.words import Words
from memd.text.words import sentences

RULES_CHARS_MAX = 600
_SCORE = 0.7
_POINTS_MIN = 3
_LEFT_OUT = frozenset({Act.QUESTION, Act.REQUEST, Act.TASK, Act.ACKNOWLEDGEMENT})
_OURS = re.compile(r"\b(?:we|our|us|my|i)\b", re.IGNORECASE)
_NOW = re.compile(r"^\W*[-*]\s|\b(?:need|let'?s|going to|want|will|once)\b", re.IGNORECASE)
_HEED = re.compile(
    r"\b(?:attention|guidelines?|principles|conventions|standards|rules|verify|make sure|ensure"
    r"|look for|watch (?:out )?for)\b[^.]*:$",
    re.IGNORECASE,
)
_POINT = re.compile(r"\s*(?:[-*+]|\d{1,2}[.)])\s+")


def rules(command: str, template: Words, place: int, slot: str) -> Iterator[NapCandidate]:
    """Yield the rules in what *command* expands to, the *template* of the message at *place*."""
    texts = {
        "rules": " ".join(_standing_rules(template)),
        "list": _attention_list(command, template),
    }
    for name, text in texts.items():
        if text:
            short = cut(text, RULES_CHARS_MAX)
            memory = NapMemory(
                short, NapKind.PREFERENCE, (place,), f"{slot}-{name}", Origin.ASSISTANT
            )
            yield NapCandidate(memory, _SCORE)


def _standing_rules(template: Words) -> Iterator[str]:
    for paragraph in template.paragraphs:
        for sentence in sentences(paragraph):
            judged = judge_sentence(sentence)
            stands = judged.act is Act.PREFERENCE or _OURS.search(sentence)
            is_told = judged.score >= WORTH and judged.act not in _LEFT_OUT
            if stands and is_told and not _NOW.search(sentence):
                yield sentence


def _attention_list(command: str, template: Words) -> str:
    """Return what is to be paid attention to, "" where nothing is listed."""
    lines = [line for paragraph in template.paragraphs for line in paragraph.split("\n")]
    for at, line in enumerate(lines):
        if _HEED.search(line):
            points = [_POINT.sub("", each) for each in takewhile(_POINT.match, lines[at + 1 :])]
            if len(points) >= _POINTS_MIN:
                listed = "; ".join(point.rstrip(" .;") for point in points)
                return f"{command.split(maxsplit=1)[0]} pays attention to: {listed}."
    return ""
