"""From a full window to facts that are found: ``python -m tests.bench.usage --json OUT``.

A real daemon, its model not loaded, and a transcript in the shape of Claude Code's
of 2 MB, made by this command, in a folder that the daemon reads. A usage file of
81 % is written beside and moved into its place, and from then on a client asks,
with the defaults, for a fact from the middle of the transcript until it is found.
Printed are the seconds of each start and their median, what the nap did, when
every vector was there, and what the process holds then. The times asked until the
fact is found load the model, as a user's first question would.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from support.daemon import wait_until

from bench.bench_daemon import Stage, staged, write_result

STARTS = 5
BYTES = 2_000_000
WINDOW_TOKENS = 200_000
SHARE = 0.81
SEED = 20_260_101
PATIENCE_S = 60.0
POLL_S = 0.1
SESSION = "s1"
FACT = "We always read the tide gauge at Brackwater every 17 minutes, never less often."
QUESTION = "How often do we read the tide gauge at Brackwater?"

_VOCABULARY = (
    "account archive basket branch buffer cache client column config cursor driver entry"
    " event export field filter folder handler header import index input job key label layout"
    " limit list loader lock matcher message metric model node option order output packet page"
    " parser path payload policy queue reader record region report request result retry route"
    " row rule runner scanner schema scope server session setting signal socket source stage"
    " state store stream table target task thread timer token topic trace tree unit user value"
    " vector view watcher window worker writer"
)
_WORDS = _VOCABULARY.split()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.usage", description=__doc__)
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--json", type=Path, dest="out")
    options = parser.parse_args(argv)
    result = measure(options.starts)
    write_result(result, options.out)


def measure(starts: int) -> dict[str, Any]:
    """Return the figures of so many fresh daemons."""
    lines = transcript(BYTES)
    rows = [once(lines) for _ in range(starts)]
    seconds = [row["seconds_to_recall"] for row in rows]
    return {
        "transcript_bytes": sum(len(line) for line in lines),
        "seconds_median": round(statistics.median(seconds), 2),
        "seconds_worst": max(seconds),
        "starts": rows,
    }


def once(lines: Sequence[str]) -> dict[str, Any]:
    """Return the figures of one fresh daemon."""
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        home = Path(made)
        (home / "transcripts").mkdir()
        (home / "config").mkdir()
        roots = json.dumps([str(home / "transcripts")])
        config = home / "config" / "config.toml"
        config.write_text(f"[usage]\ntranscript_roots = {roots}\n", "utf-8")
        path = home / "transcripts" / f"{SESSION}.jsonl"
        path.write_text("".join(lines), "utf-8")
        with staged(home) as stage:
            return _until_found(stage, path)


def _until_found(stage: Stage, path: Path) -> dict[str, Any]:
    usage = stage.daemon.paths.socket.with_name("usage")
    wait_until(usage.is_dir, "the daemon watches")
    before_mb = stage.rss_mb()
    draft = usage / f"claude-code-{SESSION}.tmp"
    used = {"used_tokens": int(SHARE * WINDOW_TOKENS), "window_tokens": WINDOW_TOKENS}
    draft.write_text(json.dumps({**used, "transcript_path": str(path)}), "utf-8")
    start = time.perf_counter()
    draft.replace(draft.with_suffix(".json"))
    while not _finds_fact(stage):
        if time.perf_counter() - start > PATIENCE_S:
            raise SystemExit(
                f"not found in {PATIENCE_S:g} s: {stage.daemon.log.read_text('utf-8')}"
            )
        time.sleep(POLL_S)
    seconds = time.perf_counter() - start
    found_mb = stage.rss_mb()
    stage.settle()
    naps = stage.client.call("sleep.report", {"limit": 1})["items"]
    return {
        "seconds_to_recall": round(seconds, 2),
        "seconds_to_all_vectors": round(time.perf_counter() - start, 1),
        "rss_mb": {
            "before": round(before_mb, 1),
            "when_found": round(found_mb, 1),
            "with_all_vectors": round(stage.rss_mb(), 1),
        },
        "memories": stage.client.call("memory.count"),
        "nap": naps[0]["detail"],
    }


def _finds_fact(stage: Stage) -> bool:
    answer = stage.client.call("memory.recall", {"query": QUESTION})
    return any(FACT in memory["content"] for memory in answer["memories"])


def transcript(size: int) -> list[str]:
    """Return the lines of a session of at least *size* bytes, the same each time."""
    chance = random.Random(SEED)
    lines: list[str] = []
    has_fact = False
    written = 0
    for number, message in enumerate(_turns(chance)):
        if not has_fact and written > size // 2 and isinstance(message["content"], str):
            message["content"] = FACT
            has_fact = True
        record = {
            "type": message["role"],
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": SESSION,
            "isSidechain": False,
            "message": message,
        }
        lines.append(f"{json.dumps(record)}\n")
        written += len(lines[-1])
        if written >= size:
            return lines
    return lines


def _turns(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield for ever: a user asks, the assistant calls a tool four times, and sums up."""
    number = 0
    while True:
        yield {"role": "user", "content": f"Please look at {_prose(chance, 14)}."}
        for _ in range(4):
            number += 1
            call = {"command": f"sed -n 1,80p {_path(chance)}"}
            yield {
                "role": "assistant",
                "id": f"m{number}",
                "content": [
                    {"type": "text", "text": f"I read the {_prose(chance, 12)}."},
                    {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": call},
                ],
            }
            result = "\n".join(_code(chance) for _ in range(chance.randrange(20, 80)))
            block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
            yield {"role": "user", "content": [block]}
        summed = f"{_prose(chance, 40)}.\nresult: {_prose(chance, 9)} in {_path(chance)}"
        yield {
            "role": "assistant",
            "id": f"s{number}",
            "content": [{"type": "text", "text": summed}],
        }


def _prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def _path(chance: random.Random) -> str:
    return "src/{}/{}_{}.py".format(*chance.choices(_WORDS, k=3))


def _code(chance: random.Random) -> str:
    one, two, three, four = chance.choices(_WORDS, k=4)
    return f"    {one}_{two} = {three}_{four}({chance.randrange(10_000)}, {one}.{four})"


if __name__ == "__main__":
    main()
