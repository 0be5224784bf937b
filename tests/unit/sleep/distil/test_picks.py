"""A pick of one of several options is a decision, if options were asked for."""

from __future__ import annotations

import pytest
from bench.sentence_judge import distilled

from memd.sleep.distil.exchanges import AgentText, Exchange
from memd.sleep.distil.language.option_references import find_marks
from memd.sleep.distil.language.scoped_wishes import states_decision
from memd.sleep.distil.picks import find_pick
from memd.text.words import sentences

QUESTION = "hi. any ideas for mum's 70th?"
BULLETS = "- A window nest-box\n- Good binoculars\n- A gin day in Sheffield"
NUMBERS = "1. **Nest-box**: with a camera\n2. **Binoculars**: light ones\n3. A gin day in Sheffield"
HEADINGS = (
    "### Option A: SQLite\n\nOne file.\n\n- no server\n- one writer\n\n### Option B: Postgres\n\n"
    "A server.\n\nWhich one would you like?"
)


def picked(user: str, listed: str = BULLETS, asked: str = QUESTION) -> str | None:
    pick = find_pick(user, Exchange(0, asked, texts=[AgentText(1, listed)]))
    return pick and pick.text


@pytest.mark.parametrize(
    "user",
    [
        "ooh first one. yes get that on the list",
        "The first, please",
        "1st one looks lovely",
        "I like the first one",
        "das erste bitte",
        "la première",
        "nest-box it is!",
        "let's go with the nest-box",
        "the window nest-box please",
    ],
)
def test_an_option_is_picked_by_its_order_or_its_name(user: str) -> None:
    assert picked(user) == "any ideas for mum's 70th? A window nest-box"


def test_a_message_of_nothing_but_a_title_picks_that_option() -> None:
    asked = "give me 3 names for the service"
    listed = "- Kestrel: small and quick\n- Osprey\n- Red kite (lovely)"
    assert picked("osprey!", listed, asked) == f"{asked}: Osprey"
    assert picked("red kite, kestrel is overused", listed, asked) == f"{asked}: Red kite (lovely)"
    assert picked("lovely", listed, asked) is None
    assert picked("quick answer", listed, asked) is None
    assert picked("an osprey eats fish", listed, asked) is None
    assert picked("osprey, that's taken already, too bad", listed, asked) is None


@pytest.mark.parametrize("user", ["2", "option 2 please", "let's go with 2", "2 looks good", "#2"])
def test_an_option_is_picked_by_its_number(user: str) -> None:
    assert picked(user, NUMBERS) == "any ideas for mum's 70th? Binoculars: light ones"
    assert picked(user) is None


def test_the_agent_may_ask_which_option_it_should_be() -> None:
    assert picked("B", HEADINGS, "the store is slow") == "Postgres"
    assert picked("the last one", HEADINGS, "the store is slow") == "Postgres"
    assert picked("sqlite", HEADINGS, "the store is slow") == "SQLite"
    assert picked("neither of them", HEADINGS, "the store is slow") is None
    assert picked("B", HEADINGS.rpartition("\n\n")[0], "the store is slow") is None


WHICH = f"{NUMBERS}\n4. A bench\n\nWhich one would you like?"


@pytest.mark.parametrize(
    "user",
    [
        "a bench, she likes to sit outside",
        "the bench is fine",
        "wir nehmen Bench",
        "dann lieber die bench",
        "4, not 2",
        "skip 3. take the fourth",
        "the bench is fine, the nest-box is not",
        "a bench, no need for a camera",
        "bench. the binoculars we gave her last year and it was bad",
        "4, it's not too heavy",
        "4, 2 is too expensive",
        "4 instead of 2",
        "2 is too expensive, let's do 4",
        "not the first one, the fourth",
        "no binoculars, the bench please",
        "i like 4",
        "4 because she can't kneel",
        "a bench i guess",
        "die vierte, die erste ist zu teuer",
        "bench. binoculars hatten wir schon",
    ],
)
def test_an_option_is_picked_with_a_reason_or_another_one_refused(user: str) -> None:
    assert picked(user, WHICH, "it is mum's 70th") == "A bench"


