"""What a nap keeps of what a session needs again.

    python -m tests.bench.nap_coverage DIR --json OUT

DIR holds recorded coding sessions (``bench.transcripts``). Each is walked message
by message (``bench.session_walk``); whenever the estimate reaches 80 % of the window it
naps: the daemon's own rooms, in this process, read the window as a transcript, keep
its messages, store its facts and give the shorter list, with which the walk goes
on. Two shares of what the rest of the session needs again are printed: what is in
that list, and what is there *or in the top 5* that recall finds for what is said
where the thing is needed, with the thing itself taken out. Of what is not in the
list, at most a hundred things a nap are asked for, drawn with a fixed seed, and
the share stands for all. All sessions of a kind are one agent's, as they are for
the daemon.

By the documents' rules, which is what memd does with messages it is handed, and with
the enumeration of what was mentioned, which is what it does by itself (decision 0036).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.bench_daemon import save_result
from bench.named_details import KINDS, things
from bench.night import MovedClock, house
from bench.scores import quantile
from bench.session_walk import Nap, Question, walked
from bench.transcripts import Message, exported, trajectories
from memd.backends.rooms import Rooms
from memd.domain.caller import Caller
from memd.domain.recall import RecallRequest
from memd.domain.settings.settings import Settings
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.source import NapRequest
from memd.sleep.transcript.consolidator import MENTION_SHARE, MemoryConsolidator
from memd.sleep.window.trigger import Reason

WINDOW_TOKENS = 30_000
SMALL_WINDOW_TOKENS = 8_000
TOP_K = 5
SEED = 20_260_101
AGENT = Caller(agent_id="bench", method="bench")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.nap_coverage", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    result = asyncio.run(measure(options.folder))
    for name, figures in result.items():
        for rules in ("documented", "with_mentions"):
            print(
                f"{name} ({figures['window_tokens']} tokens), {rules}: {json.dumps(figures[rules])}"
            )
    save_result(result, options.out)


async def measure(folder: Path) -> dict[str, Any]:
    """Return the figures by kind of session and size of window."""
    kinds = {
        "sessions": (exported(folder, sidechains=False), WINDOW_TOKENS),
        "sessions with their sub-agents": (exported(folder, sidechains=True), WINDOW_TOKENS),
        "trajectories": (trajectories(folder), WINDOW_TOKENS),
        "trajectories in a small window": (trajectories(folder), SMALL_WINDOW_TOKENS),
    }
    rules = {"documented": 0.0, "with_mentions": MENTION_SHARE}
    return {
        name: {
            "window_tokens": tokens,
            **{
                rule: await lived(sessions, MemoryConsolidator(max_tokens=tokens, mention_share=s))
                for rule, s in rules.items()
            },
        }
        for name, (sessions, tokens) in kinds.items()
    }


async def lived(
    sessions: Mapping[str, Sequence[Message]], rule: MemoryConsolidator
) -> dict[str, Any]:
    """Walk the sessions with the daemon's rooms over a file of their own."""
    naps = {}
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        async with house(Path(made) / "memd.db", MovedClock()) as rooms:
            # The daemon does so when a window is half full (``Watching``).
            await Naps(rooms, Settings(), Path(made)).nap.warm_up()
            for name, messages in sessions.items():
                made_by = SessionRooms(rooms, rule, Path(made), name)
                naps[name] = await walked(messages, rule, made_by, random.Random(SEED))
    return figures(naps)


@dataclass(frozen=True)
class SessionRooms:
    """The daemon's rooms, napping over one session (``walk.Napping``)."""

    rooms: Rooms
    rule: MemoryConsolidator
    folder: Path
    session_id: str

    async def nap(self, window: Sequence[Message]) -> tuple[list[Message], float]:
        usage = {"max_tokens": self.rule.max_tokens, "transcript_roots": [str(self.folder)]}
        naps = Naps(self.rooms, Settings.model_validate({"usage": usage}), self.folder)
        path = self.folder / "window.jsonl"
        path.write_text("".join(f"{json.dumps(message)}\n" for message in window), "utf-8")
        request = NapRequest(messages=window, session_id=self.session_id)
        if self.rule.mention_share:
            request = NapRequest(
                transcript_path=str(path), session_id=self.session_id, reason=Reason.FULL.value
            )
        nap = naps.nap
        start = time.perf_counter()
        made = await nap.nap(AGENT, request)
        ms = 1_000 * (time.perf_counter() - start)
        await self.rooms.queue.drain()
        return list(made.messages), ms

    async def brings_back(self, question: Question) -> bool:
        if not question.query:
            return False
        asked = RecallRequest(query=question.query, top_k=TOP_K)
        answer = await self.rooms.recall.recall(AGENT, asked)
        contents = "\n".join(memory.content for memory in answer.memories)
        return question.thing in things(contents)[question.kind]


def figures(naps: Mapping[str, Sequence[Nap]]) -> dict[str, Any]:
    """Return counts, tokens, times and shares over the naps of all sessions."""
    all_naps = [nap for row in naps.values() for nap in row]
    counts = {"sessions": len(naps), "napping": sum(map(bool, naps.values()))}
    counts["naps"] = len(all_naps)
    if not all_naps:
        return counts
    before, after = sum(n.tokens_before for n in all_naps), sum(n.tokens_after for n in all_naps)
    return counts | {
        "tokens_before": round(before / len(all_naps)),
        "tokens_after": round(after / len(all_naps)),
        "pure_ms": _times([ms for nap in all_naps for ms in nap.pure_ms]),
        "nap_ms": _times([nap.whole_ms for nap in all_naps]),
        "kept_percent": _shares(all_naps, [nap.kept for nap in all_naps]),
        "kept_or_recalled_percent": _shares(all_naps, [_with_recalled(nap) for nap in all_naps]),
        "needed": _totals([nap.needed for nap in all_naps]),
        "asked": _totals([nap.asked for nap in all_naps]),
        "recalled": _totals([nap.recalled for nap in all_naps]),
    }


def _times(times: Sequence[float]) -> dict[str, float]:
    return {f"p{q}": round(quantile(times, q / 100), 2) for q in (50, 95)}


def _with_recalled(nap: Nap) -> dict[str, float]:
    """Return what was kept, and of the rest as much as was recalled of the sample."""
    return {
        kind: nap.kept[kind]
        + (nap.needed[kind] - nap.kept[kind]) * nap.recalled[kind] / (nap.asked[kind] or 1)
        for kind in KINDS
    }


def _totals(rows: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {kind: sum(row[kind] for row in rows) for kind in KINDS}


def _shares(naps: Sequence[Nap], counts: Sequence[Mapping[str, float]]) -> dict[str, float | None]:
    """Return the shares over all naps together, a thing of each nap counting once."""
    needed = _totals([nap.needed for nap in naps])
    got = {kind: sum(row[kind] for row in counts) for kind in KINDS}
    rows = {"all": (sum(got.values()), sum(needed.values()))}
    rows |= {kind: (got[kind], needed[kind]) for kind in KINDS}
    return {name: round(100 * n / of, 1) if of else None for name, (n, of) in rows.items()}


if __name__ == "__main__":
    main()
