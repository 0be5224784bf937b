"""Shared memories in the file (SPEC 10.1): publisher, visibility, retraction."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.clocks import HeldClock
from support.store import ADA, BOB, a_house, bytes_of, locked, stored, tampering, visible

from memd.backends.rooms import Rooms
from memd.base.errors import (
    BusyError,
    MemoryCapabilityError,
    MemoryNotFoundError,
    MemoryStoreError,
)
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, MemoryLevel, Origin, Trust
from memd.domain.memory import (
    MemoryFilter,
    MemoryMetadata,
    MemoryQuery,
    MemoryStoreRequest,
    MemoryUpdate,
)
from memd.domain.recall import Provenance, RecallRequest, RecallResult
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.settings.settings import DaemonSettings, Settings
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.memory import groups

EVE = Caller(agent_id="eve", method="test")
WORD = "Xylophanes"
TRACES = (b"xylophan", b"Xylophan")


def a_text(content: str, **fields: object) -> MemoryStoreRequest:
    return MemoryStoreRequest.model_validate({"category": "semantic", "content": content, **fields})


async def published(house: Rooms, content: str, caller: Caller = ADA, **fields: object) -> str:
    return await house.sharing.publish(caller, a_text(content, **fields))


async def recalled(house: Rooms, query: str, caller: Caller = BOB, **asked: object) -> RecallResult:
    return await house.recall.recall(
        caller, RecallRequest.model_validate({"query": query, **asked})
    )


async def test_a_recall_finds_what_others_published_and_says_whose_it_is(house: Rooms) -> None:
    """SPEC 11.1.1: the label stands before the line."""
    own = await stored(house, "Bees live in the garden.", caller=BOB)
    copy = await published(house, "Bees sleep in winter.")

    answer = await recalled(house, "bees")

    by_id = {memory.id: memory for memory in answer.memories}
    assert set(by_id) == {*own, copy}
    assert by_id[copy].is_shared
    assert by_id[copy].user_id == "ada"
    assert not by_id[own[0]].is_shared
    assert by_id[own[0]].user_id == "bob"
    lines = answer.prompt_block.splitlines()
    assert "[shared] [SEMANTIC] Bees sleep in winter." in lines
    assert "[SEMANTIC] Bees live in the garden." in lines


async def test_who_has_no_memories_still_hears_what_is_shared(house: Rooms) -> None:
    copy = await published(house, "Bees sleep in winter.")
    assert [memory.id for memory in (await recalled(house, "bees")).memories] == [copy]
    (entry,) = await house.recall.retrieve(BOB, MemoryQuery(text="bees", include_shared=True))
    assert (entry.id, entry.agent_id) == (copy, "ada")


async def test_who_published_finds_it_like_everybody(house: Rooms) -> None:
    copy = await published(house, "Bees sleep in winter.")
    for caller in (ADA, BOB):
        (memory,) = (await recalled(house, "bees sleep", caller)).memories
        assert (memory.id, memory.user_id, memory.is_shared) == (copy, "ada", caller is BOB)
        for text in ("bees", None):
            query = MemoryQuery(text=text, include_shared=True)
            (entry,) = await house.recall.retrieve(caller, query)
            assert (entry.id, entry.agent_id) == (copy, "ada")


async def test_nobody_hears_his_own_words_twice(house: Rooms) -> None:
    """Beside a memory of one's own its copy says nothing; alone it does."""
    (own,) = await stored(house, "Bees sleep in winter.")
    copy = await published(house, "Bees sleep in winter.")

    async def heard(caller: Caller) -> tuple[list[str], ...]:
        shared = {"include_shared": True}
        return (
            [memory.id for memory in (await recalled(house, "bees sleep", caller)).memories],
            [e.id for e in await house.recall.retrieve(caller, MemoryQuery(text="bees", **shared))],
            [e.id for e in await house.recall.retrieve(caller, MemoryQuery(**shared))],
        )

    assert await heard(ADA) == ([own],) * 3
    assert await heard(BOB) == ([copy],) * 3
    await house.trash.delete(ADA, own)
    assert await heard(ADA) == ([copy],) * 3


@pytest.mark.parametrize(
    ("asked", "configured", "count"),
    [(None, True, 1), (None, False, 0), (True, False, 1), (False, True, 0)],
)
async def test_the_settings_decide_unless_the_question_does(
    tmp_path: Path, asked: bool | None, configured: bool, count: int
) -> None:
    retrieval = MemoryRetrievalConfig(include_shared=configured)
    settings = Settings()
    memory = settings.memory.model_copy(update={"retrieval": retrieval})
    settings = settings.model_copy(update={"memory": memory})
    async with a_house(tmp_path / "memd.db", settings=settings) as house:
        await published(house, "Bees sleep in winter.")
        assert len((await recalled(house, "bees", include_shared=asked)).memories) == count


