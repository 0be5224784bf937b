"""``memd learn``, ``shared``, ``synthesize`` and ``wiki``, typed at a daemon without a model."""

from __future__ import annotations

import json
from pathlib import Path

from support.commands import Memd
from support.daemon import Spawned

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


def test_what_one_agent_publishes_others_find_and_it_takes_back(memd: Memd) -> None:
    code, out, _ = memd("shared", "publish", "Staging is reset on Mondays", "--agent", "ops")
    shared = out.strip()
    assert code == 0

    _, listed, _ = memd("shared", "search", "staging")
    assert shared in listed
    assert "ops" in listed
    _, output, _ = memd("search", "when is staging reset?")
    assert "shared by ops" in output
    _, block, _ = memd("recall", "when is staging reset?")
    assert "[shared] [SEMANTIC] Staging is reset on Mondays" in block
    code, out, err = memd("shared", "search", "staging", "--without", "ops")
    assert (code, shared in out) == (0, False)
    assert "no shared memory matches" in err

    code, _, err = memd("shared", "retract", shared, "--agent", "qa")
    assert code == 1
    assert "another agent" in err
    assert memd("shared", "retract", shared, "--agent", "ops")[:2] == (0, f"{shared}\n")
    code, out, err = memd("shared", "retract", shared, "--agent", "ops", "--json")
    assert code == 1
    assert json.loads(out)["missing"] == [shared]


def test_one_block_of_all_that_is_known(memd: Memd, client: Client) -> None:
    code, _, err = memd("synthesize", "zebras", "--agent", "zoo")
    assert code == 0
    assert "nothing matches" in err
    outcome = {"final_response": "Done.", "lesson": "feed zebras first", "agent_id": "zoo"}
    client.call("learn.outcome", outcome)

    assert memd("synthesize", "zebras", "--agent", "zoo")[1] == "[learnings] feed zebras first\n"
    answer = memd("synthesize", "zebras", "--agent", "zoo", "--budget", "4", "--json").json
    assert (answer["block"], answer["left_out"]) == ("", 1)
    _, _, err = memd("synthesize", "zebras", "--agent", "zoo", "--budget", "4")
    assert "nothing fits the budget" in err


WORD = "quincunx"


def test_the_wiki_is_written_brought_up_to_date_and_forgotten_with_its_memory(
    daemon: Spawned, client: Client, memd: Memd
) -> None:
    secret = client.add(f"The safe opens with {WORD}.")
    client.add("Ann keeps bees.")

    code, out, err = memd("wiki")

    folder = daemon.home / "data" / "wiki" / "default"
    assert (code, out) == (0, f"{folder}\n")
    assert "2 memories, 0 summaries" in err
    page = folder / "raw" / f"{secret}.md"
    assert WORD in page.read_text("utf-8")
    assert "[raw](raw/): 2 memories" in (folder / "index.md").read_text("utf-8")

    forgotten = client.call("memory.forget", {"ids": [secret]})

    assert forgotten["backups"] == []
    assert not page.exists()
    assert not any(WORD in path.read_text("utf-8") for path in folder.rglob("*.md"))


def test_another_folder_is_named_as_the_shell_names_it(memd: Memd, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()

    written = memd("wiki", "../notes", "--json", cwd=tmp_path / "below")

    assert written.code == 0
    answer = written.json
    assert answer["path"] == str((tmp_path / "notes" / "default").resolve())
    assert answer["raw"] == len(list((tmp_path / "notes" / "default" / "raw").iterdir()))


def test_a_folder_that_cannot_be_written_is_a_clear_error(memd: Memd, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    code, out, err = memd("wiki", str(tmp_path / "file"))

    assert (code, out) == (1, "")
    assert "cannot be written" in err
