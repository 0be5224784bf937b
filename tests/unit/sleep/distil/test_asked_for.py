"""What a nap keeps because somebody asks it, and what it leaves out because somebody asks that."""

from __future__ import annotations

import pytest

from memd.domain.encoding import SentenceLogits
from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.exchanges import NapKind, NapMemory, without_private
from memd.sleep.distil.select import SURE_MEMORIES
from memd.sleep.nap.preparation import read

NOTHING = SentenceLogits(-2.0, (0.0,) * 5, -30.0, -5.0, *[-30.0] * 5)._replace(plain=0.0)
OF_THE_MOMENT = NOTHING._replace(plain=-9.0)
KEY = "jean has our spare key"


def messages_of(*texts: str) -> list[dict[str, str]]:
    return [
        message
        for text in texts
        for message in (
            {"role": "user", "content": text},
            {"role": "assistant", "content": "Noted."},
        )
    ]


def kept(*texts: str, logits: SentenceLogits | None = NOTHING) -> list[NapMemory]:
    session = SessionTurns.of(messages_of(*texts))
    rows = [[logits] * len(each) for each in session.sentences()] if logits else []
    return [each for each in distil(session, rows) if each.kind is not NapKind.DIGEST]


@pytest.mark.parametrize("logits", [None, NOTHING])
@pytest.mark.parametrize("asked", ["{}, dont forget", "pls remember: {}", "For later: {}"])
def test_a_statement_is_kept_as_what_it_is(asked: str, logits: SentenceLogits | None) -> None:
    assert kept(KEY, logits=logits) == []
    [memory] = kept(asked.format(KEY), logits=logits)
    assert (memory.text, memory.kind) == (KEY, NapKind.ENVIRONMENT)


def test_a_wish_that_is_asked_for_stays_a_wish() -> None:
    [memory] = kept("keep in mind: never push to main")
    assert (memory.text, memory.kind) == ("never push to main", NapKind.PREFERENCE)


def test_what_is_asked_for_is_kept_out_of_a_longer_message() -> None:
    [memory] = kept(f"I met Ann in town. How do I cook rice? {KEY}, pls remember")
    assert memory.text.endswith(KEY)
    assert "rice" not in memory.text


def test_what_is_mentioned_of_the_moment_is_not_kept() -> None:
    assert kept("fyi the build is green", logits=OF_THE_MOMENT) == []
    assert [each.text for each in kept(f"fyi {KEY}")] == [KEY]
    assert [each.text for each in kept(f"remember: {KEY}", logits=OF_THE_MOMENT)] == [KEY]


def test_what_is_asked_for_has_room_in_a_full_session() -> None:
    rules = [f"We never use the library number{at} for anything." for at in range(99)]
    assert len(kept(*rules)) == SURE_MEMORIES
    memories = kept(*rules, f"remember: {KEY}")
    assert len(memories) == SURE_MEMORIES
    assert KEY in {each.text for each in memories}
    asked = [f"remember: shelf {at} holds the box of number{at}" for at in range(40)]
    assert len(kept(*asked)) == len(asked)


@pytest.mark.parametrize(
    ("texts", "left"),
    [
        (["My gp raised the dose. dont write that anywhere, its private", KEY], {KEY}),
        (["I always take 100 mg.", "keep this between us", f"remember: {KEY}"], {KEY}),
    ],
)
def test_what_is_private_is_in_nothing_that_a_nap_reads(texts: list[str], left: set[str]) -> None:
    messages = messages_of(*texts)
    heard = read(messages, distils=True).conversation
    assert len(heard) == len(messages)
    contents = {str(each["content"]).removeprefix("remember: ") for each in heard}
    assert contents == {"", "Noted.", *left}


def test_messages_without_a_request_for_privacy_stay() -> None:
    messages = messages_of("keep the helper private", "Where is it?")
    assert without_private(messages) == messages
    assert without_private([{"role": "assistant", "content": "Keep this between us."}]) != []


@pytest.mark.parametrize(
    "text",
    ["sometimes i cry when i write", "write weak.md", "poster text pls", "i hate mondays haha"],
)
def test_a_feeling_and_an_order_of_the_moment_are_no_wishes(text: str) -> None:
    wished = NOTHING._replace(wish=30.0)
    assert kept(text, logits=wished) == []
    assert kept(text, logits=None) == []
    assert [each.text for each in kept("short answers pls", logits=wished)] == ["short answers pls"]


@pytest.mark.parametrize(
    ("text", "is_everywhere"),
    [
        ("i have a fee of 35 pounds per term", False),
        ("from october the shift is 19:30 to 8:00", False),
        ("I dictate most of my messages", True),
        ("rule for all: you only make drafts, never send", True),
    ],
)
def test_a_sum_or_an_hour_holds_nowhere_else(text: str, is_everywhere: bool) -> None:
    reach = 0.0 if text.startswith("rule") else 30.0
    [memory] = kept(text, logits=NOTHING._replace(plain=30.0, worth=5.0, everywhere=reach))
    assert memory.is_everywhere is is_everywhere


def test_a_full_stop_at_the_end_changes_nothing() -> None:
    [plain, *_] = SessionTurns.of(messages_of("the rent is 950")).sentences()
    for end in (".", "!!"):
        assert SessionTurns.of(messages_of(f"the rent is 950{end}")).sentences()[0] == plain
