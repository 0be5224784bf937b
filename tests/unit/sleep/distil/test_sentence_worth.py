"""What a model tells of a sentence lifts and drops it; without one the rules decide alone."""

from __future__ import annotations

import pytest

from memd.domain.encoding import SentenceLogits
from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import OUTCOME_PART
from memd.embedding.sentence_head import sentence_head
from memd.sleep.distil.agent.outcomes import SHORT_ANSWER
from memd.sleep.distil.agent.reports import PAGE_SLOT
from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.environment.commands import COMMANDS_SLOT
from memd.sleep.distil.exchanges import NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language.words import letters, words
from memd.sleep.distil.memory_worth import (
    EVERYWHERE,
    JudgedSentences,
    agent_memory_signs,
    holds_everywhere,
    is_worth_keeping,
    user_memory_signs,
)
from memd.sleep.distil.passages import find_passages
from memd.sleep.distil.sentence_worth import (
    LIFE_KEPT,
    PLAIN_KEPT,
    WISH_KEPT,
    SentenceWorth,
    states_cause,
    weigh,
)
from memd.sleep.distil.user.speech_acts import STANDING, Act, Judgement, judge_sentence

NEVER = SentenceLogits(-30.0, (0.0,) * 5, -30.0, -5.0, *[-30.0] * 5)
SURE = NEVER._replace(worth=30.0, kinds=(0.0, 0.0, 0.0, 0.0, 30.0), statement=30.0, in_memory=5.0)
PLAIN = NEVER._replace(plain=30.0)
LIFE = NEVER._replace(life=LIFE_KEPT)
WISHED = NEVER._replace(wish=30.0, worth=5.0)
TOLD = NEVER._replace(answer=30.0)
UNSEEN = "Endpoints share one schema file here."
RULED = (
    "We need the port to be 8443 for the staging server, as the proxy before it forwards no other."
)
BAR = EVERYWHERE[NapKind.PREFERENCE]
WISH = "Always run the tests before you commit."
MOVED = "The cache moves to the home folder."
WRONG = "No, that is wrong, the cache belongs in the home folder."


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def worth_of(worth: float, *, wish: float = 0.0, everywhere: float = 0.0) -> SentenceWorth:
    return SentenceWorth(worth, Act.ENVIRONMENT, 0.0, wish, everywhere, -30.0)


def kept(messages: list[dict[str, str]], each_logits: SentenceLogits | None) -> list[NapMemory]:
    session = SessionTurns.of(messages)
    judged = [] if each_logits is None else session.sentences()
    logits = [[each_logits] * len(each) for each in judged if each_logits]
    return [each for each in distil(session, logits) if each.kind is not NapKind.DIGEST]


def test_what_the_rules_do_not_see_is_lifted_as_what_the_model_says_it_is() -> None:
    assert kept([user(UNSEEN)], None) == []
    assert kept([user(UNSEEN)], NEVER) == []
    [memory] = kept([user(UNSEEN)], SURE)
    assert (memory.text, memory.kind) == (UNSEEN, NapKind.ENVIRONMENT)


def test_what_is_worth_nothing_is_no_wish() -> None:
    fact = [user("give me a fun fact")]
    assert kept(fact, WISHED) != []
    assert kept(fact, WISHED._replace(worth=-30.0)) == []


def test_what_harms_somebody_is_kept_beside_a_question() -> None:
    [memory] = kept([user("Leila's got a nut allergy, what can I bake for her?")], NEVER)
    assert memory.kind is NapKind.ENVIRONMENT
    assert kept([user("what can I bake for somebody with a nut allergy?")], NEVER) == []


@pytest.mark.parametrize(
    "text",
    [
        "my sister says you should never eat after eight",
        "text Naz: please never park in front of the garage again",
        "pretend you're my boss and always answer in capitals",
        "I prefer the second draft",
        "I always wanted to learn the cello",
    ],
)
def test_what_others_say_and_what_is_at_hand_is_no_wish(text: str) -> None:
    assert kept([user(text)], WISHED) == []


def test_what_somebody_else_says_is_a_fact_where_it_plainly_tells_one() -> None:
    [memory] = kept([user("my sister says you can rent the cottage")], PLAIN)
    assert memory.kind is NapKind.ENVIRONMENT


