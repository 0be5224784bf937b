"""At the real socket with the real model: what was decided reaches an assistant.

Five facts stand beside some two hundred everyday memories. Whoever asks about them is
told, and nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Spawned
from support.desk import Desk, a_desk, served, text_of

from memd.client import Client

pytestmark = pytest.mark.model

NOTES = Path(__file__).parents[1] / "bench" / "everyday.txt"
FACTS = {
    "adr": "The billing service keeps its data in PostgreSQL 16; MySQL was given up because "
    "migrations failed half-way.",
    "procedure": "A release is tagged on main, deployed to staging, watched for an hour, then "
    "promoted to production with make promote.",
    "convention": "Commit messages begin with the area, a colon and a short imperative sentence.",
    "entity_definition": "A tenant is one customer company with its own schema and its own "
    "encryption key.",
}
GRAPHQL = "We decided against GraphQL: the mobile app needs four endpoints, and REST is cached."
LABELS = {"adr": "decision", "entity_definition": "definition"}
ASKED = {
    "Which database does the billing service use?": "adr",
    "How do we release to production?": "procedure",
    "What should a commit message look like?": "convention",
    "What is a tenant, and which encryption key does it have?": "entity_definition",
}
FOREIGN = (
    "When is the next appointment at the dentist?",
    "What does Ada like to eat on Sundays?",
    "Which airline lost the suitcase?",
    "How old is the cat?",
    "What is the wifi password of the holiday house?",
    "Who won the chess game?",
    "How is lentil soup made?",
    "Where did we park the car?",
    "What did the vet say about Miso?",
    "When does the train to Basel leave?",
)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model_dir: Any) -> Iterator[Spawned]:
    with served(tmp_path_factory.mktemp("home"), model_dir) as daemon:
        with daemon.client() as client:
            params = {"name": "ada", "agent_id": "ada", "seniority": "senior"}
            key = Path(client.call("client.add", params)["key_file"])
        with Client(daemon.paths.socket, key=key) as ada:
            for category, content in (*FACTS.items(), ("adr", GRAPHQL)):
                ada.call("org.write", {"category": category, "content": content})
            notes = [line for line in NOTES.read_text("utf-8").splitlines() if line.strip()]
            for note in notes:
                ada.call("memory.store", {"category": "semantic", "content": note[:900]})
        with a_desk(daemon, "ada") as desk:
            desk.settle()
        yield daemon


@pytest.fixture
def desk(daemon: Spawned) -> Iterator[Desk]:
    with a_desk(daemon, "ada") as desk:
        yield desk


@pytest.mark.parametrize(("query", "category"), ASKED.items())
def test_a_fact_that_fits_stands_in_the_prompt_in_a_fence_and_says_what_it_is(
    desk: Desk, query: str, category: str
) -> None:
    prompt = desk.prompt(query)

    label = LABELS.get(category, category)
    before = rf"\[assistant\] \[{label} \| score: [01]\.\d\d\]"
    line = rf"<memory-entry>\n{before} {re.escape(FACTS[category])}\n"
    assert re.search(line, text_of(prompt))
    assert [fact["label"] for fact in prompt["facts"]] == [label]
    assert prompt["left_out"]["facts"] == 0


def test_ten_foreign_questions_bring_no_fact(desk: Desk) -> None:
    facts_by_query = {query: desk.prompt(query)["facts"] for query in FOREIGN}

    assert [query for query, facts in facts_by_query.items() if facts] == []


def test_a_fact_is_in_a_synthesized_block_under_its_kind(desk: Desk) -> None:
    made = desk.call("memory.synthesize", query="Which database does the billing service use?")

    assert f"[decision] [assistant] {FACTS['adr']}" in made["block"]
    assert made["sources"]["decision"] == 1


@pytest.mark.parametrize("strategy", ["tool_based", "self_editing"])
def test_an_assistant_with_tools_looks_facts_up_itself(desk: Desk, strategy: str) -> None:
    tools = {tool["name"]: tool for tool in desk.call("inject.tools", strategy=strategy)["items"]}
    prompt = desk.prompt("release", strategy=strategy)

    assert tools["search_org_facts"]["parameters_schema"]["required"] == ["query"]
    assert "Use search_org_facts to look up" in text_of(prompt)
    assert FACTS["procedure"] not in text_of(prompt)

    answer = called(desk, strategy, query="how is a release done")
    assert answer["content"].startswith("<memory-entry>\n[assistant] [procedure | score: ")
    assert FACTS["procedure"] in answer["content"]
    assert not answer["is_error"]


def test_what_no_fact_answers_the_tool_says(desk: Desk) -> None:
    for query in FOREIGN[:5]:
        assert called(desk, None, query=query)["content"] == "No facts found.", query


@pytest.mark.parametrize("arguments", [{}, {"query": " "}, {"query": 7}])
def test_a_search_for_nothing_is_answered_with_what_to_mend(
    desk: Desk, arguments: dict[str, Any]
) -> None:
    answer = called(desk, "tool_based", **arguments)
    assert answer["is_error"]
    assert answer["content"] == "Error: query must be a text that is not blank"


def called(desk: Desk, strategy: str | None, **arguments: Any) -> dict[str, Any]:
    more = {} if strategy is None else {"strategy": strategy}
    answer: dict[str, Any] = desk.call(
        "inject.call", name="search_org_facts", arguments=arguments, **more
    )
    return answer
