"""How questions that name a time are answered: ``python -m tests.bench.when --json OUT``.

82 sayings of one household over two years (``when.txt``, each with the time at which it
was told) lie in a store whose clock stands on a Wednesday; 68 questions in seven
languages name a time, eight of them an event, and the right saying differs from its
neighbours by its time only. Five more name a time and nothing answers them. Nothing is
fitted on any of it.
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

from bench.night import house
from bench.stage import save_result
from memd.domain.caller import Caller
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.recall import RecallRequest

SAYINGS = Path(__file__).with_suffix(".txt")
NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)


class Question(NamedTuple):
    """What is asked, and words that only the right saying has."""

    text: str
    answer: str


QUESTIONS = (
    Question("What did we have for dinner yesterday?", "pumpkin curry"),
    Question("What did we have for dinner on Sunday?", "fish tacos"),
    Question("What did we have for dinner last week?", "fish tacos|lentil soup"),
    Question("What did we have for dinner last month?", "mushroom risotto"),
    Question("What did we have for dinner in March?", "asparagus quiche"),
    Question("What did we have for dinner in March 2025?", "beef stew"),
    Question("What did we have for dinner a year ago?", "roast duck"),
    Question("Where did I run yesterday morning?", "canal"),
    Question("Where did I run last weekend?", "forest"),
    Question("How far did I run two weeks ago?", "eight kilometres"),
    Question("How far did I run three months ago?", "half marathon"),
    Question("What did I run on 8 May 2025?", "city marathon"),
    Question("What did the team decide on Monday?", "PostgreSQL"),
    Question("What did the team decide last week?", "Python 3.10"),
    Question("What did the team decide in the last month of 2025, in December?", "hosting"),
    Question("What did the team decide three weeks ago?", "second designer"),
    Question("What did the team decide in September?", "freeze the API"),
    Question("What did the team decide in June?", "old forum"),
    Question("What did the team decide in 2024?", "trunk based"),
    Question("What did the team decide before January 2025?", "trunk based"),
    Question("What did the team decide between February and April 2025?", "decision records"),
    Question("Which book did I finish last Thursday?", "Left Hand"),
    Question("Which book did I finish in September?", "Middlemarch"),
    Question("Which book did I finish in April?", "Margarita"),
    Question("Which book did I finish in October 2025?", "Piranesi"),
    Question("Welchen Film haben wir gestern Abend gesehen?", "Paterson"),
    Question("Welchen Film haben wir letzten Freitag gesehen?", "Perfect Days"),
    Question("Welchen Film haben wir im Oktober gesehen?", "Toni Erdmann"),
    Question("Welchen Film haben wir im Oktober 2025 gesehen?", "Das Boot"),
    Question("Was hat die Tierärztin am Montag gemacht?", "geimpft"),
    Question("Was hatte der Hund vor zwei Wochen?", "Zecke"),
    Question("Was hatte der Hund im Mai, bei der Tierärztin?", "Pfote"),
    Question("Was hatte der Hund im März 2025?", "Durchfall"),
    Question("¿Qué compré para el salón la semana pasada?", "lámpara"),
    Question("¿Qué compré para el salón anteayer?", "cortinas"),
    Question("¿Qué compré para el salón en junio de 2025?", "sofá"),
    Question("Où avons-nous déjeuné avec Claire lundi ?", "chez Paul"),
    Question("Où avons-nous déjeuné avec Claire la semaine dernière ?", "marché"),
    Question("Où avons-nous déjeuné avec Claire le mois dernier ?", "gare"),
    Question("Où avons-nous déjeuné avec Claire l'année dernière ?", "lac"),
    Question("Di che cosa ho parlato con la nonna ieri sera?", "torta"),
    Question("Di che cosa ho parlato con la nonna la settimana scorsa?", "ginocchio"),
    Question("Sobre o que falei com o Rui ontem à noite?", "carro"),
    Question("Sobre o que falei com o Rui no mês passado?", "casamento"),
    Question("Waarover heb ik vorige week met Joris gepraat?", "baan"),
    Question("Waarover heb ik vorige maand met Joris gepraat?", "huis"),
    Question("What did we visit with the children last weekend?", "botanical"),
    Question("What did we visit with the children in August?", "lighthouse"),
    Question("Which error code did the heating have yesterday?", "H4"),
    Question("Which error code did the heating have in February?", "B7"),
    Question("Which error code did the heating have last year?", "K2"),
    Question("Why was the car in the garage two weeks ago?", "brake pads"),
    Question("Why was the car in the garage in July 2025?", "clutch"),
    Question("What is Priya stuck on today?", "login bug"),
    Question("What was Priya stuck on on Friday?", "translation"),
    Question("Where does the choir perform next month?", "cathedral"),
    Question("Where does the choir perform next week?", "town hall"),
    Question("Where does the choir perform in March 2027?", "school"),
    Question("Which lease did we sign in May 2024?", "bakery"),
    Question("Which lease did we sign last year?", "workshop"),
    Question("What was our bakery order before the release?", "croissants"),
    Question("What was our bakery order after the release?", "pretzels"),
    Question("What did we have for dinner before the release?", "beef stew|roast duck"),
    Question("How long has the nightly report taken since we moved to Postgres?", "four minutes"),
    Question("How long did the nightly report take before we moved to Postgres?", "twelve minutes"),
    Question("How did Lena keep the customers informed during the power outage?", "phone"),
    Question("Was hat der Schreiner vor dem Umzug repariert?", "Regal"),
    Question("Was hat der Schreiner nach dem Umzug repariert?", "Tisch"),
)
"""An answer with a bar has two right sayings."""
UNANSWERABLE = (
    "Which airline lost the trombone last week?",
    "Who won the chess tournament in Reykjavik in March?",
    "What did the aquarium filter cost yesterday?",
    "Wie hoch war die Rechnung der Druckerei letzten Monat?",
    "¿Quién ganó el torneo de ajedrez la semana pasada?",
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.when", description=__doc__)
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
    for line in SAYINGS.read_text("utf-8").splitlines():
        moment, _, text = line.partition(" ")
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
