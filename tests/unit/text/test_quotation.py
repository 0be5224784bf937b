"""What somebody dictates, plays or thinks is not the writer's wish; what only begins so is."""

from __future__ import annotations

import pytest

from memd.text.harms import states_health_risk
from memd.text.preference import speaks_of_the_moment
from memd.text.quotation import is_opinion, is_played, without_dictation


@pytest.mark.parametrize(
    "line",
    [
        "text Naz: please never park there",
        "write to mum: I always love your cake",
        "email the school: Leila must come home at three",
        "translate to french: never touch the red button",
        "reply to him: from now on call me Dr Haddad",
        "can you write an email to Priya: I always pay on time",
    ],
)
def test_what_is_dictated_is_cut(line: str) -> None:
    assert without_dictation(line) == f"{line.partition(':')[0]}: …"


@pytest.mark.parametrize(
    "line",
    [
        "Put that into your notes: we always use pnpm in this repo",
        "write to memory: we deploy only from tags",
        "tell the other agents: never push to main without a review",
        "tell the team: we ship on Fridays",
        "Reply: keep it short, always",
        "Respond to me: always in French",
        "Reply to customers: always in formal German",
        "write to stdout: never to stderr",
        "Email Provider: Postmark, we send from noreply@acme.io",
        "Message Retention: delete after 30 days, never keep longer",
        "Text Encoding: utf-8",
        "write a test: never mock the clock",
        "Tell grandma: Leila is allergic to almonds",
        "text Naz: I'm allergic to shellfish",
    ],
)
def test_what_is_no_dictation_and_what_harms_stays(line: str) -> None:
    assert without_dictation(line) == line


@pytest.mark.parametrize(
    "played",
    [
        "pretend you're my boss and I hate mondays",
        "write a story about a girl who says I always get what I want",
        "tell me a joke",
        "give me a bedtime story about a dragon who never sleeps",
    ],
)
def test_a_part_that_is_played_is_no_wish(played: str) -> None:
    assert is_played(played)


@pytest.mark.parametrize(
    "rule",
    [
        "act like a senior engineer and never give me half-baked code",
        "create a Jira story for every bug you find from now on",
        "write the letters to the school in formal German, always",
        "give me a joke at the end of every answer please",
        "Imagine I'm five and always explain it that way",
    ],
)
def test_a_rule_of_how_to_write_is_not_played(rule: str) -> None:
    assert not is_played(rule)


@pytest.mark.parametrize(
    ("opinion", "rule"),
    [
        ("my sister said I always talk too much", "my therapist said I must not drink coffee"),
        ("he says I always exaggerate", "Priya said never merge without two approvals"),
        ("my friend says you should never eat late", "My dad told me never to lend him money"),
        ("dad reckons you should always pay cash", "she said I can't have gluten"),
        ("mum thinks I never call", "They said we must use TLS 1.3"),
    ],
)
def test_what_somebody_thinks_of_the_user_binds_nobody_and_what_binds_is_none(
    opinion: str, rule: str
) -> None:
    assert is_opinion(opinion)
    assert not is_opinion(rule)


@pytest.mark.parametrize(
    ("moment", "wish"),
    [
        ("I prefer the second draft", "I prefer the second person in docs"),
        ("hmm i prefer the first title", "I prefer the first person in my letters"),
        ("I prefer that one", "I prefer that you ask before deleting files"),
        ("I prefer those", "I prefer those with oat milk"),
        ("I prefer the old version", "I prefer the old API naming with snake_case"),
        ("I prefer not to think about it", "I prefer not to talk about my ex"),
        ("I hate you lol just kidding", "I hate you adding emojis to everything"),
        ("I hate this printer", "I hate to-do lists"),
        ("I always wanted to learn the cello", "I always get sick when I eat prawns"),
    ],
)
def test_what_is_at_hand_is_of_the_moment_and_a_wish_is_not(moment: str, wish: str) -> None:
    assert speaks_of_the_moment(moment)
    assert not speaks_of_the_moment(wish)


@pytest.mark.parametrize(
    ("harm", "other"),
    [
        ("Leila's got a nut allergy, what can I bake?", "is he allergic to nuts?"),
        ("i'm pregnant so can you check if brie is ok?", "if you're allergic, skip it"),
        ("we need a table, Tom can't eat gluten", "recipes for a coeliac"),
        ("mum's on warfarin so I had to check", "what's good for someone who is diabetic?"),
        ("my son has epilepsy, is a strobe a problem?", "the diabetes table has 768 rows"),
        ("Naz is allergic to cats", "our diabetes model was trained twice"),
    ],
)
def test_what_harms_somebody_is_told_beside_a_question(harm: str, other: str) -> None:
    assert states_health_risk(harm)
    assert not states_health_risk(other)
