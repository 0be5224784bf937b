"""Whether a failure finds the lesson of another: ``python -m tests.bench.lessons DIR``.

DIR holds recorded coding sessions (Markdown, trajectories). A failed step is a command that
failed, with the line that says why; it is reported as a task that failed (``learn.failure``),
with the command after which the same program passed as its cure, where there is one. Held out
by task, in five folds: the lessons of the other tasks are an agent's, and what a step of a
held-out task printed is what that agent is asked (``memory.retrieve``). Its lesson is one of the
same program and the same error: the name of the exception, or the first words without numbers,
names in quotes and paths. No person labelled them. Steps of which no other task has such a
lesson can have none; they are counted apart. Then the same where the error is only of the same
kind as the rules know it. Then failures that were made by hand (``lessons.txt``), each asked for
in other words beside all the others: they were written once, before anything was asked.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.bench_daemon import Stage, staged
from bench.transcripts import Message, exported, trajectories
from memd.learn.propose import kind_of_error
from memd.learn.tiers import sanitise_error
from memd.sleep.distil.agent.calls import command, is_noise
from memd.sleep.distil.exchanges import split_exchanges
from memd.sleep.distil.language.failures import error_line, has_failed

FOLDS, TOP = 5, 3
_NAMED = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")
_OWN = re.compile(r"\[[A-Z]+\]|[\"'`][^\"'`]*[\"'`]|\S*[/\\.]\S+|\d+|[^\w\s]")
_WORDS = 4

BY_HAND = Path(__file__).with_name("lessons.txt")

Sign = tuple[str, str]


class FailedStep(NamedTuple):
    """A command that failed: whose, which, why, and what cured it."""

    task: str
    about: str
    error: str
    cure: str

    @property
    def sign(self) -> Sign:
        named = _NAMED.search(self.error)
        words = _OWN.sub(" ", self.error).casefold().split()[:_WORDS]
        return self.about.split(" ")[0], named[0] if named else " ".join(words)

    @property
    def kind(self) -> Sign | None:
        """The kind of its error, None where no rule knows it."""
        kind = kind_of_error(self.error)
        return None if kind is None else ("", kind)


class Score(NamedTuple):
    """Of so many steps so many could have a lesson, had it at the top, had any at all."""

    steps: int
    answerable: int
    first: int
    top: int
    answered: int


def steps_of(task: str, messages: list[Message]) -> list[FailedStep]:
    """Return the failed steps of a session, each error of a program once."""
    runs = [run for exchange in split_exchanges(messages) for run in exchange.runs]
    steps: dict[tuple[str, str], FailedStep] = {}
    for place, run in enumerate(runs):
        called = command(run)
        error = error_line(run.result or "")
        if called is None or is_noise(called) or not error or not has_failed(run):
            continue
        later = ((command(each), each) for each in runs[place + 1 : place + 60])
        cure = next((now.line for now, each in later if now is not None
                     and now.about == called.about and not has_failed(each)
                     and now.line != called.line), "")  # fmt: skip
        step = FailedStep(task, called.about, sanitise_error(error), cure)
        steps.setdefault((step.about, step.error), step)
    return list(steps.values())


def tasks_in(folder: Path) -> dict[str, list[FailedStep]]:
    """Return the failed steps below *folder* by task; tries at one task are one."""
    steps: dict[str, list[FailedStep]] = defaultdict(list)
    for name, messages in exported(folder, sidechains=True).items():
        steps[name] += steps_of(name, messages)
    for name, messages in trajectories(folder).items():
        task = name.rpartition("install-")[2].partition("_")[2] or name
        steps[task] += steps_of(task, messages)
    return {task: steps_found for task, steps_found in steps.items() if steps_found}


def report(stage: Stage, agent: str, step: FailedStep, number: int) -> str | None:
    """Report a step as a task that failed; return the id of its lesson."""
    params = {
        "task_id": f"{number}",
        "task_title": f"Run {step.about}",
        "error_message": step.error,
        "tool_calls_made": ["Bash"],
        "agent_id": agent,
        **({"mended_by": step.cure} if step.cure else {}),
    }
    made: str | None = stage.client.call("learn.failure", params)["id"]
    return made


def judged(
    stage: Stage,
    fold: int,
    tasks: dict[str, list[FailedStep]],
    sign: Callable[[FailedStep], Sign | None],
) -> Score:
    """Return how the steps of one fold fare with the lessons of all the others."""
    names, agent = sorted(tasks), f"fold-{fold}"
    held = set(names[fold::FOLDS])
    signs: dict[str, set[Sign | None]] = defaultdict(set)
    for number, step in enumerate(one for name in names if name not in held for one in tasks[name]):
        lesson_id = report(stage, agent, step, number)
        if lesson_id is not None:
            signs[lesson_id].add(sign(step))
    stage.settle()
    known = set().union(*signs.values()) - {None}
    steps = [step for name in sorted(held) for step in tasks[name]]
    answerable = [step for step in steps if sign(step) in known]
    first = top = answered = 0
    for step in answerable:
        ids = asked(stage, agent, f"{step.about} {step.error}")
        right = [sign(step) in signs[each] for each in ids]
        answered += bool(ids)
        first += right[:1] == [True]
        top += any(right)
    return Score(len(steps), len(answerable), first, top, answered)


def asked(stage: Stage, agent: str, text: str) -> list[str]:
    query = {"text": text, "limit": TOP, "agent_id": agent}
    return [entry["id"] for entry in stage.client.call("memory.retrieve", query)]


def by_hand(stage: Stage) -> Score:
    """Return how each failure made by hand is found beside the others, in other words."""
    lines = [line for line in BY_HAND.read_text("utf-8").splitlines() if line[:1] != "#"]
    made: list[tuple[str, str]] = []
    for number, line in enumerate(lines):
        title, error, cure, later = (part.strip() for part in line.split(" | "))
        params = {"task_id": f"hand-{number}", "task_title": title, "error_message": error}
        params |= {"mended_by": cure, "agent_id": "by-hand"}
        made.append((stage.client.call("learn.failure", params)["id"], later))
    stage.settle()
    answers = [(lesson, asked(stage, "by-hand", later)) for lesson, later in made]
    return Score(
        steps=len(made),
        answerable=len(made),
        first=sum(ids[:1] == [lesson] for lesson, ids in answers),
        top=sum(lesson in ids for lesson, ids in answers),
        answered=sum(bool(ids) for _, ids in answers),
    )


def told_of(name: str, total: Score) -> None:
    first, top = (count / max(1, total.answerable) for count in (total.first, total.top))
    print(
        f"{name}: {total.answerable} of {total.steps} have a lesson; it is first for {total.first}"
        f" ({first:.2f}), in the top {TOP} for {total.top} ({top:.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    tasks = tasks_in(parser.parse_args().folder)
    print(f"{len(tasks)} tasks, held out by task in {FOLDS} folds")
    signs = {"the same program and error": lambda step: step.sign}
    signs["the same kind of error"] = lambda step: step.kind
    for name, sign in signs.items():
        with staged() as stage:
            scores = [judged(stage, fold, tasks, sign) for fold in range(FOLDS)]
        told_of(name, Score(*map(sum, zip(*scores, strict=True))))
    with staged() as stage:
        told_of("made by hand, in other words", by_hand(stage))


if __name__ == "__main__":
    main()
