"""What a nap remembers of a session by itself."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.distilled_memories import without_digest
from support.work_units import effort

from memd.domain.enums import Origin
from memd.sleep.distil.compose import CHARS_MAX
from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.environment.commands import COMMANDS_SLOT
from memd.sleep.distil.exchanges import NapCandidate, NapKind, NapMemory
from memd.sleep.distil.select import STRETCH_MEMORIES, STRETCH_TOKENS, select_candidates
from memd.sleep.transcript.consolidator import CHARS_PER_TOKEN

RULE = "From now on the mock server listens on port 4010 only."
INTERRUPTED = "[Request interrupted by user]"


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def bash(command: str, result: str) -> list[dict[str, Any]]:
    """Return the call of a command, and what it printed."""
    call = {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": command}}
    answer = {"type": "tool_result", "tool_use_id": "1", "content": result}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]


def memories_of(*messages: dict[str, Any]) -> list[str]:
    return [each.text for each in without_digest(messages)]


def test_a_wish_at_the_end_of_a_request_is_kept_without_the_request() -> None:
    wish = "Always ask me before you commit anything."
    request = "Add a page that lists every order of the last year and links each to its invoice. "
    [memory] = memories_of(user(f"{request * 3}{wish}"))
    assert memory == f"\u2026 {wish}"
    [short] = memories_of(user(f"Add the page. {wish}"))
    assert short == f"Add the page. {wish}"


def test_a_wish_keeps_the_sentence_it_leans_on_and_its_reason() -> None:
    before = "Please list every order of the last year on a page of its own with links. " * 3
    wish = "Never call the live bank from tests. Because they bill each call."
    [memory] = memories_of(user(f"{before}The bank has a sandbox. It must always be used. {wish}"))
    assert memory.endswith(f"The bank has a sandbox. It must always be used. {wish}")


def test_a_fact_is_kept_without_the_request_beside_it_and_with_what_leans_on_it() -> None:
    fact = "The staging server runs at http://10.0.0.5:8080. It needs a VPN."
    message = {"role": "user", "content": f"Please look at the login. {fact}"}
    assert memories_of(message, {"role": "assistant", "content": "Done."}) == [f"\u2026 {fact}"]


def test_a_rule_is_remembered_as_it_was_said() -> None:
    [memory] = without_digest([user(RULE)])
    assert (memory.text, memory.kind, memory.places, memory.origin) == (
        RULE,
        NapKind.PREFERENCE,
        (0,),
        Origin.PERSON,
    )


def test_a_session_of_requests_and_thanks_leaves_nothing() -> None:
    assert memories_of(user("run the tests"), agent("They pass."), user("great, thanks!")) == []


def test_an_approval_is_remembered_with_what_it_approves() -> None:
    [text] = memories_of(
        user("what would you do?"), agent("I recommend a lock file. Shall I add it?"), user("yup")
    )
    assert text == "User: yup\nIn answer to: I recommend a lock file. Shall I add it?"


def test_what_has_the_agent_s_words_is_not_the_user_s() -> None:
    [memory] = without_digest([agent("I recommend a lock file. Shall I?"), user("yes")])
    assert memory.origin is Origin.ASSISTANT
    assert memory.places == (1, 0)


def test_a_pick_is_remembered_as_what_was_picked() -> None:
    review = "(1) The loop is slow.\n(2) **The lock** is taken twice in `open`."
    [text] = memories_of(user("look at it"), agent(review), user("fix 2"))
    assert text == "The user picks: (2) The lock is taken twice in `open`."


@pytest.mark.parametrize(
    ("answer", "is_alone"),
    [
        ("I hate trailing whitespace", True),
        ("my favourite editor is Helix", True),
        ("I prefer rolling", False),
        ("I always do", False),
        ("I prefer the second of those", False),
    ],
)
def test_a_preference_is_kept_with_the_question_only_if_it_needs_it(
    answer: str, *, is_alone: bool
) -> None:
    memories = without_digest([user("hi"), agent("What do you prefer?"), user(answer)])
    alone = (answer, Origin.PERSON)
    assert ([(memory.text, memory.origin) for memory in memories] == [alone]) is is_alone


def test_an_answer_to_a_question_is_remembered_with_it() -> None:
    asked = "The export can stream, or it can write a file first. Which do you prefer?"
    [text] = memories_of(user("design the export"), agent(asked), user("streaming is good"))
    assert text.startswith("User: streaming is good\nIn answer to: ")
    assert "Which do you prefer?" in text


def test_a_plan_that_was_pasted_is_remembered_by_what_it_is_about() -> None:
    steps = "\n\n".join(f"## Step {n}\n\nWe always do it like that." for n in range(40))
    plan = (
        f"Implement the following plan:\n\n# Move the cache\n\nIt is lost at each start.\n\n{steps}"
    )
    [memory] = without_digest([user(plan)])
    assert memory.text == "Plan: Move the cache\nIt is lost at each start."
    assert memory.kind is NapKind.DECISION


def test_a_question_after_a_question_answers_nothing() -> None:
    assert memories_of(user("go"), agent("Shall I delete it?"), user("why?")) == []


@pytest.mark.parametrize(
    "text", ["1" * 240, "<a-b>" * 9_000, "y" * 240, "a-" * 20_000, "x." * 9_000]
)
def test_no_text_takes_long(text: str) -> None:
    for words in (text, f"fix {text}", f"{text}\n{text} x"):
        distil(SessionTurns.of([user("go"), agent("1. first\n2. second. Shall I?"), user(words)]))


def test_the_rules_of_a_command_are_remembered_and_not_its_orders() -> None:
    template = (
        "Review it line by line.\n\nWe never test what the framework does.\n\n" + "Go on.\n" * 90
    )
    command = "<command-name>/review</command-name>\n<command-args>7</command-args>"
    [memory] = without_digest([user(command), user(template)])
    assert (memory.text, memory.kind) == (
        "We never test what the framework does.",
        NapKind.PREFERENCE,
    )
    assert memory.origin is Origin.ASSISTANT


def test_what_a_command_pays_attention_to_is_remembered_with_its_name() -> None:
    template = (
        "In the review, pay attention to:\n\n- names that say what they are\n- missing comments."
        "\n- tests that cannot fail\n\nThen write it up.\n\n" + "Go on.\n" * 90
    )
    command = "<command-name>/review</command-name>\n<command-args>7</command-args>"
    [text] = memories_of(user(command), user(template))
    assert text == (
        "/review pays attention to: names that say what they are; missing comments;"
        " tests that cannot fail."
    )


def test_what_a_program_writes_between_begins_nothing_new() -> None:
    messages = [
        user("Where are the sessions kept?"),
        user("<task-notification>It has finished.</task-notification>"),
        agent("The sessions are kept in `~/.app/sessions.db`, because the cache is volatile."),
    ]
    [memory] = without_digest(messages)
    assert memory.kind is NapKind.OUTCOME
    assert "~/.app/sessions.db" in memory.text
    assert memory.places == (0, 2)


def test_an_error_that_is_shown_without_a_word_begins_something_new() -> None:
    """Its cause is no outcome of what was said before."""
    rule = "We never use apt here, everything goes through the flake."
    error = "stripe.error.SignatureError: No signatures found matching the expected one\n???"
    cause = (
        "The cause: `JsonBodyMiddleware` replaced `request._body`, so the signature did not match."
        " `JsonBodyMiddleware` skips `/webhooks/` now."
    )
    first, second = memories_of(user(rule), agent("It builds."), user(error), agent(cause))
    assert first == rule
    assert second.startswith("stripe.error.SignatureError: No signatures found")
    assert "JsonBodyMiddleware replaced request._body" in second


def test_a_memory_is_made_of_the_text_that_it_ends_with() -> None:
    messages = [
        user("We always keep the cursor in `importer.py` open for a whole batch."),
        agent("`importer.py` kept one cursor for every row, because `fetch` opened a new one."),
        agent("Let me look at the tests, too."),
    ]

    memory, _ = distil(SessionTurns.of(messages))

    assert "because" in memory.text
    assert memory.places == (0, 1)


def test_the_digest_comes_last_and_once() -> None:
    changed = agent("`server.py` listens on port 4010 now, because 8080 was taken.")
    messages = [user(RULE), changed, user("add a test for it")]
    assert [each.slot for each in distil(SessionTurns.of(messages))].index("digest") == len(
        distil(SessionTurns.of(messages))
    ) - 1


def test_a_digest_tells_that_a_command_failed_in_no_words_of_the_tool() -> None:
    run = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "1", "function": {"name": "Bash", "arguments": '{"command": "uv run pytest"}'}}
    ]}  # fmt: skip
    answer = {"role": "tool", "tool_call_id": "1", "content": "Exit code 1\nKeyError: 'port'"}

    *_, made = distil(SessionTurns.of([user(RULE), run, answer]))

    assert made.text.endswith("\nWent wrong: uv run pytest failed")
    assert made.origin is Origin.ASSISTANT


def test_a_line_that_only_asks_is_not_told_beside_one_that_says_something() -> None:
    messages = [
        user("The importer must open each of the big files only once.\nWhat do you think?"),
        agent("`importer.py` opened the file once to count its rows, because `len` needs them."),
    ]

    (text,) = memories_of(*messages)

    assert text.startswith("The importer must open")
    assert "What do you think" not in text


TASK = "We want a wider column in the table of the halls"
DONE = "halls.py has a wider column seats_left now, because the plan of the hall needs it."


def test_what_is_wanted_of_the_work_is_told_by_what_came_of_it() -> None:
    assert memories_of(user(TASK), agent(DONE)) == [DONE]


@pytest.mark.parametrize("answer", ["Understood.", "It is done: all three are fixed now."])
def test_what_is_wanted_of_the_work_stands_where_nothing_tells_what_came_of_it(answer: str) -> None:
    assert memories_of(user(TASK), agent(answer)) == [TASK]


def test_what_is_wanted_with_a_rule_stands_beside_what_came_of_it() -> None:
    (text,) = memories_of(user(f"{TASK}, and it must stay sorted"), agent(DONE))
    assert text == f"{TASK}, and it must stay sorted\nOutcome: {DONE}"


def test_what_happened_after_something_was_stated_is_an_outcome_by_itself() -> None:
    fact = "payment is mollie, the keys are in 1Password in the vault Bakehouse, not in the repo"
    outcome = (
        "decap-cms-app must be loaded from the CDN in `admin.html`: the package breaks the build."
    )
    first, second = without_digest([user(fact), agent(outcome)])
    assert (first.text, first.origin) == (fact, Origin.PERSON)
    assert (second.text, second.kind) == (outcome.replace("`", ""), NapKind.OUTCOME)
    assert first.slot != second.slot
    of_it = "The keys were in `.env` of the repo, because the vault had none before; I moved them."
    assert memories_of(user(fact), agent(of_it)) == [f"{fact}\nOutcome: {of_it.replace('`', '')}"]


def test_an_interruption_is_no_memory_and_what_follows_it_corrects() -> None:
    messages = [user("add a port"), user(INTERRUPTED), user("let's put it into ports.py instead")]
    [memory] = without_digest(messages)
    assert (memory.kind, memory.places) == (NapKind.CORRECTION, (2,))


def test_what_was_interrupted_stands_beside_what_was_said_then() -> None:
    call = {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "git push origin"}}
    messages = [
        user("write a message for it"),
        {"role": "assistant", "content": [call]},
        user(INTERRUPTED),
        user("no, just tell me the message"),
    ]
    [text] = memories_of(*messages)
    assert text == "User: no, just tell me the message\nIn answer to: (stopped) git push origin"


def test_what_the_agent_had_written_is_not_the_user_s_word() -> None:
    finding = "4. The lock is never taken when the file should be opened twice."
    [text] = memories_of(
        user("review it"), agent(f"I found:\n{finding}"), user(f"Let's address: {finding}")
    )
    assert text == f"The user picks: {finding}"


def test_a_point_of_a_review_long_ago_is_still_the_agent_s() -> None:
    point = "We must never take the lock before the file is opened."
    between = [agent(f"Step {number} is behind us.") for number in range(40)]
    messages = [user("review it"), agent(f"I found:\n{point}"), *between]
    done = agent("The lock is now taken in `open_file` instead of `lock.py`.")
    [text] = memories_of(*messages, user(f"Let's look at this: {point}"), done)
    assert text == (
        f"The user picks: {point}\nOutcome: The lock is now taken in open_file instead of lock.py."
    )


def test_of_an_answer_by_number_only_what_says_more_is_told() -> None:
    listed = "1. The cache in `a.py` is cold.\n2. The pool in `b.py` is small. Which ones?"
    [text] = memories_of(
        user("what is slow?"), agent(listed), user("fix 1, with a warm start\nfix 2")
    )
    assert "with a warm start" in text
    assert "fix 2" not in text


def test_a_conclusion_that_the_user_quotes_to_set_it_right_is_not_told() -> None:
    wrong = "The resume needs the native `transcript.jsonl`, because nothing else is stored."
    right = 'So "resume needs the native transcript.jsonl" is not correct, it needs the summary.'
    messages = [user("how does resume work?"), agent(wrong), user(right)]
    assert not any(wrong in text for text in memories_of(*messages))


def test_what_a_command_expands_to_is_not_the_user_s() -> None:
    template = "You review the code that follows.\n\n" + "Look at each line of it.\n" * 40
    command = "<command-name>/review</command-name>\n<command-args>7</command-args>"
    assert memories_of(user(command), user(template)) == []


def test_a_long_message_becomes_several_memories_each_with_its_own_slot() -> None:
    paragraphs = [
        f"We want the {thing} to show {f'the {thing} of all ' * 30}always."
        for thing in ("names", "ports", "colours")
    ]
    memories = without_digest([user("\n\n".join(paragraphs))])
    assert len(memories) == 3
    assert len({each.slot for each in memories}) == 3


def test_the_same_words_said_twice_are_remembered_once() -> None:
    assert memories_of(user(RULE), agent("It does."), user(RULE)) == [RULE]


def test_what_came_of_it_is_told_only_where_it_stands_by_itself() -> None:
    leaning = "It now lives in `pkg/cmd/list.go`, because the other folder is for the parsers only."
    whole = "The list command lives in pkg/cmd/list.go, because pkg/spi is for parsers only."
    assert memories_of(user("move the command"), agent(leaning)) == []
    assert memories_of(user("move the command"), agent(whole)) == [whole]


def test_what_takes_back_an_earlier_decision_has_its_place() -> None:
    early = [user("We want the session store in the redis cluster.")]
    late = [
        *early,
        agent("It is there."),
        user("No, we don't want the session store in the redis cluster after all, use sqlite."),
    ]
    [first] = without_digest(early)
    [last] = without_digest(late)
    assert last.slot == first.slot
    assert "sqlite" in last.text


CANDIDATES = (
    "Two candidates: Plausible, hosted for 9 EUR, and GoatCounter, which you host yourself."
)


@pytest.mark.parametrize(
    ("second", "count"),
    [
        ("wait, 9 euro is silly for a blog. GoatCounter then", 1),
        ("and GoatCounter for the other site", 2),
    ],
)
def test_who_thinks_again_picks_another_of_the_same_things(second: str, count: int) -> None:
    def picked(own: str, place: int) -> NapCandidate:
        text = f"User: {own}\nIn answer to: {CANDIDATES}"
        memory = NapMemory(text, NapKind.DECISION, (place,), str(place), Origin.ASSISTANT)
        return NapCandidate(memory, 1.0)

    both = [picked("Plausible, I don't want to run anything", 0), picked(second, 1)]
    kept = select_candidates(both, [user("which?"), user("or?")])
    assert len(kept) == count
    assert second in kept[-1].text
    assert kept[-1].slot == ("0" if count == 1 else "1")


def test_a_wish_that_is_ended_is_not_kept_beside_what_ends_it() -> None:
    wish, end = "always answer with pictures please", "stop answering with pictures from now on"
    others = [agent("Sure."), user("We deploy on Fridays."), agent("Fine.")]
    kept = [each.text for each in without_digest([user(wish), *others, user(end)])]
    assert (wish in kept, end in kept) == (False, True)
    assert len(kept) == len(without_digest([user(wish), *others]))


def test_what_is_given_up_is_replaced_in_outcomes_and_fixes_as_well() -> None:
    works = "Cursor pagination for GET /items works: ?cursor= and ?limit= (max 200), next_cursor"
    early = [
        user("cursor, with a limit of 200"),
        *bash(
            "pytest -q tests/test_items.py",
            "Exit code 1\nE   AssertionError: assert 'next_cursor' in {'items': []}",
        ),
        *bash("alembic upgrade head", "ok"),
        *bash("pytest -q tests/test_items.py", "4 passed"),
        agent(f"{works} is null on the last page."),
    ]
    undo = "So scrap the cursor, we do offset pagination with page and per_page after all"
    late = [*early, user(undo), agent("The items have page and per_page now, with 33 tests.")]
    assert {each.kind for each in without_digest(early)} >= {NapKind.OUTCOME, NapKind.FIX}
    [only] = [each for each in without_digest(late) if each.kind is not NapKind.ENVIRONMENT]
    assert (only.kind, undo in only.text) == (NapKind.DECISION, True)
    assert only.slot in {each.slot for each in without_digest(early)}


@pytest.mark.parametrize(
    ("choice", "later", "is_replaced"),
    [
        ("lets go with cargo-dist", "meh. forget cargo-dist, hand written action", True),
        ("no then. rayon it is", "crossbeam then, drop rayon. bound = 2x cores", True),
        ("ok, let's use Redis", "Redis is out, SQLite it is", True),
        ("then Redis", "SQLite without Redis after all", True),
        ("then Redis", "a dict will do, no more Redis", True),
        ("ok, nehmen wir Redis", "vergiss Redis, SQLite reicht", True),
        ("dann Redis", "SQLite, und Redis fliegt wieder raus", True),
        ("dann Redis", "kein Redis mehr, SQLite reicht", True),
        ("then Redis", "drop Redis and create it again", False),
        ("then Redis", "if it hangs again, drop Redis", False),
        ("then Redis", "Redis 8 is out, we use its sets", False),
        ("then Redis", "drop the Redis import", False),
        ("then Redis", "forget Redis for now", False),
        ("Postgres with Redis for the sessions", "drop Redis", False),
        ("use SQLite instead of Redis", "drop Redis", False),
    ],
)
def test_a_choice_that_is_given_up_is_replaced_by_a_decision(
    choice: str, later: str, is_replaced: bool
) -> None:
    def memory_of(text: str, place: int, kind: NapKind) -> NapCandidate:
        return NapCandidate(NapMemory(text, kind, (place,), str(place), Origin.PERSON), 0.9)

    first = memory_of(f"{choice}\nOutcome: It is set up.", 0, NapKind.DECISION)
    kept = select_candidates(
        [first, memory_of(later, 1, NapKind.PREFERENCE)], [user("a"), user("b")]
    )
    kinds = [(each.kind, each.slot) for each in kept]
    assert kinds == (
        [(NapKind.DECISION, "0")]
        if is_replaced
        else [(NapKind.DECISION, "0"), (NapKind.PREFERENCE, "1")]
    )


@pytest.mark.parametrize(
    ("change", "is_changed"),
    [
        ("actually make it 30, iDEAL can be slow", True),
        ("make that 30 minutes", True),
        ("30 instead, the bank is slow", True),
        ("hm, lieber 30", True),
        ("mach da lieber 30 Minuten draus", True),
        ("make it 2x faster", False),
        ("make it 5 minutes shorter", False),
        ("30 tests fail instead", False),
        ("make it a table", False),
        ("actually make it 15 as you said", False),
    ],
)
def test_a_number_that_the_user_changes_is_not_told_as_the_outcome(
    change: str, is_changed: bool
) -> None:
    stated = "Reservations expire lazily in active(), which leaves out what is older: 15 minutes."
    asked = "With a celery beat job every minute, or lazily on read?"
    texts = memories_of(
        user("how do reservations expire?"),
        agent(asked),
        user("lazily. no celery in this project, we agreed on that last year"),
        *bash("sed -i s/timer/lazy/ stock/models.py", ""),
        agent(stated),
        user(change),
        *bash("sed -i s/15/30/ stock/models.py", ""),
        agent("Done."),
    )
    [wish] = [text for text in texts if "no celery" in text]
    assert ("Outcome" in wish) == (not is_changed)
    assert (f"User: {change}\nIn answer to: {stated}" in texts) == is_changed


def test_other_scripts_and_languages_are_read() -> None:
    assert memories_of(user("Der Port muss immer 4010 bleiben.")) == [
        "Der Port muss immer 4010 bleiben."
    ]
    for text in ("テストは必ず最初に実行してください。", "يجب دائما تشغيل الاختبارات"):
        memories_of(user(text), agent(text), user(text))


_LINES = [
    RULE,
    "yup",
    "No on D4",
    INTERRUPTED,
    "```py\nx = 1\n```",
    "<command-name>/review</command-name>",
    "Let's keep the old parser in parse.py",
    "- **D4** the cache is dropped. Shall I do it?",
    "1. first\n2. second",
    "/home/ann/app.py:12:3 error: no such name",
    "We want it like that because the server listens on http://localhost:8080",
]
_TEXT = st.one_of(st.sampled_from(_LINES), st.text(max_size=300))
_CONTENT = st.one_of(
    _TEXT,
    st.none(),
    st.integers(),
    st.lists(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, _TEXT),
            st.builds(
                lambda text: {"type": "tool_result", "tool_use_id": "1", "content": text}, _TEXT
            ),
            st.builds(
                lambda text: {
                    "type": "tool_use",
                    "id": "1",
                    "name": "bash",
                    "input": {"command": text},
                },
                _TEXT,
            ),
        ),
        max_size=3,
    ),
)
_MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", ""]), "content": _CONTENT}
    ),
    max_size=30,
)


@given(_MESSAGES)
def test_any_messages_are_distilled_the_same_each_time_within_bounds(
    messages: list[dict[str, Any]],
) -> None:
    memories = distil(SessionTurns.of(messages))
    assert memories == distil(SessionTurns.of(messages))
    assert all(each.text.strip() and len(each.text) <= CHARS_MAX for each in memories[:-1])
    assert all(set(each.places) <= set(range(len(messages))) for each in memories)
    assert len({each.slot for each in memories}) == len(memories)
    assert len(memories) <= STRETCH_MEMORIES + 1
    assert [each.places[0] for each in memories[:-1]] == sorted(
        each.places[0] for each in memories[:-1]
    )


def test_a_longer_session_keeps_what_its_earlier_stretches_left() -> None:
    messages: list[dict[str, Any]] = []
    for number in range(60):
        messages += [
            user(f"We want option{number} in file{number}.toml to stay {number} seconds."),
            agent("x " * (STRETCH_TOKENS * CHARS_PER_TOKEN // 40)),
        ]
    whole = distil(SessionTurns.of(messages))[:-1]
    for end, finished in ((60, 38), (100, 78)):
        mine = [
            each
            for each in distil(SessionTurns.of(messages[:end]))[:-1]
            if each.places[0] < finished
        ]
        assert mine == [each for each in whole if each.places[0] < finished]
        assert mine


def test_an_error_that_the_agent_s_code_can_tell_is_nothing_to_pick() -> None:
    message = "The stage could not be reached, please ask the crew for its port."
    code = agent(f"```py\nraise StageError('{message}')\n```\nThe port is read in `stage.py`.")
    pasted = f"{message}\nTraceback (most recent call last):\nStageError: no port"
    cause = agent("The port of `stage.py` is missing in `crew.toml`, because it was renamed.")
    texts = memories_of(user("write it"), code, user(pasted), cause)
    assert texts
    assert not any("picks" in text for text in texts)


def test_a_lead_of_the_agent_s_is_nothing_to_pick() -> None:
    lead = "I would ask the crew of the stage for three things:"
    cause = agent("The port of `stage.py` is missing in `crew.toml`, because it was renamed.")
    assert not any(
        "picks" in text for text in memories_of(user("go"), agent(lead), user(lead), cause)
    )


def test_a_question_to_go_on_with_that_is_taken_up_by_its_number_decides_nothing() -> None:
    asked = "What next?\n1. The colours of the stage?\n2. The order of the crew?"
    assert memories_of(user("look at it"), agent(asked), user("2")) == []


def test_a_lead_is_told_with_its_list_and_not_without_it() -> None:
    told_of = "We want the stage to be told apart from the hall:"
    rule = "- the lights of the stage must never go out"
    assert memories_of(user(f"{told_of}\n- a bit nicer\n- and so on")) == []
    assert memories_of(user(f"{told_of}\n- a bit nicer\n{rule}")) == [f"{told_of}\n{rule}"]


def test_commands_take_the_room_of_one_memory() -> None:
    purposes = ("test", "lint", "build", "deploy")
    names = ("harbour", "meadow", "lantern", "quarry", "orchard", "glacier")

    def candidate(text: str, slot: str, *, fills: bool) -> NapCandidate:
        memory = NapMemory(text, NapKind.FIX, (0,), slot, Origin.ASSISTANT)
        return NapCandidate(memory, 0.6, fills)

    commands = [candidate(each, f"{COMMANDS_SLOT}{each}", fills=False) for each in purposes]
    sections = [candidate(each, each, fills=True) for each in names]
    kept = select_candidates([*commands, *sections], [user("x" * STRETCH_TOKENS)])
    assert [each.text for each in kept] == [*purposes, *names[:5]]
    more = ("thicket", "cellar", "ribbon", "anvil", "saddle", "copper", "tunnel", "velvet")
    facts = [candidate(each, each, fills=False) for each in (*names, *more)]
    kept = select_candidates([*commands, *facts], [user("x" * 4 * STRETCH_TOKENS)])
    assert len(kept) == len(purposes) + STRETCH_MEMORIES - 1


def test_a_cause_that_is_told_again_with_each_attempt_is_told_once() -> None:
    cause = "The brace of the function `handleKey` is missing in `src/app.tsx` at line {}."
    first = cause.format(1971)
    cure = "Moved the listener into `useKeys.ts`, so that it is removed at the end."
    again = f"{cause.format(1969)} {cure}"
    memories = memories_of(
        user("the page does not compile"),
        agent(first),
        user("it does not compile at all"),
        agent(again),
        user("look at it another time"),
        agent(cause.format(1972)),
    )
    assert memories == [again.replace("`", "")]


@pytest.mark.parametrize(
    "correction",
    [
        "Nope: it's 5433 since the move",
        "No, staging is stage2",
        "No, staging is stage2.internal",
        "no, postgres listens on 5433",
    ],
)
def test_what_the_user_denies_is_no_memory_but_what_they_say_instead(correction: str) -> None:
    statement = "The staging database listens on port 5432."
    session = (user("where is it?"), agent(statement), user(correction), agent("Noted."))
    assert memories_of(*session) == [f"User: {correction}\nIn answer to: {statement}"]


def test_a_correction_is_not_told_with_what_it_does_not_speak_of() -> None:
    """The rest of the message spoke of it, and is none that is kept."""
    report = "I gave the inactive tabs of the league a lighter colour."
    correction = "I meant the archive, not the old seasons that you touched."
    asked = f"Look at the inactive tabs of the league again.\n\n{correction}"
    [memory] = without_digest([user("go on"), agent(report), user(asked)])
    assert (memory.text, memory.kind) == (correction, NapKind.CORRECTION)
    assert memory.origin is Origin.PERSON
    about = correction.replace("archive", "tabs of the archive")
    [text] = memories_of(user("go on"), agent(report), user(asked.replace(correction, about)))
    assert text == f"User: {about}\nIn answer to: {report}"


CAUSE = (
    "The importer failed because `rows.csv` begins with a byte order mark, so no column matched."
)


def outcomes_before(reply: str, *more: str) -> list[str]:
    """Return what is kept of what an agent said, CAUSE and *more*, to which the user replies."""
    session = (user("why does the import stop?"), *map(agent, (CAUSE, *more)), user(reply))
    return [text for text in memories_of(*session) if not text.startswith("User: ")]


def test_what_the_user_denies_is_no_outcome() -> None:
    assert outcomes_before("thanks") == [CAUSE.replace("`", "")]
    long = f"{'I read the log of the run, line by line, from its beginning. ' * 6}{CAUSE}"
    assert outcomes_before("thanks", long) == [CAUSE.replace("`", "")]
    denial = "No, the file is fine, the delimiter is a tab."
    assert outcomes_before(denial, long) == [denial]


@pytest.mark.parametrize("reply", ["nope, all good", "No, that's great! Now commit it.", "no idea"])
def test_who_goes_along_denies_no_outcome(reply: str) -> None:
    assert outcomes_before(reply) == [CAUSE.replace("`", "")]


def test_what_was_said_before_the_text_that_is_denied_stands() -> None:
    later = "I also fixed a typo in the README."
    assert CAUSE.replace("`", "") in outcomes_before("No, the README stays as it was.", later)


def test_a_denial_that_no_rule_knows_is_kept_as_a_correction() -> None:
    statement, denial = "We deploy with blue-green.", "No, we moved to canary releases in May."
    session = (user("how do we deploy?"), agent(statement), user(denial), agent("Noted."))
    [memory] = [each for each in without_digest(session) if each.text.startswith("User: ")]
    assert memory.kind is NapKind.CORRECTION
    assert memory.text == f"User: {denial}\nIn answer to: {statement}"


def test_a_few_words_that_are_corrected_are_told_with_the_question_that_they_answered() -> None:
    asked, correction = "Which pin is the fault line on?", "No, on rev B it's PB5. PB3 was rev A."
    session = (user(asked), agent("PB3"), user(correction), agent("Noted."))
    [memory] = [each for each in without_digest(session) if each.text.startswith("User: ")]
    assert memory.text == f"User: {correction}\nIn answer to: {asked} PB3"
    assert memory.places == (2, 0, 1)


def test_done_is_no_answer_that_is_corrected() -> None:
    session = (user("Run the tests?"), agent("Done."), user("No, the other ones."), agent("Ok."))
    assert not [each for each in without_digest(session) if "In answer to" in each.text]


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_what_is_repeated_costs_no_more_than_its_length(role: str) -> None:
    with effort() as spent:
        for unit in (*string.punctuation, "a", "1", " ", "::", "a:", "**", "- ", "a, ", "not "):
            texts = {"user": "We never push on Fridays.", "assistant": "All is done."}
            texts[role] = f"Status{unit * 10_000}"
            messages = [{"role": each, "content": text} for each, text in texts.items()]
            distil(SessionTurns.of(messages))
    assert spent.units < 150  # 15 to 30; one pattern that tries every beginning takes 300
