"""What a model tells of a sentence lifts and drops it; without one the rules decide alone."""

from __future__ import annotations

import pytest

from memd.domain.encoding import SentenceLogits
from memd.sleep.distil.distil import distil, user_sentences
from memd.sleep.distil.exchanges import NapKind, NapMemory

SURE: SentenceLogits = (30.0, 0.0, 0.0, 0.0, 0.0, 30.0)
NEVER: SentenceLogits = (-30.0, 0.0, 0.0, 0.0, 0.0, 0.0)
UNSEEN = "Endpoints share one schema file here."
RULED = "We need the port to be 8443 for the staging server."
WISH = "Always run the tests before you commit."
WRONG = "No, that is wrong, the cache belongs in the home folder."


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def kept(messages: list[dict[str, str]], each_logits: SentenceLogits | None) -> list[NapMemory]:
    logits = (
        []
        if each_logits is None
        else [[each_logits for _ in each] for each in user_sentences(messages)]
    )
    return [each for each in distil(messages, logits) if each.kind is not NapKind.DIGEST]


def test_what_the_rules_do_not_see_is_lifted_as_what_the_model_says_it_is() -> None:
    assert kept([user(UNSEEN)], None) == []
    assert kept([user(UNSEEN)], NEVER) == []
    [memory] = kept([user(UNSEEN)], SURE)
    assert (memory.text, memory.kind) == (UNSEEN, NapKind.ENVIRONMENT)


def test_what_a_word_let_through_is_dropped() -> None:
    [memory] = kept([user(RULED)], None)
    assert memory.text == RULED
    assert [each.text for each in kept([user(RULED)], SURE)] == [RULED]
    assert kept([user(RULED)], NEVER) == []


def test_a_correction_stays_whatever_its_manner() -> None:
    assert [each.text for each in kept([user(WRONG)], NEVER)] == [WRONG]


def test_of_a_long_line_the_lifted_sentences_are_kept() -> None:
    orders = "Show me the list of the orders of last year, please. " * 5
    messages = [user(f"{orders}{UNSEEN}")]
    logits = [
        [SURE if one == UNSEEN else NEVER for one in each] for each in user_sentences(messages)
    ]
    [memory] = distil(messages, logits)
    assert memory.text == f"… {UNSEEN}"


def test_agreement_and_a_pick_are_worth_what_they_answer() -> None:
    asked = agent("I recommend a lock file beside the database. Shall I add one?")
    assert [each.text for each in kept([asked, user("yes")], NEVER)] == [
        each.text for each in kept([asked, user("yes")], None)
    ]


def test_the_words_of_a_program_are_not_judged() -> None:
    brief = "You are an agent that reviews code. " + "Report every finding with its line. " * 40
    assert user_sentences([user("use tabs"), agent("ok"), user(brief)])[0] == ["use tabs"]
    assert all(len(each) <= 60 for each in user_sentences([user(" ".join(["Use tabs."] * 99))]))


def test_what_is_told_of_other_messages_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        distil([user(UNSEEN), agent("ok"), user(WISH)], [[SURE]])
    with pytest.raises(ValueError, match="zip"):
        distil([user(UNSEEN)], [[SURE, SURE]])
