"""A file locked by another program: reads go on, every write waits and then raises BusyError."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.limited_disks import read_only
from support.org import HUMAN, contents, wrote
from support.org import a_request as a_fact
from support.store import ADA, EVERYTHING, a_house, locked, stored, visible

import memd.store
from memd.backends.rooms import Rooms
from memd.base.errors import BusyError, ReadOnlyError
from memd.domain.memory import MemoryQuery, MemoryUpdate
from memd.org.clients import Clients
from memd.org.owner import Owner
from memd.org.review import Review
from memd.store.access.audit import Audit
from memd.store.access.changes import AuditFilter, RefusedAttempt
from memd.store.file.connect import Writing
from memd.store.file.database import open_database

STORE = Path(memd.store.__file__).parent
# Those that open or lock the file themselves, outside a transaction of the database.
TRANSACTIONS = {"connections.run_write", "connections.rollback"}
OUTSIDE_A_TRANSACTION = {
    "connect.prepare_writer",
    "migrate.migrate",
    "caches.ensure",
    "scrub.scrub",
} | TRANSACTIONS


def writing_functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield every public function of the store whose first parameter is a Writing."""
    for path in sorted(STORE.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                first = node.args.args[0].annotation if node.args.args else None
                if isinstance(first, ast.Name) and first.id == "Writing":
                    yield f"{path.stem}.{node.name}", node


def test_no_function_of_the_store_begins_or_ends_a_transaction_of_its_own() -> None:
    """So every write passes the one door, whose lock is tested below."""
    functions = dict(writing_functions())
    assert len(functions) > 30
    for name, node in functions.items():
        words = {
            value.value.split()[0]
            for value in ast.walk(node)
            if isinstance(value, ast.Constant)
            and isinstance(value.value, str)
            and value.value.split()
        }
        opens = words & {"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT"}
        assert not opens or name in OUTSIDE_A_TRANSACTION, name


def of_org(house: Rooms, fact_id: str) -> dict[str, Callable[[], Coroutine[Any, Any, Any]]]:
    """Return each write of the rooms of facts, and of who may do what."""
    clients = Clients(house.db, house.clock, house.db.path.parent / "keys")
    owner = Owner(house.db, house.clock)
    review = Review(house.org, owner)
    org = house.org
    return {
        "org.write": lambda: org.write(ADA, a_fact("No."), author=HUMAN),
        "a version": lambda: org.write(ADA, a_fact("No.", fact_id=fact_id), author=HUMAN),
        "org.retract": lambda: org.retract(ADA, fact_id, author=HUMAN),
        "client.add": lambda: clients.add(ADA, "no", scopes=frozenset({"read"})),
        "client.revoke": lambda: clients.revoke(ADA, "no"),
        "audit": lambda: Audit(house.db, house.clock).record_refused(
            [RefusedAttempt("no", "x", 1)]
        ),
        "owner.state": lambda: owner.state(ADA),
        "owner.set": lambda: owner.set(ADA, "00" * 32, None),
        "org.propose": lambda: review.propose(ADA, a_fact("No.")),
    }


async def writes(house: Rooms, ids: list[str], fact_id: str) -> None:
    """Try one write after the other; each must say that the file is held."""
    tries: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
        "store": lambda: stored(house, "no"),
        "update": lambda: house.ingest.update(ADA, ids[0], MemoryUpdate(content="no")),
        "set_preference": lambda: house.preferences.set(ADA, "tea", "green"),
        "delete": lambda: house.trash.delete(ADA, ids[0]),
        "forget": lambda: house.trash.forget(ADA, ids=ids),
        "trash_restore": lambda: house.trash.restore(ADA, ids[0]),
        "restore": lambda: house.archive.restore_to_hot(ADA, ids[0]),
        "purge": house.trash.purge,
        "tidy": house.upkeep.tidy,
        "rebuild": lambda: house.upkeep.rebuild(ADA),
        **of_org(house, fact_id),
    }
    for name, attempt in tries.items():
        try:
            await attempt()
        except BusyError:
            continue
        pytest.fail(f"{name} wrote into a file that another program holds")


@pytest.mark.usefixtures("impatient")
async def test_a_write_into_a_locked_file_is_busy_and_reading_goes_on(
    house: Rooms, path: Path
) -> None:
    ids = await stored(house, "Ann keeps bees.", "Bob sails.")
    (fact_id,) = await wrote(house, "The shop uses Litestar.")
    with locked(path):
        await writes(house, ids, fact_id)
        assert await contents(house, "Litestar") == await contents(house)
        assert await visible(house) == set(ids)
        assert await house.recall.retrieve(ADA, MemoryQuery(text="bees"))
        assert (await house.trash.forget(ADA, condition=EVERYTHING, dry_run=True)).count == 2
    await stored(house, "now")
    assert len(await visible(house)) == 3
    assert (await house.upkeep.check(ADA)).ok


async def test_all_writers_wait_for_another_programs_lock_until_one_deadline(
    tmp_path: Path,
) -> None:
    """Each waits since it was asked for, not since its turn: the last one no longer than all."""
    clock = HeldClock()

    def seen(conn: Writing) -> int:
        left_ms = int(conn.pragma("busy_timeout"))
        clock.advance(seconds=3)
        return left_ms

    async with open_database(tmp_path / "memd.db", clock) as db:
        waits = await asyncio.gather(*(db.write(ADA, seen) for _ in range(4)))
        assert waits == [5_000, 2_000, 0, 0]
        assert await db.write(ADA, seen) == 5_000


async def test_a_read_only_store_still_knows_its_clients_and_refuses_every_change(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    async with a_house(folder / "memd.db") as house:
        clients = Clients(house.db, house.clock, tmp_path / "keys")
        added = await clients.add(ADA, "ann", scopes=frozenset({"read"}))
        (fact_id,) = await wrote(house, "The shop uses Litestar.")
        review = Review(house.org, Owner(house.db, house.clock))
        proposal = await review.propose(ADA, a_fact("Yes."))
    key = Path(added.key_file).read_text("ascii").strip()
    with read_only(folder):
        async with a_house(folder / "memd.db") as house:
            clients = Clients(house.db, house.clock, tmp_path / "keys")
            await clients.load()
            identity = clients.identify(key)
            assert identity is not None
            assert identity.client == "ann"
            waiting, _ = await Review(house.org, Owner(house.db, house.clock)).list(ADA, None, 5)
            assert [one.id for one in waiting] == [proposal]
            audit = Audit(house.db, house.clock)
            assert (await audit.verify()).ok
            assert len((await audit.show(AuditFilter(), None, 9))[0]) == 3
            for name, attempt in of_org(house, fact_id).items():
                with pytest.raises(ReadOnlyError):
                    await attempt()
                assert name
