"""SPEC 1, D4, D5, D7 at the real socket with the real model: a text becomes memories."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Spawned, wait_until
from support.desk import Desk, a_desk, served

from memd.base.errors import IngestionError, MemoryStoreError
from memd.base.limits import CHUNKS_INLINE_MAX

pytestmark = pytest.mark.model

PARAGRAPH = (
    "The ferry to the island of Hven leaves Landskrona at a quarter past nine and carries "
    "bicycles, three cars and the post. In winter the crossing takes half an hour longer, "
    "because the harbour freezes and the captain follows the channel that the pilot cuts. "
    "Number {number} of the crew keeps the log, in which every wave above two metres is noted."
)


def paragraphs(count: int) -> str:
    return "\n\n".join(PARAGRAPH.format(number=number) for number in range(count))


def only(items: list[dict[str, Any]]) -> dict[str, Any]:
    (item,) = items
    return item


def test_a_receipt_names_what_was_stored_with_its_score_and_category(desk: Desk) -> None:
    receipt = desk.ingest("Acme shipped API v2 in 2026.")

    item = only(receipt["stored"])
    assert item["importance"] == pytest.approx(0.6 * 1 + 0.4 * 0.6)
    assert item["category"] == "episodic"
    assert item["token_count"] > 1
    assert receipt["pending"] == receipt["merged"] == receipt["turned_away"] == []


def test_a_first_text_is_kept_however_plain(desk: Desk) -> None:
    assert only(desk.ingest("We went home")["stored"])["importance"] == pytest.approx(0.6)


def test_the_same_text_again_is_merged_and_its_updated_at_moves(desk: Desk) -> None:
    first = only(desk.ingest("The lighthouse keeper is called Amundsen.")["stored"])
    before = desk.get(first["id"])

    receipt = desk.ingest("  The lighthouse keeper is called Amundsen.\r\n")

    after = desk.get(first["id"])
    merged = only(receipt["merged"])
    assert merged["id"] == first["id"]
    assert merged["importance"] == first["importance"]
    assert merged["reason"]
    assert receipt["stored"] == receipt["pending"] == receipt["turned_away"] == []
    assert desk.count() == 1
    assert before is not None
    assert after is not None
    assert before["updated_at"] is None
    assert after["updated_at"] > after["created_at"] == before["created_at"]


@pytest.mark.parametrize(
    "elsewhere",
    [{"namespace": "other"}, {"session_id": "other"}, {"source": "other"}, {"category": "social"}],
    ids=lambda where: next(iter(where)),
)
def test_the_same_text_elsewhere_is_another_memory(desk: Desk, elsewhere: dict[str, str]) -> None:
    where = {"namespace": "one", "session_id": "one", "source": "one", "category": "semantic"}
    text = "I prefer PostgreSQL in 2026 at Acme because async APIs are reliable."  # never below

    desk.ingest(text, **where)
    receipt = desk.ingest(text, **{**where, **elsewhere})

    assert receipt["merged"] == []
    assert desk.count() == 2


def test_another_agent_has_its_own_copy(daemon: Spawned, desk: Desk) -> None:
    desk.ingest("The bakery on the corner opens at six.")
    with a_desk(daemon, "somebody else") as other:
        receipt = other.ingest("The bakery on the corner opens at six.")

    assert receipt["merged"] == []


def test_an_unimportant_repetition_goes_to_the_archive_and_is_found_there(desk: Desk) -> None:
    desk.ingest("We went home", session_id="one", origin="assistant", project_id="home")

    receipt = desk.ingest("We went home", session_id="two", origin="assistant", project_id="home")

    item = only(receipt["turned_away"])
    assert item["importance"] < 0.3
    assert "importance" in item["reason"]
    assert desk.count() == 1
    assert desk.archived() == 1
    hidden = desk.call("archive.search", text="went home")
    assert [memory["entry"]["id"] for memory in hidden] == [item["id"]]
    assert item["id"] not in _ids(desk.recall("Who went home?", top_k=20))
    assert item["id"] in _ids(
        desk.recall("Who went home?", top_k=20, include_compressed=True, search_mode="words")
    )
    assert item["id"] in [
        entry["id"]
        for entry in desk.call("memory.retrieve", text="went home", include_compressed=True)
    ]


def test_what_was_turned_away_can_be_brought_back_and_is_then_recalled(desk: Desk) -> None:
    desk.ingest("We went home", session_id="one", origin="assistant", project_id="home")
    again = desk.ingest("We went home", session_id="two", origin="assistant", project_id="home")
    item = only(again["turned_away"])

    desk.call("archive.restore_to_hot", id=item["id"])

    assert item["id"] in _ids(desk.recall("went home", search_mode="words"))


def test_store_never_merges_and_is_never_gated(desk: Desk) -> None:
    ids = {desk.store("We went home", category="episodic") for _ in range(3)}

    assert len(ids) == desk.count() == 3
    assert desk.archived() == 0
    assert ids <= set(_ids(desk.recall("went home", search_mode="words", top_k=10)))


def test_store_keeps_a_text_as_it_is(desk: Desk) -> None:
    content = "  Cafe\u0301\r\n\n\n\nline two\t "

    memory_id = desk.store(content)

    memory = desk.get(memory_id)
    assert memory is not None
    assert memory["content"] == content


def test_a_hint_wins_over_routing(desk: Desk) -> None:
    receipt = desk.ingest("I prefer tea over coffee.", category="social")

    assert only(receipt["stored"])["category"] == "social"
    assert receipt["preferences"] == []
    assert desk.preferences() == {}


@pytest.mark.parametrize("alias", ["memory_type_hint", "memory_type"])
def test_the_documents_names_of_the_hint_are_understood(desk: Desk, alias: str) -> None:
    receipt = desk.ingest("The kettle is on.", **{alias: "working"})

    assert only(receipt["stored"])["category"] == "working"


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Right now in this session we are looking at the parser.", "working"),
        ("Now is the winter of our discontent.", "semantic"),
        ("Yesterday the team went to Malmö.", "episodic"),
        ("The user is a backend engineer.", "semantic"),
        ("I always write tests first.", "procedural"),
    ],
)
def test_a_text_without_a_hint_is_routed(desk: Desk, text: str, category: str) -> None:
    assert only(desk.ingest(text)["stored"])["category"] == category


@pytest.mark.parametrize("speaker", [None, "user", "Me", "owner"])
def test_what_the_owner_prefers_becomes_a_preference(desk: Desk, speaker: str | None) -> None:
    receipt = desk.ingest("My favourite editor is Helix.", speaker=speaker)

    assert receipt["preferences"] == ["favorite_editor"]
    assert desk.preferences() == {"favorite_editor": "My favourite editor is Helix."}


@pytest.mark.parametrize(
    "who", [{"speaker": "Joanna"}, {"speaker": "assistant"}, {"origin": "tool"}, {"origin": "web"}]
)
def test_what_somebody_else_prefers_is_no_preference(desk: Desk, who: dict[str, str]) -> None:
    receipt = desk.ingest("My favourite editor is Helix.", **who)

    assert receipt["preferences"] == []
    assert desk.preferences() == {}
    assert only(receipt["stored"])["category"] != "procedural"


@pytest.mark.parametrize("chunks", [1, CHUNKS_INLINE_MAX])
def test_a_text_of_up_to_eight_chunks_is_found_by_meaning_at_once(desk: Desk, chunks: int) -> None:
    """How soon that is, `tests.bench.latency` says."""
    for number in range(4):
        filler = [PARAGRAPH.format(number=100 * number + n) for n in range(chunks - 1)]
        text = "\n\n".join([f"Our cat number {number} is afraid of thunder and hides.", *filler])
        receipt = desk.ingest(text, session_id=f"s{number}")

        ids = {item["id"] for item in receipt["stored"] + receipt["turned_away"]}
        answer = desk.recall(
            "Which animal fears storms?", search_mode="dense", top_k=100, include_compressed=True
        )
        assert ids & set(_ids(answer))
        assert receipt["pending"] == []


def test_eight_chunks_are_final_and_nine_are_pending(desk: Desk) -> None:
    eight = desk.ingest(paragraphs(CHUNKS_INLINE_MAX))
    assert len(eight["stored"]) == CHUNKS_INLINE_MAX

    stream = paragraphs(CHUNKS_INLINE_MAX + 1)
    nine = desk.ingest(stream, session_id="long", origin="assistant", project_id="home")

    assert len(nine["pending"]) == CHUNKS_INLINE_MAX + 1
    assert all(item["importance"] is None for item in nine["pending"])
    desk.settle()


def test_a_long_text_is_found_by_words_at_once_and_by_meaning_soon(desk: Desk) -> None:
    text = paragraphs(30).replace("Number 17 of the crew", "Rasmus the boatswain")

    receipt = desk.ingest(text, session_id="log")

    assert len(receipt["pending"]) == 30
    assert any("Rasmus" in content for content in desk.contents("boatswain", search_mode="words"))
    desk.settle()
    (best, *_) = desk.contents("Who writes the ship's diary?", search_mode="dense")
    assert "keeps the log" in best
    states = {desk.get(item["id"])["state"] for item in receipt["pending"]}  # type: ignore[index]  # all are there
    assert states <= {"active", "archived"}
    assert desk.count() + desk.archived() == 30


def test_a_huge_store_does_not_keep_its_caller_waiting_for_vectors(desk: Desk) -> None:
    memory_id = desk.store(paragraphs(60), category="episodic")

    assert desk.get(memory_id)["state"] == "pending"  # type: ignore[index]  # it is there
    desk.settle()
    assert desk.get(memory_id)["state"] == "active"  # type: ignore[index]  # it is there


def test_speaker_order_caption_and_time_are_kept_and_searched(desk: Desk) -> None:
    receipt = desk.ingest(
        "Look at this!",
        speaker="Joanna",
        order=7,
        caption="a red kayak on a lake",
        occurred_at="2023-05-08T13:56:00+02:00",
        tags=["photo", "lake", "photo"],
        session_id="s",
        source="chat/12",
        confidence=0.5,
    )

    memory = desk.get(only(receipt["stored"])["id"])
    assert memory is not None
    assert memory["speaker"] == "Joanna"
    assert datetime.fromisoformat(memory["occurred_at"]) == datetime(2023, 5, 8, 11, 56, tzinfo=UTC)
    assert memory["metadata"] == {"source": "chat/12", "confidence": 0.5, "tags": ["photo", "lake"]}
    assert memory["session_id"] == "s"
    assert desk.contents("red kayak", search_mode="words") == ["Look at this!"]
    assert desk.contents("Who went canoeing?", search_mode="dense") == ["Look at this!"]


def test_neighbours_follow_the_order_that_was_given(desk: Desk) -> None:
    for order, text in [(2, "It is a violin."), (1, "What do you play?"), (3, "Since when?")]:
        desk.ingest(text, order=order, session_id="s", category="episodic")

    # What answers the question stands beside it, so the question's words find it as well.
    assert desk.contents("play", search_mode="words") == ["It is a violin."]
    asked_too = desk.contents("play", search_mode="words", include_passing=True)
    assert sorted(asked_too) == ["It is a violin.", "What do you play?"]


def test_an_agent_of_level_none_stores_nothing(desk: Desk) -> None:
    desk.call("agent.set", type="none")

    for level in ({}, {"level": "persistent"}):
        error = desk.refused("memory.ingest", text="The moon is full.", **level)
        assert isinstance(error, MemoryStoreError)
        assert error.field == "level"
    desk.refused("memory.store", content="The moon is full.", category="semantic")
    desk.refused("preference.set", name="moon", value="full")
    desk.refused("memory.ingest_many", items=[{"text": "The moon is full."}])

    assert desk.count() == 0
    assert desk.preferences() == {}


def test_an_expiry_that_has_passed_is_refused(desk: Desk) -> None:
    past = "2020-01-01T00:00:00Z"

    for method, params in [
        ("memory.ingest", {"text": "Milk is in the fridge."}),
        ("memory.store", {"content": "Milk is in the fridge.", "category": "working"}),
    ]:
        error = desk.refused(method, **params, expires_at=past)
        assert isinstance(error, MemoryStoreError)
        assert error.field == "expires_at"
    assert desk.count() == 0


def test_a_text_that_is_blank_is_refused(desk: Desk) -> None:
    error = desk.refused("memory.ingest", text=" \n\t ")

    assert error.field == "text"
    assert not isinstance(error, IngestionError)


def test_several_texts_get_a_receipt_each_in_order_and_progress(desk: Desk) -> None:
    items = [{"text": f"Fact {number}: the tower has {number} bells."} for number in range(40)]
    steps: list[tuple[int, int]] = []

    receipts = desk.client.call(
        "memory.ingest_many",
        {"agent_id": desk.agent_id, "items": items},
        progress=lambda done, total: steps.append((done, total)),
    )["items"]

    assert len(receipts) == 40
    ids = [only(receipt["pending"])["id"] for receipt in receipts]
    assert [desk.get(memory_id)["content"] for memory_id in ids] == [item["text"] for item in items]  # type: ignore[index]  # all are there
    assert steps[0] == (0, 40)
    assert steps[-1] == (40, 40)
    assert steps == sorted(steps)


def ids_of(receipts: list[dict[str, Any]]) -> list[list[str]]:
    kinds = ("stored", "pending", "merged")
    return [[item["id"] for kind in kinds for item in each.get(kind, ())] for each in receipts]


def test_an_import_that_was_interrupted_is_run_again_without_doubles(desk: Desk) -> None:
    items = [
        {"text": f"Line {number} of the old notebook.", "source": f"notebook:{number}"}
        for number in range(30)
    ]
    first = desk.call("memory.ingest_many", items=items[:18])["items"]
    desk.settle()

    receipts = desk.call("memory.ingest_many", items=items)["items"]

    assert [bool(receipt["merged"]) for receipt in receipts] == [True] * 18 + [False] * 12
    assert ids_of(receipts[:18]) == ids_of(first)
    desk.settle()
    assert desk.count() + desk.archived() == 30


def test_one_bad_item_stores_none_and_is_named(desk: Desk) -> None:
    items = [{"text": "good"}, {"text": "stale", "expires_at": "2020-01-01T00:00:00Z"}]

    error = desk.refused("memory.ingest_many", items=items)

    assert error.field == "items.1.expires_at"
    assert desk.count() == 0


def test_what_was_deleted_may_be_told_again(desk: Desk) -> None:
    first = only(desk.ingest("The key lies under the mat.")["stored"])
    desk.call("memory.delete", id=first["id"])

    again = desk.ingest("The key lies under the mat.")

    assert again["merged"] == []
    assert len(desk.call("trash.list")["items"]) == 1
    wait_until(lambda: desk.count() + desk.archived() == 1, "it is told again")


def _ids(answer: dict[str, Any]) -> list[str]:
    return [memory["id"] for memory in answer["memories"]]


def test_an_import_survives_a_killed_daemon(tmp_path: Path, model_dir: Any) -> None:
    items = [
        {"text": f"Line {number} of the old notebook.", "source": f"notebook:{number}"}
        for number in range(60)
    ]
    with served(tmp_path, model_dir) as daemon, a_desk(daemon, "ada") as desk:
        receipts = desk.call("memory.ingest_many", items=items[:40])["items"]
        acknowledged = [only(receipt["pending"])["id"] for receipt in receipts]
        daemon.stop(signal.SIGKILL)

    with served(tmp_path, model_dir) as daemon, a_desk(daemon, "ada") as desk:
        again = desk.call("memory.ingest_many", items=items)["items"]

        assert [item["id"] for receipt in again for item in receipt["merged"]] == acknowledged
        desk.settle()
        assert desk.count() + desk.archived() == 60
        assert all(desk.get(memory_id)["state"] != "pending" for memory_id in acknowledged)  # type: ignore[index]  # all are there
        assert desk.client.call("store.check")["ok"] is True


def test_setting_a_retention_over_the_socket_makes_nothing_temporary(desk: Desk) -> None:
    rules = [{"category": "episodic", "retention_days": 30}]
    config = desk.call("agent.set", retention_overrides=rules)
    memory_id = desk.store("The cellar key hangs behind the clock.", session_id="s")

    desk.call("session.end", session_id="s")

    assert config["settings"]["type"] == "persistent"
    assert desk.call("agent.get") == config
    assert desk.get(memory_id) is not None
