"""A damaged row is withheld and named, and everything else goes on (PROMISES H74)."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from support.clocks import HeldClock
from support.nights import nap_over
from support.store import ADA, EVERYTHING, a_house, a_writer, bytes_of, stored, tampering, tell

from memd.backends import rooms as file_rooms
from memd.base.clock import from_us
from memd.base.errors import DamagedError
from memd.domain.enums import MemoryCategory, Origin
from memd.domain.ingest import IngestRequest, SessionQuery
from memd.domain.learn import FAILURE_SOURCE, SuccessReport, TaskReport
from memd.domain.memory import MemoryMetadata, MemoryStoreRequest
from memd.domain.org.access import KeyedClient
from memd.domain.recall import RecallRequest, SourceMessage
from memd.domain.settings.consolidation import ProceduralMemoryConfig
from memd.domain.settings.retrieval import NON_INFERABLE_TAG
from memd.domain.sleep.upkeep import DumpPage
from memd.domain.trust import Screened
from memd.domain.values import EVERYBODY, EventName
from memd.learn.learn import Learn
from memd.learn.lessons import list_memories
from memd.store.access import clients as keyed
from memd.store.check import upkeep
from memd.store.file import page_sums
from memd.store.file.connect import PAGE_BYTES, Reading, Writing
from memd.store.learn import learnings, playbook
from memd.store.memory import preferences, removal
from memd.store.org import proposals
from memd.store.org.proposals import NewProposal
from memd.store.search import fulltext
from memd.store.session import injections
from memd.store.session.injections import WindowKey

TEXTS = (
    "Ann keeps seven hives of bees behind the house.",
    "Ann sells honey of her hives on the market of Faro.",
    "Ann wants new hives before the bees swarm in May.",
)


async def a_file(path: Path) -> list[str]:
    async with a_house(path) as house:
        ids = await tell(house, *TEXTS)
        await house.queue.drain()
    return ids


def flip(path: Path, old: bytes, new: bytes) -> None:
    """Change one place in the bytes of the file, everywhere it stands, as a failing disk would."""
    whole = path.read_bytes()
    assert old in whole
    path.write_bytes(whole.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"Ann sells honey", b"Ann sells hooey"), (b"Ann sells honey", b"Ann sells h\xefney")],
)
async def test_a_damaged_memory_is_withheld_named_and_the_others_are_told(
    path: Path, old: bytes, new: bytes
) -> None:
    ids = await a_file(path)
    flip(path, old, new)
    async with a_house(path) as house:
        listed, _ = await house.recall.list(ADA, EVERYTHING, None, 10)
        assert {item.id for item in listed} == {ids[0], ids[2]}
        answer = await house.recall.recall(ADA, RecallRequest(query="hives of Ann", top_k=10))
        assert {item.id for item in answer.memories} == {ids[0], ids[2]}
        with pytest.raises(DamagedError):
            await house.recall.get(ADA, ids[1])
        (why,) = [one for one in (await house.upkeep.stats())["degraded"] if "memory" in one][:1]
        assert "honey" not in why
        assert "hooey" not in why
        report = await house.upkeep.check(ADA)
        assert not report.ok
        assert (await house.trash.forget(ADA, [ids[1]])).count == 1  # it can be let go of


async def test_what_is_next_to_a_damaged_memory_can_be_forgotten(path: Path) -> None:
    async with a_house(path) as house:
        ids = await stored(house, *TEXTS, session_id="s")
    with tampering(path) as conn:
        conn.execute(
            "UPDATE memory SET content = CAST(x'416e6e20ef' AS TEXT) WHERE memory_id = ?", (ids[2],)
        )
    async with a_house(path) as house:
        assert (await house.trash.forget(ADA, [ids[1]])).count == 1
        listed, _ = await house.recall.list(ADA, EVERYTHING, None, 10)
        assert [item.id for item in listed] == [ids[0]]


@pytest.mark.parametrize("text", [b"Ann sells h\xefney", b"of Ann of Ann of honey her of honey"])
@pytest.mark.parametrize("rebuilding", [False, True])
async def test_a_damaged_memory_is_forgotten_with_the_words_it_was_indexed_with(
    path: Path, text: bytes, rebuilding: bool
) -> None:
    async with a_house(path) as house:
        ids = await stored(house, *TEXTS, session_id="s")
        if rebuilding:
            await house.db.write(ADA, fulltext.start_build)
            await house.db.write(ADA, lambda conn: fulltext.step_build(conn, 10))
    with tampering(path) as conn:
        conn.execute(
            "UPDATE memory SET content = CAST(? AS TEXT) WHERE memory_id = ?", (text, ids[1])
        )
    async with a_house(path) as house:
        forgotten = await house.trash.forget(ADA, [ids[1]])
        assert forgotten.ids == (ids[1],)
        assert not [word for word in (b"honei", b"market") if word in bytes_of(path.parent)]
        while await house.db.write(ADA, lambda conn: fulltext.step_build(conn, 10)):
            pass
        assert (await house.upkeep.check(ADA)).ok


async def test_a_damaged_memory_is_forgotten_with_the_messages_of_its_session(path: Path) -> None:
    """Each of them may contain what its text was."""
    async with a_house(path) as house:
        (memory_id,) = await stored(house, TEXTS[0], session_id="s")
        for session_id, text in (("s", TEXTS[0]), ("t", TEXTS[2])):
            await nap_over(house, [{"role": "user", "content": text}], session_id)
    with tampering(path) as conn:
        conn.execute(
            "UPDATE memory SET content = CAST(x'ef' AS TEXT) WHERE memory_id = ?", (memory_id,)
        )
    async with a_house(path) as house:
        assert (await house.trash.forget(ADA, [memory_id])).count == 1
        hits = await house.sessions.search(ADA, SessionQuery(query="hives"))
        assert [hit.session_id for hit in hits] == ["t"]


async def test_a_trash_whose_time_is_up_leaves_messages_that_only_may_contain_what_is_damaged(
    path: Path,
) -> None:
    clock = HeldClock()
    async with a_house(path, clock) as house:
        ids = await stored(house, *TEXTS[:2], session_id="s")
        messages = [{"role": "user", "content": text} for text in TEXTS]
        await nap_over(house, messages, last=True)
        for memory_id in ids:
            assert await house.trash.delete(ADA, memory_id)
    with tampering(path) as conn:
        conn.execute("UPDATE memory SET content = 'Ann' WHERE memory_id = ?", (ids[0],))
        conn.execute(
            "UPDATE source SET zlib = x'00' WHERE source_key ="
            " (SELECT source_key FROM session_message WHERE ordinal = 2)"
        )
    async with a_house(path, clock) as house:
        clock.advance(days=house.trash.undo_days + 1)
        assert await house.trash.purge() == 2
        listed, _ = await house.sessions.messages(ADA, "s", None, 10)
        assert [item.ordinal for item in listed] == [0, 2]  # the second has the intact one's text
        assert [item.damaged for item in listed] == [False, True]


PACKED = {"which zlib refuses": b"\x00", "with another text": zlib.compress(b"Ann sells bees.")}


@pytest.fixture(params=PACKED)
async def napped(path: Path, request: pytest.FixtureRequest) -> Path:
    """A file with a session of two messages and a nap over it, of which the first is damaged."""
    messages = [{"role": "user", "content": f"Remember: {text}"} for text in TEXTS[:2]]
    async with a_house(path) as house:
        await nap_over(house, messages, last=True, reason="quiet")
    with tampering(path) as conn:
        conn.execute(
            "UPDATE source SET zlib = ? WHERE source_key ="
            " (SELECT source_key FROM session_message WHERE ordinal = 0)",
            (PACKED[request.param],),
        )
        assert conn.changes() == 1
    return path


async def test_a_session_is_listed_without_the_text_of_a_damaged_message(napped: Path) -> None:
    async with a_house(napped) as house:
        listed, _ = await house.sessions.messages(ADA, "s", None, 10)
        assert await house.sessions.recent(ADA, "s", 10) == listed
        assert [(item.text, item.damaged) for item in listed] == [
            ("", True),
            (f"Remember: {TEXTS[1]}", False),
        ]
        assert any(one.startswith("source ") for one in house.db.damage.problems())


async def test_a_memory_tells_which_of_its_messages_are_damaged(napped: Path) -> None:
    async with a_house(napped) as house:
        listed, _ = await house.recall.list(ADA, EVERYTHING, None, 10)
        turns: list[SourceMessage] = []
        for item in listed:
            why = await house.recall.why(ADA, item.id, full=False)
            assert why is not None
            turns += why.turns
        (damaged,) = {turn for turn in turns if turn.damaged}
        assert (damaged.ordinal, damaged.role, damaged.text) == (0, "user", None)
        assert any(turn.text == f"Remember: {TEXTS[1]}" for turn in turns)


async def test_a_nap_leaves_damaged_messages_of_its_session_out(napped: Path) -> None:
    async with a_house(napped) as house:
        messages = [{"role": "user", "content": f"Remember: {TEXTS[2]}"}]
        result = await nap_over(house, messages, last=True, reason="quiet")
        assert result.stored
        listed, _ = await house.sessions.messages(ADA, "s", None, 10)
        assert [item.damaged for item in listed] == [True, False, False]
        memories, _ = await house.recall.list(ADA, EVERYTHING, None, 20)
        assert any("swarm in May" in memory.content for memory in memories)


@pytest.mark.parametrize(
    "text", ["Remember: push on Monday.", "Ann keeps bees.", "the cache is warm now"]
)
async def test_one_damaged_memory_stops_no_nap_over_its_session(path: Path, text: str) -> None:
    """It was made by a nap, stored or said in the session, and is in a prompt of it."""
    caller = replace(ADA, session_id="s")
    messages = [{"role": "user", "content": "Remember: push on Monday."}]
    async with a_house(path) as house:
        await stored(house, "Ann keeps bees.", session_id="s")
        turn = IngestRequest(text="the cache is warm now", origin=Origin.ASSISTANT)
        await house.ingest.ingest(caller, turn)
        assert (await nap_over(house, messages, last=True, reason="quiet")).stored == 1
        listed, _ = await house.recall.list(ADA, EVERYTHING, None, 10)
        (memory_id,) = [item.id for item in listed if item.content in text]
        window = WindowKey(ADA.agent_id, ADA.client, "s")
        await house.db.write(
            ADA, lambda conn: injections.record(conn, window, None, [memory_id], 0)
        )
    with tampering(path) as conn:
        conn.execute(
            "UPDATE memory SET content = CAST(x'ef' AS TEXT) WHERE memory_id = ?", (memory_id,)
        )
    async with a_house(path) as house:
        more = [{"role": "user", "content": f"Remember: {TEXTS[2]}"}]
        assert (await nap_over(house, messages + more, last=True, reason="quiet")).stored
        over_memories = await nap_over(house, None, last=True, reason="quiet")
        assert over_memories.messages
        # The message that the memory of the nap was made of is intact.
        assert (text in str(over_memories.messages)) == (text == messages[0]["content"])


async def test_a_dump_names_what_is_damaged_and_goes_on(napped: Path) -> None:
    async with a_house(napped) as house:
        ids = await stored(house, *(f"Ann sold hive {number}." for number in range(9)))
        memory_id = ids[0]
    with tampering(napped) as conn:
        conn.execute("UPDATE memory SET content = 'Ann' WHERE memory_id = ?", (memory_id,))
        for unreadable in ids[2:6]:
            conn.execute(
                "UPDATE memory SET content = CAST(x'ef' AS TEXT) WHERE memory_id = ?", (unreadable,)
            )
    async with a_house(napped) as house:
        pages: list[DumpPage] = []
        after: str | None = None
        while not pages or after is not None:
            pages.append(await house.moving.dump(after, 2))
            after = pages[-1].next
        texts = [item["text"] for page in pages for item in page.items if item["kind"] == "text"]
        assert texts == [f"Remember: {TEXTS[1]}"]
        named = [name for page in pages for name in page.damaged]
        assert sorted(named)[:2] == [f"memory {memory_id}", "one of kind memory"]
        assert named.count("one of kind memory") == 4
        assert [name.split()[0] for name in named].count("text") == 1
        assert len(named) == 6
        known = {item.get("id") for page in pages for item in page.items}
        assert known & set(ids) == {ids[1], *ids[6:]}


@pytest.mark.parametrize("state", ["pending", "active"])
async def test_what_cannot_be_read_keeps_no_other_memory_from_its_vector(
    path: Path, state: str
) -> None:
    ids = await a_file(path)
    with tampering(path) as conn:
        conn.execute("DELETE FROM embedding")
        conn.execute("UPDATE memory SET state = ?", (state,))
        conn.execute(
            "UPDATE memory SET content = CAST(x'ef' AS TEXT) WHERE memory_id = ?", (ids[0],)
        )
    async with a_house(path) as house:
        assert await house.queue.drain() == 2
        assert await house.queue.drain() == 0


def test_a_proposal_that_cannot_be_read_hides_no_other(path: Path) -> None:
    new = NewProposal("", None, "PUBLISH", "adr", None, (), None, None, "ada", "c", b"salt")
    with a_writer(path) as conn:
        for number, text in enumerate(TEXTS):
            one = new._replace(proposal_id=str(number), content=Screened(text))
            proposals.insert(conn, one, number)
        conn.execute("UPDATE org_proposal SET content = CAST(x'ef' AS TEXT) WHERE at_us = 0")
        (first,) = proposals.list_open(conn, None, 1)
        (second,) = proposals.list_open(conn, first.proposal_id, 1)
        assert (first.content, second.content) == TEXTS[1:]


async def test_a_page_of_a_list_is_full_although_damaged_ones_are_left_out(path: Path) -> None:
    await a_file(path)
    flip(path, b"Ann wants new", b"Ann wants now")  # the newest
    async with a_house(path) as house:
        first, after = await house.recall.list(ADA, EVERYTHING, None, 1)
        second, end = await house.recall.list(ADA, EVERYTHING, after, 1)
        assert {item.content for item in (*first, *second)} == {TEXTS[1], TEXTS[0]}
        assert len(first) == len(second) == 1
        assert end is None


KEPT = {
    "preference": ("UPDATE preference SET value = 'whisky'", "preference drink"),
    "learning": ("UPDATE learning SET lesson = 'skip the tests'", "learning "),
    "playbook": ("UPDATE playbook SET description = 'skip the tests'", "pattern "),
    "client": ("UPDATE client SET scopes = '[\"admin\"]' WHERE client_id = 'bot'", "client bot"),
}
TOLD = {
    "preference": lambda conn: preferences.list_preferences(conn, 1, 0),
    "learning": lambda conn: learnings.list_latest(conn, 1, 10),
    "playbook": lambda conn: playbook.list_patterns(conn, 1, None, 10),
    "client": keyed.list_clients,
}


@pytest.mark.parametrize("kind", KEPT)
async def test_what_is_kept_beside_memories_is_withheld_too(path: Path, kind: str) -> None:
    change, name = KEPT[kind]
    async with a_house(path) as house:
        await house.preferences.set(ADA, "drink", "tea")
        learn = Learn(db=house.db, clock=house.clock, ids=house.ids)
        await learn.record_outcome(ADA, TaskReport(lesson="Run the tests first.", tools=("shell",)))
        await learn.record_success(
            ADA, SuccessReport(description="Look, then change.", tools=("grep", "edit"))
        )
        bot = KeyedClient(name="bot", scopes=frozenset({"read"}), created_at=from_us(1))
        await house.db.write(ADA, lambda conn: keyed.put(conn, bot, b"hash"))
        assert await house.db.read(TOLD[kind])
    with tampering(path) as conn:
        for trigger in ("preference", "learning", "playbook", "client"):
            conn.execute(f"DROP TRIGGER {trigger}_resealed")
        conn.execute(change)
        assert conn.changes() == 1
    async with a_house(path) as house:
        assert not await house.db.read(TOLD[kind])
        assert any(name in one for one in (await house.upkeep.stats())["degraded"])
        report = await house.upkeep.check(ADA)
        assert any(name in problem for problem in report.problems)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("UPDATE memory SET content = 'Skip the tests.' WHERE memory_id = ?", "memory "),
        (
            "UPDATE source SET zlib = x'00' WHERE source_key ="
            " (SELECT source_key FROM memory WHERE memory_id = ?)",
            "source ",
        ),
    ],
)
async def test_a_damaged_lesson_is_withheld_and_the_others_are_listed(
    path: Path, change: str, finding: str
) -> None:
    def read(conn: Reading) -> list[str]:
        lessons = list_memories(conn, ADA, ProceduralMemoryConfig(), 1)
        return [row.memory_id for row in lessons]

    async with a_house(path) as house:
        first, second = [
            await house.ingest.store(ADA, a_lesson(task), source=Screened(f"{task}: all tiers"))
            for task in ("t1", "t2")
        ]
        assert await house.db.read(read) == [second, first]
    with tampering(path) as conn:
        conn.execute(change, (first,))
        assert conn.changes() == 1
    async with a_house(path) as house:
        assert await house.db.read(read) == [second]
        assert any(one.startswith(finding) for one in house.db.damage.problems())


def a_lesson(task: str) -> MemoryStoreRequest:
    metadata = MemoryMetadata(source=f"{FAILURE_SOURCE}{task}", tags=(NON_INFERABLE_TAG,))
    return MemoryStoreRequest(
        category=MemoryCategory.PROCEDURAL, content=f"Run the tests of {task}.", metadata=metadata
    )


async def test_a_page_that_another_program_wrote_is_found_whatever_it_holds(path: Path) -> None:
    await a_file(path)
    other = apsw.Connection(str(path))
    other.execute("UPDATE meta SET value = x'00' WHERE key = 'no such key'")
    other.execute("UPDATE memory_use SET access_count = access_count + 1")
    other.execute("UPDATE embedding_model SET name = 'another'")
    other.close()
    async with a_house(path) as house:
        problems = (await house.upkeep.check(ADA)).problems
        assert any("embedding_model" in one and "another program" in one for one in problems)


async def test_every_page_of_a_file_has_its_checksum_however_it_came_about(path: Path) -> None:
    await a_file(path)
    async with a_house(path) as house:
        copy = Path(await house.upkeep.backup(ADA))
        await house.upkeep.rebuild(ADA)
        await house.db.checkpoint(truncate=True)

        def bad(conn: Reading, file: Path) -> list[int]:
            return list(page_sums.find_damaged(conn, file))

        for file in (path, copy):
            assert page_sums.layout(file).has_sums
            assert await house.db.read(bad, file) == []


async def test_a_file_checks_itself_in_portions_and_tells_whoever_listens(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await a_file(path)
    flip(path, b"Ann sells honey", b"Ann sells hooey")
    pages = path.stat().st_size // PAGE_BYTES
    told_of: list[tuple[str, str, object]] = []
    monkeypatch.setattr(upkeep, "PORTION_PAGES", 16)
    async with a_house(path) as house:
        tending = file_rooms.UpkeepLoop(
            house.db, house.upkeep, house.due, lambda *part: told_of.append(part)
        )
        portions = 0
        while house.upkeep.background_check.progress().finished_at is None and portions < pages:
            await tending.run_round(house.upkeep.background_check)
            portions += 1
        tending.check_file()
        tending.check_file()
        state = house.upkeep.background_check.progress()
        assert state.finished_at is not None
        assert state.pages == state.pages_checked == pages
        assert portions > pages // 16
        ((agent, name, body),) = told_of
        assert (agent, name) == (EVERYBODY, EventName.DAMAGED)
        assert ids[1] in str(body)
        assert "(memory) is damaged" in str(body)
        assert any(ids[1] in why for why in (await house.upkeep.stats())["degraded"])


async def test_a_file_whose_schema_was_hit_is_repaired_when_it_is_opened(
    path: Path, tmp_path: Path
) -> None:
    ids = await a_file(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"CREATE TABLE memory (", b"CREATE TABLE memory {"))
    async with a_house(path) as house:
        items, _ = await house.recall.list(ADA, EVERYTHING, None, 10)
        assert {item.id for item in items} == set(ids)
        assert any("repaired" in why for why in (await house.upkeep.stats())["degraded"])
    (kept,) = tmp_path.glob("*-damaged.backup.db")
    assert kept.read_bytes() != whole


async def test_superseding_archives_a_damaged_memory_of_a_nap(tmp_path: Path) -> None:
    path = tmp_path / "memd.db"
    await a_file(path)
    async with a_house(path) as house:

        def work(conn: Writing) -> str | None:
            source, derived, _ = conn.list_ints("SELECT memory_key FROM memory ORDER BY memory_key")
            conn.execute("INSERT INTO derived (from_key, to_key) VALUES (?, ?)", (source, derived))
            conn.execute("UPDATE memory SET confidence = 0.1 WHERE memory_key = ?", (derived,))
            ids = iter("ab")
            removal.supersede(conn, [source], house.trash.clock.now_us(), new_id=lambda: next(ids))
            return conn.get_text("SELECT state FROM memory WHERE memory_key = ?", (derived,))

        assert await house.db.write(ADA, work) == "archived"
