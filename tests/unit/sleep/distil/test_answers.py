"""What a short message answers."""

from __future__ import annotations

import pytest
from bench.sentence_judge import distilled

from memd.sleep.distil.answers import CHARS_MAX, cut, find_answered
from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.exchanges import AgentText, NapKind
from memd.sleep.distil.language.option_references import find_marks

FINDINGS = """I read all of it.

(1) The loop is fine.
(2) **The lock** is taken twice in `open`.
(14) The name `x` says nothing.

Top suggestions:
1. Add a test for the lock.
2. Rename `x`.

Which of them shall I do?"""


def texts(*answers: str) -> list[AgentText]:
    return [AgentText(place, text) for place, text in enumerate(answers)]


def text_of(user: str, *answers: str) -> str | None:
    answered = find_answered(user, texts(*answers))
    return answered.text if answered else None


def test_a_name_leads_to_the_line_that_it_heads() -> None:
    answer = "- **D4**: the cache is dropped\n- **D5**: it stays"
    assert text_of("No on D4. It is used.", answer) == "D4: the cache is dropped"


def test_findings_are_found_by_number_the_first_list_first() -> None:
    assert text_of("address 2 and 14", FINDINGS) == (
        "(2) The lock is taken twice in `open`.\n(14) The name `x` says nothing."
    )


def test_a_bare_number_chooses_from_the_last_list() -> None:
    assert text_of("2", FINDINGS) == "2. Rename `x`."


@pytest.mark.parametrize(
    ("user", "marks"),
    [
        ("fix 2.5", ["2.5"]),
        ("3.10", ["3.10"]),
        ("go with 2.5.", ["2.5"]),
        ("address 2.5, 3 and 4.1", ["2.5", "3", "4.1"]),
        ("address top 5: 1, 3", ["1", "3"]),
        ("fix 2. then 3.", ["2", "3"]),
        ("it's 10:30", []),
    ],
)
def test_the_number_of_a_section_is_one_mark(user: str, marks: list[str]) -> None:
    assert sorted(find_marks(user)) == marks


def test_a_section_is_found_by_its_number() -> None:
    answer = "## 2 The lock\n\n- 2.4 It is taken twice\n- 2.5 Nobody frees it\n\n5. The end"
    assert text_of("fix 2.5", answer) == "2.5 Nobody frees it"


def test_an_option_is_found_by_its_letter() -> None:
    answer = "(a) the server makes it\n(b) the client sends it"
    assert text_of("It's b", answer) == "(b) the client sends it"
    assert text_of("go with option a", answer) == "(a) the server makes it"


OPTIONS = "There are two:\n\n1. Zustand with a slice\n2. React context\n\nWhich do you prefer?"
VARIANTEN = "- **Variante A**: Zustand\n- **Variante B**: React Context\n\nWelche nehmen wir?"


@pytest.mark.parametrize(
    "pick",
    [
        "1, but don't persist it to localStorage",
        "1 - but don't persist it",
        "#1 but in memory",
        "nr. 1, aber ohne localStorage",
        "die 1, aber ohne localStorage",
        "la 1, pero sin localStorage",
        "1 please",
    ],
)
def test_what_is_picked_stands_in_front_of_what_goes_with_it(pick: str) -> None:
    assert text_of(pick, OPTIONS) == "1. Zustand with a slice"


@pytest.mark.parametrize("pick", ["variante B", "B, aber ohne Provider", "Variante B bitte"])
def test_a_letter_in_front_picks_the_variant_that_it_heads(pick: str) -> None:
    assert text_of(pick, VARIANTEN) == "Variante B: React Context"


def test_a_number_that_counts_picks_nothing() -> None:
    assert text_of("1,000 rows are enough for it, the shop is small", OPTIONS) is None
    assert text_of("2 hours is too long for a build, half of it is fine", OPTIONS) is None


QUESTION = "Should the badge count all items, or distinct products?"


def test_a_short_answer_that_gives_its_reason_answers_the_question() -> None:
    answer = "distinct products. our customers order screws by the thousand"
    answered = find_answered(answer, texts(QUESTION))
    assert answered is not None
    assert (answered.text, answered.is_asked) == (QUESTION, True)
    days = "30 days, the store managers complain otherwise"
    assert text_of(days, "How long is a session valid?") == "How long is a session valid?"


@pytest.mark.parametrize(
    "message",
    [
        "the logo is too big on the phone, half the size",
        "error TS2304, it does not compile on my machine",
        "fix the tests, they are red since this morning",
    ],
)
def test_what_begins_something_else_answers_no_question(message: str) -> None:
    assert text_of(message, "How long is a session valid?") is None


def test_the_end_of_a_word_is_no_letter_of_an_option() -> None:
    answer = "s: the name of the season\nb: the name of the club"
    assert text_of("I didn't ask you to include installation steps", answer) is None
    assert text_of("now we lost the numbers again", answer) is None


