"""Which questions ask for nothing but where the work stopped, and what answers them."""

from __future__ import annotations

import pytest
from support.ranked_candidates import an_entry

from memd.recall.ranking.rankings import put_digests_first
from memd.recall.times import asks_for_last_session

ASKS = """
    Where did we leave off? | where were we | so, where are we at? | What is still to do?
    what's left | what's left to do here? | What is still open? | what remains to be done?
    what did we do last time? | What have we done in the last session? | what were we working on
    continue where we left off | let's pick up where we stopped | Hi, remind me where we were
    what is pending in this repo? | What's next? | Wo waren wir stehengeblieben?
    Was ist noch offen? | was ist noch zu tun | où en étions-nous ?
    qu'est-ce qu'il reste à faire ? | ¿Dónde nos quedamos? | ¿qué queda por hacer?
    dove eravamo rimasti? | onde paramos? | waar waren we gebleven?
"""
ASKS_FOR_OTHER_THINGS = """
    What is left of the budget? | where are the logs? | Where was I yesterday? | Where are you?
    where were you yesterday? | what is open? | What is open source? | what was the port?
    where did we deploy it? | what is missing in the config? | what did we decide about caching?
    what did we do about the leak? | continue | Where is my dentist? | what did I do last summer?
    Where were we on holiday? | Wo sind wir? | Wo ist der Schlüssel? | what was pending?
"""


def each(texts: str) -> list[str]:
    return [text.strip() for line in texts.strip().splitlines() for text in line.split(" | ")]


@pytest.mark.parametrize("text", each(ASKS))
def test_a_question_about_nothing_else_asks_for_the_last_session(text: str) -> None:
    assert asks_for_last_session(text)


@pytest.mark.parametrize("text", each(ASKS_FOR_OTHER_THINGS))
def test_a_question_about_something_does_not(text: str) -> None:
    assert not asks_for_last_session(text)


def test_the_digests_come_first_and_what_else_answers_stays() -> None:
    sure, digest, other = (an_entry(score, f"text {score}") for score in (0.97, 0.01, 0.4))
    key = digest.measured.candidate.memory_key

    first, second, third = put_digests_first([sure, other, digest], (key,))

    assert (first.measured, first.relevance) == (digest.measured, 0.9)
    assert first.passes
    assert (second.measured, second.relevance) == (sure.measured, 0.9)
    assert third == other
