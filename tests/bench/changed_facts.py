"""Whether what a person says now comes before what they said.

    python -m tests.bench.changed_facts

``changed.txt`` has statements of six people, by a writer who knew no rule: sixty that change later,
mostly in other words and without the old value, with a question about today and for some one about
the past; and forty pairs that are only alike, of which the later one changes nothing. Each person
is an agent; each statement is a message of a session of its own, the old ones in the first months.
``changed_languages.txt`` has fifty and fifty of five people in German, French and Spanish.

Counted are the questions about today that are told the new statement before the old one and before
the assistant's answer to that (*right*), after (*late*), the old one alone (*old*), or neither; the
questions about the past that are told the old statement (*past*); and of the alike pairs those that
are told the first before the other (*first*), and how many of these the other as well.
The people of *SEEN* may be looked at (``--show``), the others are only scored.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.bench_daemon import Stage, save_result, staged

STATEMENTS = Path(__file__).with_name("changed.txt")
IN_LANGUAGES = Path(__file__).with_name("changed_languages.txt")
SEEN = frozenset(("alma", "cleo", "efe", "hanna", "luc"))
BEGUN = datetime(2026, 1, 5, 18, tzinfo=UTC)
EARLY = ("old", "ack", "one")
Pair = dict[str, str]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.changed_facts", description=__doc__
    )
    parser.add_argument("--show", action="store_true", help="print what is not right")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with staged() as stage:
        for file in (STATEMENTS, IN_LANGUAGES):
            for name, pairs in read_people(file).items():
                tell(stage, name, pairs)
                half = "seen" if name in SEEN else "unseen"
                count = counts[f"{file.stem} {half}"]
                for pair in pairs:
                    for what, entries in ask(stage, name, pair):
                        count.update((what, f"{what.split()[0]} n"))
                        count[f"{what.split()[0]} entries"] += len(entries)
                        if options.show and half == "seen" and what not in RIGHT:
                            print(f"{what}: {pair}", *entries, sep="\n    ")
    for half, count in counts.items():
        print(half, json.dumps(dict(sorted(count.items()))))
    save_result(counts, options.json)


def read_people(file: Path) -> dict[str, list[Pair]]:
    """Return the pairs of each person in *file*, by name."""
    people: dict[str, list[Pair]] = {}
    pairs: list[Pair] = []
    for line in file.read_text("utf-8").splitlines():
        kind, _, text = line.partition(": ")
        if line.startswith("=="):
            pairs = people.setdefault(line.split()[1], [])
        elif kind in {"old", "one"}:
            pairs.append({kind: text})
        elif not line.startswith("#"):
            pairs[-1][kind] = text
    return people


def tell(stage: Stage, name: str, pairs: Sequence[Pair]) -> None:
    """Ingest what a person says, as a hook does: first what changes later."""
    early = [(kind, pair[kind]) for pair in pairs for kind in EARLY if kind in pair]
    late = [(kind, pair[kind]) for pair in pairs for kind in ("new", "other") if kind in pair]
    session = 0
    for number, (kind, text) in enumerate([*early, *late]):
        session += kind != "ack"
        turn = {
            "text": text,
            "agent_id": name,
            "session_id": f"{name}-{session}",
            "origin": "assistant" if kind == "ack" else "person",
            "occurred_at": (BEGUN + number * timedelta(days=3)).isoformat(),
        }
        stage.client.call("memory.ingest", turn)
    stage.settle()


RIGHT = frozenset(("today right", "past right", "alike first", "alike first and other"))


def ask(stage: Stage, name: str, pair: Pair) -> Iterator[tuple[str, list[str]]]:
    """Yield what comes of each question of *pair*, and what it is told."""
    entries = _recall(stage, name, pair["ask"])
    if "one" in pair:
        one, other = _place(entries, pair["one"]), _place(entries, pair["other"])
        what = "first" if one < other else "second" if other < one else "neither"
        both = " and other" if max(one, other) < len(entries) else ""
        yield f"alike {what}{both}", entries
        return
    new = _place(entries, pair["new"])
    old = min(_place(entries, pair[kind]) for kind in ("old", "ack") if kind in pair)
    is_told = new < len(entries)
    what = ("right" if new < old else "late") if is_told else "old" if old < new else "neither"
    yield f"today {what}", entries
    if "was" in pair:
        entries = _recall(stage, name, pair["was"])
        yield f"past {'right' if _place(entries, pair['old']) < len(entries) else 'lost'}", entries


def _recall(stage: Stage, name: str, query: str) -> list[str]:
    memories: list[dict[str, Any]] = stage.recall(name, query, preferences="matching")["memories"]
    return [f"{memory['relevance_score'] or 1:.2f} {memory['content']}" for memory in memories]


def _place(entries: Sequence[str], text: str) -> int:
    return next((at for at, entry in enumerate(entries) if text in entry), len(entries))


if __name__ == "__main__":
    main()
