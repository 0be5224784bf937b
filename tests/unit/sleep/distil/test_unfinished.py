"""What a session left open: steps of its plan, titles that nobody took up, what answers say."""

from __future__ import annotations

import pytest

from memd.sleep.distil.exchanges import AgentText, Exchange, Run
from memd.sleep.distil.unfinished import find_unfinished

LIST = """## Top 3 issues

1. **The cache never expires** and grows
2. **Missing retry in `upload.ts`**
3. **No test covers an empty basket**
"""
STOPPED = "[Request interrupted by user]"


def _exchange(user: str, answer: str = "", *runs: Run) -> Exchange:
    return Exchange(0, user, (), [AgentText(1, answer)] if answer else [], list(runs), 1)


def test_the_open_steps_of_the_last_plan_are_open() -> None:
    todos = [
        {"content": "write the migration", "status": "completed"},
        {"content": "run it on staging", "status": "in_progress"},
        {"content": "tell support", "status": "pending"},
    ]
    plan = Run(1, "", "TodoWrite", {"todos": todos}, "ok")
    assert find_unfinished([_exchange("migrate", "ok", plan)]) == [
        "run it on staging",
        "tell support",
    ]
    text = Run(1, "", "TodoWrite", "- [X] write it\n- [ ] run it on staging", "")
    assert find_unfinished([_exchange("migrate", "ok", text)]) == ["run it on staging"]
    steps = {"plan": [{"step": "drop the table", "status": "pending"}]}
    assert find_unfinished([_exchange("go", "", Run(1, "", "update_plan", steps, ""))]) == [
        "drop the table"
    ]


def test_what_a_list_says_was_done_and_what_is_only_offered_is_not_open() -> None:
    done = "## Changes and next steps\n\n1. Fixed the search in api.py\n2. Sign the release files\n"
    assert find_unfinished([_exchange("go", done)]) == ["Sign the release files"]
    offer = "It works. If you'd like, the remaining lint findings could be fixed in src/a.py too."
    assert find_unfinished([_exchange("go", offer)]) == []
    names = 'That\'s why you can still open the page. The plan in TODO.md and "Add TODO" were kept.'
    assert find_unfinished([_exchange("go", names)]) == []


def test_tasks_that_were_created_one_by_one_are_open_until_they_end() -> None:
    runs = [
        Run(1, "", "TaskCreate", {"subject": "write it"}, "Task #1 created successfully: write it"),
        Run(2, "", "TaskCreate", {"subject": "ship it"}, "Task #2 created successfully: ship it"),
        Run(3, "", "TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status"),
    ]
    assert find_unfinished([_exchange("go", "", *runs)]) == ["ship it"]


def test_boxes_in_a_file_that_is_written_are_no_plan() -> None:
    page = Run(1, "", "Write", {"file_path": "todo.md", "content": "- [ ] buy milk"}, "ok")
    text = Run(2, "", "Write", "- [ ] buy milk", "ok")
    assert find_unfinished([_exchange("write the page", "", page, text)]) == []


def test_titles_of_the_last_list_are_open_until_they_are_taken_up() -> None:
    review = _exchange("review the shop", LIST)
    every = [
        "The cache never expires",
        "Missing retry in upload.ts",
        "No test covers an empty basket",
    ]
    assert find_unfinished([review]) == every
    assert find_unfinished([review, _exchange("fix 2", "Done.")]) == [every[0], every[2]]
    named = _exchange("please let the cache expire, it never expires", "Done.")
    assert find_unfinished([review, named]) == every[1:]
    built = _exchange("go on", "Added `basket.test.ts`: a test covers the empty basket now.")
    assert find_unfinished([review, built]) == every[:2]


def test_a_list_of_what_is_done_is_not_open() -> None:
    assert (
        find_unfinished([_exchange("go", LIST.replace("Top 3 issues", "All 3 issues fixed"))]) == []
    )


def test_what_the_last_answer_says_is_left_is_open() -> None:
    answer = "The job runs on `node 22`. The dashboard still needs a token. 0 issues remaining."
    assert find_unfinished([_exchange("go", answer)]) == ["The dashboard still needs a token."]


@pytest.mark.parametrize("label", ["Open", "**Open points**", "Next", "Next up", "Pending"])
def test_what_an_answer_labels_as_open_is_open(label: str) -> None:
    left = "the refund endpoint, rate limits for login."
    assert find_unfinished([_exchange("that's it", f"See you tomorrow. {label}: {left}")]) == [left]
    assert find_unfinished([_exchange("that's it", f"See you. {label}: nothing.")]) == []


def test_a_session_that_the_user_stopped_says_so() -> None:
    assert find_unfinished([_exchange("go", "I go."), _exchange(STOPPED)]) == [
        "the user stopped the agent"
    ]
    assert find_unfinished([_exchange("go"), _exchange(STOPPED), _exchange("no", "I stop.")]) == []


def test_what_stays_as_it_is_and_what_the_agent_tells_of_its_work_is_not_open() -> None:
    for answer in (
        "The order of the rows remains the same in `shop.py`.",
        "Let me write down the steps that are still to do.",
        "The page describes what we did and the next steps for the shop.",
        "export const remaining = mutation({",
    ):
        assert find_unfinished([_exchange("go on", answer)]) == []
    assert find_unfinished([_exchange("go on", "The next step is a test of `shop.py`.")]) != []


def test_code_is_no_title() -> None:
    assert (
        find_unfinished(
            [_exchange("go on", "## Issues\n1. export const drop = rule({\n2. x = f(y)")]
        )
        == []
    )


@pytest.mark.parametrize(
    "heading",
    ["Key improvements", "The improvements I've made include", "I'll fix both issues"],
)
def test_a_list_of_what_was_done_leaves_nothing_open(heading: str) -> None:
    done = f"## {heading}\n\n1. **Faster start** of the shop\n2. **Clear names** of the routes\n"
    assert find_unfinished([_exchange("tidy up the shop", done)]) == []
    asked = done.replace(heading, "Suggested improvements")
    assert find_unfinished([_exchange("look at the shop", asked)]) == [
        "Faster start of the shop",
        "Clear names of the routes",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Now let me mark the todo as complete and run the tests.",
        "Next I'll remove the old block, which is not yet empty.",
        "Updating the TODO list with what remains.",
        "I finished the example in TODO.md, which has what remains.",
        "O ficheiro foi removido de todo o histórico.",
    ],
)
def test_what_an_agent_is_at_is_not_open(line: str) -> None:
    assert find_unfinished([_exchange("go on", line)]) == []