def test_what_the_model_takes_for_a_wish_is_one_whatever_the_rules_say() -> None:
    for text in ("No sudo.", UNSEEN, RULED, "can you look first in the wiki, then ask me?"):
        [memory] = kept([user(text)], WISHED)
        assert (memory.text, memory.kind) == (text, NapKind.PREFERENCE)


def test_what_a_word_let_through_is_dropped() -> None:
    [memory] = kept([user(RULED)], None)
    assert memory.text == RULED
    assert [each.text for each in kept([user(RULED)], SURE)] == [RULED]
    assert kept([user(RULED)], NEVER) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("we dropped graphql in March", NapKind.DECISION),
        ("the roof is done, so we drop the samples", NapKind.DECISION),
        ("Errors are logged in English.", NapKind.ENVIRONMENT),
        ("Errors are logged in English, not German.", NapKind.ENVIRONMENT),
        ("mum's birthday 12 november, she'd like the blue cups", NapKind.ENVIRONMENT),
        ("I spent 312 euro at the copy shop", NapKind.ENVIRONMENT),
        ("VAT third quarter: 6.430, paid on the 16th", NapKind.ENVIRONMENT),
    ],
)
def test_what_is_plainly_stated_is_a_fact_unless_somebody_decides(text: str, kind: NapKind) -> None:
    assert kept([user(text)], NEVER) == []
    [memory] = kept([user(text)], PLAIN._replace(kinds=(0.0, 0.0, 9.0, 0.0, 0.0)))
    assert (memory.text, memory.kind) == (text, kind)
    [memory] = kept([user(text)], PLAIN._replace(kinds=(0.0, 0.0, 0.0, 9.0, 0.0)))
    assert (memory.text, memory.kind) == (text, NapKind.ENVIRONMENT)


def test_a_plain_constraint_that_resembles_no_wish_is_a_fact() -> None:
    limit = PLAIN._replace(kinds=(0.0, 9.0, 0.0, 0.0, 0.0))
    for logits, kind in (
        (limit, NapKind.ENVIRONMENT),
        (limit._replace(worth=30.0), NapKind.CONSTRAINT),
        (limit._replace(wish=3.0), NapKind.CONSTRAINT),
    ):
        [memory] = kept([user("we send like 2k mails a month")], logits)
        assert memory.kind is kind


def test_what_changed_in_a_life_is_a_fact_unless_a_rule_knows_more() -> None:
    text = "we broke up"
    assert kept([user(text)], NEVER._replace(life=LIFE_KEPT - 0.1)) == []
    [memory] = kept([user(text)], LIFE)
    assert (memory.text, memory.kind) == (text, NapKind.ENVIRONMENT)
    assert kept([user("should i quit my job?")], LIFE) == []
    [by_rule] = kept([user(RULED)], None)
    assert [each.kind for each in kept([user(RULED)], LIFE)] == [by_rule.kind]


def test_what_a_rule_knows_stays_that_and_is_dropped_no_more() -> None:
    [by_rule] = kept([user(RULED)], None)
    assert [each.kind for each in kept([user(RULED)], PLAIN)] == [by_rule.kind]


@pytest.mark.parametrize(
    "text",
    ["Are errors logged in English?", "sounds good, do it", "ok great", "now it is"],
)
def test_what_is_asked_or_agreed_to_states_nothing(text: str) -> None:
    assert kept([user(text)], PLAIN) == []


@pytest.mark.parametrize(
    "text",
    [
        "can someone tell me why we always sleep(2) here",
        "I always mix those up",
        "Can I always assume the array is sorted here",
        "whats a cname, and why should i never put one on the root",
    ],
)
def test_always_in_what_somebody_does_not_know_is_no_wish_in_so_many_words(text: str) -> None:
    assert kept([user(text)], NEVER) == []


def test_a_correction_stays_one_and_a_wish_in_so_many_words_as_it_is() -> None:
    sure = SURE._replace(plain=PLAIN.plain)
    assert [each.kind for each in kept([user(WRONG)], sure)] == [NapKind.CORRECTION]
    assert [each.kind for each in kept([user(WISH)], PLAIN)] == [NapKind.PREFERENCE]


def test_a_plain_correction_is_kept() -> None:
    assert [each.text for each in kept([user(WRONG)], SURE)] == [WRONG]


