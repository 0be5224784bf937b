"""Six households' sayings and notes in several languages, and what is asked of them. Pure.

``household.txt`` is one person's, ``households.txt`` are five more, by their topics, each a
store of its own. They were written for the purpose, before anything was measured: sayings,
facts, preferences and short notes as people tell them, some of them later corrected,
with questions in other words, now and then in another language, and questions that
nothing answers. They are one of the test beds that the ranker may be fitted on; the store
of ``bench.everyday`` is another, kept aside. A saying may begin with the day that it is of
(``di01 | en | 2024-04-20 | ...``); questions ask for it by month or season.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).with_suffix(".txt")
MORE = PAGE.with_name("households.txt")


@dataclass(frozen=True, slots=True)
class Saying:
    """A memory of the store; *key* names it."""

    key: str
    topic: str
    language: str
    text: str
    day: str = ""
    """When it was so, "" where nothing tells."""

    @property
    def at(self) -> str | None:
        return f"{self.day}T12:00:00+00:00" if self.day else None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; without *gold* nothing answers it, and *kind* says in what way (B, U, O)."""

    kind: str
    topic: str
    language: str
    text: str
    gold: tuple[str, ...]


def read(page: str | None = None) -> tuple[list[Saying], list[Asked]]:
    """Return the memories and the questions of *page*, by default of ``household.txt``.

    >>> read("[home]\\nh1 | en | One.\\n? | en | h1 | Which?\\n! | de | B | Wie?")[1][1].kind
    'B'
    """
    sayings: list[Saying] = []
    questions: list[Asked] = []
    topic = ""
    for line in (PAGE.read_text("utf-8") if page is None else page).splitlines():
        if line.startswith("["):
            topic = line.strip("[]")
        elif line and not line.startswith("#"):
            key, language, rest = line.split(" | ", 2)
            if key in "?!":
                right, text = rest.split(" | ", 1)
                gold = tuple(right.split()) if key == "?" else ()
                kind = "H" if gold else right
                questions.append(Asked(kind, topic, language, text, gold))
            else:
                day, _, text = rest.rpartition(" | ")
                sayings.append(Saying(key, topic, language, text.replace("\\n", "\n"), day))
    return sayings, questions


def households() -> list[tuple[list[Saying], list[Asked]]]:
    """Return the memories and the questions of each household."""
    sayings, questions = read(MORE.read_text("utf-8"))
    others = dict.fromkeys(saying.topic for saying in sayings)
    return [
        read(),
        *(
            ([s for s in sayings if s.topic == name], [q for q in questions if q.topic == name])
            for name in others
        ),
    ]
