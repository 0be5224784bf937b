"""What a user asks and what an assistant says in passing opens no gate and reaches no prompt."""

from __future__ import annotations

import pytest
from support.commands import Memd
from support.desk import Desk

pytestmark = pytest.mark.model

FACTS = (
    "We deploy the shop with blue-green since March.",
    "The staging server is called otter and stands in Frankfurt.",
    "Our dentist is Dr. Kim in the Lindenstrasse.",
    "Anna's birthday is on the 3rd of June.",
    "The billing service uses PostgreSQL 16.",
    "The car goes to the garage every October.",
    "The wifi in the office is called heron.",
    "We use pnpm and not npm.",
    "The invoices are due on the last Friday of a month.",
    "The boiler was repaired in January by Mr. Novak.",
    "The API listens on port 8080.",
    "The cat gets her tablets in the evening.",
    "The spare key hangs in the cellar behind the bicycles.",
)
ASKED = (
    "How do we deploy the shop?",
    "What is our dentist called?",
    "Which database does the billing service use?",
    "Rename the function foo to bar in the parser",
    "What is the phone number of Mr. Novak?",
    "Where does the spare key hang?",
)
FOREIGN = "Rename the function foo to bar in the parser and run the tests"


def prompt(desk: Desk, query: str) -> list[str]:
    """Return the ids of the memories that a prompt for *query* holds."""
    return [memory["id"] for memory in desk.prompt(query)["memories"]]


def test_questions_that_were_asked_fill_no_prompt(desk: Desk) -> None:
    """13 facts, then six questions; a request about code gets nothing of it."""
    for fact in FACTS:
        desk.call("memory.ingest", text=fact)
    assert prompt(desk, FOREIGN) == []
    before = {asked: prompt(desk, asked) for asked in ASKED}
    for asked in ASKED:
        (item,) = desk.call("memory.ingest", text=asked, session_id="s")["stored"]
        assert item["passing"] in {"question", "request"}
        assert "searchable, never injected" in item["reason"]
    assert prompt(desk, FOREIGN) == []
    after = {asked: prompt(desk, asked) for asked in ASKED}
    assert all(set(after[asked]) <= set(before[asked]) for asked in ASKED)
    assert len(prompt(desk, ASKED[0])) >= 1


def test_an_assistant_s_remarks_and_a_user_s_thanks_are_kept_apart(desk: Desk) -> None:
    params = {
        "thanks!": ("person", "acknowledgement"),
        "1": ("person", "acknowledgement"),
        "ok": ("person", "acknowledgement"),
        "Let me look at the parser.": ("assistant", "remark"),
        "Done.": ("assistant", "acknowledgement"),
        "Would you like me to run the tests?": ("assistant", "question"),
    }
    for text, (origin, passing) in params.items():
        receipt = desk.call("memory.ingest", text=text, origin=origin, session_id="s")
        assert [item["passing"] for item in receipt["stored"]] == [passing], text
        assert receipt["turned_away"] == []
    assert prompt(desk, "thanks, let me look at the parser") == []
    listed = desk.call("memory.list", limit=50)["items"]
    assert {entry["content"]: entry["passing"] for entry in listed} == {
        text: passing for text, (_, passing) in params.items()
    }


def test_a_person_finds_a_question_on_request_and_makes_a_memory_of_it(
    desk: Desk, memd: Memd
) -> None:
    whose = ("--agent", desk.agent_id)
    question = "Which glaze did the potter choose for the tall vases?"
    (item,) = desk.call("memory.ingest", text=question)["stored"]
    assert memd("search", "glaze", "of", "the", "vases", *whose)[1] == ""
    code, shown, _ = memd("search", "--turns", "glaze", "of", "the", "vases", *whose)
    assert (code, "question" in shown, "tall vases" in shown) == (0, True, True)
    assert memd("list", *whose)[1] == ""
    assert "question" in memd("list", "--turns", *whose)[1]
    assert memd("search", "--turns", "--sessions", "glaze", *whose)[0] != 0
    code, restored, _ = memd("archive", "restore", item["id"], *whose)
    assert (code, restored.strip()) == (0, item["id"])
    answer = memd("search", "--json", "glaze", "vases", *whose).json
    assert [memory["id"] for memory in answer["memories"]] == [item["id"]]
