"""Extract the facts of a session that a consolidation keeps (SPEC 6.6-6.13, 6.15).

The rules take results of tools, lines with a keyword, and short messages of the user. A summary is
a message of bullets with one fact each. :func:`parse_summary` returns exactly the facts that
:func:`render_bullets` wrote, even those with several lines or Markdown lists, so a session can be
consolidated repeatedly without nested bullets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memd.sleep.transcript.blocks import (
    TOOL_ROLE,
    ResultPairs,
    TranscriptTurn,
    pair_results,
    parse_turn,
)

HEADER = "[Session context consolidated]"
NO_FACTS = "Previous context had no extractable key facts."
SUMMARY_ROLE = "summary"
USER_ROLES = frozenset({"user", "human"})

TOOL_TEXT_CHARS = 200
SHORT_MESSAGE_CHARS = 120  # a shorter message of the user is a fact as a whole
KEYWORDS = (
    "result:", "decided:", "found:", "error:", "success:",
    "created:", "updated:", "deleted:", "confirmed:", "output:",
)  # fmt: skip

_BULLET = "- "
# Within a fact, a line "- c" becomes "\- c", and "\- c" becomes "\\- c".
_INNER_BULLET = re.compile(r"(?<=\n)(?=\\*- )")
_ESCAPED_BULLET = re.compile(r"(?<=\n)\\(?=\\*- )")


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact and its source.

    *role* is that of the message, ``tool`` for a tool's result, or ``summary`` for a fact of an
    earlier consolidation. *tool* is the name of the tool of a result. *index* is that of the
    message.
    """

    text: str
    role: str
    tool: str | None
    index: int


def extract_facts(messages: Sequence[object]) -> tuple[Fact, ...]:
    """Return the facts of *messages* in order, each text at its first occurrence (SPEC 6.7).

    >>> [fact.text for fact in extract_facts([{"role": "user", "content": "use tabs"}])]
    ['use tabs']
    """
    turns = [parse_turn(message) for message in messages]
    return extract_from_turns(turns, pair_results(turns), len(turns))


def extract_from_turns(
    turns: Sequence[TranscriptTurn], pairs: ResultPairs, end: int
) -> tuple[Fact, ...]:
    """Return the facts of the first *end* of *turns*; *pairs* are those of all turns."""
    first: dict[str, Fact] = {}
    for index, turn in enumerate(turns[:end]):
        for fact in _turn_facts(turn, index, pairs):
            first.setdefault(fact.text, fact)
    return tuple(first.values())


def render_bullet(text: str) -> str:
    r"""Return *text* as a bullet of one or more lines.

    >>> render_bullet("b\n- c")
    '- b\n\\- c'
    """
    return _BULLET + (_INNER_BULLET.sub(r"\\", text) if _BULLET in text else text)


def render_bullets(texts: Iterable[str]) -> str:
    """Return a bullet for each of *texts*, or one that says there are none (SPEC 6.6)."""
    return "\n".join(map(render_bullet, texts)) or render_bullet(NO_FACTS)


def parse_summary(text: str) -> list[str] | None:
    r"""Return the facts of a summary message, or None if *text* is not one (SPEC 6.15).

    >>> parse_summary("[Session context consolidated]\n\n- a\n- b\n\\- c")
    ['a', 'b\n- c']
    """
    if not text.startswith(HEADER):
        return None
    body = text[len(HEADER) :].lstrip("\r\n")
    if not body.startswith(_BULLET):
        return None
    parts = (_ESCAPED_BULLET.sub("", part) for part in body[len(_BULLET) :].split(f"\n{_BULLET}"))
    return [part for part in parts if part.strip() and part != NO_FACTS]


def _turn_facts(turn: TranscriptTurn, index: int, pairs: ResultPairs) -> Iterator[Fact]:
    for number, result in enumerate(turn.results):
        # Cut before stripping, so a text that begins with much space may leave nothing.
        text = result.text[:TOOL_TEXT_CHARS].strip()
        if text:
            name = pairs.names[index, number]
            yield Fact(f"[{name}] {text}", TOOL_ROLE, name, index)
    earlier = parse_summary(turn.text) if turn.role == "user" else None
    if earlier is not None:
        yield from (Fact(text, SUMMARY_ROLE, None, index) for text in earlier)
    else:
        yield from (Fact(text, turn.role, None, index) for text in _iter_statements(turn))
    for name in pairs.unanswered.get(index, ()):
        yield Fact(f"called {name}", turn.role, name, index)


def _iter_statements(turn: TranscriptTurn) -> Iterator[str]:
    """Yield the lines with a keyword, stripped, and a short message of the user unchanged."""
    text = turn.text
    if turn.role == "user" and text.startswith(HEADER):
        text = text[len(HEADER) :]
    if _has_keyword(text):
        for line in text.splitlines():
            if _has_keyword(line):
                yield line.strip()
    if turn.role == "user" and len(text) < SHORT_MESSAGE_CHARS and text.strip():
        yield text


def _has_keyword(text: str) -> bool:
    """Return whether *text* contains a keyword, also within a word (SPEC 6.8).

    >>> _has_keyword("No Error: fine"), _has_keyword("newfound: x"), _has_keyword("errors found")
    (True, True, False)
    """
    if ":" not in text:
        return False
    folded = text.lower()
    return any(keyword in folded for keyword in KEYWORDS)
