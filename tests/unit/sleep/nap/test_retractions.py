"""What one sentence of a later session takes back, and what only sounds so."""

from __future__ import annotations

import pytest

from memd.sleep.nap.retractions import find_denied, find_retracted, may_retract

MAIL = "Send all mail through Mailgun."


@pytest.mark.parametrize(
    "later",
    [
        "We no longer send mails through Mailgun, Brevo does it.",
        "I changed my mind: no Mailgun to send mail.",
        "Scrap Mailgun for all the mail that we send.",
        "User: On second thought, send mail through Brevo, Mailgun is dear.\nOutcome: Done.",
    ],
)
def test_one_sentence_takes_back_what_it_is_about(later: str) -> None:
    earlier = [(1, MAIL), (2, "Keep the shop in German."), (3, f"User: {MAIL}\nOutcome: Set up.")]
    assert find_retracted(later, earlier) == [1, 3]


ASKS = "nice. never commit without asking me first, I like to look at the diff"


@pytest.mark.parametrize(
    ("later", "keys"),
    [
        ("stop asking me for each commit, that's annoying. Commit small steps on your own", [1]),
        ("You don't need to ask before you commit.", [1]),
        ("stop asking me questions", []),
        ("stop the server before you commit", []),
    ],
)
def test_what_is_to_be_stopped_takes_back_the_rule_that_wants_it(
    later: str, keys: list[int]
) -> None:
    others = [(2, "run ruff before you ask me for a commit"), (3, "Ask before you commit to main.")]
    assert may_retract(later)
    assert find_retracted(later, [(1, ASKS), *others]) == keys


@pytest.mark.parametrize(
    ("later", "keys"),
    [
        ("crossbeam then, drop rayon. bound = 2x cores", [1]),
        ("forget rayon, crossbeam", [1]),
        ("rayon fliegt raus, wir nehmen crossbeam", [1]),
        ("if it hangs, drop rayon", []),
        ("drop the rayon feature flag", []),
    ],
)
def test_a_choice_is_taken_back_by_its_name_alone(later: str, keys: list[int]) -> None:
    others = [(2, "rayon needs 4 threads in CI"), (3, "rayon for the parser, crossbeam for I/O")]
    assert may_retract(later) == bool(keys)
    assert find_retracted(later, [(1, "no then. rayon it is"), *others]) == keys


LIST = "User: config/pilots.yml, owned by Karolina\nIn answer to: Where is the pilot list?"


@pytest.mark.parametrize(
    ("later", "keys"),
    [
        ("pilot list is gone by the way, all merchants are live. remove filter", [1]),
        ("ok so polling 500ms is dead, notify is the way", [2]),
        ("The pilot list is gone from the menu.", []),
        ("the list is gone", []),
        ("Is the pilot list gone?", []),
    ],
)
def test_what_is_gone_takes_back_what_names_it(later: str, keys: list[int]) -> None:
    others = [(2, "poll interval 500ms, batch 100"), (3, "the list of prices is on page 4")]
    assert may_retract(later) or not keys
    assert find_retracted(later, [(1, LIST), *others]) == keys


REDIS = "Use Redis for the cache of the prices."


@pytest.mark.parametrize(
    "later",
    [
        "We drop Redis again: use an in-process cache, there is one instance anyway.",
        "Scrap Redis, we do the cache in the process after all.",
        "Redis verwerfen wir wieder, der Cache liegt im Prozess.",
        "Statt Redis jetzt ein Cache im Prozess.",
    ],
)
def test_what_is_given_up_for_another_is_taken_back_by_its_name(later: str) -> None:
    earlier = [(1, REDIS), (2, "Redis is fast."), (3, "The cache of the prices is in a table.")]
    assert find_retracted(later, earlier) == [1]


@pytest.mark.parametrize(
    "later", ["Drop the cache of the prices and create it again.", "Redis for the cache is fine."]
)
def test_what_is_dropped_for_nothing_else_takes_nothing_back(later: str) -> None:
    assert find_retracted(later, [(1, REDIS)]) == []


@pytest.mark.parametrize(
    "later",
    [
        "Send the mail through Mailgun, and the invoices too.",
        "Test the Mailgun mail. We no longer need the fax.",
        "Rename the mail folder instead.",
        "Ask the shop, the bank, the courier and the lawyer who Mailgun is and why the mail of May "
        "was sent twice, and list each customer, address, order, price and date there instead.",
    ],
)
def test_other_sentences_and_long_ones_take_nothing_back(later: str) -> None:
    assert find_retracted(later, [(1, MAIL)]) == []