def test_a_line_that_leads_to_what_is_not_told_is_not_answered() -> None:
    answer = "Here is what I can add:\n```yaml\nalways: true\n```\nWould you like me to add it?"
    assert text_of("yes", answer) == "Would you like me to add it?"
    named = "Here is what goes into `ci.yml`:\nWould you like me to add it?"
    assert text_of("yes", named) == "Here is what goes into `ci.yml`:\nWould you like me to add it?"


def test_findings_are_found_however_long_ago_they_were_told() -> None:
    later = ["Done."] * 9
    assert text_of("Address 14", FINDINGS, *later) == "(14) The name `x` says nothing."


def test_numbered_answers_bring_what_they_answer() -> None:
    questions = "1. **Place**: at the top or below?\n2. **Colour**: red or blue?"
    answered = text_of("1. below\n2. blue", questions)
    assert answered == "1. Place: at the top or below?\n2. Colour: red or blue?"


def test_an_approval_has_what_was_asked_and_recommended() -> None:
    answer = "I recommend a lock file.\n\nIt costs nothing.\n\nShall I add it?"
    assert text_of("yup", answer) == "I recommend a lock file.\nShall I add it?"


def test_a_bare_question_is_asked_of_what_stands_before_it() -> None:
    answer = "A lock file would cure it.\n\nWant me to add it?"
    assert text_of("yes please", answer) == "A lock file would cure it.\nWant me to add it?"


def test_what_is_not_recommended_is_not_proposed() -> None:
    answer = "1. Use a lock. I'd go with it.\n2. Do nothing: not recommended.\n\nShall I?"
    assert text_of("ok", answer) == "1. Use a lock. I'd go with it.\nShall I?"


def test_an_answer_in_words_has_the_line_that_speaks_of_the_same() -> None:
    answer = "The table is fine.\nStore the session blob in object storage only.\nThe rest is open."
    answered = text_of("object storage, nobody else reads the session", answer)
    assert answered == "Store the session blob in object storage only."


@pytest.mark.parametrize("user", ["", "we use tabs", "x" * 2000, "7"])
def test_what_stands_by_itself_answers_nothing(user: str) -> None:
    assert find_answered(user, texts("I have read the file.")) is None


def test_a_row_of_names_is_not_what_is_answered() -> None:
    rows = "| before | after |\n|---|---|\n| `django_redis.RedisCache` | `core.redis.RedisCache` |"
    texts = [AgentText(0, f"Django has a Redis backend of its own.\n\n{rows}")]
    assert find_answered("careful, redis db 0 is celery, the rediscache is db 1", texts) is None
    rows += "\n| `redis` cache timeout | the rediscache forgets after 5 minutes |"
    answered = find_answered("redis and rediscache forget too soon", [AgentText(0, rows)])
    assert answered is not None
    assert "forgets after 5 minutes" in answered.text


def test_without_an_agent_nothing_is_answered() -> None:
    assert find_answered("yes", []) is None


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("手引きを読む。" * 3, "手引きを読む。手引きを読む。"),
        ("Lies 手引きを読んで全部直してください", "Lies 手引きを読んで全 …"),
        ("https://shop.example/handbook", "https://shop. …"),
        ("Read https://shop.example/a", "Read …"),
        ("핸드북을 읽고 전부 고쳐 주세요 그리고", "핸드북을 읽고 전부 고쳐 …"),
    ],
)
def test_what_is_too_long_is_cut_at_a_word_where_spaces_part_them(text: str, short: str) -> None:
    assert cut(text, 15) == short


def test_what_is_answered_is_cut_after_a_sentence() -> None:
    answer = "I recommend this. " + "And so on and so on. " * 40 + "\nShall I?"
    answered = text_of("yes", answer)
    assert answered is not None
    assert len(answered) <= CHARS_MAX
    assert answered.endswith("Shall I?")


DEPLOYED = "We deploy with **blue-green** since March."


@pytest.mark.parametrize(
    "user", ["No, we moved to canary releases.", "Nope: it is canary, since May"]
)
def test_who_denies_a_short_text_answers_it(user: str) -> None:
    answered = find_answered(user, texts(DEPLOYED))
    assert answered is not None
    assert (answered.text, answered.is_denied) == ("We deploy with blue-green since March.", True)


@pytest.mark.parametrize(
    ("answer", "user"),
    [
        (f"{DEPLOYED} Shall I change it?", "no, leave it"),
        ("Fixed the header.", "no, still broken"),
        ("The work is done.", "no, we're good"),
        (DEPLOYED, "no idea"),
        ("Let me look at the releases.", "No, we moved to canary."),
        ("We deploy so:\n- blue-green", "No, we moved to canary."),
        (f"{DEPLOYED} It is written down in the runbook. " * 5, "No, we moved to canary."),
        ("Blue-green.", "No, canary."),
    ],
)
def test_who_only_declines_or_complains_denies_nothing(answer: str, user: str) -> None:
    answered = find_answered(user, texts(answer))
    assert answered is None or not answered.is_denied


