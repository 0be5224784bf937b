"""How a person's own notes are found: ``python -m tests.bench.everyday --json OUT``.

195 sayings and notes of one household in several languages (``everyday.txt``) are
stored one by one, as ``memd add`` does, in a real daemon with the product's defaults;
then 20 questions are asked that one note answers, once in its words and once in
others, and 10 that none does: of recall, for its first twenty, and as a default prompt is
prepared, for what it holds. They were written for the purpose, before anything was
measured; nothing is fitted on them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.stage import Stage, save_result, staged

NOTES = Path(__file__).with_suffix(".txt")
FIRST, SHOWN = 1, 5


class Question(NamedTuple):
    """What is asked, and words that only the note with the answer has."""

    text: str
    answer: str


QUESTIONS = (
    Question("Who is our dentist?", "Dr. Marsh"),
    Question("When does my passport expire?", "2029-06-30"),
    Question("What is Tom allergic to?", "penicillin"),
    Question("How much notice do I have to give the gym?", "six weeks"),
    Question("Who has our spare key?", "Mr. Osei"),
    Question("What does E18 mean on the washing machine?", "pump filter"),
    Question("Which database does the billing service use, and why?", "PostgreSQL 16"),
    Question("How many approvals does a change to payments need?", "two approvals"),
    Question("What is the rate limit of our API?", "600 requests"),
    Question("When is code freeze?", "15 December"),
    Question("Why was the disk of db-2 full?", "WAL files"),
    Question("Who do I ask before I change the search mapping?", "Maria owns"),
    Question("Wann fährt der Zug nach Zürich?", "7:02"),
    Question("Wer macht unsere Steuererklärung?", "Herr Brandt"),
    Question("Was verträgt Paul nicht?", "Nüsse"),
    Question("¿Quién tiene la clave del trastero?", "Julián"),
    Question("¿De qué terminal sale el vuelo a Bogotá?", "terminal 4"),
    Question("Comment s'appelle la nounou ?", "Aïcha"),
    Question("Où sont hébergées les sauvegardes ?", "Grenoble"),
    Question("猫の名前は何ですか?", "ミケ"),
)
OTHERWISE = (
    Question("Where do we go when a tooth hurts?", "Dr. Marsh"),
    Question("How long is my travel document still valid?", "2029-06-30"),
    Question("Which antibiotic must Tom not get?", "penicillin"),
    Question("How do I cancel my gym membership?", "six weeks"),
    Question("I locked myself out, who can let me in?", "Mr. Osei"),
    Question("What is the problem if the washer says E18?", "pump filter"),
    Question("What do we store billing data in?", "PostgreSQL 16"),
    Question("Can I merge a payments change alone?", "two approvals"),
    Question("How many calls a minute may a customer make?", "600 requests"),
    Question("Until when can we not ship in winter?", "15 December"),
    Question("What filled up db-2?", "WAL files"),
    Question("Who is responsible for search?", "Maria owns"),
    Question("Um wie viel Uhr geht mein Zug in die Schweiz, nach Zürich?", "7:02"),
    Question("Wer kümmert sich um die Steuer?", "Herr Brandt"),
    Question("Was darf Paul nicht essen?", "Nüsse"),
    Question("¿Quién me puede abrir el trastero?", "Julián"),
    Question("¿Desde dónde salgo a Bogotá?", "terminal 4"),
    Question("Qui garde les enfants, et quand ne travaille-t-elle pas ?", "Aïcha"),
    Question("Dans quelle ville sont nos sauvegardes ?", "Grenoble"),
    Question("うちの猫は何という名前?", "ミケ"),
)
"""The same answers, asked in other words than the note's."""
UNANSWERABLE = (
    "What is the capital of Mongolia?",
    "How do I tune a violin?",
    "Which cipher does the satellite link use?",
    "Who won the chess tournament in Reykjavik?",
    "When was our roof insulated?",
    "What does the aquarium filter cost?",
    "Which airline lost the trombone?",
    "Wie heißt der Bürgermeister von Oslo?",
    "¿Cuánto mide la torre de televisión?",
    "Quelle est la recette de la bouillabaisse ?",
)


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
    notes = NOTES.read_text("utf-8").splitlines()
    for note in notes:
        stage.client.call("memory.store", {"category": "semantic", "content": note})
    stage.settle()
    return {
        "notes": len(notes),
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
