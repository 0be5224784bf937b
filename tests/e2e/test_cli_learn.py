"""``memd learn``, typed at a daemon without a model: told, listed, in prompts, forgotten."""

from __future__ import annotations

from support.commands import Memd

from memd.client import Client


def test_a_lesson_that_a_person_tells_is_listed_stands_in_prompts_and_is_forgotten(
    memd: Memd,
) -> None:
    lesson = "The staging database is read-only on Mondays, so migrate on Tuesdays."
    code, out, _ = memd("learn", "lesson", lesson)
    lesson_id = out.strip()
    assert code == 0

    _, listed, _ = memd("learn", "list")
    assert lesson in listed
    assert lesson_id in listed
    _, prompt, _ = memd("inject", "When is the staging database read-only?")
    assert f"] {lesson}" in prompt
    assert "[lesson | score: " in prompt
    _, _, err = memd("inject", "When is the staging database read-only?", "--budget", "150")
    assert "left out: 1 lesson" in err
    _, block, _ = memd("inject", "When is the staging database read-only?", "--synthesize")
    assert f"[learnings] {lesson}" in block
    _, other, _ = memd("inject", "Who painted the boat?")
    assert lesson not in other

    code, out, err = memd("learn", "forget", lesson_id[-8:])
    assert (code, out) == (2, ""), "without a terminal it asks for --yes"
    assert "Erase 1 lesson or pattern permanently?" in err
    assert memd("learn", "forget", lesson_id[-8:], "--yes")[:2] == (0, "erased 1\n")
    code, out, err = memd("learn", "list")
    assert (code, out) == (0, "")
    assert "no lessons; to add one" in err
    assert memd("learn", "forget", lesson_id, "--yes")[0] == 1


def test_a_lesson_that_somebody_said_is_fed_by_a_nap_and_goes_like_any_other(
    client: Client, memd: Memd
) -> None:
    text = "The tests need Redis on port 6380."
    talk = [{"role": "assistant", "content": f"This is part {n} of the talk."} for n in range(5)]
    messages = [{"role": "assistant", "content": f"Fixed.\n- **Lesson:** {text}"}, *talk]
    napped = client.call("sleep.consolidate", {"messages": messages, "session_id": "redis"})
    assert napped["stored"] == 1

    lessons = memd("learn", "list", "--json").json["items"]
    (lesson,) = [lesson for lesson in lessons if lesson["lesson"] == text]
    _, prompt, _ = memd("inject", "Which port does Redis have in the tests?")
    assert prompt.count(text) == 1
    assert "[lesson | score: " in prompt
    _, other, _ = memd("inject", "Who painted the boat?")
    assert text not in other

    assert memd("learn", "forget", lesson["id"][-8:], "--yes")[:2] == (0, "erased 1\n")
    _, listed, _ = memd("learn", "list")
    assert text not in listed
    _, prompt, _ = memd("inject", "Which port does Redis have in the tests?")
    assert text not in prompt

    again = [{"role": "user", "content": "Lesson: Deploys wait for CI to be green."}, *talk]
    client.call("sleep.consolidate", {"messages": again, "session_id": "ci"})
    assert "Deploys wait" in memd("learn", "list")[1]
    assert memd("forget", "--session", "ci", "--yes")[0] == 0
    assert "Deploys wait" not in memd("learn", "list")[1]


def test_what_worked_with_tools_is_a_pattern_and_without_a_lesson(memd: Memd) -> None:
    text = "Deploy the blog with rsync, then restart nginx"
    _, out, _ = memd("learn", "success", text, "--tool", "Bash", "--tool", "Edit")
    pattern_id = out.strip()
    memd("learn", "success", text, "--tool", "Bash", "--tool", "Edit")
    for outcome, sentence in (
        ("success", "Asking Maria first saved a day"),
        ("failure", "Dropping the index first locked the table"),
    ):
        assert memd("learn", outcome, sentence, "--json").json["outcome"] == outcome

    (pattern,) = memd("learn", "playbook", "--json").json["items"]
    assert (pattern["pattern_id"], pattern["success_count"]) == (pattern_id, 2)
    _, listed, _ = memd("learn", "playbook", "deploy blog")
    assert text in listed
    _, prompt, _ = memd("inject", "How do I deploy the blog with rsync?")
    assert f"] {text}: Bash then Edit" in prompt
    assert memd("learn", "forget", pattern_id, "--yes")[:2] == (0, "erased 1\n")


def test_a_task_without_a_word_about_it_is_refused(memd: Memd) -> None:
    code, _, err = memd("learn", "lesson", " ")
    assert code == 2
    assert "lesson" in err
