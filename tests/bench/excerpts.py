"""What naps kept before they distilled: the lines that first name a thing. Pure.

The baseline of ``bench.kept``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from memd.sleep.nap.consolidator import LATEST_MESSAGES, count_things, strip_line_numbers
from memd.sleep.nap.facts import HEADER, Fact

LINE_CHARS_MAX = 300
PART_CHARS = 600


def excerpts(texts: Sequence[str], facts: Sequence[Fact], room_chars: int) -> dict[int, str]:
    """Return by their places the excerpts of *texts*, the latest that *room_chars* hold.

    *facts* are those of the same messages: what one names is not excerpted. An
    excerpt depends on nothing later, so that a longer session repeats it word for
    word. An earlier summary has none, nor has what lies very far back.
    """
    facts_at: defaultdict[int, list[str]] = defaultdict(list)
    for fact in facts:
        facts_at[fact.index].append(fact.text)
    named: set[str] = set()
    lines_at: dict[int, str] = {}
    first = max(0, len(texts) - LATEST_MESSAGES)
    for place, text in enumerate(texts[first:], first):
        if place in facts_at:
            named.update(count_things("\n".join(facts_at[place])))
        excerpt = "" if text.startswith(HEADER) else _excerpt(text, named)
        if excerpt:
            lines_at[place] = excerpt
    return _latest(lines_at, room_chars)


def _excerpt(text: str, named: set[str]) -> str:
    """Return the lines of *text* with a thing that is not *named* yet, and name it.

    Blank lines stand between parts that fit a memory each.
    """
    lines = [line.strip()[:LINE_CHARS_MAX] for line in strip_line_numbers(text).splitlines()]
    parts: list[list[str]] = []
    room = 0
    for line in naming(lines, named):
        room -= len(line)
        if room < 0:
            parts.append([])
            room = PART_CHARS - len(line)
        parts[-1].append(line)
    return "\n\n".join(map("\n".join, parts))


def naming(lines: Iterable[str], named: set[str]) -> Iterator[str]:
    """Yield those of *lines* that say what is not *named* yet; it is from then on."""
    for line in lines:
        new = set(count_things(line)) - named
        if new:
            named |= new
            yield line


def _latest(lines_at: dict[int, str], room_chars: int) -> dict[int, str]:
    kept: dict[int, str] = {}
    for place in sorted(lines_at, reverse=True):
        room_chars -= len(lines_at[place])
        if room_chars < 0:
            break
        kept[place] = lines_at[place]
    return dict(sorted(kept.items()))
