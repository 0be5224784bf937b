"""The audit: every write that changes something is a link, and forgetting removes its proof."""

from __future__ import annotations

import hashlib
import itertools
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.store import ADA, a_house, stored, tampering

from memd.backends.rooms import Rooms
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.org.access import AuditReport
from memd.store.access import changes
from memd.store.access.audit import GIVEN, Audit
from memd.store.access.changes import Head, RefusedAttempt
from memd.store.check import anchors


async def links(house: Rooms) -> list[tuple[Any, ...]]:
    return await house.db.read(
        lambda conn: conn.execute("SELECT batch, rows, digest FROM change ORDER BY seq").fetchall()
    )


async def test_a_preference_that_is_set_changed_or_deleted_is_a_link_of_the_audit(
    house: Rooms,
) -> None:
    await house.preferences.set(ADA, "tea", "green")
    await house.preferences.set(ADA, "tea", "black")
    assert await house.preferences.delete(ADA, "tea")
    assert [rows for _, rows, _ in await links(house)] == [1, 1, 1]
    assert not await house.preferences.delete(ADA, "tea")  # there was none
    assert len(await links(house)) == 3
    assert (await house.upkeep.check(ADA)).problems == ()


async def test_the_audit_of_the_same_preference_is_never_the_same_twice(tmp_path: Path) -> None:
    """It is salted, and what a salt that is gone once keyed can be tried out no more."""
    digests = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        async with a_house(tmp_path / name / "memd.db") as house:
            await house.preferences.set(ADA, "tea", "green")
            digests.add((await links(house))[0][2])
    assert len(digests) == 2


async def test_the_links_of_one_bulk_write_name_their_batch(house: Rooms) -> None:
    await house.ingest.ingest_many(
        ADA, IngestManyRequest(items=(IngestRequest(text="Bob sails."),))
    )
    ((batch, _, _),) = await links(house)
    of_rows = await house.db.read(lambda conn: conn.execute("SELECT batch FROM memory").get)
    assert batch == of_rows
    assert batch is not None


def test_no_two_links_are_hashed_as_the_same_bytes() -> None:
    digest = hashlib.sha256(b"rows").digest()
    contents: list[changes.LinkContent] = [
        (1, "ab", "c", "done", 1, None, 1),
        (1, "a", "bc", "done", 1, None, 1),
        (1, "ab", "c", "denied", 1, None, 1),
        (1, "ab", "c", "done", 11, None, 1),
        (1, "ab", "", "done", 1, "c", 1),
        (1, "ab", "c", "done", 1, "", 1),
        (1, "ab", "c", "done", 1, None, 2),
        (11, "ab", "c", "done", 1, None, 1),
        (1, "ab", "c", "done", 1, "b", 1),
    ]
    assert len({changes.hash_link(changes.GENESIS, one, digest) for one in contents}) == len(
        contents
    )


Tamper = Callable[[apsw.Connection], None]
LINKS = 8


async def filled(path: Path, *, noted_at: tuple[int, ...] = ()) -> list[bytes]:
    """Write an audit of LINKS rows, note the head after some of them; return all hashes."""
    heads: list[bytes] = []
    async with a_house(path) as house:
        audit = Audit(house.db, house.clock, notes_of(path))
        for number in range(1, LINKS + 1):
            if number == 4:
                await audit.record_refused([RefusedAttempt("mallory", "org.write", 3)])
            else:
                await stored(house, f"Fact number {number}.")
            heads.append((await house.db.read(changes.last_link)).hash)
            if number in noted_at:
                await audit.anchor()
    return heads


def notes_of(path: Path) -> Path:
    return path.with_suffix(".audit")


async def judged(path: Path, given: list[tuple[int, bytes]] | None = None) -> AuditReport:
    async with a_house(path) as house:
        return await Audit(house.db, house.clock, notes_of(path)).verify(given or ())


def run(sql: str) -> Tamper:
    def tamper(conn: apsw.Connection) -> None:
        conn.execute(sql)

    return tamper


def reorder(conn: apsw.Connection) -> None:
    conn.execute("UPDATE change SET seq = -seq WHERE seq IN (3, 5)")
    conn.execute("UPDATE change SET seq = iif(seq = -3, 5, 3) WHERE seq < 0")


