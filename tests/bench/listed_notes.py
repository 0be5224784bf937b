"""Whether one line of an imported note answers, and a correction of it comes before it.

    python -m tests.bench.listed_notes

Five notes of ``listed_notes.txt`` are imported as ``memd import`` does: two files for agents, a
German page, a household page, a runbook. Its last part are questions. After ``ask`` stand words of
the line that answers: counted are the questions whose first memory has them (*first*), those that
are told them at all (*told*), the memories and the tokens of all prompts, and the characters of the
memories that answer. After ``list`` stand words of each line that is asked for; counted are the
lines that are told. After ``correct`` stands what is told later, as ``memd add`` does. Then its
question is asked again: counted are the corrections that come first, and that come at all and are
not behind the old line.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.bench_daemon import Stage, staged, write_result
from bench.notes import brought

NOTES = Path(__file__).with_suffix(".txt")
AGENT = "ada"


class Question(NamedTuple):
    """A question, words of the line that answers it, and what is told later, if anything."""

    text: str
    answer: list[str]
    is_list: bool = False
    """Whether each of *answer* is of another line."""
    correction: str | None = None
    corrected: str = ""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.listed_notes", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print each question and what it gets")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    notes = read_parts()
    asked = list(questions(notes.pop("questions")))
    with staged() as stage, tempfile.TemporaryDirectory() as folder:
        for name, text in notes.items():
            Path(folder, name).write_text(text, "utf-8")
        new = sum(outcome.new for outcome in brought(stage, AGENT, Path(folder)))
        stage.settle()
        result = {"memories": new, **measure(stage, asked, show=options.show)}
    write_result(result, options.json)


def read_parts() -> dict[str, str]:
    """Return the notes by their name, and the questions."""
    parts = NOTES.read_text("utf-8").split("\n== ")[1:]
    return {name: text for name, _, text in (part.partition("\n") for part in parts)}


def questions(part: str) -> Iterator[Question]:
    """Yield the questions of *part*."""
    last: Question | None = None
    for line in part.splitlines():
        kind, _, rest = line.partition(": ")
        text, *words = rest.split(" | ")
        if kind == "correct" and last:
            last = last._replace(correction=text, corrected=words[0])
        elif kind in {"ask", "list"}:
            if last:
                yield last
            last = Question(text, words, kind == "list")
    if last:
        yield last


def measure(stage: Stage, asked: Sequence[Question], *, show: bool = False) -> Counter[str]:
    """Ask the questions, store the corrections, and ask again for what they outdate."""
    counts: Counter[str] = Counter()
    for question in asked:
        counts.update(ask_list(stage, question) if question.is_list else ask(stage, question))
        if show:
            print(f"\n{question.text} {question.answer}", *recall(stage, question), sep="\n    ")
    later = [question for question in asked if question.correction]
    for question in later:
        memory = {"content": question.correction, "agent_id": AGENT, "category": "semantic"}
        stage.client.call("memory.store", memory)
    stage.settle()
    for question in later:
        counts.update(ask_again(stage, question))
        if show:
            print(f"\n{question.correction}", *recall(stage, question), sep="\n    ")
    return counts


def ask(stage: Stage, question: Question) -> dict[str, int]:
    """Ask for one line."""
    texts = recall(stage, question)
    place = _place(texts, question.answer)
    return {
        "questions": 1,
        "first": place == 0,
        "told": place < len(texts),
        "memories told": len(texts),
        "tokens": _tokens(stage, question),
        "characters of answers": len(texts[place]) if place < len(texts) else 0,
    }


def ask_list(stage: Stage, question: Question) -> dict[str, int]:
    """Ask for several lines."""
    texts = recall(stage, question)
    return {
        "lines of lists": len(question.answer),
        "lines told": sum(_place(texts, [words]) < len(texts) for words in question.answer),
        "tokens of lists": _tokens(stage, question),
    }


def ask_again(stage: Stage, question: Question) -> dict[str, int]:
    """Ask for a line that was corrected."""
    texts = recall(stage, question)
    new = _place(texts, [question.corrected])
    old = _place([text for text in texts if text != question.correction], question.answer)
    return {
        "corrections": 1,
        "corrections first": new == 0,
        "corrections not behind": new < len(texts) and new <= old,
    }


def _tokens(stage: Stage, question: Question) -> int:
    prompt = {"query": question.text, "agent_id": AGENT}
    return int(stage.client.call("inject.prepare", prompt)["tokens_used"])


def recall(stage: Stage, question: Question) -> list[str]:
    """Return the memories that answer *question*, best first."""
    return [str(memory["content"]) for memory in stage.recall(AGENT, question.text)["memories"]]


def _place(texts: Sequence[str], words: Sequence[str]) -> int:
    return next(
        (at for at, text in enumerate(texts) if all(word in text for word in words)), len(texts)
    )


if __name__ == "__main__":
    main()
