"""How well memories are found: ``python -m tests.bench.recall FILE --json OUT``.

FILE is in the LoCoMo format. A real daemon with the product's defaults on a
throw-away profile is talked to over its socket; every turn is one ingested text
with speaker, session, order, time and source as fields. No language model judges
anything: gold are the evidence turns. Turns that the importance gate turned away
and questions that the gate of recall left without an answer count as not found.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import default_prompt, locomo, small_stores, tables, unanswerable
from bench.bench_daemon import Stage, save_result, staged
from bench.locomo import ADVERSARIAL, Asked, Dialogue
from bench.scores import Graded, block, quantile, report

TOP_K = 20
SESSION_TOP_K = 100
SESSION_BUDGET_TOKENS = 20_000
EVERYBODY = "everybody"


@dataclass
class Measured:
    """What was found for every question, in one arrangement of the store."""

    graded: list[Graded] = field(default_factory=list)
    words: list[Graded] = field(default_factory=list)
    open: list[Graded] = field(default_factory=list)
    sessions: list[Graded] = field(default_factory=list)
    latencies_ms: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    unanswered: int = 0


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recall", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    result = measure(locomo.read(options.file))
    print(tables.recall(result))
    save_result(result, options.out)


def measure(dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    """Return all figures of *dialogues*; two daemons, one after the other."""
    with staged() as stage:
        ingest = fill(stage, dialogues, one_agent=False)
        scoped = ask(stage, dialogues, one_agent=False, sessions=True)
        lost = losses(stage, dialogues)
        silence = saying_nothing(stage, dialogues, scoped)
        prompts = default_prompt.measure(stage, dialogues)
        rss_mb = stage.rss_mb()
    with staged() as stage:
        fill(stage, dialogues, one_agent=True)
        together = ask(stage, dialogues, one_agent=True, sessions=False)
    with staged() as stage:
        small = small_stores.run(stage)
    return {
        "scoped": _figures(scoped),
        "global": _figures(together),
        "session": report(scoped.sessions, ADVERSARIAL),
        "latency_ms": _quantiles(scoped.latencies_ms),
        "latency_ms_global": _quantiles(together.latencies_ms),
        "ingest": ingest,
        "rss_mb": round(rss_mb, 1),
        "gold": lost,
        "saying_nothing": silence,
        "prompts": prompts,
        "small_stores": small,
    }


def fill(stage: Stage, dialogues: Sequence[Dialogue], *, one_agent: bool) -> dict[str, float]:
    """Ingest every turn and wait for the vectors; returns how many and how long it took."""
    start = time.perf_counter()
    for dialogue in dialogues:
        agent = EVERYBODY if one_agent else dialogue.name
        stage.ingest(agent, [turn.item() for turn in dialogue.turns])
    stage.settle()
    turns = sum(len(dialogue.turns) for dialogue in dialogues)
    seconds = time.perf_counter() - start
    return {
        "turns": turns,
        "seconds": round(seconds, 1),
        "turns_per_second": round(turns / seconds, 1),
    }


def ask(
    stage: Stage, dialogues: Sequence[Dialogue], *, one_agent: bool, sessions: bool
) -> Measured:
    """Ask every question, in the product's mode, by words alone, and past the gate."""
    measured = Measured()
    stage.recall(EVERYBODY if one_agent else dialogues[0].name, "warm up")
    for dialogue in dialogues:
        agent = EVERYBODY if one_agent else dialogue.name
        for asked in dialogue.questions:
            _ask(stage, agent, asked, measured)
            if sessions:
                measured.sessions.append(_by_session(stage, agent, asked, dialogue))
    return measured


