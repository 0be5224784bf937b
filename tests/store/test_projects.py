"""Projects: listed page by page, and moved to another id when their folder was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.nights import ADA, Bed
from support.scripted_naps import Said, digest, napped
from support.store import BOB

from memd.backends.rooms import Rooms
from memd.base.errors import InvalidError, NotFoundError
from memd.domain.enums import MemoryCategory, MemoryLevel
from memd.domain.memory import MemoryFilter, MemoryQuery, MemoryStoreRequest
from memd.domain.settings.settings import Settings
from memd.signals.usage import Usage
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.nap.naps import Naps

OLD, NEW = "/srv/hives", "/home/ada/hives"
TABS, SPACES = Said("We indent with tabs.", "a"), Said("We indent with spaces after all.", "a")
RULE, DIGEST = Said("Never push on Fridays.", "b"), digest("Asked for tabs and got them.")


async def stored(
    house: Rooms,
    content: str,
    project_id: str | None,
    level: MemoryLevel = MemoryLevel.PERSISTENT,
) -> None:
    request = MemoryStoreRequest(
        content=content, category=MemoryCategory.SEMANTIC, project_id=project_id, level=level
    )
    await house.ingest.store(ADA, request)


async def of_project(house: Rooms, project_id: str) -> set[str]:
    items, _ = await house.recall.list(ADA, MemoryFilter(project_id=project_id), None, 100)
    return {item.content for item in items}


async def test_projects_of_sessions_and_memories_are_listed_page_by_page_for_their_agent(
    house: Rooms,
) -> None:
    await house.sessions.start(replace(ADA, project_id="/srv/lake"), "s")
    await house.sessions.start(replace(BOB, project_id="/srv/weir"), "s")
    for project_id in ("billing", "/srv/hives", "/srv/hives"):
        await stored(house, "The hive is green.", project_id)
    first, after = await house.sessions.projects(ADA, None, 2)
    rest, end = await house.sessions.projects(ADA, after, 2)
    assert (first, rest, end) == (("/srv/hives", "/srv/lake"), ("billing",), None)


async def test_a_moved_project_takes_its_memories_and_sessions_along(bed: Bed) -> None:
    house = bed.house
    await stored(house, "The hive is green.", OLD)
    await stored(house, "The weir is old.", NEW)
    await stored(house, "The lake is deep.", "/srv/lake")
    await house.sessions.start(replace(ADA, project_id=OLD), "s")
    await house.sessions.start(replace(BOB, project_id=OLD), "s")

    moved = await house.sessions.move_project(ADA, OLD, NEW)

    assert (moved.sessions, moved.memories) == (1, 1)
    assert await of_project(house, NEW) == {"The hive is green.", "The weir is old."}
    assert await of_project(house, "/srv/lake") == {"The lake is deep."}
    assert await house.sessions.projects(ADA, None, 9) == ((NEW, "/srv/lake"), None)
    assert (await house.sessions.projects(BOB, None, 9))[0] == (OLD,)
    assert await bed.is_sound()


async def test_naps_go_on_in_a_moved_project(bed: Bed) -> None:
    commands = Said("Tests: make test", "env:port", NapKind.ENVIRONMENT)
    await napped(bed, TABS, RULE, commands, DIGEST, project_id=OLD)
    await bed.house.sessions.move_project(ADA, OLD, NEW)
    again = await napped(bed, SPACES, RULE, commands, DIGEST, project_id=NEW)
    assert (again.stored, again.merged) == (1, 3)
    entries = await bed.house.recall.retrieve(ADA, MemoryQuery(limit=100))
    seen = {(each.content, each.project_id) for each in entries}
    assert seen == {(each.text, NEW) for each in (SPACES, RULE, commands, DIGEST)}
    assert await bed.is_sound()


async def test_a_nap_in_a_moved_project_is_undone_exactly(bed: Bed) -> None:
    await napped(bed, TABS, DIGEST, project_id=OLD)
    second = await napped(bed, SPACES, digest("Asked for spaces."), project_id=OLD)
    await bed.house.sessions.move_project(ADA, OLD, NEW)
    await bed.night.undo(ADA, second.run_id)
    entries = await bed.house.recall.retrieve(ADA, MemoryQuery(limit=100))
    assert {(each.content, each.project_id) for each in entries} == {
        (TABS.text, NEW),
        (DIGEST.text, NEW),
    }
    assert await bed.is_sound()


async def test_a_project_without_memories_is_not_moved(house: Rooms) -> None:
    with pytest.raises(NotFoundError):
        await house.sessions.move_project(ADA, OLD, NEW)
    await stored(house, "The hive is green.", OLD)
    with pytest.raises(NotFoundError):
        await house.sessions.move_project(BOB, OLD, NEW)
    assert await of_project(house, OLD) == {"The hive is green."}


async def test_a_project_is_not_moved_to_itself(house: Rooms) -> None:
    await stored(house, "The hive is green.", OLD)
    with pytest.raises(InvalidError, match="same project"):
        await house.sessions.move_project(ADA, OLD, OLD)


async def test_a_damaged_memory_stays_where_it_is_and_damaged(bed: Bed) -> None:
    await stored(bed.house, "The hive is green.", OLD)
    await stored(bed.house, "The weir is old.", OLD)
    damage = "UPDATE memory SET confidence = 0.123 WHERE content = 'The weir is old.'"
    await bed.house.db.write(ADA, lambda conn: conn.execute(damage).fetchall())
    moved = await bed.house.sessions.move_project(ADA, OLD, NEW)
    assert moved.memories == 1
    assert await of_project(bed.house, NEW) == {"The hive is green."}
    assert not (await bed.house.upkeep.check(ADA)).ok


async def test_windows_below_the_folder_are_below_the_new_one(house: Rooms) -> None:
    await stored(house, "The hive is green.", OLD)
    for number, cwd in enumerate((OLD, f"{OLD}/src", f"{OLD}-2", "/srv")):
        usage = Usage(source="s", session_id=f"{number}", used_tokens=1, cwd=cwd)
        await Naps(house, Settings(), Path("nowhere"), environ={}).watcher.report(ADA, usage)
    await house.sessions.move_project(ADA, OLD, NEW)
    query = "SELECT cwd FROM usage_window ORDER BY session_id"
    cwds = await house.db.read(lambda conn: conn.list_texts(query))
    assert cwds == [NEW, f"{NEW}/src", f"{OLD}-2", "/srv"]


async def of_none(house: Rooms) -> set[str]:
    items, _ = await house.recall.list(ADA, MemoryFilter(), None, 100, projectless=True)
    return {item.content for item in items}


async def test_what_is_of_no_project_is_moved_into_one_and_back(bed: Bed) -> None:
    house = bed.house
    await stored(house, "The hive is green.", None)
    await stored(house, "The lake is deep.", "/srv/lake")
    await house.sessions.start(ADA, "s")

    moved = await house.sessions.move_project(ADA, None, NEW)
    assert (moved.sessions, moved.memories) == (1, 1)
    assert (await of_project(house, NEW), await of_none(house)) == ({"The hive is green."}, set())

    await house.sessions.move_project(ADA, NEW, None)
    assert await of_none(house) == {"The hive is green."}
    assert await house.sessions.projects(ADA, None, 9) == (("/srv/lake",), None)
    assert await bed.is_sound()
    with pytest.raises(NotFoundError):
        await house.sessions.move_project(ADA, NEW, None)
    with pytest.raises(InvalidError, match="same project"):
        await house.sessions.move_project(ADA, None, None)


async def test_what_holds_in_a_project_alone_is_not_moved_to_none(house: Rooms) -> None:
    await stored(house, "We indent with tabs.", OLD, MemoryLevel.PROJECT)
    await stored(house, "The hive is green.", OLD)
    moved = await house.sessions.move_project(ADA, OLD, None)
    assert moved.memories == 1
    assert await of_project(house, OLD) == {"We indent with tabs."}
