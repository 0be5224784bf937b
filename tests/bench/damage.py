"""What single flipped bits and cut-off files do: found, told, refused, brought back.

``python -m tests.bench.damage [--json OUT]`` turns 300 bits, one at a time, in bytes that
hold something, and cuts one file of some 1,500 memories off at 100 places, all drawn from a
seed. How far it is goes to the standard error; a flip that has not ended within CASE_S is
counted as that.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from collections import Counter
from pathlib import Path

import apsw
import structlog
from support.damage import a_full_file, chance, flipped, live_bytes, repaired, texts, whole_rows

from bench.bench_daemon import save_result
from memd.store.file.connect import PAGE_BYTES

FLIPS, CUTS, MEMORIES = 300, 100, 1_500
CASE_S = 60
HEADER_BYTES = 100
_TELL_EVERY = 10


async def flips(folder: Path, count: int, memories: int, seed: int) -> Counter[str]:
    """Turn *count* single bits round, one after the other in a fresh copy."""
    path = folder / "memd.db"
    contents = await a_full_file(path, memories)
    whole, places = path.read_bytes(), live_bytes(path)
    kinds = _kinds(path)
    drawn = chance(seed)
    counts: Counter[str] = Counter(
        dict.fromkeys(("found", "wrong text told unmarked", "start refused, not the header"), 0)
    )
    some = dict(list(contents.items())[:200])
    for number in range(count):
        at, bit = drawn.choice(places), drawn.randrange(8)
        where = f"byte {at}, bit {bit}, {kinds.get(at // PAGE_BYTES + 1, 'free')}"
        counts["flips"] += 1
        try:
            become = await asyncio.wait_for(flipped(path, whole, at, bit, some), CASE_S)
        except TimeoutError:
            counts["not ended"] += 1
            _tell(f"not ended: {where}")
            continue
        counts["found"] += become.noticed
        counts["wrong text told unmarked"] += become.wrong
        counts["start refused"] += become.refused
        counts["start refused, not the header"] += become.refused and at >= HEADER_BYTES
        if become.wrong or become.refused or not become.noticed:
            _tell(f"{become}: {where}")
        _progress("flips", number, count)
    return counts


async def cuts(folder: Path, count: int, memories: int, seed: int) -> Counter[str]:
    """Cut a file off at *count* places and repair each."""
    path = folder / "memd.db"
    contents = await a_full_file(path, memories)
    whole, drawn = path.read_bytes(), chance(seed)
    ends = whole_rows(whole, contents)
    counts: Counter[str] = Counter(
        {"texts": len(contents), "texts that stand in one piece": len(ends), "texts not back": 0}
    )
    for number in range(count):
        for left in folder.iterdir():
            left.unlink()
        cut = drawn.randrange(PAGE_BYTES * 20, len(whole))
        path.write_bytes(whole[:cut])
        whole_before = {one for one, end in ends.items() if end <= cut}
        done = repaired(path, f"cut{number}")
        back = texts(path)
        counts["cuts"] += 1
        counts["readable texts"] += len(whole_before)
        counts["texts not back"] += len(whole_before - set(back))
        counts["texts that are not as they were"] += sum(
            contents[one] != text for one, text in back.items()
        )
        counts["files that still have problems"] += bool(done.remaining)
        if done.remaining or whole_before - set(back):
            _tell(f"cut at {cut}: {len(whole_before - set(back))} not back, {done.remaining[:3]}")
        _progress("cuts", number, count)
    return counts


def _kinds(path: Path) -> dict[int, str]:
    conn = apsw.Connection(str(path))
    kinds = {
        int(str(page)): str(name) for page, name in conn.execute("SELECT pageno, name FROM dbstat")
    }
    conn.close()
    return kinds


def _progress(what: str, number: int, count: int) -> None:
    if (number + 1) % _TELL_EVERY == 0:
        _tell(f"{what}: {number + 1} of {count}")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def _main() -> None:
    asked = argparse.ArgumentParser(prog="python -m tests.bench.damage", description=__doc__)
    asked.add_argument("--flips", type=int, default=FLIPS)
    asked.add_argument("--cuts", type=int, default=CUTS)
    asked.add_argument("--memories", type=int, default=MEMORIES)
    asked.add_argument("--seed", type=int, default=7)
    asked.add_argument("--json", type=Path, dest="out")
    given = asked.parse_args()
    logging.disable()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    result: dict[str, Counter[str]] = {}
    for run, count in ((flips, given.flips), (cuts, given.cuts)):
        if count:
            with tempfile.TemporaryDirectory() as folder:
                result[run.__name__] = await run(Path(folder), count, given.memories, given.seed)
            print(json.dumps({run.__name__: result[run.__name__]}, indent=1))  # a command's answer
    save_result(result, given.out)


if __name__ == "__main__":
    asyncio.run(_main())