@pytest.mark.parametrize(
    "text",
    [
        "no logging in that loop please",
        "from now on in this test the clock is fake",
        "I'd rather lose this one bid",
        "we decided on 12 columns for these tables",
    ],
)
def test_what_points_at_a_thing_at_hand_needs_a_number_for_it(text: str) -> None:
    assert kept([user(text)], None) != []
    assert kept([user(text)], NEVER) == []
    for number in (WISHED, PLAIN, LIFE):
        assert kept([user(text)], number) != []


@pytest.mark.parametrize(
    "text",
    [
        "I hate emojis in commits.",
        "Keep it short.",
        WISH,
        "We decided to use Svelte.",
        "last week the team agreed on trunk-based development",
        "Wir haben uns für Kafka entschieden.",
    ],
)
def test_what_is_said_in_so_many_words_is_kept_whatever_the_model_tells(text: str) -> None:
    assert [each.text for each in kept([user(text)], NEVER)] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "I decided to try it tomorrow",
        "if we decided to drop it, the shop breaks",
        "What have we decided about the cache?",
        "we agreed yesterday, right?",
    ],
)
def test_a_step_a_case_and_a_question_state_no_decision(text: str) -> None:
    assert kept([user(text)], NEVER) == []


def test_of_a_long_line_the_lifted_sentences_are_kept() -> None:
    orders = "Show me the list of the orders of last year, please. " * 5
    session = SessionTurns.of([user(f"{orders}{UNSEEN}")])
    logits = [
        [SURE if UNSEEN.startswith(one) else NEVER for one in each] for each in session.sentences()
    ]
    [memory] = distil(session, logits)
    assert memory.text == f"… {UNSEEN}"


def test_agreement_is_worth_what_came_of_it() -> None:
    asked = agent("I recommend a lock file beside the database. Shall I add one?")
    [memory] = kept([asked, user("yes")], None)
    assert memory.text.startswith("User: yes\nIn answer to: I recommend a lock file")
    assert kept([asked, user("yes")], NEVER) == []
    [memory] = kept([asked, user("yes"), agent(CURE)], SURE)
    assert memory.text.startswith("User: yes\nIn answer to: I recommend a lock file")
    assert memory.text.endswith(CURE.replace("`", ""))


WAITS = "The sleep waits for the sandbox of the payment provider."
ASKED = user("why do we sleep there?")


def test_what_an_answer_plainly_tells_is_an_outcome() -> None:
    assert kept([ASKED, agent(WAITS)], None) == []
    assert kept([ASKED, agent(WAITS)], NEVER) == []
    of_reports = NEVER._replace(statement=30.0, in_memory=30.0)
    assert kept([ASKED, agent(WAITS)], of_reports) == [], "too short to stand alone"
    [memory] = kept([ASKED, agent(WAITS)], TOLD)
    assert memory.text == f"why do we sleep there?{OUTCOME_PART}{WAITS}"
    assert (memory.kind, memory.origin) == (NapKind.OUTCOME, Origin.ASSISTANT)
    whole = f"{WAITS.rstrip('.')}, whose answers come late."
    assert [each.text for each in kept([ASKED, agent(whole)], TOLD)] == [whole]


def test_nothing_is_plainly_told_before_the_last_text_or_in_another_language() -> None:
    assert kept([ASKED, agent(WAITS), agent("Anything else?")], TOLD) == []
    early = agent(f"The sleep in `capture.py` waits for the payment provider's {'sandbox' * 5}.")
    assert kept([ASKED, early], TOLD)
    assert kept([ASKED, early, agent("Anything else?")], TOLD) == []
    for ends in ("Let me look at the log, too.", "I'll check the log next.", "Now I'll check it."):
        assert kept([ASKED, agent(f"{WAITS} {ends}")], TOLD) == []
    assert kept([ASKED, agent(f"{WAITS} Let me know if you want it gone.")], TOLD)
    assert kept([ASKED, agent("Der Aufruf wartet auf die Sandbox des Anbieters.")], TOLD) == []


FOUND_CAUSE = "Found it: the root cause is a stale lock, two jobs shared the folder run/a."


