"""What a model tells of a sentence lifts and drops it; without one the rules decide alone."""

from __future__ import annotations

import pytest

from memd.domain.encoding import SentenceLogits
from memd.sleep.distil.distil import distil, sentences_of
from memd.sleep.distil.exchanges import NapKind, NapMemory

SURE = SentenceLogits(30.0, (0.0, 0.0, 0.0, 0.0, 30.0), 30.0)
NEVER = SentenceLogits(-30.0, (0.0,) * 5, -30.0)
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
        else [[each_logits for _ in each] for each in sentences_of(messages)]
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
    logits = [[SURE if one == UNSEEN else NEVER for one in each] for each in sentences_of(messages)]
    [memory] = distil(messages, logits)
    assert memory.text == f"… {UNSEEN}"


def test_agreement_and_a_pick_are_worth_what_they_answer() -> None:
    asked = agent("I recommend a lock file beside the database. Shall I add one?")
    assert [each.text for each in kept([asked, user("yes")], NEVER)] == [
        each.text for each in kept([asked, user("yes")], None)
    ]


def test_the_words_of_a_program_are_not_judged() -> None:
    brief = "You are an agent that reviews code. " + "Report every finding with its line. " * 40
    assert sentences_of([user("use tabs"), agent("ok"), user(brief)])[0] == ["use tabs"]
    assert all(len(each) <= 60 for each in sentences_of([user(" ".join(["Use tabs."] * 99))]))


def test_what_is_told_of_other_messages_is_refused() -> None:
    with pytest.raises(ValueError, match="other messages"):
        distil([user(UNSEEN), agent("ok"), user(WISH)], [[SURE]])
    with pytest.raises(ValueError, match="zip"):
        distil([user(UNSEEN)], [[SURE, SURE]])


CAUSE = "The importer failed because `rows.csv` begins with a byte order mark."
CURE = "Set `utf-8-sig` in `load_rows()`, so the first column is found in every file now."


def outcome_of(
    judged: dict[str, SentenceLogits], *texts: str, asked: str = "why does the import stop?"
) -> str:
    """Return the outcome of what was *asked*, which the agent answers with *texts*."""
    messages = [user(asked), *map(agent, texts), user("thanks")]
    logits = [[judged.get(each, NEVER) for each in group] for group in sentences_of(messages)]
    memories = distil(messages, logits)
    return "\n".join(each.text for each in memories if each.kind is NapKind.OUTCOME)


def test_of_an_answer_is_told_what_the_model_finds_worth_it() -> None:
    cause, cure = CAUSE.replace("`", ""), CURE.replace("`", "")
    assert outcome_of({cause: SURE, cure: SURE}, f"{CAUSE} {CURE}") == f"{cause} {cure}"
    assert outcome_of({cure: SURE}, f"{CAUSE} {CURE}") == cure
    assert outcome_of({}, f"{CAUSE} {CURE}") == ""


def test_a_later_answer_hides_no_earlier_one() -> None:
    cause, cure = CAUSE.replace("`", ""), CURE.replace("`", "")
    asked = "now read the whole folder"  # of trouble the cause is told apart
    assert outcome_of({cause: SURE}, CAUSE, CURE, asked=asked) == cause
    assert outcome_of({cause: SURE, cure: SURE}, CAUSE, CURE, asked=asked) == f"{cause} {cure}"


def test_what_is_hopeless_by_rule_is_not_judged() -> None:
    hopeless = "I hope that this helps you a bit."
    asked, *answer = sentences_of([user("why does it stop?"), agent(f"{hopeless} {CAUSE}")])
    assert asked == ["why does it stop?"]
    assert answer == [[CAUSE.replace("`", "")]]


def test_of_what_was_said_long_before_the_end_only_reasons_are_judged() -> None:
    messages = [user("why does it stop?"), agent(CURE), agent(CAUSE), *[agent("Let me see.")] * 3]
    _, *answers = sentences_of(messages)
    assert answers == [[], [CAUSE.replace("`", "")], [], [], []]
