"""Near misses, asked for what nobody said of what is known: ``python -m tests.bench.near_misses``.

``near.txt`` has months of five people, told as a hook does, a session at a time, and pairs of
questions to them and to the notes of two other benches: one that a memory answers, and one in its
form about something that is in the store, whose answer was never said ("when is Tom's birthday?",
where Jannik's is meant to be known). All were written before any rule. Counted are the questions
with an answer whose default prompt holds it, the others whose prompt holds anything, and the
entries of both, without preferences. The stores of *SEEN* may be looked at (``--show``), the
others are only scored.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from bench import everyday, household
from bench.bench_daemon import Stage, save_result, staged

PAGE = Path(__file__).with_name("near.txt")
SEEN = frozenset(("petra", "ravi", "household"))
BEGUN = datetime(2026, 1, 5, 18, tzinfo=UTC)


class Pair(NamedTuple):
    """A question that *answer*, words of one memory, answers, and its near miss."""

    kind: str
    answer: str
    asked: str
    near: str


class Store(NamedTuple):
    """What somebody said, by sessions; notes are sessions of none."""

    name: str
    sessions: list[list[str]]
    pairs: list[Pair]
    is_notes: bool

    @property
    def half(self) -> str:
        return "looked at" if self.name in SEEN else "only scored"


class Asked(NamedTuple):
    """What a default prompt holds for one question."""

    half: str
    kind: str
    answer: str | None
    text: str
    entries: list[str]

    @property
    def hit(self) -> bool:
        """Whether the answer is in it; where there is none, whether anything is."""
        answer = self.answer or ""
        return any(answer in entry for entry in self.entries)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.near_misses", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what is looked at and not right")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    with staged() as stage:
        answers = [each for store in stores() for each in ask(stage, store)]
    for each in answers:
        if options.show and each.half == "looked at" and each.hit == (each.answer is None):
            print(f"{each.kind}, {each.answer}: {each.text}", *each.entries, sep="\n    ")
    result = figures(answers)
    for name, figure in result.items():
        print(f"{name:32}", *(f"{key} {value:g}" for key, value in figure.items()), sep="  ")
    save_result(result, options.json)


def stores(page: str | None = None) -> list[Store]:
    """Return the stores of *page*, by default of ``near.txt``.

    >>> stores("== ann\\nhi\\n\\nyo\\n? other | hi | one? | two?")[0].sessions
    [['hi'], ['yo']]
    """
    result: list[Store] = []
    for line in (PAGE.read_text("utf-8") if page is None else page).splitlines():
        if line.startswith("== "):
            name, _, notes = line[3:].partition(", ")
            sessions = [[note] for note in _notes(name)] if notes else [[]]
            result.append(Store(name, sessions, [], bool(notes)))
        elif line.startswith("? "):
            result[-1].pairs.append(Pair(*line[2:].split(" | ")))
        elif result and line:
            result[-1].sessions[-1].append(line)
        elif result and result[-1].sessions[-1] and not result[-1].pairs:
            result[-1].sessions.append([])
    return [store._replace(sessions=[each for each in store.sessions if each]) for store in result]


def _notes(name: str) -> list[str]:
    """Return the notes of the bench *name*."""
    if name == "everyday":
        return everyday.NOTES
    return [saying.text for saying in household.read()[0]]


def tell(stage: Stage, store: Store) -> None:
    """Store what was said: messages as a hook does, notes as ``memd add`` does."""
    for number, session in enumerate(store.sessions):
        for order, text in enumerate(session):
            turn: dict[str, object] = {"agent_id": store.name, "text": text}
            if not store.is_notes:
                moment = BEGUN + number * timedelta(days=3) + order * timedelta(minutes=2)
                turn |= {"session_id": f"{store.name}-{number}", "order": order}
                turn |= {"origin": "person", "occurred_at": moment.isoformat()}
                stage.client.call("memory.ingest", turn)
            else:
                note = {"category": "semantic", "content": text, "agent_id": store.name}
                stage.client.call("memory.store", note)
    stage.settle()


def ask(stage: Stage, store: Store) -> Iterator[Asked]:
    """Tell a store, and yield what its questions are given."""
    tell(stage, store)
    texts = {
        memory["id"]: memory["content"]
        for memory in stage.memories(store.name)
        if memory["category"] != "procedural"
    }
    for pair in store.pairs:
        for answer, text in ((pair.answer, pair.asked), (None, pair.near)):
            prompt = stage.client.call("inject.prepare", {"query": text, "agent_id": store.name})
            ids = [memory["id"] for memory in prompt["memories"] if memory["id"] in texts]
            yield Asked(store.half, pair.kind, answer, text, [texts[each] for each in ids])


def figures(answers: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """Return the share of the questions with a hit and the mean entries, by half and by kind."""
    groups: dict[str, list[Asked]] = defaultdict(list)
    for each in answers:
        sort = "near" if each.answer is None else "answer"
        for name in (f"{each.half}, {sort}", f"{each.half}, {sort}, {each.kind}"):
            groups[name].append(each)
    return {
        name: {
            "questions": len(its),
            "held" if "answer" in name else "any": sum(each.hit for each in its),
            "entries": round(sum(len(each.entries) for each in its) / len(its), 2),
        }
        for name, its in sorted(groups.items())
    }


if __name__ == "__main__":
    main()