def test_a_stated_cause_of_trouble_is_kept() -> None:
    turns = [
        user("the nightly job hangs with an error"),
        agent(FOUND_CAUSE),
        user("makes sense, go"),
    ]
    assert [each.text for each in kept(turns, NEVER)] == [FOUND_CAUSE]
    later = [turns[0], agent("It is not the disk."), user("so what is it then"), *turns[1:]]
    assert FOUND_CAUSE in [each.text for each in kept(later, NEVER)]
    narrated = "I found the root cause: the two jobs share the lock in the folder run/a."
    assert [each.text for each in kept([turns[0], agent(narrated), turns[2]], NEVER)] == [narrated]
    denied = kept([*turns[:2], user("no, that is wrong")], NEVER)
    assert NapKind.OUTCOME not in [each.kind for each in denied]
    assert kept([user("tell me about the nightly job"), agent(FOUND_CAUSE)], NEVER) == []


CONFIRMED = "Yes: `store.go:112` calls the FX service over HTTP inside the transaction."


@pytest.mark.parametrize(
    ("guess", "answer", "is_kept"),
    [
        ("prob the fx call. check ledger post", CONFIRMED, True),
        ("is it the fx call?", CONFIRMED, True),
        ("look at ledger post", CONFIRMED, False),
        ("prob the fx call", "Yes, I look at all of the calls in `store.go` now.", False),
        ("prob the fx call", "Yes, maybe `store.go:112`, which calls the FX service there.", False),
    ],
)
def test_a_guess_that_the_agent_confirms_is_a_cause(guess: str, answer: str, is_kept: bool) -> None:
    trouble = [user("the webhooks return an error"), agent("The pool is exhausted.")]
    memories = kept([*trouble, user(guess), agent(answer), user("ok")], NEVER)
    assert (answer.replace("`", "") in [each.text for each in memories]) is is_kept
    assert CONFIRMED.replace("`", "") not in [
        each.text for each in kept([user(guess), agent(CONFIRMED)], NEVER)
    ]


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("That is the actual cause: the discount is rounded at different points.", True),
        ("A missing index on orders.user_id was the real cause of the slow page.", True),
        ("The underlying cause for the timeouts is the DNS server at 10.0.0.2.", True),
        ("Found the bug: the loop starts at 1 and skips the header row.", True),
        ("Die Ursache war ein veralteter Schlüssel in der Konfiguration des Servers.", True),
        ("Ursache: der Cronjob läuft zweimal, weil beide Server ihn starten.", True),
        ("I've found the cause: two workers share one file in the folder tmp.", True),
        ("Perfect, I see the problem: the loop starts at 1 and skips the header.", True),
        ("The second error is the cause: payloads of over 1 MB.", True),
        ("The cache is not the cause: it is emptied after each of the runs.", False),
        ("I found the file with the settings: it has all of the four hosts.", False),
        ("That was the root cause.", False),
        ("I need to find the root cause: let me read the log of the worker.", False),
        ("CRLF is not the root cause: serde accepts it at the end of a line.", False),
        ("The root cause is still unknown, so I added more logging to the worker.", False),
        ("The root cause is probably the cache that is never emptied.", False),
        ("What is the root cause of the failing test on the other machine?", False),
        ("The guide explains the root causes of most outages in three chapters.", False),
        ("Die Ursache ist noch unklar, ich habe mehr Ausgaben eingebaut.", False),
        ("Das ist nicht die Ursache: der Test lief schon vorher nicht durch.", False),
    ],
)
def test_the_words_of_a_found_cause(text: str, states: bool) -> None:
    assert states_cause(text) is states


def test_all_of_a_short_answer_is_judged_and_of_a_long_one_what_is_not_hopeless() -> None:
    short = SessionTurns.of([ASKED, agent(WAITS)])
    assert short.sentences()[-1] == [WAITS]
    assert short.agent_places() == {len(short.sentences()) - 1}
    long = SessionTurns.of([ASKED, agent(" ".join([WAITS] * (SHORT_ANSWER + 1)))])
    assert long.sentences()[-1] == []


def candidate(text: str, kind: NapKind, slot: str = "slot") -> NapCandidate:
    return NapCandidate(NapMemory(text, kind, (0,), slot, Origin.PERSON), 0.6)


