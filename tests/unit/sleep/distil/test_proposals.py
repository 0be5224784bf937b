"""What the user chooses by its name from what the agent proposes in prose."""

from __future__ import annotations

import pytest
from support.distilled_memories import without_digest

from memd.sleep.distil.answers import AnsweredLines
from memd.sleep.distil.exchanges import AgentText, Exchange, NapKind
from memd.sleep.distil.proposals import find_chosen
from memd.sleep.distil.sentence_worth import SentenceWorth
from memd.sleep.distil.user.speech_acts import Act


def _chosen(user: str, proposed: str, asked: str = "hello", *later: str) -> AnsweredLines | None:
    """Return what *user* chooses after the agent *proposed* something, and wrote *later* texts."""
    texts = [AgentText(at, text) for at, text in enumerate((proposed, *later), 1)]
    earlier = [
        Exchange(0, asked, texts=texts[:1]),
        *(Exchange(2, "try it", texts=[text]) for text in texts[1:]),
    ]
    return find_chosen(user, earlier, {})


@pytest.mark.parametrize(
    ("proposed", "user"),
    [
        (
            "Either tenacity in the worker, or a table of deliveries. I'd go for the table.",
            "ok let's do the table, call it webhook_outbox, max 8 attempts",
        ),
        ("We could use Celery, or a plain cron job. I'd take the cron job.", "fine, cron then"),
        ("I would store prices as cents, or use decimal.", "cents please, as bigint"),
        ("The retention could be 30 or 90 days.", "90 days is better, legal asked for it"),
        ("I suggest a weekly rota, or everybody when they can.", "weekly rota sounds good"),
        ("You could write it in Go or keep it in Python.", "keep it in Python, nobody knows Go"),
        ("Take a host in Austria, for example Exoscale or Anexia.", "exoscale, smallest plan"),
        ("Ein Host in Wien, zum Beispiel Exoscale oder Anexia.", "Exoscale, kleinster Tarif"),
        ("For the cake: chocolate or carrot?", "carrot, and without nuts"),
        ("Es ginge mit Celery oder mit einem Cronjob.", "ok, dann der Cronjob, alle zehn Minuten"),
        ("Ich würde Hetzner nehmen, sonst AWS.", "Hetzner bitte, wegen Datenschutz"),
    ],
)
def test_a_short_message_chooses_what_it_names(proposed: str, user: str) -> None:
    chosen = _chosen(user, f"I looked at both.\n\n{proposed}")
    assert chosen is not None
    assert proposed.startswith(chosen.text)
    assert chosen.place == 1


@pytest.mark.parametrize(
    ("proposed", "user"),
    [
        ("I could look at the log or at the config. I'd start with the log.", "the log"),
        ("Options: rerun, or clear the cache.", "no cache clearing, just rerun"),
        ("We can commit now or after the tests.", "let's commit"),
        ("I would put it on line 3 or drop the line.", "line 3"),
        ("Do you want a short or a long answer?", "short, I'm on the train"),
        ("Would you like me to merge it or to wait?", "merge it"),
        ("Should I use red or blue?", "red"),
        ("I would store prices as cents, or use decimal.", "what is wrong with cents?"),
        ("I would store prices as cents, or use decimal.", "cents first, then the tests"),
        ("I would store prices as cents, or use decimal.", "no idea, what would you do"),
        ("I would store prices as cents, or use decimal.", "the cents column still shows an error"),
        ("The prices are stored as cents.", "cents please"),
        ("A host in Austria, for example Exoscale or Anexia.", "netcup, smallest plan"),
        ("Is it cents?\nI recommend the cents:", "cents are good"),
        ("Ich könnte mit dem Parser oder dem Lexer anfangen.", "erst den Lexer bitte"),
    ],
)
def test_a_step_a_question_or_a_report_chooses_nothing(proposed: str, user: str) -> None:
    assert _chosen(user, proposed) is None


FLOOR = "1.75 would be a reasonable floor, for clap 4.5 requires 1.74."
LOCKS = "A race. Options: 1) Redis lock per SKU, 2) select_for_update on the stock row."


