"""What was recalled, as a person reads it: how likely in a word, in a number when asked for."""

from __future__ import annotations

from typing import Any

from memd.cli import say
from memd.cli.tables import id_for_reader

LIKELY = 0.5
DISPLAYED_MIN = 0.02
"""Below it a memory is as good as none: it is printed only where numbers are."""
WORD_CELLS = 8
_CUT = {
    "gate": "nothing of its kind seems to answer",
    "bar": "too unlikely to be worth its place",
    "repeats": "says again what {of} says",
    "room": "no room: the budget, or too many of one source",
}


def word(memory: dict[str, Any]) -> str:
    """Return in a word how likely a memory answers.

    >>> [word({"relevance_score": value}) for value in (0.7, 0.1, 0.01)]
    ['likely', 'possible', 'unlikely']
    """
    if memory.get("preference"):
        return "pref"
    relevance = memory.get("relevance_score")
    if relevance is None:
        return "-"
    if relevance >= LIKELY:
        return "likely"
    return "possible" if relevance >= DISPLAYED_MIN else "unlikely"


def show(found: dict[str, Any], query: str, *, numbers: bool) -> None:
    """Print what was recalled, best first; with *numbers* also what was cut, and by what."""
    told = [each for each in found["memories"] if numbers or word(each) != "unlikely"]
    for memory in told:
        _show(memory, query, numbers=numbers)
    if not told:
        say.note("nothing found")
    if hidden := len(found["memories"]) - len(told):
        say.note(f"and {hidden} that hardly answer{'s' if hidden == 1 else ''}: --why shows them")
    if numbers:
        _show_cut(found)


def explain(found: dict[str, Any]) -> None:
    """Say on standard error how likely each memory answers, and what was cut, and by what."""
    if found.get("gate") is not None:
        say.note(f"that anything answers: {found['gate']:.2f}")
    for memory in found["memories"]:
        say.note(f"{_number(memory)}  {id_for_reader(memory['id'])}  {word(memory)}")
    _show_cut(found)


def _show(memory: dict[str, Any], query: str, *, numbers: bool) -> None:
    """Print one memory: how likely and what answers, then in grey what it is."""
    first = f"{word(memory):<{WORD_CELLS}}"
    if numbers:
        first = f"{_number(memory)}  {first}"
    room = say.width() - len(first) - 2
    say.out(f"{say.bold(first)}  {say.passage(memory['content'], query, room)}")
    say.out(" " * (WORD_CELLS + 2) + say.dim(_about(memory)))


def _show_cut(found: dict[str, Any]) -> None:
    for each in found.get("cut", ()):
        of = id_for_reader(each["of"]) if each.get("of") else ""
        reason = _CUT[each["by"]].format(of=of)
        say.note(f"left out {id_for_reader(each['id'])} ({each['relevance_score']:.2f}): {reason}")


def _number(memory: dict[str, Any]) -> str:
    relevance = memory.get("relevance_score")
    return "   -" if relevance is None else f"{relevance:.2f}"


def _about(memory: dict[str, Any]) -> str:
    """Return what a memory is, in a line: when, which kind, whose, from where, and its id."""
    # When it was, where that is known: an old note or session is not of today.
    when = say.moment(str(memory.get("occurred_at") or memory["created_at"]))[:10]
    about = [when, str(memory.get("passing") or memory["memory_type"])]
    if memory.get("is_shared"):
        about.append(f"shared by {memory['user_id']}")
    about += [memory[name] for name in ("speaker", "source") if memory.get(name)]
    named = id_for_reader(memory["id"])
    return f"{say.line(' · '.join(about), say.width() - len(named) - 13)} · {named}"