async def test_a_listing_holds_what_is_shared_only_when_asked(
    house: Rooms, clock: HeldClock
) -> None:
    (own,) = await stored(house, "one", caller=BOB)
    clock.advance(hours=1)
    copy = await published(house, "two")
    clock.advance(hours=1)
    (newest,) = await stored(house, "three", caller=BOB)

    mine = await house.recall.retrieve(BOB, MemoryQuery())
    every = await house.recall.retrieve(BOB, MemoryQuery(include_shared=True))
    two = await house.recall.retrieve(BOB, MemoryQuery(include_shared=True, limit=2))

    assert [entry.id for entry in mine] == [newest, own]
    assert [entry.id for entry in every] == [newest, copy, own]
    assert [entry.id for entry in two] == [newest, copy]
    assert await visible(house, BOB) == {own, newest}
    assert await house.recall.count(BOB, None) == 2


async def test_a_filter_holds_for_what_is_shared_too(house: Rooms) -> None:
    """SPEC 10.1.2."""
    await published(house, "Bees sleep in winter.", namespace="garden")
    assert (await recalled(house, "bees", namespaces=["kitchen"])).memories == ()
    assert len((await recalled(house, "bees", namespaces=["garden"])).memories) == 1


async def test_what_is_shared_for_one_project_is_hidden_in_another(house: Rooms) -> None:
    """SPEC 7.13."""
    await published(house, "Bees sleep.", level="project", project_id="hive")
    assert (await recalled(house, "bees", project_id="barn")).memories == ()
    assert len((await recalled(house, "bees", project_id="hive")).memories) == 1


async def test_many_published_by_the_asking_agent_never_crowd_out_the_others(house: Rooms) -> None:
    """SPEC 10.1.2: the exclusion comes before the limit."""
    for number in range(80):
        await published(house, f"bees bees bees {number}")
    theirs = await published(house, "Some bees, and much else about the garden", BOB)

    (entry,) = await house.recall.search_shared(MemoryQuery(text="bees", limit=1), "ada")

    assert entry.id == theirs
    assert len(await house.recall.search_shared(MemoryQuery(limit=100))) == 81


async def test_a_copy_has_an_id_of_its_own_and_keeps_where_it_came_from(house: Rooms) -> None:
    """SPEC 10.1.5."""
    metadata = MemoryMetadata(source="notes.md", confidence=0.5, tags=("adr",))
    (own,) = await stored(house, "Bees sleep.", metadata=metadata, speaker="Zoe")
    copy = await published(house, "Bees sleep.", metadata=metadata, speaker="Zoe")

    original = await house.recall.get(ADA, own)
    (entry,) = await house.recall.search_shared(MemoryQuery())

    assert original is not None
    assert entry.id == copy != own
    assert entry.metadata == original.metadata
    assert (entry.origin, entry.trust) == (original.origin, original.trust)
    assert (entry.origin, entry.trust) == (Origin.ASSISTANT, Trust.ASSISTED)


async def test_a_copy_belongs_to_no_session_and_stays(house: Rooms) -> None:
    await house.sessions.start(ADA, "s")
    await published(house, "Bees sleep.", category="working", session_id="s", level="session")
    await house.sessions.end(ADA, "s")
    (entry,) = await house.recall.search_shared(MemoryQuery())
    assert (entry.session_id, entry.level) == (None, MemoryLevel.PERSISTENT)


async def test_a_copy_is_nobodys_preference(house: Rooms) -> None:
    await published(house, "I prefer short answers.", category="procedural")
    for caller in (ADA, BOB, Caller(agent_id="__shared__")):
        assert await house.recall.preferences(caller) == ()
    (memory,) = (await recalled(house, "which answers do I prefer?")).memories
    assert not memory.preference


