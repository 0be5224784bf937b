"""What is kept of a message that also asks a question."""

from __future__ import annotations

import pytest

from memd.sleep.distil.language.words import Words
from memd.sleep.distil.passages import find_passages, trim
from memd.sleep.distil.sentence_worth import LIFTED, PLAIN_KEPT, WISH_KEPT, SentenceWorth
from memd.sleep.distil.user.speech_acts import STANDING, Act, Judgement
from memd.text.words import sentences

NOTHING = SentenceWorth(-5.0, Act.DECISION, -5.0, -5.0, -5.0, -5.0)
WEAK = NOTHING._replace(plain=PLAIN_KEPT)
CERTAIN = NOTHING._replace(plain=5.0)
WISH = NOTHING._replace(worth=0.0, act=Act.PREFERENCE, wish=WISH_KEPT, plain=5.0)


def kept(text: str, *worths: SentenceWorth) -> list[tuple[str, Act]]:
    by_sentence = dict(zip(sentences(text), worths, strict=True))
    passages = find_passages(Words((text,)), by_sentence, stopped=False, has_outcome=False)
    return [(passage.text, passage.judged.act) for passage in passages]


@pytest.mark.parametrize(
    ("text", "place", "short"),
    [
        ("mails dont reach localhost. how do we test those", 0, "mails dont reach localhost. …"),
        ("how do we test those? mails dont reach localhost", 1, "… mails dont reach localhost"),
        ("letters in german and dutch. how do we pick one", 0, "letters in german and dutch. …"),
    ],
)
def test_the_background_of_a_question_is_a_fact_and_no_rule(
    text: str, place: int, short: str
) -> None:
    for act in (Act.DECISION, Act.CONSTRAINT, Act.PREFERENCE):
        worths = [NOTHING, NOTHING]
        worths[place] = WISH if act is Act.PREFERENCE else CERTAIN._replace(act=act, wish=0.0)
        assert kept(text, *worths) == [(short, Act.ENVIRONMENT)]


def test_the_background_of_a_question_must_be_plainer_than_another_fact() -> None:
    assert kept("the old depot closes at six", WEAK)
    assert not kept("what is our minimum? fedora has 1.63 but thats too old imo", NOTHING, WEAK)
    assert not kept("licence? MIT or apache", WEAK, NOTHING)


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("never used zustand. is it maintained", False),
        ("not sure about the second one. is it faster?", False),
        ("haven't tried the sleeper train. is it any good?", False),
        ("tried three printers, the second is cheapest. do we buy it?", True),
    ],
)
def test_what_the_user_has_not_tried_is_no_fact(text: str, is_kept: bool) -> None:
    for worth in (CERTAIN, NOTHING._replace(worth=LIFTED)):
        assert bool(kept(text, worth, NOTHING)) is is_kept


def test_a_rule_beside_a_question_stays_one() -> None:
    for text in ("never push to main. is that clear", "from now on use tabs. is there a setting?"):
        [(_, act)] = kept(text, WISH, NOTHING)
        assert act is Act.PREFERENCE
    [(_, act)] = kept("we use pnpm. why did you run npm", WISH, NOTHING)
    assert act is Act.PREFERENCE
    [(_, act)] = kept("the invoice number must be unique. how do others do that?", WEAK, NOTHING)
    assert act is Act.CONSTRAINT


def test_the_habit_of_a_shop_beside_a_question_is_a_fact() -> None:
    worth = CERTAIN._replace(act=Act.ENVIRONMENT)
    [(_, act)] = kept("the bakery closes at noon on Saturdays. can i order?", worth, NOTHING)
    assert act is Act.ENVIRONMENT


def test_a_question_that_the_user_answers_is_no_question() -> None:
    text = "table name? lets call it `events`. columns ts, level, service, raw"
    assert kept(text, NOTHING, NOTHING, WEAK) == [(text, Act.DECISION)]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("yes stage. not staging. the user is shop", "yes stage. not staging. …"),
        ("den Van nehmen. nicht das Auto.", "den Van nehmen. nicht das Auto."),
        (
            "yes stage. not on Fridays before the call. thanks",
            "… not on Fridays before the call. …",
        ),
    ],
)
def test_what_only_sets_right_is_kept_with_what_it_sets_right(text: str, short: str) -> None:
    def judge_part(part: str) -> Judgement:
        denies = part.startswith(("not", "nicht"))
        return Judgement(Act.ENVIRONMENT, STANDING if denies else 0.0)

    assert trim(text, judge_part, whole_chars=0) == short
