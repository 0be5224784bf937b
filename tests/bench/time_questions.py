"""How questions that name a time are answered: ``python -m tests.bench.time_questions --json OUT``.

82 sayings of one household over two years (``when.txt``, each with the time at which it was told)
lie in a store whose clock stands on a Wednesday; 68 questions in seven languages (``?``) name a
time, eight of them an event, and the right saying differs from its neighbours by its time only.
Five more (``!``) name a time and nothing answers them. Nothing is fitted on any of it.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from support.clocks import HeldClock

from bench.bench_daemon import save_result
from bench.night import house
from memd.domain.caller import Caller
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.recall import RecallRequest

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)


class Question(NamedTuple):
    """What is asked, and words that only the right saying has; between bars of two."""

    text: str
    answer: str


_LINES = Path(__file__).with_name("when.txt").read_text("utf-8").splitlines()
_ROWS = [line.split(" | ") for line in _LINES]
SAYINGS = [row[0].partition(" ") for row in _ROWS if len(row) == 1]
QUESTIONS = [Question(*row[1:]) for row in _ROWS if row[0] == "?"]
UNANSWERABLE = [row[1] for row in _ROWS if row[0] == "!"]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.time_questions", description=__doc__
    )
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    result = asyncio.run(measure())
    print("\n".join(_lines(result)))
    save_result(result, options.out)


async def measure() -> dict[str, Any]:
    """Return the rank of each answer (None: not among them), and which nothing answers."""
    caller = Caller(agent_id="default", method="bench")
    with tempfile.TemporaryDirectory(prefix="memd-when-") as folder:
        async with house(Path(folder) / "memd.db", HeldClock(NOW)) as rooms:
            await rooms.ingest.ingest_many(caller, IngestManyRequest(items=tuple(_sayings())))
            await rooms.queue.drain()

            async def recalled(text: str) -> list[str]:
                request = RecallRequest(query=text, top_k=20)
                answer = await rooms.recall.recall(caller, request)
                return [each.content for each in answer.memories if not each.preference]

            ranks = {q.text: _rank(await recalled(q.text), q.answer) for q in QUESTIONS}
            answered = [text for text in UNANSWERABLE if await recalled(text)]
    return {
        "questions": len(ranks),
        "first": sum(rank == 1 for rank in ranks.values()),
        "unanswered": sum(rank is None for rank in ranks.values()),
        "ranks": ranks,
        "unanswerable": len(UNANSWERABLE),
        "answered": answered,
    }


def _sayings() -> Iterator[IngestRequest]:
    for moment, _, text in SAYINGS:
        at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        yield IngestRequest(text=text, occurred_at=at)


def _rank(contents: Sequence[str], answer: str) -> int | None:
    right = answer.split("|")
    places = (at for at, text in enumerate(contents, 1) if any(words in text for words in right))
    return next(places, None)


def _lines(result: dict[str, Any]) -> Iterator[str]:
    yield f"{result['first']} of {result['questions']} right answers come first"
    for text, rank in result["ranks"].items():
        if rank != 1:
            yield f"  {rank}: {text}"
    yield f"{len(result['answered'])} of {result['unanswerable']} unanswerable ones are answered"
    yield from (f"  {text}" for text in result["answered"])


if __name__ == "__main__":
    main()