@pytest.mark.parametrize(
    "kept_always",
    [
        candidate(WISH, NapKind.PREFERENCE)._replace(score=0.65),
        candidate("No network in tests.", NapKind.CONSTRAINT)._replace(score=0.65),
        candidate(f"go{OUTCOME_PART}Done.", NapKind.DECISION),
        candidate("To run the tests here: npm test", NapKind.ENVIRONMENT, f"{COMMANDS_SLOT}test"),
        candidate("Recommendation: store it in git notes.", NapKind.OUTCOME, f"{PAGE_SLOT}a.md:1"),
    ],
)
def test_wishes_commands_and_what_the_user_began_are_always_kept(kept_always: NapCandidate) -> None:
    assert is_worth_keeping(kept_always, JudgedSentences({}, {}))


def test_the_words_of_the_agent_are_kept_if_their_sentences_are_worth_it() -> None:
    outcome = candidate(CAUSE, NapKind.OUTCOME)
    letters = "theimporterfailedbecauserowscsvbeginswithabyteordermark"
    assert is_worth_keeping(outcome, JudgedSentences({}, {letters: (3.0, 2.0)}))
    assert not is_worth_keeping(outcome, JudgedSentences({}, {letters: (0.0, -2.0)}))
    plain = frozenset({letters})
    assert is_worth_keeping(outcome, JudgedSentences({}, {letters: (0.0, -2.0)}, plain))


def test_the_head_weighs_every_sign_of_a_memory() -> None:
    nothing, decision = JudgedSentences({}, {}), candidate(RULED, NapKind.DECISION)
    of_user = {name for name, _ in user_memory_signs(decision, nothing)}
    of_agent = {name for name, _ in agent_memory_signs(decision.memory, nothing)}
    assert of_user == set(sentence_head().user_memory_signs)
    assert of_agent == set(sentence_head().agent_memory_signs)


def test_the_words_of_the_user_alone_are_kept_if_they_are_worth_it() -> None:
    decision = candidate(RULED, NapKind.DECISION)
    letters = "".join(filter(str.isalnum, RULED)).casefold()
    assert is_worth_keeping(decision, JudgedSentences({letters: worth_of(3.0)}, {}))
    assert not is_worth_keeping(decision, JudgedSentences({letters: worth_of(0.0)}, {}))


@pytest.mark.parametrize(
    ("score", "worth", "is_kept"),
    [
        (0.55, 2.0, True),
        (0.55, 1.9, False),
        (0.65, 1.0, True),
        (0.75, 0.0, True),
        (0.85, -0.1, False),
    ],
)
def test_what_is_said_plainly_is_kept_by_rule_and_model_together(
    score: float, worth: float, is_kept: bool
) -> None:
    decision = candidate(MOVED, NapKind.DECISION)._replace(score=score)
    letters = "".join(filter(str.isalnum, MOVED)).casefold()
    assert is_worth_keeping(decision, JudgedSentences({letters: worth_of(worth)}, {})) is is_kept


@pytest.mark.parametrize(
    ("text", "worth", "is_kept"),
    [
        (WRONG, 1.0, True),
        (WRONG, 0.9, False),
        ("User: No, 5433.\nIn answer to: It listens on port 5432.", -2.0, True),
    ],
)
def test_a_denial_is_plain_with_what_it_denies_or_by_the_model(
    text: str, worth: float, is_kept: bool
) -> None:
    correction = candidate(text, NapKind.CORRECTION)._replace(by_model=True)
    letters = "".join(filter(str.isalnum, WRONG)).casefold()
    assert is_worth_keeping(correction, JudgedSentences({letters: worth_of(worth)}, {})) is is_kept


def test_a_wish_that_no_rule_sees_is_weighed() -> None:
    wish = candidate("Into the folder with it.", NapKind.PREFERENCE)._replace(score=0.65)
    assert is_worth_keeping(wish, JudgedSentences({}, {}))
    assert not is_worth_keeping(wish._replace(by_model=True), JudgedSentences({}, {}))


def test_the_words_of_a_program_are_not_judged() -> None:
    brief = "You are an agent that reviews code. " + "Report every finding with its line. " * 40
    assert SessionTurns.of([user("use tabs"), agent("ok"), user(brief)]).sentences()[0] == [
        "use tabs"
    ]
    assert all(
        len(each) <= 60
        for each in SessionTurns.of([user(" ".join(["Use tabs."] * 99))]).sentences()
    )


def test_what_is_told_of_other_messages_is_refused() -> None:
    with pytest.raises(ValueError, match="other messages"):
        distil(SessionTurns.of([user(UNSEEN), agent("ok"), user(WISH)]), [[SURE]])
    with pytest.raises(ValueError, match="zip"):
        distil(SessionTurns.of([user(UNSEEN)]), [[SURE, SURE]])


