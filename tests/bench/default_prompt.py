"""What a default prompt holds: how much of the evidence, in how many entries, how many of use.

``inject.prepare`` with its defaults is asked every honest question of the scoped
arrangement, and the foreign ones of ``foreign.py``, which nothing answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench import unanswerable
from bench.bench_daemon import Stage
from bench.locomo import Dialogue

BUDGET_TOKENS = 2_000


@dataclass(frozen=True)
class Prompted:
    """One prompt: the sources of its memories, best first, and its tokens."""

    places: tuple[str, ...]
    tokens: int


def measure(stage: Stage, dialogues: Sequence[Dialogue]) -> dict[str, dict[str, float]]:
    """Return the figures of the honest questions (H) and of each kind of foreign ones."""
    sources = {
        dialogue.name: {
            m["id"]: str(m["metadata"]["source"]) for m in stage.memories(dialogue.name)
        }
        for dialogue in dialogues
    }

    def prompted(agent: str, text: str) -> Prompted:
        params = {"query": text, "agent_id": agent, "token_budget": BUDGET_TOKENS}
        made = stage.client.call("inject.prepare", params)
        places = tuple(sources[agent][memory["id"]] for memory in made["memories"])
        return Prompted(places, made["tokens_used"])

    honest = [
        (prompted(dialogue.name, asked.text), asked.gold)
        for dialogue in dialogues
        for asked in dialogue.honest
    ]
    figures: dict[str, dict[str, float]] = {"H": honest_figures(honest)}
    for kind, asked in unanswerable.questions(dialogues).items():
        figures[kind] = foreign_figures([prompted(agent, text) for agent, text in asked])
    return figures


def honest_figures(prompts: Sequence[tuple[Prompted, Sequence[str]]]) -> dict[str, float]:
    """Return the mean share of the gold that is in a prompt, and what share of entries is gold.

    >>> honest_figures([(Prompted(("a", "b"), 80), ("a",)), (Prompted((), 0), ("c", "d"))])
    {'evidence': 50.0, 'entries': 1.0, 'tokens': 40.0, 'useful': 50.0, 'answered': 50.0}
    """
    shares = [len(set(gold) & set(its.places)) / len(set(gold)) for its, gold in prompts]
    right = sum(len(set(gold) & set(its.places)) for its, gold in prompts)
    entries = sum(len(its.places) for its, _ in prompts)
    figures = foreign_figures([its for its, _ in prompts])
    return {
        "evidence": round(100 * sum(shares) / len(shares), 2),
        "entries": figures["entries"],
        "tokens": figures["tokens"],
        "useful": round(100 * right / entries, 2) if entries else 0.0,
        "answered": figures["answered"],
    }


def foreign_figures(prompts: Sequence[Prompted]) -> dict[str, float]:
    """Return the mean entries and tokens of a prompt, and the share that holds any entry."""
    return {
        "entries": round(sum(len(its.places) for its in prompts) / len(prompts), 2),
        "tokens": round(sum(its.tokens for its in prompts) / len(prompts), 1),
        "answered": round(100 * sum(bool(its.places) for its in prompts) / len(prompts), 2),
    }