@pytest.mark.parametrize(
    ("proposed", "user"),
    [
        (FLOOR, "1.75 then. put it in Cargo.toml and ci"),
        (FLOOR, "ok then 1.75"),
        (FLOOR, "1.75 it is, and tell ci"),
        (LOCKS, "hm. then redis lock is the wrong tool. go with select_for_update"),
        ("Options: rayon over chunks, or sonic-rs as the parser.", "no then. rayon it is"),
        ("Postgres wäre dafür besser geeignet.", "dann Postgres"),
        ("Hetzner wäre günstiger, sonst IONOS.", "na gut, dann halt Hetzner"),
        ("Es ginge mit Celery oder mit Huey.", "dann nehmen wir Huey, Celery ist zu groß"),
    ],
)
def test_a_name_that_is_taken_is_told_with_what_the_agent_weighed(proposed: str, user: str) -> None:
    settled = _chosen(user, f"I looked at both. {proposed}", "hello", "That failed.")
    assert settled is not None
    assert (settled.text in proposed, settled.place) == (True, 1)
    asked = _chosen(user, f"I looked at both. {proposed}", "what do we take?", "That failed.")
    assert asked is not None
    assert asked.text == f"what do we take? {settled.text}"


@pytest.mark.parametrize(
    ("proposed", "user"),
    [
        ("The tests or the profile would show it.", "tests then"),
        ("It could go out today or tomorrow.", "tomorrow then"),
        ("I could fix the parser or the lexer.", "then the lexer first"),
        ("The parser or the lexer would be next.", "ok then"),
        ("A deploy to staging would be safe.", "then deploy to staging"),
        ("The log is from Postgres.", "dann Postgres"),
        ("Postgres would be better.", "then MySQL"),
        ("Postgres would be better.", "what then"),
        ("Postgres would be better.", "it crashed then"),
        ("Postgres would be better.", "then postgres crashed"),
        ("Postgres would be better.", "postgres then?"),
        ("The parser or the worker would be next.", "ok then the parser"),
        ("Die Doku oder der Code wäre dran.", "dann die Doku"),
    ],
)
def test_what_happened_then_or_is_done_then_is_not_taken(proposed: str, user: str) -> None:
    assert _chosen(user, proposed, "what now?") is None


@pytest.mark.parametrize(
    ("user", "worth", "plain", "life", "is_chosen"),
    [
        ("beech, money is short", -2.6, 5.4, -2.0, True),
        ("squash everything, the history is a mess", -2.5, -3.5, -2.0, True),
        ("other cable works", -5.0, -1.5, -2.0, False),
        ("kill the job", -3.4, -7.0, -2.0, False),
        # Certainly kept by its own words, and longer than a bare answer.
        ("beech, for it must match the table from the wedding", -2.6, 5.4, -2.0, False),
    ],
)
def test_by_a_model_a_choice_states_something(
    user: str, worth: float, plain: float, life: float, *, is_chosen: bool
) -> None:
    proposal = "Beech or oak; the other cable; the job; or squash everything."
    last = AgentText(1, f"I recommend: {proposal}")
    worths = {user: SentenceWorth(worth, Act.DECISION, plain, -5.0, -2.0, life)}
    assert (
        find_chosen(user, [Exchange(0, "hello", texts=[last])], worths) is not None
    ) is is_chosen


