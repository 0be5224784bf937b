"""What a nap keeps of what a session needs again: ``python -m tests.bench.nap DIR --json OUT``.

DIR holds recorded coding sessions (``bench.transcripts``). Each is walked message
by message; whenever the estimate reaches 80 % of the window it is consolidated.
Of the concrete things (``bench.things``) that were said before the cut and that
the rest of the session uses again, the share is printed that is still in the
list: in the summary or in the messages kept. What only the kept messages had
said is not counted, as no nap can lose it. What was lost in an earlier nap
stays lost in the later ones.

Both columns are printed: by the documents' rules alone, and with the enumeration of
what was mentioned (decision 0036). No daemon and no model: the share that is in the
list *or among the five memories recalled* is measured by whoever passes
:func:`measure` a :data:`Recalled`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.scores import quantile
from bench.things import KINDS, things
from bench.transcripts import Message, exported, trajectories
from memd.sleep.consolidator import MENTION_SHARE, MemoryConsolidator, kept_from

WINDOW_TOKENS = 30_000
SMALL_WINDOW_TOKENS = 8_000
REPEATS = 5

Things = dict[str, set[str]]
Recalled = Callable[[str, Sequence[Message], Things], Things]
"""Given a session's name, the messages that a nap replaced, and the needed things that are
neither in the summary nor in the tail: those of them that recall brings back in its top 5."""


@dataclass(frozen=True, slots=True)
class Nap:
    """One consolidation: what it cost, and of what was *needed* again what was *kept*."""

    tokens_before: int
    tokens_after: int
    times_ms: tuple[float, ...]
    needed: dict[str, int]
    kept: dict[str, int]
    recalled: dict[str, int]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.nap", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, dest="out")
    said = parser.parse_args(argv)
    result = measure(said.folder)
    for name, told in result.items():
        for rules in ("documented", "with_mentions"):
            print(f"{name} ({told['window_tokens']} tokens), {rules}: {json.dumps(told[rules])}")
    if said.out is not None:
        said.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


def measure(folder: Path, recalled: Recalled | None = None) -> dict[str, Any]:
    """Return the figures by kind of session and size of window."""
    kinds = {
        "sessions": (exported(folder, sidechains=False), WINDOW_TOKENS),
        "sessions with their sub-agents": (exported(folder, sidechains=True), WINDOW_TOKENS),
        "trajectories": (trajectories(folder), WINDOW_TOKENS),
        "trajectories in a small window": (trajectories(folder), SMALL_WINDOW_TOKENS),
    }
    return {
        name: {
            "window_tokens": tokens,
            "documented": figures(sessions, MemoryConsolidator(max_tokens=tokens), recalled),
            "with_mentions": figures(
                sessions,
                MemoryConsolidator(max_tokens=tokens, mention_share=MENTION_SHARE),
                recalled,
            ),
        }
        for name, (sessions, tokens) in kinds.items()
    }


def figures(
    sessions: Mapping[str, Sequence[Message]],
    consolidator: MemoryConsolidator,
    recalled: Recalled | None = None,
) -> dict[str, Any]:
    """Return counts, tokens, times and shares over all naps of *sessions*."""
    naps = {
        name: walked(name, messages, consolidator, recalled) for name, messages in sessions.items()
    }
    told = [nap for row in naps.values() for nap in row]
    counts = {"sessions": len(naps), "napping": sum(map(bool, naps.values())), "naps": len(told)}
    if not told:
        return counts
    before, after = sum(n.tokens_before for n in told), sum(n.tokens_after for n in told)
    times = [ms for nap in told for ms in nap.times_ms]
    return counts | {
        "tokens_before": round(before / len(told)),
        "tokens_after": round(after / len(told)),
        "ms_p50": round(quantile(times, 0.5), 2),
        "ms_p95": round(quantile(times, 0.95), 2),
        "kept_percent": _shares(told, [nap.kept for nap in told]),
        "kept_or_recalled_percent": _shares(told, [_sum(n.kept, n.recalled) for n in told])
        if recalled
        else None,
        "needed": dict(sum((Counter(nap.needed) for nap in told), Counter())),
    }


def walked(
    name: str,
    messages: Sequence[Message],
    consolidator: MemoryConsolidator,
    recalled: Recalled | None = None,
) -> list[Nap]:
    """Walk one session, consolidating whenever its window is full; return the naps."""
    said = [things(_all_text(message)) for message in messages]
    window: list[Message] = []
    naps = []
    for place, message in enumerate(messages, 1):
        window.append(message)
        tokens = consolidator.estimate_tokens(window)
        start = kept_from(window)
        if not consolidator.should_consolidate(tokens) or start < 2:
            continue
        times, shorter = _timed(consolidator, window)
        cut = place - (len(window) - start)
        needed = _both(_union(said[:cut]), _union(said[place:]))
        kept = _both(needed, things("\n".join(map(_all_text, shorter))))
        again = recalled(name, messages[:cut], _less(needed, kept)) if recalled else {}
        after = consolidator.estimate_tokens(shorter)
        naps.append(Nap(tokens, after, times, _count(needed), _count(kept), _count(again)))
        window = shorter
    return naps


def _timed(
    consolidator: MemoryConsolidator, window: Sequence[Message]
) -> tuple[tuple[float, ...], list[Message]]:
    times = []
    shorter: list[Message] = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        shorter, _summary = consolidator.consolidate(window)
        times.append(1_000 * (time.perf_counter() - start))
    return tuple(times), shorter


def _all_text(message: Message) -> str:
    """Return the content of *message* and what it calls tools with."""
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return "\n".join((message["content"], *(str(call.get("arguments", "")) for call in calls)))


def _union(rows: Sequence[Things]) -> Things:
    return {kind: set[str]().union(*(row[kind] for row in rows)) for kind in KINDS}


def _both(one: Things, other: Things) -> Things:
    return {kind: one[kind] & other[kind] for kind in KINDS}


def _less(one: Things, other: Things) -> Things:
    return {kind: one[kind] - other[kind] for kind in KINDS}


def _count(found: Things) -> dict[str, int]:
    return {kind: len(found.get(kind, ())) for kind in KINDS}


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {kind: one[kind] + other[kind] for kind in KINDS}


def _shares(naps: Sequence[Nap], found: Sequence[dict[str, int]]) -> dict[str, float | None]:
    """Return the shares over all naps together, a thing of each nap counting once."""
    needed = {kind: sum(nap.needed[kind] for nap in naps) for kind in KINDS}
    got = {kind: sum(row[kind] for row in found) for kind in KINDS}
    rows = {"all": (sum(got.values()), sum(needed.values()))}
    rows |= {kind: (got[kind], needed[kind]) for kind in KINDS}
    return {name: round(100 * n / of, 1) if of else None for name, (n, of) in rows.items()}


if __name__ == "__main__":
    main()