@pytest.mark.parametrize(
    "user",
    [
        "not 2",
        "skip option 3",
        "nicht die 2",
        "don't take 4",
        "a bench, too heavy",
        "a bench, we did that before and it was bad",
        "a bench, had that, hated it",
        "a gin day, been there twice and it rained",
        "a bench, that won't fit",
        "2, we tried that and she hated it",
        "option 2, too expensive",
        "option 2 is too expensive",
        "the second one, but it was bad last time",
        "not the first one",
        "anything but 2",
        "anything but the bench",
        "no 2",
        "i don't want option 2",
        "let's not do 2",
        "i'd rather not do 2",
        "not a bench again",
        "bench, das war mist",
        "die 2 ist zu teuer",
        "alles außer der zweiten",
    ],
)
def test_an_option_that_is_refused_is_not_picked(user: str) -> None:
    assert picked(user, WHICH, "it is mum's 70th") is None


def test_what_speaks_for_an_option_is_none() -> None:
    reasons = "I lean toward Option B:\n\n1. **Simple**: one line\n2. **Robust**: no cache\n"
    listed = HEADINGS.replace("Which one", f"{reasons}\nWhich one")
    assert picked("option B", listed, "the store is slow") == "Postgres"


def test_several_options_are_picked_together_and_all_of_them_are_no_choice() -> None:
    assert picked("1 and 3", NUMBERS) == (
        "any ideas for mum's 70th? Nest-box: with a camera; A gin day in Sheffield"
    )
    assert picked("1, 2 and 3", NUMBERS) is None


@pytest.mark.parametrize(
    "user",
    [
        "First, run the tests",
        "the second one is broken",
        "is the first one any good?",
        "is the first one any good",
        "2 is too expensive",
        "why 2?",
        "why option 2",
        "how does option 2 work",
        "tell me more about the second one",
        "let's walk through option 1 now",
        "fix 2",
        "the fourth one",
        "gin makes her sick",
        "thanks, that's great",
        "the last time we did that she was bored",
    ],
)
def test_what_picks_nothing_is_no_pick(user: str) -> None:
    assert picked(user) is None
    assert picked(user, NUMBERS) is None


def test_a_finding_or_a_step_is_no_option() -> None:
    issues = "## Issues\n\n1. The cache never expires\n2. No index on mail\n3. No test covers it"
    assert picked("2", issues, "anything wrong with it?") is None
    assert picked("2", NUMBERS, "add the new page") is None
    steps = "A) Start with the failing tests?\nB) Clean up the folder first?"
    assert picked("option A", steps, "can you break the failures down?") is None


def test_a_nap_keeps_a_pick_with_what_was_asked_and_where() -> None:
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": BULLETS},
        {"role": "user", "content": "ooh first one. yes get that on the list"},
        {"role": "assistant", "content": "On the list."},
    ]
    [memory] = [each for each in distilled(messages) if each.kind == "decision"]
    assert memory.text == (
        "User: ooh first one. yes get that on the list\n"
        "In answer to: any ideas for mum's 70th? A window nest-box"
    )
    assert set(memory.places) == {0, 1, 2}
    messages[2]["content"] = "yes"
    messages[1]["content"] = f"{BULLETS}\n\nWhich one do you like?"
    assert [each for each in distilled(messages) if each.kind != "digest"] == []


@pytest.mark.parametrize(
    "question",
    [
        "hi. any ideas for mum's present?",
        "I need a present for mum, she's 70 in May. any ideas?",
        "my mum turns 70 on 12 May and she loves birds. Any ideas for a present?",
    ],
)
def test_a_question_that_a_pick_answers_is_not_kept_beside_it(question: str) -> None:
    messages = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": BULLETS},
        {"role": "user", "content": "ooh first one"},
        {"role": "assistant", "content": "Lovely."},
    ]
    [memory] = distilled(messages)
    assert memory.text.startswith("User: ooh first one\nIn answer to: ")
    assert memory.text.endswith(f"{question.removeprefix('hi. ')} A window nest-box")