def _talk(*turns: tuple[str, str]) -> list[tuple[NapKind, str]]:
    messages = [
        {"role": role, "content": text}
        for turn in turns
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    return [(each.kind, each.text) for each in without_digest(messages)]


def test_a_choice_is_a_decision_with_what_was_proposed_and_what_was_asked() -> None:
    options = "Options: none, or a self-hosted Plausible."
    made = _talk(
        ("what about analytics?", options),
        ("no analytics for now", "OK, none."),
    )
    assert made == [
        (
            NapKind.DECISION,
            f"User: no analytics for now\nIn answer to: what about analytics? {options}",
        )
    ]


def test_a_later_number_corrects_the_choice() -> None:
    choice = "ok let's do the table, call it webhook_outbox, max 8 attempts"
    later = "make it 5 attempts instead of 8, Petra says customers complain"
    made = _talk(
        ("how do we retry?", "Either tenacity, or a table of deliveries. I'd take the table."),
        (choice, "Decided."),
        (later, "Changed."),
    )
    assert made == [(NapKind.CORRECTION, f"{later}\nCorrects: {choice}")]


@pytest.mark.parametrize(
    ("asked", "chosen", "refused"),
    [
        (
            "Sollen wir drinnen oder draussen feiern?",
            "Drinnen, im Indoorspielplatz Rabatzz.",
            "doch lieber nicht Rabatzz, zu laut. wir mieten den Saal in der Bismarckstrasse",
        ),
        (
            "Indoors or outdoors?",
            "Indoors, at the Rabatzz indoor playground.",
            "rather not Rabatzz, too loud. we rent the parish hall instead",
        ),
    ],
)
def test_a_choice_that_is_refused_later_is_gone(asked: str, chosen: str, refused: str) -> None:
    others = ("Emil ist allergisch gegen Milch", "Notiert.")
    made = _talk(("hello", asked), (chosen, "OK."), others, (refused, "OK."))
    texts = [text for _, text in made]
    assert refused in texts
    assert others[0] in texts
    assert not any(chosen in text for text in texts)


def test_what_harms_somebody_stays_if_their_name_is_refused() -> None:
    answer = "yes, without nuts, Ingrid is allergic"
    made = _talk(
        ("hello", "An octopus cake?"), (answer, "OK."), ("rather not Ingrid, she is ill", "OK.")
    )
    assert any(answer in text for _, text in made)


NIGHTLY = "we send the reports each night, how should we do it?"
WAYS = "Three ways:\n\na) a cron job\nb) a Celery queue\nc) a systemd timer\n\nWhich one?"


@pytest.mark.parametrize("user", ["a then", "ok a", "then let's go with the cron job"])
def test_a_question_about_an_option_leaves_the_choice_open(user: str) -> None:
    asked = ("how much work is b?", "About two days: a broker and its monitoring.")
    made = _talk((NIGHTLY, WAYS), asked, (user, "Done."))
    assert made == [(NapKind.DECISION, f"User: {user}\nIn answer to: {NIGHTLY} a cron job")]
    worked = ("add the retries first", "I added three retries.")
    assert NIGHTLY not in str(_talk((NIGHTLY, WAYS), worked, (user, "Done.")))


STAGING = "set up the staging environment please"
LIST = ["Which database should I use?", "Which region is it in?", "Should backups be encrypted?"]


@pytest.mark.parametrize(
    "user",
    [
        "1. Postgres 2. eu-west 3. yes",
        "1. Postgres\n2. eu-west\n3. yes",
        "1) postgres, 2) eu-west-1 and 3) yes please",
        "Postgres, eu-west, yes",
    ],
)
def test_answers_to_a_list_of_questions_are_kept_with_each_question(user: str) -> None:
    listed = "\n".join(f"{at}. {question}" for at, question in enumerate(LIST, 1))
    [(kind, text)] = _talk((STAGING, f"I need to know:\n\n{listed}"), (user, "Done."))
    assert kind is NapKind.DECISION
    assert text == f"User: {user}\nIn answer to: {listed}"


def test_only_the_questions_that_are_answered_are_told() -> None:
    listed = "\n".join(f"{at}. {question}" for at, question in enumerate(LIST, 1))
    chosen = _chosen("1: postgres, 3: yes", listed)
    assert chosen is not None
    assert chosen.text == f"1. {LIST[0]}\n3. {LIST[2]}"
    assert _chosen("postgres, or whatever you think is best, sorry", listed) is None
    steps = "1. Shall I run the tests?\n2. Shall I commit it?"
    assert _chosen("1. yes 2. no", steps) is None


def test_the_reason_for_what_is_given_up_is_kept() -> None:
    cause = "Redis loses jobs on restart, because `appendonly` is off and there is no volume."
    given_up = "scrap redis again, we go with the postgres table"
    made = _talk(("why do we lose jobs?", cause), (given_up, "OK."))
    reason = cause.replace("`", "")
    assert made == [(NapKind.DECISION, f"User: {given_up}\nIn answer to: {reason}")]
    added = "Redis caches the exports now; the settings for Redis are in `cache.py`."
    assert _talk(("make it faster", added), (given_up, "OK.")) == [(NapKind.DECISION, given_up)]