@pytest.mark.parametrize(
    ("asked", "user"),
    [
        ("Cela extrait encore 250 lignes de `map.ts` !\n\nDois-je continuer ?", "oui"),
        ("Le module est prêt.\n\nSouhaites-tu que je récupère le log détaillé ?", "oui"),
        ("Le serveur est prêt.\n\nTu veux que je le déclenche à nouveau ?", "oui stp"),
        ("Voulez-vous que je passe à l'étape suivante (2. Styles du menu) ?", "oui"),
        ("1. Le menu du bas\n2. La carte du port\n\nQue préférez-vous ?", "ok continuons"),
        ("¿Quieres que continuemos con el controlador de la página?", "Si"),
        ("Vuoi che proceda con il controllore della pagina?", "si"),
        ("Soll ich mit dem Modul der Karte weitermachen?", "ja"),
        ("Приступить к реализации первого этапа? Хотите, чтобы я приступил?", "да"),
        ("3. Améliorer la structure :\n- les dossiers\n- les noms", "phase 3.1"),
        ("Which do you prefer?\n1. The lock of the file\n2. The lock of the table", "continue"),
    ],
)
def test_leave_to_go_on_settles_nothing_in_whatever_language(asked: str, user: str) -> None:
    session = [{"role": "assistant", "content": asked}, {"role": "user", "content": user}]
    assert distil(SessionTurns.of(session)) == ()


def test_what_is_recommended_is_no_heading() -> None:
    text = "Recommended fix:\n- Take the lock in `open()`.\n\nWould you like it in `read()` too?"
    answered = find_answered("yes", [AgentText(0, text)])
    assert answered is not None
    assert answered.text.startswith("Take the lock in")


@pytest.mark.parametrize(
    ("asked", "user", "is_fact"),
    [
        ("What's the SSH port on the new one?", "2222 on the new one, same key, user deploy", True),
        ("Where is the staging database?", "on 10.8.0.14:5434, only with the vpn", True),
        ("What is your sender address?", "orders@shop.example, dns is at the registrar", True),
        ("What's the error message?", "502 bad gateway from the proxy since noon", False),
        ("Which of the two do you mean?", "the one with the red border on the left", False),
        ("What's the port of the host?", "can you look it up in the inventory of ours?", False),
    ],
)
def test_a_value_that_was_asked_for_is_how_something_is(
    asked: str, user: str, *, is_fact: bool
) -> None:
    answered = find_answered(user, texts(f"The host is up. {asked}"))
    assert bool(answered and answered.is_fact) == is_fact
    if is_fact:
        messages = [{"role": "user", "content": "set it up"}]
        messages += [{"role": "assistant", "content": asked}, {"role": "user", "content": user}]
        assert any(
            each.text.startswith(f"User: {user}") for each in distil(SessionTurns.of(messages))
        )


RELAYS = "Options: (a) CDC on an outbox table, (b) our own relay that polls the table."


def test_a_question_that_names_nothing_is_not_quoted() -> None:
    reply = "polling relay, the platform team has no time for another thing before May"
    for question in ("Which?", "Which one?", "So which of them?"):
        assert text_of(reply, f"{RELAYS} {question}") == RELAYS
        assert text_of("1541: a limit for each merchant and day", question) is None
    assert text_of("(b), the relay", "Which relay?") == "Which relay?"


def test_who_uses_something_answers_nothing_that_uses_another() -> None:
    before = "The test compares paths as strings, and Windows uses backslashes."
    assert text_of("drop it. nobody uses logsieve on windows arm", before) is None
    assert text_of("the test of the strings can go", before) == before


def test_a_text_is_not_cut_after_an_abbreviation() -> None:
    assert cut("It is shut. It takes a while, compared vs. the other gate", 44) == (
        "It is shut. It takes a while, compared vs. …"
    )


def test_a_laugh_is_no_answer_to_a_question_that_the_agent_answers_itself() -> None:
    joke = AgentText(1, "Why do programmers prefer dark mode? Because light attracts bugs.")
    answered = find_answered("haha. ok", [joke])
    assert answered is None or not answered.is_fact


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("whats the on-call rotation day? I keep forgetting", "I don't know; nothing says it."),
        ("what's the on-call rotation day?", "I couldn't find that anywhere in the repository."),
        ("on-call rotation: which day again", "Not decided. The file has no entry."),
    ],
)
def test_an_answer_that_the_agent_did_not_know_has_the_users_question(
    question: str, unknown: str
) -> None:
    answer = "its thursdays 10:00, handover in #pay-oncall"
    messages = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": unknown},
        {"role": "user", "content": answer},
        {"role": "assistant", "content": "Noted."},
    ]
    assert kept(messages) == [f"User: {answer}\nIn answer to: {question}"]
    messages[1]["content"] = "It is Monday."
    assert kept(messages) != [f"User: {answer}\nIn answer to: {question}"]
    messages[1]["content"] = unknown
    messages[2]["content"] = "never mind, run the tests"
    assert kept(messages) == []


def kept(messages: list[dict[str, str]]) -> list[str]:
    """Return what a nap keeps of *messages*, but the digest."""
    return [memory.text for memory in distilled(messages) if memory.kind is not NapKind.DIGEST]
