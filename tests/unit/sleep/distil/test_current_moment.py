"""Leave to take the next step, and orders of the minute, decide nothing."""

from __future__ import annotations

from typing import Any

import pytest
from support.distilled_memories import without_digest

from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.user.speech_acts import WORTH, judge


def _memories_of(agent: str, user: str) -> list[str]:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "look at the cache"},
        {"role": "assistant", "content": agent},
        {"role": "user", "content": user},
    ]
    return [each.text for each in without_digest(messages)]


@pytest.mark.parametrize(
    ("agent", "user"),
    [
        ("All is staged.\nWould you like me to commit these changes?", "yes, go ahead"),
        ("The types are mended.\nShall I run the tests?", "yup"),
        ("Phase 2 is done.\nWould you like me to continue?", "yes please"),
        ("Ready to proceed with the remaining components?", "go for it"),
        ("Want me to delete those old files, or will you?", "Delete them."),
        ("Shall I drop the lock of the cache?", "yes, and write tests for all of its pages"),
        ("Would you like me to generate a PR for these changes now?", "commit them"),
        ("1. The lock of the cache\n2. The page of the cache", "go ahead and start working on 2"),
        ("Would you like me to change the lock?", "@rules/how-we-lock.md"),
        ("Could you please paste the code into `app/index.tsx`?", "ok"),
        ("All is stored.\n¿Quieres que haga push al repositorio?", "Si"),
        ("Fertig.\nSoll ich die Änderungen jetzt committen?", "ja"),
        ("C'est fait.\nVoulez-vous que je lance les tests ?", "oui"),
        ("Готово.\nМне запустить тесты?", "да"),  # noqa: RUF001
        ("完成了。要我提交吗?", "好的"),
        # Nothing of what was asked is in the answer.
        ("¿Quieres que corrija el botón de la tabla?", "Carga el ultimo commit"),
        ("¿Hay algo más que te gustaría mejorar?", "Por ahora lo dejamos, voy a descansar."),
        ("Is the page of the shop shown?", "nothing has been loaded there"),
        ("1. Add the lock?\n2. Or focus on something else?", "more error"),
        ("1. Add the lock?\n2. Or focus on something else?", "now this"),
        ("Shall the lock stay, or go?", "yes add checks"),
        ("1. Add the lock?\n2. Or focus on something else?", "how close is the lock to being done"),
    ],
)
def test_leave_to_go_on_is_no_memory(agent: str, user: str) -> None:
    assert not any(user in text for text in _memories_of(agent, user))


@pytest.mark.parametrize(
    ("agent", "user"),
    [
        ("The cache has no lock.\nWould you like me to add one in `store.py`?", "yup"),
        ("Shall we proceed by moving the lock into `store.py`?", "yes please, go for it!"),
        ("Keep the old page or write it anew? Which would you like?", "revert it"),
        ("1. The lock of the cache\n2. The page of the cache", "start with #2, and only then #1"),
        ("The lock is dropped. Should it stay?", "yes, but only on Linux"),
        ("¿Quieres que implemente la lista con HashSet?", "Si"),
        ("Хотите, чтобы я заменил список на HashSet?", "да подтверждаю"),
        ("Soll die Liste links oder rechts stehen?", "die linke Seite"),
    ],
)
def test_what_is_approved_or_chosen_is_one(agent: str, user: str) -> None:
    assert any(f"User: {user}" in text for text in _memories_of(agent, user))


@pytest.mark.parametrize("quoted", ["/srv/shop/cache", "https://cache.example.org/api/v1/pages"])
def test_a_name_that_the_agent_had_named_is_nothing_to_pick(quoted: str) -> None:
    agent = f"The address of the cache is {quoted}, where the pages of the shop are stored."
    assert not any("picks" in text for text in _memories_of(agent, quoted))


@pytest.mark.parametrize(
    "text",
    [
        "very nice.. now lets investigate how to improve the layout",
        "also lets create extensive changelogs",
        "try editing manually instead of with the tool",
        "i really want to pull in origin/main first",
        "No improvement. I give up.",
        "lets switch back and ensure all changes are actually present",
        "just do what you have to to get it all running",
        "mark the task as in progress, we need that",
        # How it looks just now.
        "the rows of the hall are no longer shown, only the first one",
        "i start the stage but cannot see the lights on localhost:4000",
        "now i dont get a sound anymore, but the lights still dont move",
        "the sounds don't play and the curtain is not loaded",
        "no the stage is up, but i can't reach the hall",
        "nope, the same error, i'll revert it",
        "i keep getting errors because the rows aren't sorted",
        "i got the same error: the list of lights has only one row",
        "that is fine, this will make it easy for the crew",
        "great, the rows are fine now.",
        "I ran your script, it all went without any errors.",
        "let's pick up where we were",
        "lets roll back the last step",
        "I am going to start a new chat.",
        "please check off everything you just finished in the list",
        "i put all of the pictures into the folder.",
        # "Never" and "always" in words that make no rule.
        "never mind the second row, it was me",
        "i always forget how the lights are wired",
        "I always mix up left and right on stage.",
        "from now on it crashes in a different row, great",
    ],
)
def test_orders_of_the_minute_are_not_kept(text: str) -> None:
    assert judge(text).score < WORTH


@pytest.mark.parametrize(
    "text",
    [
        "rawData had no job actually, we keep it as it was.",
        "no, keep the guide to one page instead",
        "i want to test the domain, but not through the command line",
        "don't change the schema, the other team reads it",
        "the rows are not shown anymore, they should be sorted by the name of the hall",
        "the token must not be displayed in the log",
        "I want the lights to be updated whenever the hall is opened",
        "don't load the pictures before the hall is open",
        "we decided that the old rows are no longer shown",
        "you always forget the last row",
        "I always dim the lights myself.",
    ],
)
def test_what_holds_is_kept_beside_them(text: str) -> None:
    assert judge(text).score >= WORTH


def test_what_came_of_a_step_is_told_with_what_was_said_before_it() -> None:
    answer = "The lock of `store.py` is a file now. Shall I run the tests?"
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "look at the lock"},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": "yes"},
        {"role": "assistant", "content": "It requires `fcntl`, because `store.py` locks by path."},
    ]
    texts = [each.text for each in distil(SessionTurns.of(messages))]
    assert any(text.startswith("The lock of") and "Outcome: It requires" in text for text in texts)
