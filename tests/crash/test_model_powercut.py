"""The power may go at any step of a change of model: one of the two answers, whole (0182)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from support.nights import settled
from support.powercut import Op, images, leave_as_it_is
from support.recorded_connection import a_recorded_bed
from support.store import ADA, a_writer, stored
from support.switchable_models import a_chooser

from memd.base.errors import MemdError
from memd.ingest.model_switch import ModelSwitch
from memd.store.check import check
from memd.store.file.connect import Reading, Writing
from memd.store.search import embedding_queue, model_switch, vectors

TEXTS = [f"hive {number} has {number} frames of honey" for number in range(70)]


async def traced(folder: Path) -> tuple[list[Op], int]:
    """Change from one model to another on the disk that remembers; a memory comes meanwhile."""
    folder.mkdir()
    chosen = a_chooser(folder)
    async with a_recorded_bed(folder, settled(), chosen) as (vfs, _, bed):
        await stored(bed.house, *TEXTS)
        start = len(vfs.trace)
        switch = ModelSwitch(bed.house, chosen)
        await switch.use(ADA, "B")
        assert await switch.carry_out()
        assert chosen.name == "B"
        return list(vfs.trace), start


def lacking(conn: Reading) -> int:
    """Return how many memories the model in use could not find."""
    live = vectors.current_cache(conn)
    assert live is not None
    name = conn.execute(
        "SELECT name FROM embedding_model WHERE model_key = ?", (live.model_key,)
    ).get
    assert name == (model_switch.model_in_use(conn) or "A"), (
        "the note and the cache name two models"
    )
    cached = conn.execute(f"SELECT count(*) FROM {live.table}").get
    assert cached == conn.execute("SELECT count(*) FROM memory").get
    return len(embedding_queue.list_missing(conn, live.model_key, 0, 1))


def wrong(folder: Path, trace: list[Op], start: int) -> Iterator[str]:
    """Yield what is wrong with each image, or how far the change is in it."""
    image = folder / "image"
    image.mkdir()
    for cut in images(trace, image, start=start, hows=("none", "torn")):
        if not cut.fresh:
            continue
        try:
            with a_writer(image / "memd.db") as conn:
                leave_as_it_is(conn)
                yield from [*check.check_rows(conn), *check.check_caches(conn)]
                if lacking(conn):
                    yield "a memory is not found"
                coming = model_switch.current_switch(conn) is not None
                yield f"{model_switch.model_in_use(conn) or 'A'}{' and coming' * coming}"
        except (apsw.Error, MemdError, AssertionError) as error:
            yield type(error).__name__


async def test_a_cut_at_any_operation_leaves_one_model_or_the_other(tmp_path: Path) -> None:
    trace, start = await traced(tmp_path / "live")
    assert set(wrong(tmp_path, trace, start)) == {"A", "A and coming", "B"}


async def test_a_change_over_in_two_transactions_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_meta = Writing.set_meta

    def commit_first(conn: Writing, key: str, value: int | str | None) -> None:
        if key == "model_in_use":
            conn.execute("COMMIT; BEGIN IMMEDIATE")
        set_meta(conn, key, value)

    monkeypatch.setattr(Writing, "set_meta", commit_first)
    trace, start = await traced(tmp_path / "live")
    assert "AssertionError" in set(wrong(tmp_path, trace, start))