def test_what_was_told_with_a_question_is_kept_beside_the_pick() -> None:
    messages = [
        {
            "role": "user",
            "content": "we're on kubernetes. which deployment strategy should we use?",
        },
        {"role": "assistant", "content": "- Rolling\n- Canary"},
        {"role": "user", "content": "the second one"},
    ]
    fact, pick = distilled(messages)
    assert fact.text.startswith("we're on kubernetes.")
    assert pick.text.endswith("which deployment strategy should we use? Canary")
    messages[0]["content"] = "need ideas for mum's 70th birthday. She hates gin."
    messages[2]["content"] = "ooh first one"
    messages.append({"role": "assistant", "content": "Lovely."})
    pick, digest = distilled(messages)
    assert digest.text.endswith("She hates gin.")


@pytest.mark.parametrize(
    ("text", "is_decision"),
    [
        ("NINE HUNDRED for a ferry. so tunnel it is", True),
        ("ok blue it is then for the hallway", True),
        ("Postgres it is.", True),
        ("changed my mind, we do the party at ours", True),
        ("in the end we took the red bike", True),
        ("what time it is in tokyo", False),
        ("wow how late it is", False),
        ("strange it is", False),
        ("here it is", False),
        ("bedtime it is", False),
        ("that's how it is, I changed my mind", False),
    ],
)
def test_what_is_settled_in_a_few_words_is_a_decision(text: str, is_decision: bool) -> None:
    assert any(states_decision(sentence) for sentence in sentences(text)) is is_decision


@pytest.mark.parametrize(
    "user",
    [
        "ok b",
        "ok, b",
        "b then",
        "then b",
        "dann b",
        "b pls",
        "b bitte",
        "b it is",
        "ja, b",
        "lets go with b",
        "b, no deps",
        "b because it is small",
        "hm the docs are thin but ok, b",
        "the other one is unmaintained. then b",
        "das ist zwar neu, aber gut, b",
    ],
)
def test_an_option_is_picked_by_a_small_letter_in_a_few_words(user: str) -> None:
    listed = "a) clap: widely known\nb) argh: small and quick\nc) lexopt"
    assert picked(user, listed, "clap or argh?") == "clap or argh? argh: small and quick"


@pytest.mark.parametrize(
    "user",
    [
        "a bit later",
        "ok a moment",
        "ok, a test fails",
        "then a second one",
        "a, b and c are done",
        "then a, b",
        "fine, a new branch",
        "hm a good point",
        "take a look",
        "so ok, a few more",
        "dann a/b test",
        "i think a then it works",
    ],
)
def test_an_article_picks_no_option(user: str) -> None:
    assert find_marks(user) == []


LOCKS = "A race. Options: 1) Redis lock per SKU, 2) a row lock or 3) a version column. Well."


@pytest.mark.parametrize(
    ("listed", "user", "option"),
    [
        (LOCKS, "1, redis is there anyway", "Redis lock per SKU"),
        (LOCKS, "the second one", "a row lock"),
        (LOCKS, "the last one", "a version column"),
        ("Options: a) polling, b) the notify crate (inotify).", "a, no deps", "polling"),
        ("Either (a) a Pratt parser or (b) winnow.", "then b", "winnow"),
        ("Zwei Möglichkeiten: 1) Hetzner, 2) Scaleway in Paris.", "die 1 bitte", "Hetzner"),
        ("Two options:\n\n1. Postmark\n2. SES\n\nI recommend 1.", "1, no aws", "Postmark"),
    ],
)
def test_options_that_the_agent_offers_may_stand_in_one_line(
    listed: str, user: str, option: str
) -> None:
    problem = "today: overselling. two people bought the last lamp"
    assert picked(user, listed, problem) == f"two people bought the last lamp: {option}"


@pytest.mark.parametrize(
    ("listed", "user"),
    [
        ("Options: 1) commit now, 2) run the tests first", "2"),
        ("It breaks in three ways:\n\n1. no index\n2. a race", "2"),
        ("It fails (a) on start and (b) on exit.", "b"),
        (LOCKS, "why 2?"),
        (LOCKS, "2 is too slow"),
        (LOCKS, "fix 2"),
        (LOCKS, "the row lock is broken"),
    ],
)
def test_nothing_is_picked_without_an_offer(listed: str, user: str) -> None:
    assert picked(user, listed, "two people bought the last lamp") is None