async def test_a_secret_is_screened_before_it_is_shared(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    async with a_house(tmp_path / "memd.db") as house:
        await published(house, f"The token is {secret[:40]} for the bees.")
        (entry,) = await house.recall.search_shared(MemoryQuery())
        assert secret[:40] not in entry.content
    assert secret[:40].encode() not in bytes_of(tmp_path)


async def test_an_agent_that_keeps_nothing_shares_and_hears_nothing(tmp_path: Path) -> None:
    """SPEC 7.13."""
    settings = Settings.model_validate({"memory": {"level": "none"}})
    async with a_house(tmp_path / "memd.db", settings=settings) as house:
        with pytest.raises(MemoryStoreError):
            await published(house, "Bees sleep.")
        assert (await recalled(house, "bees")).memories == ()


async def test_what_expires_is_shared_no_longer(house: Rooms, clock: HeldClock) -> None:
    """SPEC 7.8.1."""
    later = clock.now + timedelta(hours=1)
    copy = await published(house, "Bees sleep.", expires_at=later)
    clock.advance(hours=1)
    assert await house.recall.search_shared(MemoryQuery()) == ()
    assert (await recalled(house, "bees")).memories == ()
    assert not await house.sharing.retract(ADA, copy)


async def test_a_retracted_copy_goes_to_the_trash_and_then_for_good(tmp_path: Path) -> None:
    """SPEC 10.1.3, D21."""
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock) as house:
        copy = await published(house, f"{WORD} sleep.")
        assert await house.sharing.retract(ADA, copy)
        assert await house.recall.search_shared(MemoryQuery()) == ()
        assert not await house.sharing.retract(ADA, copy)
        clock.advance(days=8)
        assert await house.trash.purge() == 1
        assert (await house.upkeep.check(ADA)).ok
    assert not any(trace in bytes_of(tmp_path) for trace in TRACES)


async def test_without_a_trash_a_retracted_copy_is_erased_at_once(tmp_path: Path) -> None:
    settings = Settings().model_copy(update={"daemon": DaemonSettings(undo_days=0)})
    async with a_house(tmp_path / "memd.db", settings=settings) as house:
        copy = await published(house, f"{WORD} sleep.")
        assert await house.sharing.retract(ADA, copy)
    assert not any(trace in bytes_of(tmp_path) for trace in TRACES)


