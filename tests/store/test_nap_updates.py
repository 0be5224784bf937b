"""A nap keeps what a private chat adds to a memory of an earlier one (decision 0389)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.nights import ADA, nap_over
from support.words_embedder import WordsEmbedder, a_house

from memd.backends.rooms import Rooms
from memd.domain.memory import MemoryQuery
from memd.sleep.window.trigger import Reason

PORT = "the llama server runs on port 8089"
MOVED = "moved the llama server to port 8091"
DAYS = {"first": "2026-03-16T10:00:00Z", "second": "2026-03-17T10:00:00Z"}
FESTIVAL = "Le Guess Who still owes me 450 euro"


async def _nap(house: Rooms, session_id: str, user: str, agent: str, project: str | None) -> None:
    """Nap over a talk of one message and its answer, and embed what it stores."""
    texts = {"user": user, "assistant": agent}
    talk = [
        {"role": role, "content": text, "timestamp": DAYS[session_id]}
        for role, text in texts.items()
    ]
    caller = replace(ADA, project_id=project)
    await nap_over(house, talk, session_id, caller, reason=Reason.ENDED.value, last=True)
    await house.queue.drain()


async def _texts(house: Rooms) -> set[str]:
    """Return what the user's words in the memories are, without digests."""
    entries = await house.recall.retrieve(ADA, MemoryQuery(limit=100))
    texts = (entry.content for entry in entries if "digest" not in entry.metadata.tags)
    return {text.partition("\n")[0] for text in texts}


async def _kept(
    folder: Path,
    known: str,
    later: str,
    project: str | None = None,
    embedder: WordsEmbedder | None = None,
) -> bool:
    """Return whether a nap keeps what is said *later*, in a session after that of *known*."""
    async with a_house(folder, embedder=embedder) as house:
        await _nap(house, "first", known, f"{known}.", project)
        assert await _texts(house) == {known}
        await _nap(house, "second", later, "I see.", project)
        return await _texts(house) == {known, later}


@pytest.mark.parametrize(
    ("known", "later"),
    [
        (PORT, MOVED),
        ("bedroom at night 17 degrees", "bedroom is too warm, make it 16 at night"),
        (FESTIVAL, "Le Guess Who paid, finally"),
    ],
)
async def test_what_adds_to_a_memory_of_another_session_is_kept(
    tmp_path: Path, known: str, later: str
) -> None:
    assert await _kept(tmp_path, known, later)


@pytest.mark.parametrize(
    "later",
    [
        "does the llama server run on port 8091",
        "the llama server",
        "llama is a friendly animal of the Andes and has nothing to do with any server of mine",
        "off to the market",
        f"{MOVED}, {'and so on, ' * 20}",
    ],
    ids=["a question", "nothing new", "something else", "no word of it", "a long one"],
)
async def test_what_adds_nothing_to_a_memory_is_not_kept(tmp_path: Path, later: str) -> None:
    assert not await _kept(tmp_path, PORT, later)


async def test_in_a_project_nearly_all_is_about_a_known_memory(tmp_path: Path) -> None:
    assert not await _kept(tmp_path, PORT, MOVED, project="p")


async def test_without_a_model_nothing_is_compared(tmp_path: Path) -> None:
    embedder = WordsEmbedder()
    embedder.installed = False
    assert not await _kept(tmp_path, PORT, MOVED, embedder=embedder)


async def test_only_what_shares_words_with_a_memory_is_embedded(tmp_path: Path) -> None:
    embedder = WordsEmbedder()
    async with a_house(tmp_path, embedder=embedder) as house:
        await _nap(house, "first", PORT, f"{PORT}.", None)
        embedder.asked.clear()
        await _nap(house, "second", "off to the market", "Good luck.", None)
        assert "off to the market" not in embedder.asked


async def test_a_failing_model_does_not_stop_the_nap(tmp_path: Path) -> None:
    embedder = WordsEmbedder()
    async with a_house(tmp_path, embedder=embedder) as house:
        await _nap(house, "first", PORT, f"{PORT}.", None)
        embedder.fails = True
        talk = [{"role": "user", "content": MOVED}, {"role": "assistant", "content": "I see."}]
        await nap_over(house, talk, "second", reason=Reason.ENDED.value, last=True)
        assert await _texts(house) == {PORT}


async def test_a_value_that_it_replaces_is_superseded(tmp_path: Path) -> None:
    known, later = "the car insurance is 44 euro", "the car insurance is 48 euro now"
    async with a_house(tmp_path) as house:
        await _nap(house, "first", known, f"{known}.", None)
        assert await _texts(house) == {known}
        await _nap(house, "second", later, "I see.", None)
        assert await _texts(house) == {later}


async def test_the_same_nap_again_stores_nothing(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        await _nap(house, "first", PORT, f"{PORT}.", None)
        for _ in range(2):
            await _nap(house, "second", MOVED, "I see.", None)
        assert await _texts(house) == {PORT, MOVED}
