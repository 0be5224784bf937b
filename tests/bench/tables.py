"""Prints what the benches found. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FIGURES = ("R@5", "R@10", "R@20", "hit@5", "hit@10", "hit@20", "MRR", "nDCG@10")
SILENT = {"A": "unknown person", "B": "known name", "O": "other domain", "U": "stranger's name"}
CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop"}


def recall(result: Mapping[str, Any]) -> str:
    """Return the tables of the recall bench."""
    lines = [_row("turns (macro, %)", FIGURES), _rule(len(FIGURES))]
    for name in ("scoped", "global"):
        part = result[name]
        lines.append(_figures(name, part))
        for key, figures in part["by_category"].items():
            lines.append(
                _figures(f"  {CATEGORIES.get(key, key)} ({figures['questions']})", figures)
            )
        lines.append(_figures("  adversarial, apart", part["adversarial"]))
        lines.append(_figures("  without the gate", part["without_gate"]))
        lines.append(_figures("  BM25 alone", part["words_only"]))
    lines += ["", _row("sessions", FIGURES), _rule(len(FIGURES))]
    lines.append(_figures("scoped", result["session"]))
    lines.append("")
    for name in ("scoped", "global"):
        part = result[name]
        lines.append(
            f"{name}: {part['unanswered']} of {part['questions']} questions left without an answer,"
            f" {part['tokens_returned']} tokens returned on average"
        )
    lines += _silence(result["saying_nothing"])
    lines += _prompts(result["prompts"])
    lines += _gold(result["gold"])
    lines.append(
        f"ingest: {result['ingest']['turns']} turns in {result['ingest']['seconds']} s"
        f" ({result['ingest']['turns_per_second']}/s); recall over the socket p50"
        f" {result['latency_ms']['p50']} ms, p95 {result['latency_ms']['p95']} ms"
        f" (global {result['latency_ms_global']['p50']} / {result['latency_ms_global']['p95']});"
        f" daemon {result['rss_mb']} MB"
    )
    return "\n".join([*lines, "", small(result["small_stores"])])


def small(result: Mapping[str, Any]) -> str:
    """Return the table of the small stores."""
    stores = ("alone", "eight", "all")
    lines = [_row("small stores: answered, %", stores), _rule(len(stores))]
    for name, figures in result["answered"].items():
        lines.append(_row(name, [figures.get(store, "-") for store in stores]))
    return "\n".join([*lines, "", *(f"  {line}" for line in result["misjudged"])])


def _silence(result: Mapping[str, Any]) -> list[str]:
    lines = ["", _row("saying nothing: answered, %", ("answered", "questions")), _rule(2)]
    for kind, figures in result.items():
        if isinstance(figures, Mapping):
            row = (figures["answered"], figures["questions"])
            lines.append(_row(f"{kind} {SILENT.get(kind, '')}".strip(), row))
    lines.append(
        f"honest R@10 {result['R@10']}, without the gate {result['R@10_without_gate']}:"
        f" {result['R@10_lost']} lost"
    )
    return lines


def _prompts(result: Mapping[str, Mapping[str, float]]) -> list[str]:
    names = ("evidence", "entries", "useful", "tokens", "answered")
    kinds = {"H": "honest", **SILENT}
    lines = [
        "",
        _row("default prompts (evidence, useful, answered in %)", names),
        _rule(len(names)),
    ]
    return lines + [
        _row(f"{kind} {kinds[kind]}", [figures.get(name, "-") for name in names])
        for kind, figures in result.items()
    ]


def _gold(result: Mapping[str, Any]) -> list[str]:
    lines = ["", "share in %           turned away    working   procedural"]
    for name, shares in result.items():
        figures = "".join(f"{shares[k]:>12}" for k in ("turned_away", "working", "procedural"))
        lines.append(f"{name:<20}{figures}")
    return [*lines, ""]


def _figures(name: str, figures: Mapping[str, Any]) -> str:
    return _row(name, [figures.get(figure, "-") for figure in FIGURES])


def _row(name: str, cells: Sequence[object]) -> str:
    return f"| {name:<28} |" + "".join(f" {cell!s:>9} |" for cell in cells)


def _rule(cells: int) -> str:
    return "|" + "-" * 30 + "|" + ("-" * 11 + "|") * cells
