"""What a nap remembers besides the facts: lessons, and the lines that first name a thing. Pure.

The documents' facts hold the first 200 characters of what a tool said. Where a
path or a name is told for the first time, its line says what it is for; kept as
a memory it is found by what stands around the name when that is needed again.
A lesson is whatever says that it is one (docs/decisions/0077).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from memd.encode.lessons import lessons_in
from memd.sleep.nap.blocks import turn
from memd.sleep.nap.facts import HEADER, Fact
from memd.sleep.nap.mentions import LATEST_MESSAGES, naming, things, unnumbered

LINE_CHARS_MAX = 300
SPEAKING_ROLES = frozenset({"user", "human", "assistant"})
PART_CHARS = 600  # two hundred tokens of what is mostly names


def taught(messages: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    """Return what messages of user and assistant say as lessons, each once, where it came first.

    What a tool answered teaches nothing, and an earlier summary's lessons are known.
    """
    first: dict[str, Fact] = {}
    for index, message in enumerate(messages):
        if message.get("role") not in SPEAKING_ROLES:
            continue
        said = turn(message)
        if said.text.startswith(HEADER):
            continue
        for text in lessons_in(said.text):
            first.setdefault(text, Fact(text, said.role, None, index))
    return tuple(first.values())


def excerpts(texts: Sequence[str], facts: Sequence[Fact], room_chars: int) -> dict[int, str]:
    """Return by their places the excerpts of *texts*, the latest that *room_chars* hold.

    *facts* are those of the same messages: what one names is not excerpted. An
    excerpt depends on nothing later, so that a longer session repeats it word for
    word. An earlier summary has none, nor has what lies very far back.
    """
    told: defaultdict[int, list[str]] = defaultdict(list)
    for fact in facts:
        told[fact.index].append(fact.text)
    named: set[str] = set()
    found: dict[int, str] = {}
    first = max(0, len(texts) - LATEST_MESSAGES)
    for place, text in enumerate(texts[first:], first):
        if place in told:
            named.update(things("\n".join(told[place])))
        excerpt = "" if text.startswith(HEADER) else _excerpt(text, named)
        if excerpt:
            found[place] = excerpt
    return _latest(found, room_chars)


def _excerpt(text: str, named: set[str]) -> str:
    """Return the lines of *text* with a thing that is not *named* yet, and name it.

    Blank lines stand between parts that fit a memory each.
    """
    lines = [line.strip()[:LINE_CHARS_MAX] for line in unnumbered(text).splitlines()]
    parts: list[list[str]] = []
    room = 0
    for line in naming(lines, named):
        room -= len(line)
        if room < 0:
            parts.append([])
            room = PART_CHARS - len(line)
        parts[-1].append(line)
    return "\n\n".join(map("\n".join, parts))


def _latest(found: dict[int, str], room_chars: int) -> dict[int, str]:
    kept: dict[int, str] = {}
    for place in sorted(found, reverse=True):
        room_chars -= len(found[place])
        if room_chars < 0:
            break
        kept[place] = found[place]
    return dict(sorted(kept.items()))
