"""What single flipped bits and cut-off files do: found, told, refused, brought back.

``python -m tests.bench.damage`` runs 300 flips in bytes that hold something and 100
truncations of one file of some 1,500 memories, both drawn from a seed.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import tempfile
from collections import Counter
from pathlib import Path

import apsw
from support.damage import a_full_file, chance, flipped, live_bytes, readable, repaired, texts

from memd.store.connect import PAGE_BYTES

FLIPS, CUTS, MEMORIES = 300, 100, 1_500


async def flips(folder: Path, count: int, memories: int, seed: int) -> Counter[str]:
    """Turn *count* single bits round, one after the other in a fresh copy."""
    path = folder / "memd.db"
    said = await a_full_file(path, memories)
    whole, places = path.read_bytes(), live_bytes(path)
    kinds = _kinds(path)
    drawn = chance(seed)
    told: Counter[str] = Counter(flips=count)
    some = dict(list(said.items())[:200])
    for _ in range(count):
        at, bit = drawn.choice(places), drawn.randrange(8)
        become = await flipped(path, whole, at, bit, some)
        told["found"] += become.found
        told["wrong text told unmarked"] += become.wrong
        told["start refused"] += become.refused
        told["start refused, not the header"] += become.refused and at >= HEADER_BYTES
        if not become.found:
            told[f"not found in {kinds.get(at // PAGE_BYTES + 1, 'free')}"] += 1
    return told


HEADER_BYTES = 100


def _kinds(path: Path) -> dict[int, str]:
    conn = apsw.Connection(str(path))
    found = {
        int(str(page)): str(name) for page, name in conn.execute("SELECT pageno, name FROM dbstat")
    }
    conn.close()
    return found


async def cuts(folder: Path, count: int, memories: int, seed: int) -> Counter[str]:
    """Cut a file off at *count* places and repair each."""
    path = folder / "memd.db"
    said = await a_full_file(path, memories)
    whole, drawn = path.read_bytes(), chance(seed)
    told: Counter[str] = Counter(cuts=count)
    for number in range(count):
        for left in folder.iterdir():
            left.unlink()
        cut = drawn.randrange(PAGE_BYTES * 20, len(whole))
        path.write_bytes(whole[:cut])
        wanted = readable(whole, cut, said)
        done = repaired(path, f"cut{number}")
        back = texts(path)
        told["readable texts"] += len(wanted)
        told["readable texts not back"] += len(wanted - set(back))
        told["texts that are not as they were"] += sum(
            said[one] != text for one, text in back.items()
        )
        told["files that still have problems"] += bool(done.remaining)
    return told


async def _main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--flips", type=int, default=FLIPS)
    asked.add_argument("--cuts", type=int, default=CUTS)
    asked.add_argument("--memories", type=int, default=MEMORIES)
    asked.add_argument("--seed", type=int, default=7)
    given = asked.parse_args()
    logging.disable()
    for run, count in ((flips, given.flips), (cuts, given.cuts)):
        with tempfile.TemporaryDirectory() as folder:
            told = await run(Path(folder), count, given.memories, given.seed)
            for name, number in told.items():
                print(f"{name}: {number:,}")  # a command's answer


if __name__ == "__main__":
    asyncio.run(_main())
