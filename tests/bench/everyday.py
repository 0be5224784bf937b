"""How a person's own notes are found: ``python -m tests.bench.everyday --json OUT``.

195 sayings and notes of one household in several languages (``everyday.txt``) are
stored one by one, as ``memd add`` does, in a real daemon with the product's defaults;
then 20 questions are asked that one note answers, once in its words and once in others, and 10
that none does (``everyday_questions.txt``): of recall, for its first twenty, and as a default
prompt is prepared, for what it holds. They were written for the purpose, before anything was
measured; nothing is fitted on them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.bench_daemon import Stage, save_result, staged

FIRST, SHOWN = 1, 5


class Question(NamedTuple):
    """What is asked, and words that only the note with the answer has."""

    text: str
    answer: str


NOTES = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
_LINES = Path(__file__).with_name("everyday_questions.txt").read_text("utf-8").splitlines()
_ROWS = [line.split(" | ") for line in _LINES]
QUESTIONS = [Question(same, answer) for _, answer, same, _ in (r for r in _ROWS if r[0] == "?")]
OTHERWISE = [Question(other, answer) for _, answer, _, other in (r for r in _ROWS if r[0] == "?")]
"""The same answers, asked in other words than the note's."""
UNANSWERABLE = [row[1] for row in _ROWS if row[0] == "!"]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.everyday", description=__doc__)
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    with staged() as stage:
        result = measure(stage)
    print("\n".join(_lines(result)))
    save_result(result, options.out)


def measure(stage: Stage) -> dict[str, Any]:
    """Return the rank of each answer (None: not among the answers), and what answered nothing."""
    for note in NOTES:
        stage.client.call("memory.store", {"category": "semantic", "content": note})
    stage.settle()
    return {
        "notes": len(NOTES),
        "same_words": _ranked(stage, QUESTIONS),
        "other_words": _ranked(stage, OTHERWISE),
        "unanswerable": len(UNANSWERABLE),
        "answered": [text for text in UNANSWERABLE if _recalled(stage, text)],
        "prompts": _prompts(stage),
    }


def _prompts(stage: Stage) -> dict[str, Any]:
    """Return of each set of questions how many prompts hold the answer, and their entries."""
    sets = {
        "same_words": QUESTIONS,
        "other_words": OTHERWISE,
        "unanswerable": [Question(text, "") for text in UNANSWERABLE],
    }
    figures: dict[str, Any] = {}
    for name, questions in sets.items():
        prompts = {question.text: _prompt(stage, question.text) for question in questions}
        holds = {q.text: any(q.answer in text for text in prompts[q.text]) for q in questions}
        figures[name] = {
            "hold": sum(holds.values()),
            "entries": round(sum(map(len, prompts.values())) / len(prompts), 2),
            "lacking": [text for text, held in holds.items() if not held],
        }
    return figures


def _prompt(stage: Stage, text: str) -> list[str]:
    """Return the memories in a default prompt for *text*."""
    prompt = stage.client.call("inject.prepare", {"query": text})
    entries = [stage.client.call("memory.get", {"id": each["id"]}) for each in prompt["memories"]]
    return [entry["content"] for entry in entries]


def _ranked(stage: Stage, questions: Sequence[Question]) -> dict[str, Any]:
    ranks = {question.text: _rank(stage, question) for question in questions}
    return {
        "questions": len(questions),
        "first": sum(rank == FIRST for rank in ranks.values()),
        "first_five": sum(rank is not None and rank <= SHOWN for rank in ranks.values()),
        "ranks": ranks,
    }


def _rank(stage: Stage, question: Question) -> int | None:
    contents = _recalled(stage, question.text)
    places = (at for at, text in enumerate(contents, FIRST) if question.answer in text)
    return next(places, None)


def _recalled(stage: Stage, text: str) -> list[str]:
    """Return the texts that answer *text*, best first; preferences are not counted."""
    memories = stage.recall("default", text, top_k=20)["memories"]
    return [each["content"] for each in memories if not each["preference"]]


def _lines(result: dict[str, Any]) -> Iterator[str]:
    yield f"{result['notes']} notes"
    for name in ("same_words", "other_words"):
        part = result[name]
        share = f"first {part['first']}, in the first five {part['first_five']}"
        yield f"{name.replace('_', ' ')}, {part['questions']} questions: answer {share}"
        yield from (f"  {rank or '-':>3}  {text}" for text, rank in part["ranks"].items())
    for name, figures in result["prompts"].items():
        holds = f"{figures['hold']} hold the answer, " if name != "unanswerable" else ""
        yield f"prompts, {name.replace('_', ' ')}: {holds}{figures['entries']} entries each"
        if name != "unanswerable":
            yield from (f"    -  {text}" for text in figures["lacking"])
    yield f"answered of {result['unanswerable']} that nothing answers: {len(result['answered'])}"
    yield from (f"       {text}" for text in result["answered"])


if __name__ == "__main__":
    main()
