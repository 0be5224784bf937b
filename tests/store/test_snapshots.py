"""A connection that is used again reads the newest snapshot, however the work before it ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from support.store import ADA

from memd.backends.rooms import Rooms
from memd.store.file.connect import Reading, Writing


class Stop(Exception):  # noqa: N818  # no error of memd's
    """Raised between two rows."""


def keys(conn: Reading) -> Iterator[str]:
    rows = conn.execute("SELECT meta.key FROM meta, meta AS other")
    for (key,) in rows:
        yield key
        raise KeyError


def fail_in_the_middle(conn: Reading) -> None:
    try:
        list(keys(conn))
    except KeyError as error:
        raise Stop from error


def has_mark(conn: Reading) -> bool:
    return conn.get_meta("mark", int) is not None


@pytest.mark.parametrize("kind", ["read", "scan", "read_dedicated"])
async def test_a_read_that_fails_between_two_rows_leaves_no_old_snapshot(
    house: Rooms, kind: str
) -> None:
    with pytest.raises(Stop) as kept:  # which keeps its traceback, as a log may
        await getattr(house.db, kind)(fail_in_the_middle)
    await house.db.write(ADA, lambda conn: conn.set_meta("mark", 1))
    assert await house.db.read(has_mark)
    assert await house.db.scan(has_mark)
    del kept


async def test_a_write_that_fails_between_two_rows_keeps_no_snapshot(house: Rooms) -> None:
    def work(conn: Writing) -> None:
        fail_in_the_middle(conn)

    with pytest.raises(Stop) as kept:
        await house.db.write(ADA, work)
    await house.db.write(ADA, lambda conn: conn.set_meta("mark", 1))
    assert await house.db.checkpoint(truncate=True)  # which an open statement would refuse
    del kept


async def test_an_error_that_is_raised_again_ends_no_coroutine_that_waits(house: Rooms) -> None:
    error = Stop()

    def work(_conn: Reading) -> None:
        raise error

    async def try_twice() -> int:
        for _ in range(2):
            with suppress(Stop):
                await house.db.read(work)
        return 2

    assert await try_twice() == 2