CAUSE = "The importer failed because `rows.csv` begins with a byte order mark."
CURE = "Set `utf-8-sig` in `load_rows()`, so the first column is found in every file now."


def outcome_of(
    judged: dict[str, SentenceLogits], *texts: str, asked: str = "why does the import stop?"
) -> str:
    """Return the outcome of what was *asked*, which the agent answers with *texts*."""
    session = SessionTurns.of([user(asked), *map(agent, texts), user("thanks")])
    logits = [[judged.get(each, NEVER) for each in group] for group in session.sentences()]
    memories = distil(session, logits)
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
    asked, *answers = SessionTurns.of(
        [user("why does it stop?"), agent(f"{hopeless} {CAUSE}"), agent("It runs.")]
    ).sentences()
    assert asked == ["why does it stop?"]
    assert answers == [[CAUSE.replace("`", "")], []]


def test_of_what_was_said_long_before_the_end_only_reasons_are_judged() -> None:
    messages = [user("why does it stop?"), agent(CURE), agent(CAUSE), *[agent("Let me see.")] * 3]
    _, *answers = SessionTurns.of(messages).sentences()
    assert answers == [[], [CAUSE.replace("`", "")], [], [], []]


@pytest.mark.parametrize(
    ("worth", "act"),
    [
        (SentenceWorth(1.0, Act.ENVIRONMENT, 6.0, 3.0, 0.0, -30.0), Act.ENVIRONMENT),
        (SentenceWorth(1.0, Act.ENVIRONMENT, 2.0, 3.0, 0.0, -30.0), Act.PREFERENCE),
        (SentenceWorth(1.0, Act.PREFERENCE, 6.0, 3.0, 0.0, -30.0), Act.PREFERENCE),
        (SentenceWorth(1.0, Act.PREFERENCE, 2.0, WISH_KEPT - 0.1, 0.0, -30.0), Act.ENVIRONMENT),
        (SentenceWorth(1.0, Act.CORRECTION, 2.0, 0.0, 0.0, -30.0), Act.ENVIRONMENT),
        (SentenceWorth(1.0, Act.DECISION, 2.0, 0.0, 0.0, -30.0), Act.ENVIRONMENT),
    ],
)
def test_what_is_plainly_told_is_no_wish_unless_the_model_takes_it_for_one(
    worth: SentenceWorth, act: Act
) -> None:
    text = "My blood type is O negative."
    judged = weigh(text, judge_sentence(text), {text: worth})
    assert (judged.act, judged.score) == (act, STANDING)


@pytest.mark.parametrize(
    ("wish", "act"), [(WISH_KEPT - 1, Act.ENVIRONMENT), (WISH_KEPT + 1, Act.PREFERENCE)]
)
def test_what_somebody_plainly_is_and_does_not_wish_is_a_fact(wish: float, act: Act) -> None:
    text = "I'm a web developer at a small agency, and I do a part-time MSc in hydrology."
    assert judge_sentence(text).act is Act.PREFERENCE
    worth = SentenceWorth(5.0, Act.ENVIRONMENT, PLAIN_KEPT, wish, 0.0, -30.0)
    [passage] = find_passages(words(text), {text: worth}, stopped=False, has_outcome=False)
    assert (passage.text, passage.judged) == (text, Judgement(act, STANDING))


def test_a_word_that_only_acknowledges_is_no_wish_whatever_the_model_says() -> None:
    # "gut", the answer of a German user, resembles a wish for an English model.
    worth = SentenceWorth(-3.2, Act.PREFERENCE, 4.3, WISH_KEPT + 1, 0.0, -3.0)
    judged = judge_sentence("gut")
    assert weigh("gut", judged, {"gut": worth}) == judged


def test_what_only_names_what_the_rest_of_a_message_asks_about_is_no_fact() -> None:
    fact = SentenceWorth(5.0, Act.ENVIRONMENT, PLAIN_KEPT, -9.0, 0.0, -30.0)

    def texts(text: str) -> list[str]:
        own = words(f"{text} What are the steps again?")
        worths = {text: fact}
        return [each.text for each in find_passages(own, worths, stopped=False, has_outcome=False)]

    assert texts("Release 0.6.0.") == []
    assert texts("Prod is eu-west-1.") == ["Prod is eu-west-1. \u2026"]
    assert texts("Postgres 14.9 on prod.") == ["Postgres 14.9 on prod. \u2026"]


