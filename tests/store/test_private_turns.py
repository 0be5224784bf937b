"""Nothing is stored of what the owner asks not to remember, or to forget (decision 0414)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.nights import ADA, nap_over

from memd.backends.rooms import Rooms
from memd.domain.enums import Origin
from memd.domain.ingest import IngestManyRequest, IngestRequest, Receipt, SessionQuery
from memd.domain.memory import MemoryQuery
from memd.sleep.nap.source import SessionHistory, remove_erased
from memd.sleep.transcript.messages import to_stored
from memd.sleep.window.trigger import Reason

FORGET = "forget what i told you about my blood pressure"


def _turn(text: str, origin: Origin = Origin.PERSON) -> IngestRequest:
    return IngestRequest(text=text, origin=origin, session_id="s")


async def _talk(house: Rooms, *texts: str) -> list[Receipt]:
    """Ingest *texts* of the user and the assistant in turn."""
    turns = [
        _turn(text, Origin.ASSISTANT if place % 2 else Origin.PERSON)
        for place, text in enumerate(texts)
    ]
    return [await house.ingest.ingest(ADA, turn) for turn in turns]


async def _texts(house: Rooms) -> list[str]:
    """Return the texts of the visible memories, with turns in passing, newest first."""
    query = MemoryQuery(limit=100, include_passing=True)
    return [entry.content for entry in await house.recall.retrieve(ADA, query)]


@pytest.mark.parametrize(
    "private",
    [
        "merk dir das bitte nicht: ich hab 3000 euro schulden bei Katrin",
        "don't keep this, but i'm thinking of quitting the library in spring",
        FORGET,
    ],
)
async def test_a_private_turn_and_its_answer_are_not_stored(house: Rooms, private: str) -> None:
    texts = (private, "3000 euro, library, blood pressure.", "Berlin is my home town.", "I see.")
    receipts = await _talk(house, *texts)
    assert [len(receipt.stored + receipt.pending) for receipt in receipts] == [0, 0, 1, 1]
    assert set(await _texts(house)) == set(texts[2:])


async def test_keep_this_between_us_archives_the_turn_before_it(house: Rooms) -> None:
    await _talk(house, "Berlin is my home town.", "I see.")
    await _talk(house, "The gp raised my dose to 100 mg.", "100 mg, I see.")
    await _talk(house, "please keep this between us", "Sure, nobody hears of the 100 mg.")
    assert set(await _texts(house)) == {"Berlin is my home town.", "I see."}
    await _talk(house, "don't tell anyone", "Sure.")  # is about the same
    assert set(await _texts(house)) == {"Berlin is my home town.", "I see."}


async def test_a_bulk_ingest_stores_no_private_turn_either(house: Rooms) -> None:
    turns = [_turn(FORGET), _turn("I forget the 148.", Origin.ASSISTANT), _turn("I live in Bern.")]
    await house.ingest.ingest_many(ADA, IngestManyRequest(items=tuple(turns)))
    assert await _texts(house) == ["I live in Bern."]


async def test_a_request_to_forget_ends_a_preference_and_is_not_stored(house: Rooms) -> None:
    await house.ingest.ingest(ADA, IngestRequest(text="I hate fish", origin=Origin.PERSON))
    assert [each.value for each in await house.recall.preferences(ADA)] == ["I hate fish"]
    await _talk(house, "forget what I said about fish", "Done.")
    assert await house.recall.preferences(ADA) == ()
    assert await _texts(house) == []


def _messages(*texts: str) -> list[dict[str, str]]:
    return [
        {"role": "assistant" if place % 2 else "user", "content": text}
        for place, text in enumerate(texts)
    ]


async def _nap(house: Rooms, texts: Sequence[str]) -> None:
    talk = _messages(*texts)
    await nap_over(house, talk, "s", ADA, reason=Reason.ENDED.value, last=True)


async def _messages_with(house: Rooms, words: str) -> list[str]:
    hits = await house.sessions.search(ADA, SessionQuery(query=words))
    return [hit.snippet for hit in hits]


async def test_no_nap_stores_a_private_message(house: Rooms) -> None:
    talk = (
        "merk dir das bitte nicht: ich hab 3000 euro schulden bei Katrin",
        "3000 euro bei Katrin, in Ordnung.",
        FORGET,
        "I forget your blood pressure of 148.",
        "The caravan is parked in Husum since May, remember that",
        "Husum it is.",
    )
    await _nap(house, talk)
    stored = "\n".join(await _texts(house))
    for words in ("schulden", "Katrin", "148"):
        assert await _messages_with(house, words) == []
        assert words not in stored
    assert await _messages_with(house, "blood") == []
    query = MemoryQuery(text="forget blood pressure", limit=100)
    assert not any("blood" in each.content for each in await house.recall.retrieve(ADA, query))
    assert len(await _messages_with(house, "Husum")) == 2
    await _nap(house, [*talk, "and the awning is in the cellar", "Good."])
    assert len(await _messages_with(house, "Husum")) == 2
    assert len(await _messages_with(house, "awning")) == 1


def test_a_private_message_is_not_taken_for_one_that_was_erased() -> None:
    private, _, erased, _, known = _messages(FORGET, "", "The code is 7712.", "", "I live in Bern.")
    (mark,) = to_stored([known])
    assert mark is not None
    history = SessionHistory({(mark.sha256, mark.nth): 1}, 2)
    assert remove_erased([private, erased, known], history) == [private, known]
