"""The power may go at any operation of any other write: all of it is there, or nothing (P2, P3).

Facts with what they say, proposals, what agents share, files, lessons, keys, and what
is learnt in the background. A write is one COMMIT; an image must hold, in every table,
what one of the two nearest COMMITs left, and pass the whole check.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest
from support.nights import settled
from support.operation_kinds import Desk, acts
from support.powercut import Op, images, leave_as_it_is
from support.recorded_connection import a_recorded_bed, held
from support.store import a_writer

from memd.base.errors import MemdError
from memd.org import temporal
from memd.store.access import files
from memd.store.check import check
from memd.store.file.connect import Writing
from memd.store.memory import flagged, shared
from memd.store.org import extraction, org, proposals


class Traced(NamedTuple):
    trace: list[Op]
    start: int
    held: list[str]


async def traced(folder: Path, only: set[str]) -> Traced:
    """Do every act on the disk that remembers; cuts begin before the first of *only*."""
    (folder / "live").mkdir()
    async with a_recorded_bed(folder / "live", settled()) as (vfs, db, bed):
        desk, start = Desk(bed.house, folder / "live"), None
        for name, act in acts(desk).items():
            if start is None and name in only:
                start = len(vfs.trace)
            bed.clock.advance(seconds=1)
            await act()
            only = only - {name}
            if not only:
                break
        assert start is not None
        return Traced(list(vfs.trace), start, db.held)


def judged(folder: Path, run: Traced, *, to_the_end: bool = True) -> tuple[int, list[str]]:
    """Return how many images there are, and what is wrong with them."""
    image = folder / "image"
    image.mkdir()
    seen, bad = 0, list[str]()
    for cut in images(run.trace, image, start=run.start, hows=("none", "torn")):
        if bad and not to_the_end:
            break
        seen += 1
        if cut.fresh:
            bad += wrong(image, run, int(cut.acked[-1]) if cut.acked else 0)
    return seen, bad


def wrong(image: Path, run: Traced, last: int) -> list[str]:
    """Return what is wrong with what a cut left after COMMIT number *last* was acknowledged."""
    try:
        with a_writer(image / "memd.db") as conn:
            leave_as_it_is(conn)
            now, problems = held(conn), [*check.check_rows(conn), *check.check_caches(conn)]
    except (apsw.Error, MemdError) as error:
        return [type(error).__name__]
    if now not in run.held[last : last + 2]:
        problems.append("torn: neither what was acknowledged nor what came next")
    return problems


EVERYTHING = set(acts(Desk.__new__(Desk)))  # the names alone


async def test_a_cut_at_any_operation_leaves_every_kind_of_write_whole(tmp_path: Path) -> None:
    run = await traced(tmp_path, EVERYTHING)
    assert len(run.held) > len(EVERYTHING)
    seen, bad = judged(tmp_path, run)
    assert bad == []
    assert seen > 500


# What the replay must find: each mutant does in two transactions what belongs into one.


def in_two(patch: pytest.MonkeyPatch, module: Any, name: str, *, after: bool = False) -> None:
    """Let a COMMIT come before this part of a write, or *after* it."""
    part = getattr(module, name)

    def later(conn: Writing, *given: Any, **more: Any) -> Any:
        done = part(conn, *given, **more) if after else None
        conn.execute("COMMIT")
        conn.execute("BEGIN IMMEDIATE")
        return done if after else part(conn, *given, **more)

    patch.setattr(module, name, later)


Plant = Callable[[pytest.MonkeyPatch], None]
MUTANTS: dict[str, tuple[Plant, set[str]]] = {
    "statements after the fact": (lambda p: in_two(p, temporal, "learn"), {"write a fact"}),
    "endings after the fact": (lambda p: in_two(p, temporal, "learn"), {"write what ends it"}),
    "endings after the retraction": (lambda p: in_two(p, temporal, "learn"), {"retract a fact"}),
    "the fact after its operation": (
        lambda patch: in_two(patch, org, "_append", after=True), {"write a version"},
    ),
    "the proposal after its fact": (lambda p: in_two(p, proposals, "decide"), {"approve"}),
    "the publisher after the copy": (lambda p: in_two(p, shared, "record_publisher"), {"publish"}),
    "the path after its memory": (lambda p: in_two(p, files, "put"), {"create a file"}),
    "the mark after what was learnt": (
        lambda patch: in_two(patch, extraction, "set_mark"), {"read what was told"},
    ),
    "the flag after the quarantine": (
        lambda patch: in_two(patch, flagged, "flag", after=True), {"set aside"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
async def test_the_replay_would_have_seen_half_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    plant, only = MUTANTS[name]
    plant(monkeypatch)
    run = await traced(tmp_path, only)
    monkeypatch.undo()
    _, bad = judged(tmp_path, run, to_the_end=False)
    assert bad