OF_ONE_PLACE = (
    "please never rewrite my paragraphs, only comment in the margin with \\todo",
    "please never use em dashes, my supervisor hates them",
    "invitation text, short, funny, no rhymes",
    "never edit docs/api/index by hand",
    "just MIT",
    "ok, only postgres then",
    "just the macro, please",
)


OF_ALL_PLACES = ("no emojis", "short answers please", "just answer in English", "only plain words")


def test_a_wish_holds_everywhere_if_its_sentence_does() -> None:
    logits = {
        "askbeforerebasing": (9.0, BAR),
        "pleaseneveruseemdashesinmyletters": (9.0, BAR),
        "ilostaday": (0.0, BAR - 1),
        "imeatingfishnomeat": (-3.0, BAR),
        "ironandallthat": (-1.6, BAR),
        "uselodash": (9.0, BAR - 1),
        "iamcolourblind": (0.0, EVERYWHERE[NapKind.ENVIRONMENT]),
        "iamnotvegetariananymore": (0.0, EVERYWHERE[NapKind.ENVIRONMENT]),
        "mydoctorgavemetablets": (0.0, EVERYWHERE[NapKind.ENVIRONMENT]),
        "wesendlike2kamonth": (0.0, EVERYWHERE[NapKind.ENVIRONMENT]),
    }
    users = {at: worth_of(0.0, wish=wish, everywhere=each) for at, (wish, each) in logits.items()}
    users["ironandallthat"] = users["ironandallthat"]._replace(worth=-1.0)
    judged = JudgedSentences(users, {})

    def holds(text: str, kind: NapKind = NapKind.PREFERENCE) -> bool:
        return holds_everywhere(candidate(text, kind).memory, judged)

    assert holds("Ask before rebasing. I lost a day.")
    assert not holds("I lost a day.")
    assert not holds("I'm eating fish, no meat. Iron and all that.")
    assert not holds("Ask before rebasing. Use lodash.")
    assert not holds("Ask before rebasing.", NapKind.CONSTRAINT)
    assert not holds("Ask before rebasing. It is for this repo.")
    assert not holds("Ask before rebasing. Tomorrow maybe.")
    assert not holds("Ask before rebasing. " + "The branch is old. " * 12)
    assert not holds("Nobody judged this.")
    users |= {letters(each): worth_of(0.0, wish=9.0, everywhere=BAR) for each in OF_ONE_PLACE}
    assert not any(map(holds, OF_ONE_PLACE))
    for of_all in OF_ALL_PLACES:
        users[letters(of_all)] = worth_of(0.0, wish=9.0, everywhere=BAR)
        assert holds(of_all)
    assert holds("please never use em dashes in my letters")
    assert holds("argh, no Co-Authored-By lines in my repos. never. amend it")
    assert not holds("argh, no Co-Authored-By lines in my repo. never. amend it")
    assert holds("I am colour-blind.", NapKind.ENVIRONMENT)
    assert not holds("My doctor gave me tablets.", NapKind.ENVIRONMENT)
    assert not holds("I am not vegetarian any more.", NapKind.ENVIRONMENT)
    assert not holds("we send like 2k a month", NapKind.ENVIRONMENT)
    assert not holds("Ask before rebasing.", NapKind.ENVIRONMENT)
    wish = candidate("Ask before rebasing.", NapKind.PREFERENCE).memory
    assert not holds_everywhere(wish._replace(origin=Origin.ASSISTANT), judged)


def test_what_a_session_wishes_everywhere_is_known_of_its_memories() -> None:
    [everywhere] = kept([user(WISH)], WISHED._replace(everywhere=BAR))
    [of_project] = kept([user(WISH)], WISHED)
    assert everywhere.is_everywhere
    assert not of_project.is_everywhere


def test_what_is_corrected_is_of_its_project() -> None:
    talk = [user("I'm off at 22:00 on every evening."), agent("OK."), user("Sorry, I meant 23:00.")]
    memories = kept(talk, SURE._replace(everywhere=9.0, wish=9.0))
    [corrected] = [memory for memory in memories if memory.kind is NapKind.CORRECTION]
    assert not corrected.is_everywhere