def _ask(stage: Stage, agent: str, asked: Asked, measured: Measured) -> None:
    start = time.perf_counter()
    answer = stage.recall(agent, asked.text, top_k=TOP_K)
    measured.latencies_ms.append(1_000 * (time.perf_counter() - start))
    sources = places(answer)
    measured.graded.append(Graded(asked.category, asked.gold, sources))
    measured.tokens.append(answer["total_tokens"])
    measured.unanswered += not sources and asked.category != ADVERSARIAL
    by_words = places(stage.recall(agent, asked.text, top_k=TOP_K, search_mode="words"))
    measured.words.append(Graded(asked.category, asked.gold, by_words))
    params = {"text": asked.text, "agent_id": agent, "limit": TOP_K}
    rows = stage.client.call("memory.retrieve", params)
    past_gate = tuple(str(row["metadata"]["source"]) for row in rows)
    measured.open.append(Graded(asked.category, asked.gold, past_gate))


def _by_session(stage: Stage, agent: str, asked: Asked, dialogue: Dialogue) -> Graded:
    session = {turn.place: turn.session for turn in dialogue.turns}
    answer = stage.recall(
        agent, asked.text, top_k=SESSION_TOP_K, token_budget=SESSION_BUDGET_TOKENS
    )
    gold = tuple(dict.fromkeys(session[place] for place in asked.gold))
    sessions = tuple(dict.fromkeys(session[place] for place in places(answer)))
    return Graded(asked.category, gold, sessions)


def places(answer: dict[str, Any]) -> tuple[str, ...]:
    """Return the sources of what was recalled, preferences left out."""
    return tuple(str(memory["source"]) for memory in answer["memories"] if not memory["preference"])


def losses(stage: Stage, dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    """Return which shares of turns and of gold were turned away, or are working or procedural."""
    kinds = {}
    for dialogue in dialogues:
        for memory in stage.memories(dialogue.name):
            kinds[memory["metadata"]["source"]] = memory["category"]
    turns = [turn.place for dialogue in dialogues for turn in dialogue.turns]
    gold = [place for each in dialogues for asked in each.honest for place in asked.gold]
    return {"turns": _shares(turns, kinds), "evidence": _shares(gold, kinds)}


def _shares(places: Sequence[str], kinds: dict[str, str]) -> dict[str, float]:
    counted = Counter(kinds.get(place, "turned_away") for place in places)
    names = ("turned_away", "working", "procedural")
    return {name: round(100 * counted[name] / len(places), 2) for name in names}


def saying_nothing(
    stage: Stage, dialogues: Sequence[Dialogue], measured: Measured
) -> dict[str, Any]:
    """Return how often foreign questions are answered, beside what the gate costs honest ones."""
    shares = {}
    for kind, asked in unanswerable.questions(dialogues).items():
        answers = [bool(places(stage.recall(agent, text))) for agent, text in asked]
        shares[kind] = {
            "answered": round(100 * sum(answers) / len(answers), 2),
            "questions": len(answers),
        }
    honest = [row for row in measured.graded if row.category != ADVERSARIAL]
    past_gate = [row for row in measured.open if row.category != ADVERSARIAL]
    adversarial = [row for row in measured.graded if row.category == ADVERSARIAL]
    with_gate, without = block(honest)["R@10"], block(past_gate)["R@10"]
    answered = sum(bool(row.places) for row in adversarial) / max(1, len(adversarial))
    return {
        **shares,
        "adversarial": {"answered": round(100 * answered, 2), "questions": len(adversarial)},
        "R@10": with_gate,
        "R@10_without_gate": without,
        "R@10_lost": round(without - with_gate, 2),
    }


def _figures(measured: Measured) -> dict[str, Any]:
    return {
        **report(measured.graded, ADVERSARIAL),
        "words_only": report(measured.words, ADVERSARIAL),
        "without_gate": report(measured.open, ADVERSARIAL),
        "unanswered": measured.unanswered,
        "tokens_returned": round(sum(measured.tokens) / len(measured.tokens), 1),
    }


def _quantiles(values_ms: Sequence[float]) -> dict[str, float]:
    return {"p50": round(quantile(values_ms, 0.5), 1), "p95": round(quantile(values_ms, 0.95), 1)}


if __name__ == "__main__":
    main()
