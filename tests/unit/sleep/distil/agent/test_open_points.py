"""What a session left open: steps of its plan, titles that nobody took up, what answers say."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memd.sleep.distil.agent.open_points import find_unfinished
from memd.sleep.distil.exchanges import AgentText, Exchange, ToolRun

LIST = """## What is left

1. **The cache never expires** and grows
2. **Missing retry in `upload.ts`**
3. **No test covers an empty basket**
"""
STOPPED = "[Request interrupted by user]"


def open_texts(exchanges: Sequence[Exchange]) -> list[str]:
    return [point.text for point in find_unfinished(exchanges)]


def _exchange(user: str, answer: str = "", *runs: ToolRun) -> Exchange:
    return Exchange(0, user, (), [AgentText(1, answer)] if answer else [], list(runs), 1)


def test_the_open_steps_of_the_last_plan_are_open() -> None:
    todos = [
        {"content": "write the migration", "status": "completed"},
        {"content": "run it on staging", "status": "in_progress"},
        {"content": "tell support", "status": "pending"},
    ]
    plan = ToolRun(1, "", "TodoWrite", {"todos": todos}, "ok")
    assert open_texts([_exchange("migrate", "ok", plan)]) == [
        "run it on staging",
        "tell support",
    ]
    assert open_texts([_exchange("go", "All todos are completed now.", plan)]) == []
    text = ToolRun(1, "", "TodoWrite", "- [X] write it\n- [ ] run it on staging", "")
    assert open_texts([_exchange("migrate", "ok", text)]) == ["run it on staging"]
    steps = {"plan": [{"step": "drop the table", "status": "pending"}]}
    assert open_texts([_exchange("go", "", ToolRun(1, "", "update_plan", steps, ""))]) == [
        "drop the table"
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Thanks! Let's do the retries tomorrow.", ["Let's do the retries tomorrow."]),
        ("Still to do: retry failed uploads", ["retry failed uploads"]),
        ("left for tmrw: shell completions + the pager", ["shell completions + the pager"]),
        ("still broken: umlauts in the invoice pdf", ["umlauts in the invoice pdf"]),
        ("noch offen: die Tests für den Import", ["die Tests für den Import"]),
        ("gut, wir machen morgen mit der Suche weiter", None),
        ("On continue demain avec les tests.", None),
        ("Morgen müssen wir noch den Import testen.", None),
        ("Dann machen wir morgen weiter mit der Suche.", None),
        ("das machen wir naechstes Mal", None),
        ("Der Import steht noch aus.", None),
        ("Demain il faut tester l'import.", None),
        ("Mañana seguimos con la búsqueda.", None),
        ("Domani dobbiamo provare l'import.", None),
        ("Amanhã temos que testar o import.", None),
        ("Morgen moeten we de import testen.", None),
        ("Let's do the retries tomorrow, good night.", None),
        ("Muss ich noch machen: den Import testen", ["den Import testen"]),
        ("Let's call it a day, see you tomorrow!", []),
        ("Morgen, ich habe eine Frage zum Import.", []),
        ("If we deploy tomorrow, the cache must be warm.", []),
        ("Shall we do the retries tomorrow?", []),
        ("The shop opens tomorrow at nine.", []),
        ("todo: none of it", []),
    ],
)
def test_what_the_user_puts_off_is_open(text: str, left: list[str] | None) -> None:
    expected = [text] if left is None else left
    done = _exchange("add an upload", "It is in `upload.ts`.")
    assert open_texts([done, _exchange(text)]) == expected
    assert open_texts([done, _exchange(text, "Good night."), _exchange("bye")]) == expected
    edit = ToolRun(2, "", "Edit", {"file_path": "upload.ts", "old_string": "1"}, "ok")
    assert open_texts([done, _exchange(text), _exchange("do it", "ok", edit)]) == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("park the haptics", ["park the haptics"]),
        ("thanks. skip the map for now", ["skip the map for now"]),
        ("and look at the grid another day", ["and look at the grid another day"]),
        ("do it next time", ["The list runs 311 queries. A join would do."]),
        (
            "no time left, add that later, got to go",
            ["The list runs 311 queries. A join would do."],
        ),
        (
            "ok commit. open: the load test and dashboards. not today",
            ["the load test and dashboards."],
        ),
        (
            "nice. PDF export is what they ask for most. later maybe",
            ["PDF export is what they ask for most."],
        ),
        ("right. not now", ["The list runs 311 queries. A join would do."]),
        ("the dentist is half an hour later", []),
        ("I have to present it tomorrow", []),
        ("dentist tomorrow", []),
        ("put it in a script so I can run it again later", []),
        ("use port 8099 for now", []),
    ],
)
def test_a_step_for_another_time_is_open_in_the_words_that_name_it(
    text: str, left: list[str]
) -> None:
    answer = AgentText(1, "The list runs 311 queries. A join would do.")
    slow = Exchange(0, "why is it slow?", (), [answer], [], 1)
    assert open_texts([slow, Exchange(2, text, (answer,), [AgentText(3, "Okay.")], [], 3)]) == left


@pytest.mark.parametrize(
    "text",
    [
        "gz files need to error out, not today though",
        "we should paginate the list, but not now",
        "the export must handle umlauts, but that's for later",
        "we need to fix the header, tomorrow maybe",
        "wir sollten die Liste noch sortieren, aber nicht heute",
        "die Mails müssen auf deutsch sein, aber erst später",
        "der Import muss schneller werden, morgen dann",
        "also: the shop needs an upgrade to 2.9 before the sale, but not today",
    ],
)
def test_what_should_be_done_but_not_now_is_open_in_the_user_s_words(text: str) -> None:
    answer = AgentText(1, "It polls every 250 ms and handles truncation.")
    first = Exchange(0, "does it follow?", (), [answer], [], 1)
    assert open_texts([first, Exchange(2, text, (answer,), [AgentText(3, "Okay.")])]) == [text]


@pytest.mark.parametrize(
    "text",
    ["I have to catch my train, later maybe", "sounds good to me, tomorrow maybe",
     "it should work now, later", "we have to leave, tomorrow", "the build is green, not today",
     "right, not now", "you should get some rest, tomorrow"],
)  # fmt: skip
def test_what_only_says_why_not_now_is_no_task(text: str) -> None:
    answer = AgentText(1, "The list runs 311 queries. A join would do.")
    first = Exchange(0, "why is it slow?", (), [answer], [], 1)
    assert text not in open_texts([first, Exchange(2, text, (answer,), [AgentText(3, "Okay.")])])


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ("nice. should we do refunds now? how long would it take", "should we do refunds now?"),
        ("shall we move the worker to a queue?", "shall we move the worker to a queue?"),
        ("sollen wir die Retouren jetzt bauen?", "sollen wir die Retouren jetzt bauen?"),
        ("ok, should we do it now?", "Half a day: a form and tests."),
        ("how long would refunds take?", "Half a day: a form and tests."),
    ],
)
def test_not_today_puts_off_what_the_user_suggested(asked: str, left: str) -> None:
    answer = AgentText(1, "Half a day: a form and tests.")
    first = Exchange(0, asked, (), [answer], [], 1)
    assert open_texts([first, Exchange(2, "not today", (answer,), [AgentText(3, "Okay.")])]) == [
        left
    ]


@pytest.mark.parametrize(
    ("report", "left"),
    [
        ("It polls every 250 ms and handles truncation.", []),
        ("It polls. Should I add a flag for it?", ["It polls. Should I add a flag for it?"]),
        (
            "It polls. The flag still needs a test.",
            ["It polls. The flag still needs a test.", "The flag still needs a test."],
        ),
        ("It polls. Next would be a flag.", ["It polls. Next would be a flag."]),
    ],
)
def test_what_the_agent_reports_as_done_is_not_put_off(report: str, left: list[str]) -> None:
    edit = ToolRun(2, "", "Edit", {"file_path": "a.rs", "old_string": "1"}, "ok")
    answer = AgentText(1, report)
    first = Exchange(0, "follow the file", (), [answer], [edit], 1)
    assert open_texts([first, Exchange(2, "right. not now", (answer,), [])]) == left


def test_what_is_left_for_another_day_is_open_though_the_session_goes_on() -> None:
    answer = AgentText(1, "Both mails would go out twice. A table of event ids would solve it.")
    first = Exchange(0, "what if it comes twice?", (), [answer], [], 1)
    later = [_exchange(text, "It is done.") for text in ("resend it", "all of them", "thanks")]
    put_off = Exchange(2, "right. not today", (answer,), [AgentText(3, "Okay.")], [], 3)
    assert open_texts([first, put_off, *later]) == [answer.text]
    soon = Exchange(2, "right. later", (answer,))
    assert open_texts([first, soon, *later]) == []
    taken_up = _exchange("now add the table of event ids that would solve it", "It is in.")
    assert open_texts([first, put_off, taken_up, *later]) == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("todo: cut over dns on monday, cancel fly", "cut over dns on monday, cancel fly"),
        ("are they reviewed? todo: ask Marta to proofread", "ask Marta to proofread"),
        ("todo for later: refunds, we have no form yet", "refunds, we have no form yet"),
        ("TODO later: test the import on windows", "test the import on windows"),
        ("ok, todo for friday: tell support", "tell support"),
        ("Perfekt. Todo: Zertifikat erneuern", "Zertifikat erneuern"),
        ("open for next week: the pager of the list", "the pager of the list"),
        ("merken für nächste Woche: Backups prüfen", "Backups prüfen"),
        ("todo für später: Dunkelmodus im Druck", "Dunkelmodus im Druck"),
        ("todo: gz files should error out, not today though",
         "gz files should error out, not today though"),
        ("todo: nothing", None),
        ("todo: which one?", None),
        ("# TODO: remove the old path", None),
        ("build a todo app: a list and a form", None),
        ("note for next time: never use sed here", None),
        ("what I want you to do: add the pager", None),
        ("the todo list says: add the pager", None),
        ("for the demo: use port 8099", None),
        ("was offen für alle ist: der Hof", None),
    ],
)  # fmt: skip
def test_a_to_do_is_open_wherever_in_the_session_it_was_said(text: str, left: str | None) -> None:
    answer = AgentText(1, "--follow polls every 250 ms and handles truncation.")
    first = Exchange(0, "does it follow?", (), [answer], [], 1)
    dictated = Exchange(2, text, (answer,), [AgentText(3, "Noted.")], [], 3)
    later = [_exchange(talk, "I see.") for talk in ("what's for lunch", "lol", "bye then")]
    expected = [] if left is None else [left]
    assert open_texts([first, dictated]) == expected
    assert open_texts([first, dictated, *later]) == expected
    edit = ToolRun(2, "", "Edit", {"file_path": "a.rs", "old_string": "1"}, "ok")
    assert open_texts([first, dictated, _exchange("ok do it", "It is in.", edit)]) == []
    other = _exchange("rename the flag of the config", "Renamed it.", edit)
    assert open_texts([first, dictated, other, *later]) == expected


def test_a_to_do_that_was_done_is_not_open() -> None:
    edit = ToolRun(2, "", "Edit", {"file_path": "a.rs", "old_string": "1"}, "ok")
    assert open_texts([_exchange("todo: add a pager to the list", "It is in.", edit)]) == []
    dictated = _exchange("todo: add a pager to the list", "Noted.")
    late = _exchange("ship it. todo for later: add a pager to the list", "Shipped.", edit)
    assert open_texts([late]) == ["add a pager to the list"]
    for done in (
        _exchange("now the pager of the list", "It is in."),
        _exchange("what else is open? finish that", "The list has a pager now.", edit),
    ):
        for exchange in (dictated, late):
            assert open_texts([exchange, done, _exchange("nice", "Yes."), _exchange("bye")]) == []


@pytest.mark.parametrize(
    "heading",
    ["Danke! Still to do next time:", "## TODO", "noch offen", "For tomorrow:", "Was noch fehlt:",
     "Offene Punkte für nächstes Mal:", "offene Punkte fuer naechstes Mal:", "Steht noch aus:",
     "Muss ich noch machen:", "Bleibt noch zu tun:", "Reste à faire pour demain :",
     "Pendientes para mañana:", "Queda por hacer:", "Ancora da fare:", "Falta fazer:",
     "Nog te doen:", "Openstaande punten voor de volgende keer:"],
)  # fmt: skip
def test_what_the_user_lists_for_later_is_open(heading: str) -> None:
    done = _exchange("fix the login test", "It waits for `#sign-in` now.")
    points = (
        "\n- rate limiting on POST /orders\n\n- [ ] TODO: describe /stock\n- [x] the login test"
    )
    asked = _exchange(f"{heading}{points}\n\nThanks a lot!", "Bye!")
    left = ["rate limiting on POST /orders", "describe /stock"]
    assert open_texts([done, asked]) == left
    edit = ToolRun(2, "", "Edit", {"file_path": "orders.ts", "old_string": "1"}, "ok")
    assert open_texts([done, _exchange(asked.user, "Done.", edit)]) == []
    unmarked = f"{heading}\nrate limiting on POST /orders\ndescribe /stock\n\nThanks a lot!"
    assert open_texts([done, _exchange(unmarked)]) == (left if heading[-1] == ":" else [])


@pytest.mark.parametrize("heading", ["What we did:", "Left:", "for:", "Don't forget:", "Example"])
def test_another_list_of_the_user_s_is_not_open(heading: str) -> None:
    asked = _exchange(f"{heading}\n- rate limiting on POST /orders\n- describe /stock")
    assert open_texts([_exchange("go", "I go."), asked]) == []


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("Bin raus, es fehlen noch die Icons.", True),
        ("Il reste à faire la page de confirmation.", True),
        ("Queda pendiente el login con Google.", True),
        ("No hace falta crear el tipo.", False),
        ("Fehlt da noch was?", False),
        ("Den Import müssen wir noch testen.", True),
        ("Wir müssen noch nicht testen.", False),
        ("Bye for now, we still need to rotate the staging key.", True),
        ("Tomorrow we still have to rotate the staging key.", True),
        ("Do we still need to rotate the staging key?", False),
        ("We still need the old key of staging.", False),
    ],
)
def test_what_the_user_says_is_missing_is_open(text: str, *, is_open: bool) -> None:
    done = _exchange("add an upload", "It is in `upload.ts`.")
    assert open_texts([done, _exchange(text)]) == [text] * is_open
    edit = ToolRun(2, "", "Edit", {"file_path": "upload.ts", "old_string": "1"}, "ok")
    assert open_texts([done, _exchange(text, "Done.", edit)]) == []


def test_what_names_nothing_and_what_stands_in_a_draft_is_not_open() -> None:
    for later in ("we look later", "we'll see tomorrow", "wir schauen morgen"):
        assert open_texts([_exchange(later, "Fine.")]) == []
    assert open_texts([_exchange("we look at the piano later", "Fine.")]) == [
        "we look at the piano later"
    ]
    fee = "the fee of this term for the choir is still open."
    assert open_texts([_exchange("draft a reminder", f"Hi, {fee}")]) == [f"Hi, {fee}"]
    assert open_texts([_exchange("draft a reminder", f'"Hi, {fee} Rosa"')]) == []


def test_a_plan_that_was_not_kept_up_to_date_says_nothing() -> None:
    todos = [
        {"id": "1", "content": "write the migration", "status": "completed"},
        {"id": "2", "content": "run it on staging", "status": "pending"},
    ]
    planned = _exchange("migrate", "ok", ToolRun(1, "", "todo_write", {"todos": todos}, "ok"))
    assert open_texts([planned, _exchange("go on")]) == ["run it on staging"]
    more = [_exchange(f"and page {n}?", "It is fine.") for n in range(2)]
    assert open_texts([planned, *more]) == []

    unknown = ToolRun(2, "", "todo_write", {"merge": True}, None)
    assert open_texts([planned, _exchange("go on", "ok", unknown)]) == []
    merged = {"merge": True, "todos": [{**todos[1], "status": "completed"}]}
    assert (
        open_texts([planned, _exchange("go", "ok", ToolRun(2, "", "todo_write", merged, ""))]) == []
    )

    steps = [{**each, "status": "pending"} for each in todos]
    runs = [ToolRun(1, "", "todo_write", {"todos": steps}, "ok")]
    assert len(open_texts([_exchange("go", "ok", *runs)])) == 2
    runs += [ToolRun(2, "", "edit", {"file": "a.py"}, "ok")] * 12
    assert open_texts([_exchange("go", "ok", *runs)]) == []


def test_what_a_list_says_was_done_and_what_is_only_offered_is_not_open() -> None:
    done = "## Next steps\n\n1. Fixed the search in api.py\n2. Sign the release files\n"
    assert open_texts([_exchange("go", done)]) == ["Sign the release files"]
    offer = "It works. If you'd like, the remaining lint findings could be fixed in src/a.py too."
    assert open_texts([_exchange("go", offer)]) == []
    names = 'That\'s why you can still open the page. The plan in TODO.md and "Add TODO" were kept.'
    assert open_texts([_exchange("go", names)]) == []


def test_tasks_that_were_created_one_by_one_are_open_until_they_end() -> None:
    runs = [
        ToolRun(
            1, "", "TaskCreate", {"subject": "write it"}, "Task #1 created successfully: write it"
        ),
        ToolRun(
            2, "", "TaskCreate", {"subject": "ship it"}, "Task #2 created successfully: ship it"
        ),
        ToolRun(
            3, "", "TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status"
        ),
    ]
    assert open_texts([_exchange("go", "", *runs)]) == ["ship it"]


def test_boxes_in_a_file_that_is_written_are_no_plan() -> None:
    page = ToolRun(1, "", "Write", {"file_path": "todo.md", "content": "- [ ] buy milk"}, "ok")
    text = ToolRun(2, "", "Write", "- [ ] buy milk", "ok")
    assert open_texts([_exchange("write the page", "", page, text)]) == []


def test_what_the_last_answer_lists_as_left_is_open() -> None:
    review = _exchange("go on", LIST)
    every = [
        "The cache never expires",
        "Missing retry in upload.ts",
        "No test covers an empty basket",
    ]
    assert open_texts([review]) == every
    for user in ("thanks!", "ok, commit and push it to main", "danke, bis morgen!", "Good night"):
        assert open_texts([review, _exchange(user, "Done.")]) == every
    assert open_texts([review, _exchange("now the login", "It works now.")]) == []


@pytest.mark.parametrize(
    "heading",
    ["Issues I found", "Key findings", "Suggestions", "Next steps (optional)", "To do this",
     "Open it", "All 3 open issues fixed", "Recommendations", "The user has two issues"],
)  # fmt: skip
def test_a_list_of_issues_or_offers_says_nothing_of_what_is_left(heading: str) -> None:
    assert open_texts([_exchange("go on", LIST.replace("What is left", heading))]) == []


@pytest.mark.parametrize(
    "heading",
    ["🎯 Next steps", "**Remaining work**:", "Not done yet", "Follow-up tasks", "Reste à faire",
     "Nächste Schritte", "Próximos pasos", "Prochaines étapes", "Open follow-ups (not now)"],
)  # fmt: skip
def test_what_is_left_is_called_so_in_several_languages(heading: str) -> None:
    assert open_texts([_exchange("go on", LIST.replace("What is left", heading))]) != []


def test_a_list_ends_where_somebody_goes_on_to_talk() -> None:
    done = "All errors are gone:\n\n- The path of the shop is right\n"
    assert open_texts([_exchange("go on", f"{LIST}\n{done}")])[-1].startswith("No test")
    offer = LIST.replace("\n\n", "\n\nYou might want to:\n\n", 1)
    assert open_texts([_exchange("go on", offer)]) == []


def test_what_a_review_put_in_order_is_open_until_it_is_taken_up() -> None:
    review = _exchange("review the shop", LIST.replace("What is left", "Top 3 issues"))
    every = open_texts([review])
    assert len(every) == 3
    assert open_texts([review, _exchange("fix 2", "Done.")]) == [every[0], every[2]]
    one_is_fine = LIST.replace("What is left", "Top 3 issues").replace("1. **The", "1. ✅ **The")
    review_2 = _exchange("review the shop", one_is_fine)
    assert open_texts([review_2, _exchange("address top 3: 3", "Done.")]) == every[1:2]
    named = _exchange("please let the cache expire, it never expires", "Done.")
    assert open_texts([review, named]) == every[1:]
    built = _exchange("go on", "Added `basket.test.ts`: a test covers the empty basket now.")
    assert open_texts([review, built]) == every[:2]
    assert open_texts([review, _exchange("please fix all of them", "Done.")]) == []


def test_what_a_review_sums_up_is_taken_up_by_the_numbers_that_it_cites() -> None:
    summary = (
        "## Top 3 issues\n\n"
        "1. **The shadowed error is hard to read (observation 7)**: rename it\n"
        "2. **One name for the field everywhere (observations 12, 14)**: three have another\n"
        "3. **No test covers the empty basket**: add one\n"
    )
    review = _exchange("review the shop", summary)
    every = open_texts([review])
    assert len(every) == 3
    picked = _exchange("address 12/14, and remove it from all stores\n\naddress 7", "Done.")
    assert open_texts([review, picked]) == every[2:]
    assert open_texts([review, _exchange("address 9 and 12", "Done.")]) == [every[0], every[2]]
    assert open_texts([review, _exchange("it listens on port 8070", "I see.")]) == every


def test_what_is_done_at_the_screen_is_not_open() -> None:
    steps = "## Next steps\n\n1. Refresh the browser once\n2. Sign the release files\n"
    assert open_texts([_exchange("go on", steps)]) == ["Sign the release files"]


def test_what_the_last_answer_says_is_left_is_open() -> None:
    answer = "The job runs on `node 22`. The dashboard still needs a token. 0 issues remaining."
    assert open_texts([_exchange("go", answer)]) == ["The dashboard still needs a token."]


@pytest.mark.parametrize("label", ["Open", "**Open points**", "Next", "Next up", "Pending"])
def test_what_an_answer_labels_as_open_is_open(label: str) -> None:
    left = "the refund endpoint, rate limits for login."
    assert open_texts([_exchange("that's it", f"See you tomorrow. {label}: {left}")]) == [left]
    assert open_texts([_exchange("that's it", f"See you. {label}: nothing.")]) == []


def test_what_the_report_of_a_last_commit_labels_as_open_is_open() -> None:
    built = _exchange("add a parser", "The parser reads filters. The cache still needs a limit.")
    commit = ToolRun(2, "", "Bash", {"command": "git commit -am parser"}, "[main 3f1a2bc] parser")

    def left_after(report: str) -> list[str]:
        return open_texts([built, _exchange("nice, commit and that's it", report, commit)])

    limit, operator = "The cache still needs a limit.", "the operator is not evaluated yet."
    assert left_after(f"Committed as 3f1a2bc. Open: {operator}") == [limit, operator]
    assert left_after(f"Committet. Noch offen: {operator}") == [limit, operator]
    assert left_after("Committed.\n\nOpen:\n- the operator of regular expressions") == [
        "the operator of regular expressions"
    ]
    for report in (
        "Committed as 3f1a2bc. It is not pushed yet.",
        "Committed as 3f1a2bc. Open: nothing.",
        "Opened a pull request: 3f1a2bc is its head.",
        "All tasks are done and committed.",
    ):
        assert left_after(report) == [limit]


def test_a_session_that_the_user_stopped_says_so() -> None:
    assert open_texts([_exchange("go", "I go."), _exchange(STOPPED)]) == [
        "the user stopped the agent"
    ]
    assert open_texts([_exchange("go"), _exchange(STOPPED), _exchange("no", "I stop.")]) == []


def test_what_stays_as_it_is_and_what_the_agent_tells_of_its_work_is_not_open() -> None:
    for answer in (
        "The order of the rows remains the same in `shop.py`.",
        "Let me write down the steps that are still to do.",
        "The page describes what we did and the next steps for the shop.",
        "export const remaining = mutation({",
    ):
        assert open_texts([_exchange("go on", answer)]) == []
    assert open_texts([_exchange("go on", "The next step is a test of `shop.py`.")]) != []


def test_code_is_no_title() -> None:
    assert (
        open_texts([_exchange("go on", "## Issues\n1. export const drop = rule({\n2. x = f(y)")])
        == []
    )


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
    assert open_texts([_exchange("go on", line)]) == []


@pytest.mark.parametrize(
    "user",
    [
        "ich muss los, morgen dann",
        "gotta run, rest tomorrow",
        "muss weg, den Rest machen wir morgen",
        "Feierabend, der Rest morgen",
    ],
)
def test_who_leaves_puts_off_what_the_agent_told_last(user: str) -> None:
    left = "The logout still has the same bug."
    parting = Exchange(2, user, (AgentText(1, f"I fixed the login. {left}"),))
    assert open_texts([_exchange("fix the login", left), parting]) == [f"I fixed the login. {left}"]


@pytest.mark.parametrize("answer", ["No: ", "Yes, ", "no. ", ""])
def test_what_answers_a_question_is_put_off_without_its_yes_or_no(answer: str) -> None:
    manual = "The formula is manual, the hash must be changed by hand."
    parting = Exchange(2, "make a job for it next week", (AgentText(1, f"{answer}{manual}"),))
    assert open_texts([_exchange("does it update itself?", "Let me see."), parting]) == [manual]


def test_what_somebody_runs_tomorrow_is_open() -> None:
    assert open_texts([_exchange("we have to run the load test tomorrow")])


def test_what_a_label_lists_between_semicolons_is_several_points() -> None:
    answer = "Open: deploy 2.14.1 on Monday; new dashboards for the outbox."
    left = ["deploy 2.14.1 on Monday", "new dashboards for the outbox."]
    assert open_texts([_exchange("what is left?", answer)]) == left
    short = "Open: deploy 2.14.1 on Monday; dashboards."
    assert open_texts([_exchange("what is left?", short)]) == [short.removeprefix("Open: ")]


def test_a_to_do_is_told_with_the_ticket_after_it() -> None:
    todo = "todo: that change in settle before it goes live. ticket PAY-1482"
    [point] = find_unfinished([_exchange(todo, "Noted."), _exchange("pin the module", "Pinned.")])
    assert point.text == todo.removeprefix("todo: ")
