"""A store with rows in every table that has texts, and ways to damage its bytes."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import apsw
from support.store import ADA, a_house, stored, tell

from memd.base.clock import from_us
from memd.base.errors import MemdError
from memd.domain.learn import SuccessReport, TaskReport
from memd.domain.memory import MemoryUpdate
from memd.domain.org.access import KeyedClient
from memd.learn.learn import Learn
from memd.records.entities import tables
from memd.store.access import clients
from memd.store.file import page_sums
from memd.store.file.connect import PAGE_BYTES
from memd.store.repair.repair import RepairReport, repair

TOWNS = ("Faro", "Hove", "Skagen", "Riga", "Brest")


async def a_full_file(path: Path, memories: int = 60) -> dict[str, str]:
    """Write a file with memories of several kinds; returns their texts by id."""
    async with a_house(path) as house:
        for start in range(0, memories, 20):
            await tell(
                house,
                *(
                    f"Ann number {n} keeps {n} hives of bees behind the house, sells honey in "
                    f"{TOWNS[n % len(TOWNS)]} and writes it down in book {n * 7}."
                    for n in range(start, start + 20)
                ),
                session_id=f"s{start}",
                speaker="Ann",
            )
        ids = await stored(
            house,
            "Bob sails to Faro on Sunday.",
            "Cid repairs clocks.",
            metadata={"tags": ["hobby", "weekend"], "source": "diary"},
        )
        await house.ingest.update(ADA, ids[1], MemoryUpdate(content="Cid repairs watches."))
        await tell(house, "The lighthouse of Skagen was lit in 1747. \r\n" * 60)
        await house.preferences.set(ADA, "drink", "tea")
        learn = Learn(house.db, house.clock, house.ids)
        await learn.record_outcome(ADA, TaskReport(lesson="Run the tests first.", tools=("shell",)))
        await learn.record_success(
            ADA, SuccessReport(description="Look first.", tools=("grep", "edit"))
        )
        bot = KeyedClient(name="bot", scopes=frozenset({"read"}), created_at=from_us(1))
        await house.db.write(ADA, lambda conn: clients.put(conn, bot, b"hash"))
        await house.queue.drain()
        await house.db.checkpoint(truncate=True)
    return texts(path)


def texts(path: Path) -> dict[str, str]:
    """Return every memory's text by its id, as SQLite reads the file."""
    conn = apsw.Connection(str(path))
    try:
        return {str(one): str(text) for one, text in conn.execute(_TEXTS)}
    finally:
        conn.close()


_TEXTS = "SELECT memory_id, content FROM memory"


def repaired(path: Path, stamp: str = "now") -> RepairReport:
    """Repair the file at *path*."""
    return repair(path, path.with_suffix(".audit"), stamp, 1_800_000_000_000_000, tables())


def whole_rows(raw: bytes, contents: dict[str, str]) -> dict[str, int]:
    """Return where the row of each memory ends in the bytes of a file: of those in one piece.

    A row is there with its id, its text and the text's hash, without which nobody could
    say that the text is as it was written.
    """
    ends: dict[str, int] = {}
    for one, text in contents.items():
        seal = re.escape(hashlib.sha256(text.encode()).digest())
        row = re.escape(one.encode()) + b".{0,200}" + re.escape(text.encode()) + b".{0,200}" + seal
        at = raw.find(one.encode())
        while at >= 0 and one not in ends:
            match = re.compile(row, re.DOTALL).match(raw, at)
            if match is not None:
                ends[one] = match.end() + _REST_OF_A_ROW
            at = raw.find(one.encode(), at + 1)
    return ends


_REST_OF_A_ROW = 100
"""Its times, its own hash and its state, which a cut row has lost."""


def readable(whole: bytes, cut: int, contents: dict[str, str]) -> set[str]:
    """Return the memories whose row stands in one piece before *cut* in the bytes of a file."""
    return {one for one, end in whole_rows(whole, contents).items() if end <= cut}


class Flipped(NamedTuple):
    """What became of a file with one bit turned round."""

    noticed: bool
    refused: bool
    wrong: bool
    why: str = ""


def live_bytes(path: Path) -> Sequence[int]:
    """Return the places in the file that hold something: no free page, no unused room."""
    conn = apsw.Connection(str(path))
    pages = [
        page for (page,) in conn.execute("SELECT pageno FROM dbstat WHERE unused < pgsize / 2")
    ]
    conn.close()
    whole = path.read_bytes()
    return [
        at
        for page in pages
        for at in range((page - 1) * PAGE_BYTES, page * PAGE_BYTES)
        if whole[at]
    ]


async def flipped(path: Path, whole: bytes, at: int, bit: int, contents: dict[str, str]) -> Flipped:
    """Turn one bit round and see whether a check finds it and whether a wrong text is told."""
    for left in path.parent.glob(f"{path.name}-*"):
        left.unlink()
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
    wrong = False
    try:
        async with a_house(path) as house:
            noticed = house.db.damage.problems()
            report = await house.upkeep.check(ADA)
            for memory_id, text in contents.items():
                try:
                    entry = await house.recall.get(ADA, memory_id)
                except MemdError:
                    continue
                wrong |= entry is not None and entry.content != text
            return Flipped(noticed=not report.ok or bool(noticed), refused=False, wrong=wrong)
    except MemdError as error:
        return Flipped(noticed=True, refused=True, wrong=wrong, why=error.kind)


def chance(seed: int) -> random.Random:
    """Return chances that repeat."""
    return random.Random(seed)


def has_sums(path: Path) -> bool:
    return page_sums.layout(path).has_sums
