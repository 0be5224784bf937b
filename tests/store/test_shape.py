"""A file with a shape that no version has is refused with a message, and left untouched."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from support.store import ADA, a_house, stored

from memd.base.errors import DamagedError
from memd.store.file import page_sums
from memd.store.file.connect import PAGE_BYTES

SHAPES = {
    "a table is missing": ("DROP TABLE org_rules", "table org_rules is missing"),
    "a column is missing": (
        "ALTER TABLE injection RENAME COLUMN at_us TO given_at_us",
        "column injection.at_us is missing",
    ),
    "an index is missing": ("DROP INDEX memory_by_time", "index memory_by_time is missing"),
    "a trigger is somebody else's": (
        "CREATE TRIGGER sneaky AFTER INSERT ON memory BEGIN DELETE FROM forgotten; END",
        "trigger sneaky is none of memd's",
    ),
    "a table is somebody else's": ("CREATE TABLE notes (a)", "table notes is none of memd's"),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_an_unknown_shape_is_refused_in_words(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "memd.db"
    change, said = SHAPES[shape]
    async with a_house(path) as house:
        await stored(house, "Ann keeps bees.")
    conn = apsw.Connection(str(path), vfs=page_sums.vfs())
    conn.execute(change)
    conn.close()
    before = path.read_bytes()
    with pytest.raises(DamagedError, match=said):
        async with a_house(path):
            pass
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.glob("*.db")) == ["memd.db"]


async def test_a_flipped_letter_of_a_name_is_repaired_at_the_start(tmp_path: Path) -> None:
    """It is damage, not another shape: the page does not match its checksum."""
    path = tmp_path / "memd.db"
    async with a_house(path) as house:
        await stored(house, "Ann keeps bees.")
    whole = path.read_bytes()
    at = whole.index(b"CREATE INDEX memory_by_time")
    assert at // PAGE_BYTES < 200
    path.write_bytes(whole.replace(b"memory_by_time", b"memory_by_tile"))
    async with a_house(path) as house:
        assert (await house.upkeep.check(ADA)).problems == ()
    assert list(tmp_path.glob("*-damaged.backup.db"))