def test_a_review_with_the_rules_of_another_takes_back_none_of_them() -> None:
    rules = "clear names; idiomatic code; readable rather than clever; why comments instead of how"
    one = f"/code-review pays attention to: {rules}"
    assert find_retracted(f"/pr-review pays attention to: {rules}", [(1, one)]) == []


def denied(statement: str, user: str, memory: str) -> bool:
    text = f"User: {user}\nIn answer to: {statement}"
    return find_denied(text, [(1, memory), (2, "Keep the shop in German.")]) == [1]


@pytest.mark.parametrize(
    ("statement", "user", "memory"),
    [
        (
            "We deploy with blue-green since March.",
            "no, we moved to canary releases last week",
            "no, not rolling: we deploy with blue-green since March",
        ),
        (
            "The staging database listens on port 5432.",
            "Nope \u2013 it's 5433 since the move",
            "The staging database listens on port 5432.",
        ),
        (
            "The event store is in Postgres.",
            "Actually no, it is in SQLite since the move of May",
            "User: Let's use Postgres for the event store.\nOutcome: It is in Postgres now.",
        ),
    ],
)
def test_who_denies_a_statement_takes_back_the_memory_that_says_it(
    statement: str, user: str, memory: str
) -> None:
    assert denied(statement, user, memory)


@pytest.mark.parametrize(
    ("statement", "user", "memory"),
    [
        (
            "We deploy with blue-green. Should I switch to rolling?",
            "No, keep blue-green, it never fails us.",
            "We deploy with blue-green.",
        ),
        (
            "I committed the change to main.",
            "No! Use a branch for each change of the server.",
            "We commit the change to main.",
        ),
        ("We commit to main.", "No, use a branch for the server", "Never commit to main."),
        ("We commit to main.", "No, use a branch for the server", "Commit to main, not to dev."),
        (
            "The retry queue uses exponential backoff.",
            "No, that's great, add jitter to the queue everywhere.",
            "The retry queue uses exponential backoff.",
        ),
        (
            "We don't use Redis for the sessions.",
            "No, we never had Redis, sessions live in Postgres.",
            "We don't use Redis for the sessions.",
        ),
        (
            "The event store is in Postgres.",
            "No, keep the event store in Postgres, it is fast.",
            "The event store is in Postgres.",
        ),
        (
            "The API runs on port 8080.",
            "No, the API moved to port 9090 in May",
            "The API runs on port 8080, nginx stands before it and Caddy does TLS.",
        ),
        ("The API runs on port 8080.", "No, 9090.", "The API runs on port 8080."),
    ],
)
def test_a_no_hides_no_rule_no_more_than_it_denies_and_nothing_that_it_agrees_with(
    statement: str, user: str, memory: str
) -> None:
    assert not denied(statement, user, memory)


@pytest.mark.parametrize(
    "user",
    [
        "No, stop, first show me the failing login test.",
        "No, keep that as it is. Add a rollback script instead.",
        "No, I meant the metrics endpoint, look in the config.",
        "No, that part is correct, but the receipts are elsewhere.",
        "Nope, my mistake, you are right about the bucket.",
        "No, it was about another project entirely.",
        "No, of course it does, everybody knows that well.",
        "No! Don't touch the Dockerfile, revert the change.",
        "no problem, we can look at the receipts tomorrow",
        "Nein, das stimmt schon so, weiter mit dem Login.",
    ],
)
def test_a_no_that_says_nothing_of_how_it_is_takes_nothing_back(user: str) -> None:
    statement = "Invoices are stored in the billing bucket."
    assert not denied(statement, user, statement)


@pytest.mark.parametrize(
    "user",
    [
        "No, they moved to the archive bucket in May.",
        "no they are stored in the archive bucket since May",
        "Sorry, no, they are in the archive bucket since May.",
        "No no, it's the archive bucket since the release.",
        "Nein, seit letzter Woche liegen sie im Archiv.",
    ],
)
def test_a_no_that_says_how_it_is_takes_back_however_it_begins(user: str) -> None:
    statement = "Invoices are stored in the billing bucket."
    assert denied(statement, user, statement)