@pytest.mark.usefixtures("impatient")
async def test_the_next_purge_finishes_what_a_reader_kept_from_being_erased(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memd.db"
    settings = Settings().model_copy(update={"daemon": DaemonSettings(undo_days=0)})
    async with a_house(path, settings=settings) as house:
        copy = await published(house, f"{WORD} sleep.")
        with closing(apsw.Connection(str(path))) as reader:
            reader.execute("BEGIN; SELECT count(*) FROM memory").fetchall()
            assert await house.sharing.retract(ADA, copy)
        await house.trash.purge()
        assert not any(trace in bytes_of(tmp_path) for trace in TRACES)


async def test_a_copy_without_a_publisher_is_shown_as_nobodys_and_stays(path: Path) -> None:
    """SPEC 10.1.1, 10.1.3."""
    async with a_house(path) as house:
        copy = await published(house, "Bees sleep.")
        await published(house, "Wasps do not.", BOB)
    with tampering(path) as conn:
        conn.execute("DELETE FROM shared WHERE memory_key = (SELECT min(memory_key) FROM shared)")
    async with a_house(path) as house:
        entries = {entry.id: entry for entry in await house.recall.search_shared(MemoryQuery())}
        assert entries[copy].agent_id == "__shared__"
        with pytest.raises(MemoryStoreError):
            await house.sharing.retract(ADA, copy)


async def test_a_shared_memory_is_retracted_not_deleted(house: Rooms) -> None:
    """SPEC 7.7.3."""
    copy = await published(house, "Bees sleep.")
    for caller in (ADA, BOB):
        with pytest.raises(MemoryStoreError):
            await house.trash.delete(caller, copy)
    assert len(await house.recall.search_shared(MemoryQuery())) == 1


async def test_what_is_shared_is_read_by_its_id_and_changed_by_nobody(house: Rooms) -> None:
    copy = await published(house, "Bees sleep.")
    (private,) = await stored(house, "Wasps sting.", caller=ADA)
    for caller in (ADA, BOB):
        entry = await house.recall.get(caller, copy, also_shared=True)
        assert entry is not None
        assert (entry.content, entry.agent_id) == ("Bees sleep.", "ada")
        assert await house.recall.why(caller, copy, full=True) == Provenance(memory=entry)
        with pytest.raises(MemoryStoreError, match="is shared by ada"):
            await house.ingest.update(caller, copy, MemoryUpdate(content="Bees dance."))
    assert await house.recall.get(BOB, copy) is None  # SPEC 7.7: a backend's memories are its own
    assert await house.recall.get(BOB, private, also_shared=True) is None
    assert await house.recall.why(BOB, private, full=True) is None
    assert await house.sharing.retract(ADA, copy)
    assert await house.recall.get(BOB, copy, also_shared=True) is None
    with pytest.raises(MemoryNotFoundError):
        await house.ingest.update(BOB, copy, MemoryUpdate(content="Bees dance."))


async def test_forgetting_reaches_what_one_published_and_nothing_of_others(
    house: Rooms, tmp_path: Path
) -> None:
    """P8: by id, by source and by filter."""
    for name in ("by id", "by source", "by filter"):
        metadata = MemoryMetadata(source="notes.md", tags=("bees",))
        copy = await published(house, f"{WORD} sleep.", metadata=metadata)
        theirs = await published(house, "Wasps.", BOB, metadata=metadata)
        ways: dict[str, dict[str, Any]] = {
            "by id": {"ids": [copy, theirs]},
            "by source": {"source": "notes.md"},
            "by filter": {"condition": MemoryFilter(tags=("bees",))},
        }
        forgotten = await house.trash.forget(ADA, **ways[name])
        assert forgotten.ids == (copy,), name
        left = await house.recall.search_shared(MemoryQuery(limit=100))
        assert copy not in {entry.id for entry in left}
        assert theirs in {entry.id for entry in left}
        assert not any(trace in bytes_of(tmp_path) for trace in TRACES), name
    assert (await house.upkeep.check(ADA)).ok


async def test_nights_leave_what_is_shared_alone(house: Rooms) -> None:
    await published(house, "Bees sleep.")
    known = await house.db.read(groups.list_agents, 0)
    assert [agent_id for _, agent_id in known] == ["ada"]
    assert [agent_id for agent_id, _ in await house.agents.list(ADA)] == ["ada"]


async def test_every_publication_stands_in_the_audit(house: Rooms) -> None:
    copy = await published(house, "Bees sleep.")
    await house.sharing.retract(ADA, copy)

    def links(conn: Reading) -> list[tuple[str, int]]:
        return [(str(m), int(str(r))) for m, r in conn.execute("SELECT method, rows FROM change")]

    assert await house.db.read(links) == [("test", 2), ("test", 1)]
    assert (await house.upkeep.check(ADA)).ok


async def test_publishing_again_with_the_same_key_publishes_once(house: Rooms) -> None:
    """SPEC D7."""
    caller = Caller(agent_id="ada", method="test", idempotency_key="k", request_hash=b"h")
    first = await published(house, "Bees sleep.", caller)
    assert await published(house, "Bees sleep.", caller) == first
    assert len(await house.recall.search_shared(MemoryQuery())) == 1


async def test_switched_off_nothing_is_shared_or_found(tmp_path: Path) -> None:
    """SPEC 10.1.5: what was shared before is there again once it is switched on."""
    off = Settings.model_validate({"memory": {"options": {"shared_knowledge_base": False}}})
    async with a_house(tmp_path / "memd.db") as house:
        copy = await published(house, "Bees sleep.")
    async with a_house(tmp_path / "memd.db", settings=off) as house:
        with pytest.raises(MemoryCapabilityError):
            await published(house, "Bees sleep.")
        assert await house.recall.search_shared(MemoryQuery()) == ()
        assert (await recalled(house, "bees", include_shared=True)).memories == ()
        assert await house.recall.get(BOB, copy, also_shared=True) is None
    async with a_house(tmp_path / "memd.db") as house:
        assert len((await recalled(house, "bees")).memories) == 1


@pytest.mark.usefixtures("impatient")
async def test_a_file_that_is_held_is_busy_and_what_is_shared_is_still_found(house: Rooms) -> None:
    copy = await published(house, "Bees sleep.")
    with locked(house.db.path):
        with pytest.raises(BusyError):
            await published(house, "no")
        with pytest.raises(BusyError):
            await house.sharing.retract(ADA, copy)
        assert len((await recalled(house, "bees")).memories) == 1
    assert await house.sharing.retract(ADA, copy)


async def test_where_nobody_published_there_is_nothing_to_look_through(house: Rooms) -> None:
    assert await house.db.read(names.find_shared_agent) is None
    await published(house, "Bees sleep.")
    assert await house.db.read(names.find_shared_agent) is not None


async def test_categories_stay_as_they_were_published(house: Rooms) -> None:
    for category in MemoryCategory:
        await published(house, f"a text of {category}", category=category)
    entries = await house.recall.search_shared(MemoryQuery(limit=10))
    assert {entry.category for entry in entries} == set(MemoryCategory)
