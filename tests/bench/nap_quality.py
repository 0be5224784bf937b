"""What naps keep of what is worth keeping: ``python -m tests.bench.nap_quality DIR [--split fit]``.

DIR holds the recorded sessions that were labelled (``labels/README.md``). Each is
distilled as the daemon's own naps distil it when a session ends, without a store,
and scored by what readers wrote down before: which items are whole in one memory,
by weight and by kind, which lines of the user were kept that must not be, how much
is kept for every 30,000 tokens, and the CPU time that it takes, as a whole and beside
what the encoder does. Where a session was read twice, the readers' agreement is printed.

``--show SESSION`` prints one session's memories beside its labels; never one that
is held back, unless with ``--i-judge``. ``--draw 120 --seed 1 --out FILE`` writes so
many memories of all sessions below DIR that nothing was tuned on, drawn at random,
without their sessions, to be judged; ``--marks FILE...`` reads judges' lines (``17
keep``, ``borderline`` or ``junk``).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import nap_ratings, sentence_judge
from bench.bench_daemon import save_result
from bench.nap_scores import (
    PER_TOKENS,
    Memory,
    Score,
    agreement,
    by_name,
    covered,
    score,
    stands_in,
)
from bench.reader_labels import HELD, SECOND, SPLITS, WORTH, readings, session_lines, split
from bench.scores import quantile
from bench.transcripts import Message, exported, specstory
from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.transcript.consolidator import MemoryConsolidator

REPEATS = 3


def main(argv: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(argv)
    if options.marks:
        print(json.dumps(nap_ratings.summed(options.marks)))
        return
    if options.show:
        if split().get(options.show, HELD[0]) in HELD and not options.i_judge:
            raise SystemExit("this session is held back: nothing may be tuned on it")
        print("\n".join(shown(options.folder, options.show)))
        return
    if options.draw:
        fresh = {
            name: messages
            for name, messages in exported(options.folder, sidechains=False).items()
            if split().get(name, HELD[0]) in HELD
        }
        kept = {name: distilled(messages) for name, messages in fresh.items()}
        nap_ratings.draw(kept, options.draw, options.seed, options.out)
        return
    result = measure(options.folder, options.split)
    print("\n".join(_lines(result)))
    save_result(result, options.json)


def measure(folder: Path, which: str) -> dict[str, Any]:
    """Return the figures by split: of each session, of all, and what a nap costs."""
    marked = readings(which)
    lines = session_lines(folder, list(marked))
    scores: dict[str, Score] = {}
    cpu_ms: list[list[float]] = []
    for name, reading in marked.items():
        messages = specstory("\n".join(lines[name]), sidechains=False)
        tokens = MemoryConsolidator.estimate_tokens(messages)
        memories = distilled(messages)
        cpu_ms.append([ms * PER_TOKENS / max(tokens, 1) for ms in _cpu_ms(messages)])
        scores[name] = score(reading, lines[name], memories, tokens)
    there = split()
    parts = {part: {n: s for n, s in scores.items() if there[n] == part} for part in SPLITS}
    second = readings(which, SECOND)
    return {
        "splits": {part: by_name(rows) for part, rows in parts.items() if rows},
        "agreement": {name: agreement(marked[name], other) for name, other in second.items()},
        "cpu_ms_per_30k": {
            share: {f"p{q}": round(quantile(its, q / 100), 1) for q in (50, 95)}
            for share, its in zip(
                ("beside the embeddings", "whole"), zip(*cpu_ms, strict=True), strict=True
            )
        },
    }


def distilled(messages: Sequence[Message]) -> list[Memory]:
    """Return what the daemon's own naps keep of *messages*."""
    made = sentence_judge.distilled(messages)
    return [Memory(each.text, each.kind, each.kind is NapKind.DIGEST) for each in made]


def shown(folder: Path, session: str) -> Iterator[str]:
    """Yield a session's memories with the items that each holds, then what is not covered."""
    reading = readings()[session]
    lines = session_lines(folder, [session])[session]
    memories = distilled(specstory("\n".join(lines), sidechains=False))
    for place, memory in enumerate(memories, 1):
        held = [item.number for item in covered([memory], reading.items)]
        never = [] if memory.is_digest else reading.never_kept()
        junk = [line for line in never if stands_in(lines[line - 1], memory.text)]
        marks = f" items {', '.join(held)}" * bool(held) + f" JUNK lines {junk}" * bool(junk)
        yield f"[{place}] {memory.kind}{marks}\n    " + memory.text.replace("\n", "\n    ")
    there = covered(memories, reading.items)
    for item in reading.items:
        state = "covered" if item in there else "MISSING"
        yield f"{state} {item.number} {item.kind} {item.importance}, lines {sorted(item.lines)}"
        yield f"    {item.says}\n    keys {item.keys}"
    for line, does in reading.does.items():
        if does in WORTH and not any(stands_in(lines[line - 1], each.text) for each in memories):
            yield f"not kept word for word, line {line} ({does}): {lines[line - 1]}"


def _cpu_ms(messages: Sequence[Message]) -> list[float]:
    """Return what distilling *messages* takes beside what the encoder does, and as a whole."""
    times = []
    for _ in range(REPEATS):
        sentence_judge.forget()
        begun = time.process_time()
        session = SessionTurns.of(messages)
        read = time.process_time()
        logits = sentence_judge.classify(session.sentences(), session.agent_places())
        judged = time.process_time()
        distil(session, logits)
        whole = time.process_time() - begun
        times.append((1_000 * (whole - judged + read), 1_000 * whole))
    return [quantile(each, 0.5) for each in zip(*times, strict=True)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.nap_quality", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", choices=(*SPLITS, "all"), default="fit")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", metavar="SESSION")
    parser.add_argument("--i-judge", action="store_true")
    parser.add_argument("--draw", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("drawn.txt"))
    parser.add_argument("--marks", type=Path, nargs="+")
    return parser


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    for part, rows in result["splits"].items():
        yield f"{part}: tokens, memories and characters (with digests) per 30,000 tokens; covered"
        for name, row in rows.items():
            three = row["by_kind"].get("importance 3", [0, 0])
            yield (
                f"  {name[:28]:28} {row['tokens']:7} {row['memories_per_30k']:6}"
                f" {row['chars_per_30k']:6} ({row['chars_with_digest_per_30k']:6})"
                f"  by weight {row['weighted_coverage']}, importance 3 {_of(three)},"
                f" junk {_of(row['junk_kept'])}"
            )
        kinds = rows["all"]["by_kind"]
        yield "  " + ", ".join(f"{kind} {_of(counts)}" for kind, counts in kinds.items())
    for name, shares in result["agreement"].items():
        yield f"read twice: {name[:28]} {json.dumps(shares)}"
    yield f"CPU ms per 30,000 tokens: {json.dumps(result['cpu_ms_per_30k'])}"


def _of(counts: Sequence[int]) -> str:
    share = f" ({counts[0] / counts[1]:.2f})" if counts[1] else ""
    return f"{counts[0]}/{counts[1]}{share}"


if __name__ == "__main__":
    main()