def close_the_gap(conn: apsw.Connection) -> None:
    conn.execute("DELETE FROM change WHERE seq = 3")
    conn.execute("UPDATE change SET seq = seq - 1 WHERE seq > 3")


def rewritten(conn: apsw.Connection) -> None:
    """Change row 6 and make every hash from there on right again: only a note can tell."""
    conn.execute("UPDATE change SET client = 'nobody' WHERE seq = 6")
    relinked(conn, 6)


def relinked(conn: apsw.Connection, first: int) -> None:
    previous = conn.execute("SELECT hash FROM change WHERE seq = ?", (first - 1,)).get
    assert isinstance(previous, bytes)
    prev = previous
    rows = conn.execute(
        "SELECT seq, at_us, client, method, outcome, attempts, batch, rows, digest, prev, hash"
        "  FROM change WHERE seq >= ? ORDER BY seq",
        (first,),
    ).fetchall()
    for row in rows:
        link = changes.AuditLink._make(row)
        fresh = changes.hash_link(prev, link.content, link.digest)
        conn.execute("UPDATE change SET prev = ?, hash = ? WHERE seq = ?", (prev, fresh, link.seq))
        prev = fresh


def cut(conn: apsw.Connection) -> None:
    """Cut the last rows off, and let the file forget that it ever had them."""
    conn.execute("DELETE FROM change WHERE seq > 5")
    conn.execute("UPDATE sqlite_sequence SET seq = 5 WHERE name = 'change'")


IN_THE_CHAIN: dict[str, Tamper] = {
    **{
        f"edited {column}": run(f"UPDATE change SET {column} = {value} WHERE seq = 4")
        for column, value in {
            "at_us": "at_us + 1",
            "client": "'ada'",
            "method": "'memory.get'",
            "outcome": "'done'",
            "attempts": "1",
            "batch": "'b'",
            "rows": "7",
            "digest": "zeroblob(32)",
            "prev": "zeroblob(32)",
            "hash": "zeroblob(32)",
        }.items()
    },
    "removed": run("DELETE FROM change WHERE seq = 4"),
    "removed the first": run("DELETE FROM change WHERE seq = 1"),
    "removed and numbered anew": close_the_gap,
    "reordered": reorder,
    "cut off without care": run("DELETE FROM change WHERE seq > 5"),
    "removed all": run("DELETE FROM change"),
}


async def test_a_chain_that_nobody_touched_is_found_whole(tmp_path: Path) -> None:
    await filled(tmp_path / "memd.db", noted_at=(3, LINKS))
    report = await judged(tmp_path / "memd.db")
    assert report.ok
    assert report.links == LINKS
    assert [anchor.agrees for anchor in report.anchors] == [True, True]
    (unproven,) = report.unproven  # nobody gave a head from elsewhere
    assert "beside the file" in unproven


@pytest.mark.parametrize("how", sorted(IN_THE_CHAIN))
async def test_what_is_done_inside_the_chain_is_found_without_a_note(path: Path, how: str) -> None:
    await filled(path)
    with tampering(path) as conn:
        IN_THE_CHAIN[how](conn)
    report = await judged(path)
    assert not report.ok
    assert report.problems


@pytest.mark.parametrize("tamper", [cut, rewritten])
async def test_a_careful_cut_or_a_rewritten_end_is_found_with_a_note_and_unproven_without(
    path: Path, tamper: Tamper
) -> None:
    heads = await filled(path)
    with tampering(path) as conn:
        tamper(conn)

    without = await judged(path)
    assert without.ok, "the chain alone cannot tell"
    assert any("cannot be detected" in reason for reason in without.unproven)

    given = await judged(path, [(LINKS, heads[-1])])
    assert not given.ok
    assert [(anchor.source, anchor.agrees) for anchor in given.anchors] == [(GIVEN, False)]

    early = await judged(path, [(3, heads[2])])
    assert early.ok, "a note from before it proves nothing of it"
    assert any("entries 4 to" in reason for reason in early.unproven)


@pytest.mark.parametrize("tamper", [cut, rewritten])
async def test_the_notes_beside_the_file_find_it(path: Path, tamper: Tamper) -> None:
    await filled(path, noted_at=(2, 7))
    with tampering(path) as conn:
        tamper(conn)
    report = await judged(path)
    assert not report.ok
    assert [anchor.agrees for anchor in report.anchors] == [True, False]


