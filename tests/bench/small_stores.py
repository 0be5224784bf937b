"""What a new user sees: one memory or forty, asked in other words, or about something else.

Each pair is asked of a store that holds its memory alone, of one that holds
eight and of one that holds them all. These are sentences written for the purpose
(``small_stores.txt``), in the first person and without a speaker, as people tell them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from bench.bench_daemon import Stage

EIGHT = 8


class Pair(NamedTuple):
    """A memory, a question that it answers, and perhaps one in none of its words."""

    memory: str
    asked: str
    otherwise: str


_LINES = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
_ROWS = [line.split(" | ") for line in _LINES]
PAIRS = tuple(Pair(*row) for row in _ROWS if row[0] != "!")
UNANSWERABLE = tuple(row[1] for row in _ROWS if row[0] == "!")


class Question(NamedTuple):
    """One question to one store; *memory* is the one that answers it, None if nothing does."""

    kind: str
    store: str
    text: str
    memory: str | None
    fold: int


def stores() -> dict[str, list[str]]:
    """Return the memories of each store: every memory alone, in eights, and all together."""
    memories_of = {f"alone-{at}": [pair.memory] for at, pair in enumerate(PAIRS)}
    for at, pair in enumerate(PAIRS):
        memories_of.setdefault(f"eight-{at // EIGHT}", []).append(pair.memory)
    memories_of["all"] = [pair.memory for pair in PAIRS]
    return memories_of


def questions() -> list[Question]:
    """Return what is asked of each store; *fold* keeps a memory's questions together."""
    asked = []
    for at, pair in enumerate(PAIRS):
        fold = at // EIGHT
        other = PAIRS[(at + 2 * EIGHT) % len(PAIRS)]
        strange = UNANSWERABLE[at % len(UNANSWERABLE)]
        for store in (f"alone-{at}", f"eight-{fold}", "all"):
            asked.append(Question("same words", store, pair.asked, pair.memory, fold))
            asked.append(Question("other words", store, pair.otherwise, pair.memory, fold))
            if store != "all":
                asked.append(Question("another's", store, other.asked, None, fold))
                asked.append(Question("another's", store, other.otherwise, None, fold))
            asked.append(Question("unanswerable", store, strange, None, fold))
    return list(dict.fromkeys(asked))


def run(stage: Stage) -> dict[str, Any]:
    """Return which share of each kind is answered, by kind of store, and what was misjudged."""
    for store, memories in stores().items():
        stage.ingest(store, [{"text": text} for text in memories])
    stage.settle()
    hits: dict[str, dict[str, list[bool]]] = {}
    misjudged: list[str] = []
    for asked in questions():
        hit = _is_hit(stage, asked)
        kind = hits.setdefault(asked.kind, {})
        kind.setdefault(asked.store.partition("-")[0], []).append(hit)
        if hit == (asked.memory is None):
            misjudged.append(f"{asked.kind}, {asked.store}: {asked.text}")
    answered = {
        kind: {store: round(100 * sum(hits_of) / len(hits_of), 1) for store, hits_of in by.items()}
        for kind, by in hits.items()
    }
    return {"answered": answered, "misjudged": misjudged}


def _is_hit(stage: Stage, asked: Question) -> bool:
    """Return whether the right memory was told; where nothing answers, whether any was.

    Preferences are always told, so they are no sign of an answer that was found.
    """
    answer = stage.recall(asked.store, asked.text)
    contents = [memory["content"] for memory in answer["memories"] if not memory["preference"]]
    return bool(contents) if asked.memory is None else asked.memory in contents
