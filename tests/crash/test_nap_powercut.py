"""The power may go at any operation of a nap: all of it is there, or nothing (P3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from support.powercut import outcomes
from support.rows import an_id_source
from support.store import ADA

from memd.domain.enums import MemoryLevel, Origin
from memd.sleep.distil.exchanges import NapKind, NapMemory
from memd.sleep.nap.preparation import draft_memories, extract, read
from memd.sleep.nap.source import NapRequest, NapSource
from memd.sleep.nap.transaction import NapTransaction
from memd.sleep.transcript.consolidator import MemoryConsolidator
from memd.store.access import changes
from memd.store.file.connect import Writing
from memd.store.file.connections import run_write
from memd.store.session import windows
from memd.store.session.windows import WindowRow
from memd.text.tokens import DefaultTokenEstimator

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Check the nginx config before restarting"},
    {"role": "tool", "name": "sh", "content": "Exit code 0. Deployed 47 files to /opt/app"},
    {"role": "assistant", "content": "Well.\ndecided: use blue-green deployment"},
    *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(4)),
]
WINDOW = WindowRow(
    "ada", "codex", "s", 25_000, 30_000, None, None, None, None, None, None, False, 7, None
)
OUTCOME = (
    "SELECT count(*) FROM session_message",
    "SELECT count(*) FROM memory",
    "SELECT count(*) FROM run WHERE state = 'done'",
    "SELECT count(*) FROM usage_window WHERE armed = 0",
    "SELECT count(*) FROM change",
    "SELECT count(*) FROM archive WHERE reason = 'superseded'",
    "SELECT count(*) FROM memory_version",
)
NOTHING = (0, 0, 0, 0, 0, 0, 0)
FIRST = (7, 3, 1, 1, 1, 0, 0)
SECOND = (7, 4, 2, 1, 2, 1, 1)
"""After a second nap that supersedes one memory and rewrites another."""


def nap(
    conn: Writing, *, whole: bool = True, memories: Sequence[NapMemory] | None = None, seed: int = 0
) -> None:
    """Nap as the daemon does: facts, or what is *memories*.

    Not *whole*, each statement is a transaction of its own.
    """
    parts = extract(read(MESSAGES), rule=MemoryConsolidator())
    if memories is not None:
        parts = replace(parts, facts=(), memories=tuple(memories))
    ready = draft_memories(parts, DefaultTokenEstimator(), "s")

    def store_window(conn: Writing, now_us: int) -> None:
        del now_us
        windows.put(conn, 1, WINDOW)

    ids, run_id = an_id_source(seed), f"run{seed}"
    request = NapRequest(messages=MESSAGES, on_write=store_window)
    transaction = NapTransaction(
        ids, run_id, MemoryLevel.PERSISTENT, NapSource(MESSAGES, "s"), ready, request
    )
    if whole:
        run_write(conn, lambda: transaction.run(conn, ADA, 7), ADA, run_id, 7)
    else:
        transaction.run(conn, ADA, 7)
        changes.record(conn, ADA, 7, run_id)


def distilled(port: int, end: str) -> list[NapMemory]:
    return [
        NapMemory("Check the config first.", NapKind.PREFERENCE, (0,), "a", Origin.PERSON),
        NapMemory(f"The port is {port}.", NapKind.ENVIRONMENT, (1, 2), "env:port", Origin.TOOL),
        NapMemory(f"It ended {end}.", NapKind.DIGEST, (0, 2), "digest", Origin.ASSISTANT),
    ]


def two_naps(conn: Writing, *, whole: bool = True) -> None:
    nap(conn, whole=whole, memories=distilled(80, "well"))
    nap(conn, whole=whole, memories=distilled(8443, "better"), seed=1_000)


def test_a_power_cut_at_any_moment_of_a_nap_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    assert outcomes(tmp_path, nap, OUTCOME) == {FIRST, NOTHING}


def test_a_nap_in_pieces_would_have_been_found_out(tmp_path: Path) -> None:
    """The control: statement by statement, some image holds half of it."""
    whole = {FIRST, NOTHING}
    in_pieces = partial(nap, whole=False)
    assert outcomes(tmp_path, in_pieces, OUTCOME, until_not=whole) - whole


def test_a_power_cut_leaves_what_a_nap_replaces_or_what_takes_its_place(tmp_path: Path) -> None:
    assert outcomes(tmp_path, two_naps, OUTCOME) == {NOTHING, FIRST, SECOND}


def test_replacing_in_pieces_would_have_been_found_out(tmp_path: Path) -> None:
    """The control: statement by statement, some image holds both words, or neither."""
    whole = {NOTHING, FIRST, SECOND}
    in_pieces = partial(two_naps, whole=False)
    assert outcomes(tmp_path, in_pieces, OUTCOME, until_not=whole) - whole