@pytest.mark.parametrize("tamper", [cut, rewritten])
async def test_the_manifest_of_a_backup_finds_it(path: Path, tamper: Tamper) -> None:
    heads = await filled(path)
    async with a_house(path) as house:
        made = Path(await house.upkeep.backup(ADA))
    manifest = anchors.manifest_of(made)
    answer = json.loads(manifest.read_text("utf-8"))
    assert answer["audit"] == {"seq": LINKS, "head": heads[-1].hex()}
    assert answer["bytes"] == made.stat().st_size
    assert stat.S_IMODE(manifest.stat().st_mode) == 0o600
    with tampering(path) as conn:
        tamper(conn)
    report = await judged(path)
    assert not report.ok
    assert manifest.name in report.problems[0]


async def test_the_file_of_notes_is_ours_alone_and_shows_what_was_done_to_it(path: Path) -> None:
    await filled(path, noted_at=(2, 4, 6))
    notes = notes_of(path)
    assert stat.S_IMODE(notes.stat().st_mode) == 0o600
    lines = notes.read_text("ascii").splitlines(keepends=True)
    assert len(lines) == 3
    for damaged in (
        [lines[0], lines[2]],
        [lines[1], lines[0], lines[2]],
        [lines[0], lines[1].replace("4 ", "3 ", 1), lines[2]],
        ["nonsense\n", *lines],
    ):
        notes.write_text("".join(damaged), "ascii")
        assert not (await judged(path)).ok
    notes.write_text("".join(lines[:2]), "ascii")
    assert (await judged(path)).ok, "a cut note cannot be told from one that was never made"


def test_a_note_is_one_line_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    heads = [Head(seq, bytes([seq]) * 32) for seq in range(1, 60)]
    for head in heads:
        anchors.append(path, head, head.seq)
    noted, problems = anchors.read(path)
    assert problems == []
    assert [(one.seq, one.hash) for one in noted] == [tuple(head) for head in heads]


async def test_the_same_head_is_noted_once(path: Path) -> None:
    async with a_house(path) as house:
        audit = Audit(house.db, house.clock, notes_of(path))
        await audit.anchor()
        assert not notes_of(path).exists(), "there is nothing to note yet"
        await stored(house, "One.")
        await audit.anchor()
        await audit.anchor()
    assert len(notes_of(path).read_text("ascii").splitlines()) == 1


async def test_the_audit_shows_who_what_and_how_often_page_by_page(path: Path) -> None:
    await filled(path)
    async with a_house(path) as house:
        audit = Audit(house.db, house.clock)
        first, after = await audit.show(changes.AuditFilter(), None, 5)
        rest, end = await audit.show(changes.AuditFilter(), after, 5)
        assert [row.seq for row in (*first, *rest)] == list(range(LINKS, 0, -1))
        assert end is None
        (refused,), _ = await audit.show(changes.AuditFilter(outcome="denied"), None, 5)
        assert (refused.client, refused.method, refused.attempts, refused.rows) == (
            "mallory", "org.write", 3, 0,
        )  # fmt: skip


# A judge that sees nothing must not pass: each mutant lets one of the faults above through.


async def test_a_judge_that_trusts_the_hashes_misses_the_edit(path: Path) -> None:
    await filled(path)
    with tampering(path) as conn:
        IN_THE_CHAIN["edited client"](conn)
    async with a_house(path) as house:
        rows = await house.db.read(changes.list_page, changes.AuditFilter(), None, LINKS)
    linked = all(new.prev == old.hash for new, old in itertools.pairwise(rows))
    assert linked, "only recomputing a link shows that it was edited"


async def test_a_link_that_leaves_the_outcome_out_would_hide_a_denial(path: Path) -> None:
    await filled(path)
    async with a_house(path) as house:
        rows = await house.db.read(
            changes.list_page, changes.AuditFilter(outcome="denied"), None, 1
        )
    (denied,) = rows
    content = list(denied.content)
    content[3] = "done"
    assert changes.hash_link(denied.prev, tuple(content), denied.digest) != denied.hash
    content = list(denied.content)
    content[4] = 1
    assert changes.hash_link(denied.prev, tuple(content), denied.digest) != denied.hash
