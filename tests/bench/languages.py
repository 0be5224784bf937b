"""How models find German, Japanese and mixed memories: ``python -m tests.bench.languages NAME ...``

NAME is a folder beside the model in use, as ``memd model list`` names it; without one, the model
in use. The same 16 facts in three languages (``languages.txt``, written by hand), asked in other
words, by the whole of recall: words, meaning, ranker and gate as they are shipped.

- ``en``, ``de``, ``ja``: a store of one language, asked in it
- ``mixed``: each fact in one of the three languages in turn, asked in the language it is in
- ``crossed``: the same store, each fact asked in the two other languages

*first*: the right memory stands first and the gate lets it through. *ten*: among the ten best.
*held*: a default answer, of as many memories as are worth their place, holds it; *entries*: how
many it holds. *foreign*: the same of eight questions a language that nothing in the store answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.bench_daemon import model_dir
from bench.samples import Remembered, house_with, ingested
from memd.backends.rooms import Rooms
from memd.domain.caller import Caller
from memd.domain.recall import RecallRequest
from memd.embedding.embed import EmbedderThread
from memd.recall.ranking.weights import TuningTrial

LANGUAGES = ("en", "de", "ja")
FILE = Path(__file__).with_name("languages.txt")
TOP = 10


class Fact(NamedTuple):
    """A fact by language: the memory and its question."""

    memory: dict[str, str]
    asked: dict[str, str]


class Put(NamedTuple):
    """A question to a store; *right* is the memory that answers it, None where nothing does."""

    store: str
    text: str
    right: str | None


def read() -> tuple[list[Fact], list[tuple[str, str]]]:
    """Return the facts, and the foreign questions with their languages."""
    facts: dict[str, Fact] = {}
    foreign: list[tuple[str, str]] = []
    for line in FILE.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        key, language, *texts = (part.strip() for part in line.split(" | "))
        if key == "!":
            foreign.append((language, texts[0]))
            continue
        fact = facts.setdefault(key, Fact({}, {}))
        fact.memory[language], fact.asked[language] = texts
    return list(facts.values()), foreign


def stores(facts: Sequence[Fact]) -> dict[str, list[str]]:
    """Return the memories of each store."""
    alone = {each: [fact.memory[each] for fact in facts] for each in LANGUAGES}
    return {**alone, "mixed": [fact.memory[_of(at)] for at, fact in enumerate(facts)]}


def questions(facts: Sequence[Fact]) -> dict[str, list[Put]]:
    """Return the questions that have an answer, by row of the table."""
    rows = {
        each: [Put(each, fact.asked[each], fact.memory[each]) for fact in facts]
        for each in LANGUAGES
    }
    rows["mixed"], rows["crossed"] = [], []
    for at, fact in enumerate(facts):
        for each in LANGUAGES:
            put = Put("mixed", fact.asked[each], fact.memory[_of(at)])
            rows["mixed" if each == _of(at) else "crossed"].append(put)
    return rows


def _of(at: int) -> str:
    return LANGUAGES[at % len(LANGUAGES)]


async def measured(folder: Path) -> dict[str, Any]:
    """Return the table of the model in *folder*."""
    facts, foreign = read()
    embedder = Remembered(EmbedderThread(folder))
    if embedder.fingerprint is None:
        raise SystemExit(f"no model in {folder}; see: memd model list")
    rows: dict[str, Any] = {}
    try:
        async with house_with(embedder) as house:
            for store, texts in stores(facts).items():
                await ingested(house, store, [{"text": text} for text in texts])
            await house.queue.drain()
            for row, puts in questions(facts).items():
                answers = [await asked(house, put) for put in puts]
                rows[row] = _share(answers, "first", "ten", "held", "entries")
            for store in stores(facts):
                some = [
                    Put(store, text, None) for each, text in foreign if store in (each, "mixed")
                ]
                answers = [await asked(house, put) for put in some]
                rows[store]["foreign"] = _share(answers, "entries")["entries"]
    finally:
        await embedder.close()
    return rows


async def asked(house: Rooms, put: Put) -> dict[str, int]:
    """Return what came of one question."""
    caller = Caller(agent_id=put.store, method="bench")
    seen = await house.recall.evaluate(caller, put.text, TuningTrial(None))
    best = [each.measured.candidate.own for each in seen.items if each.passes]
    result = await house.recall.recall(caller, RecallRequest(query=put.text))
    contents = [memory.content for memory in result.memories]
    return {
        "first": best[:1] == [put.right],
        "ten": put.right in best[:TOP],
        "held": put.right in contents,
        "entries": len(contents),
    }


def _share(answers: Sequence[dict[str, int]], *names: str) -> dict[str, float]:
    means = {name: sum(each[name] for each in answers) / len(answers) for name in names}
    return {name: round(mean, 3) for name, mean in means.items()}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.languages", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(argv)
    used = model_dir()
    for name in options.names or [used.name]:
        rows = asyncio.run(measured(used.with_name(name)))
        print(json.dumps({name: rows}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
