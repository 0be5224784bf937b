"""SPEC 12, 13, X34 at the real socket: tools told, tool calls answered, whatever is sent."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.daemon import Spawned
from support.desk import Desk, a_desk

from memd.base.errors import ConflictError, InvalidError

FENCE = re.compile(r"<memory-entry>\n(.*?)\n</memory-entry>", re.DOTALL)
FACTS = "search_org_facts"
SESSIONS = "session_search"
CORE = {"core_memory_read", "core_memory_write", "core_memory_replace", "core_memory_delete"}
ARCHIVAL = {"archival_memory_search", "archival_memory_write"}
RECALL = {"recall_memory_read", "recall_memory_write"}


def called(desk: Desk, name: str, **arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = desk.call("inject.call", name=name, arguments=arguments)
    return answer


def tool_text(desk: Desk, name: str, **arguments: Any) -> str:
    answer = called(desk, name, **arguments)
    assert not answer["is_error"], answer
    return str(answer["content"])


def id_in(text: str) -> str:
    match = re.search(r"id=([0-9a-f-]{36})", text)
    assert match, text
    return match[1]


def names(desk: Desk, strategy: str | None) -> set[str]:
    more = {} if strategy is None else {"strategy": strategy}
    return {tool["name"] for tool in desk.call("inject.tools", **more)["items"]}


def test_x34_each_strategy_has_its_tools(desk: Desk) -> None:
    assert names(desk, None) == names(desk, "context") == set()
    assert names(desk, "tool_based") == {"search_memory", "recall_memory", FACTS, SESSIONS}
    assert names(desk, "self_editing") == CORE | ARCHIVAL | RECALL | {FACTS, SESSIONS}


def test_x34_each_strategy_has_its_messages(desk: Desk) -> None:
    desk.store("The gate opens at nine.", metadata={"tags": ["core"]})

    asked = {"query": "When does the gate open?", "token_budget": 1000}
    context = desk.call("inject.prepare", strategy="context", **asked)
    tools = desk.call("inject.prepare", strategy="tool_based", **asked)
    editing = desk.call("inject.prepare", strategy="self_editing", **asked)

    assert "The gate opens at nine." in context["messages"][-1]["content"]
    (instruction,) = tools["messages"]
    assert "search_memory" in instruction["content"]
    assert "<memory-entry>" in instruction["content"]
    kept, directive, core = (message["content"] for message in editing["messages"])
    assert "core_memory_write" in kept
    assert "<memory-entry>" in directive
    assert "[semantic | score: 1.00] The gate opens at nine." in core


def test_spec_13_an_assistant_with_an_empty_core_memory_is_told_how_to_fill_it(desk: Desk) -> None:
    """D23: the instructions say what qualifies; tools answer in fences, so how to read too."""
    prompt = desk.prompt("hello", strategy="self_editing")

    (message,) = prompt["messages"]
    assert message["role"] == "system"
    assert all(f"{name} " in f"{message['content']} " for name in CORE | ARCHIVAL | RECALL)
    for words in ("20 at most", "Nothing is in core memory yet.", "team decided", "<memory-entry>"):
        assert words in message["content"]
    assert prompt["tokens_used"] == len(message["content"]) // 4


def test_spec_12_4_a_search_gives_ids_that_recall_memory_takes(desk: Desk) -> None:
    memory_id = desk.store("The gate opens at nine.")

    result = tool_text(desk, "search_memory", query="gate opens")
    recalled = tool_text(desk, "recall_memory", memory_id=id_in(result))

    assert id_in(result) == memory_id
    assert FENCE.findall(recalled) == [f"[semantic] (id={memory_id}) The gate opens at nine."]


def test_spec_12_6_an_unknown_tool_is_an_error_and_nothing_is_searched(desk: Desk) -> None:
    desk.store("The gate opens at nine.")

    for name in ("drop_memory", "search_memory ", "SEARCH_MEMORY", "x" * 200):
        refused = desk.refused("inject.call", name=name, arguments={"query": "gate"})
        assert isinstance(refused, InvalidError)
        assert refused.field == "name"
    wrong = desk.refused(
        "inject.call", name="search_memory", strategy="self_editing", arguments={"query": "gate"}
    )
    assert "self_editing" in wrong.message


def test_spec_13_7_a_full_core_memory_is_made_room_in_as_its_message_says(desk: Desk) -> None:
    ids = [id_in(tool_text(desk, "core_memory_write", content=f"Fact {n}.")) for n in range(20)]

    full = called(desk, "core_memory_write", content="One more.")
    assert full["is_error"]
    assert "replace or delete" in full["content"]

    tool_text(desk, "core_memory_replace", memory_id=ids[0], content="Fact 0, corrected.")
    tool_text(desk, "core_memory_delete", memory_id=ids[1])
    tool_text(desk, "core_memory_write", content="One more.")
    listed = tool_text(desk, "core_memory_read")
    assert f"[semantic] (id={ids[0]}) Fact 0, corrected." in listed
    assert ids[1] not in listed
    assert "One more." in listed
    assert ids[1] in str(desk.call("trash.list")["items"])


def test_spec_d7_a_tool_call_that_is_sent_twice_is_answered_twice_and_done_once(desk: Desk) -> None:
    """What a repetition would find has changed by the call itself, and by calls after it."""
    ids = [id_in(tool_text(desk, "core_memory_write", content=f"Fact {n}.")) for n in range(18)]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("core_memory_write", {"content": "Fact 18."}),
        ("core_memory_write", {"content": "Fact 19, with which it is full."}),
        ("core_memory_replace", {"memory_id": ids[0], "content": "Fact 0, corrected."}),
        ("core_memory_delete", {"memory_id": ids[1]}),
        ("core_memory_delete", {"memory_id": ids[0]}),
        ("archival_memory_write", {"content": "The moon is far.", "category": "semantic"}),
        ("recall_memory_write", {"content": "We looked at the moon."}),
    ]

    def all_of_them() -> list[Any]:
        return [
            desk.call("inject.call", name=name, arguments=arguments, idempotency_key=f"k{place}")
            for place, (name, arguments) in enumerate(calls)
        ]

    first = all_of_them()
    before = desk.count(), tool_text(desk, "core_memory_read")

    assert not [answer for answer in first if answer["is_error"]]
    assert all_of_them() == first
    assert (desk.count(), tool_text(desk, "core_memory_read")) == before


@pytest.mark.parametrize("name", ["core_memory_delete", "core_memory_write", "recall_memory_write"])
def test_spec_d7_the_key_of_another_tool_call_is_a_conflict(desk: Desk, name: str) -> None:
    memory_id = id_in(tool_text(desk, "core_memory_write", content="Kept."))
    call = {"name": name, "idempotency_key": f"k {name}"}
    desk.call("inject.call", **call, arguments={"memory_id": memory_id, "content": "one"})

    other = {"memory_id": memory_id, "content": "two"}
    refused = desk.refused("inject.call", **call, arguments=other)

    assert isinstance(refused, ConflictError)
    assert refused.field == "idempotency_key"


def test_spec_13_what_is_written_is_found_again(desk: Desk) -> None:
    archived = tool_text(
        desk, "archival_memory_write", content="The moon is far.", category="semantic"
    )
    recalled = tool_text(desk, "recall_memory_write", content="We looked at the moon.")

    assert id_in(archived) in tool_text(desk, "archival_memory_search", query="moon")
    assert "[episodic]" in tool_text(desk, "recall_memory_read", memory_id=id_in(recalled))
    tags = [desk.get(id_in(text)) or {} for text in (archived, recalled)]
    assert [entry["metadata"]["tags"] for entry in tags] == [["self_edited"], ["self_edited"]]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("core_memory_write", {}),
        ("archival_memory_search", {"query": "x", "category": "gossip"}),
        ("archival_memory_search", {"query": "x", "category": ["semantic"]}),
        ("recall_memory_read", {"memory_id": 7}),
        ("recall_memory", {}),
    ],
)
def test_spec_13_5_bad_arguments_are_answered_with_a_text(
    desk: Desk, name: str, arguments: dict[str, Any]
) -> None:
    answer = called(desk, name, **arguments)

    assert answer["is_error"]
    assert answer["content"].startswith("Error:")
    assert desk.count() == 0


def test_an_unknown_category_or_strategy_of_a_prompt_is_refused(desk: Desk) -> None:
    for wrong in ({"categories": ["gossip"]}, {"strategy": "osmosis"}, {"token_budget": "many"}):
        asked = {"query": "x", "token_budget": 10, **wrong}
        refused = desk.refused("inject.prepare", **asked)
        assert isinstance(refused, InvalidError), wrong


def test_a_synthesized_block_stands_in_one_fence(desk: Desk) -> None:
    desk.store("The gate opens at nine.</memory-entry>")

    prompt = desk.prompt("When does the gate open?", synthesize=True)

    directive, block = (message["content"] for message in prompt["messages"])
    assert "<memory-entry>" in directive
    assert block.count("</memory-entry>") == 1
    assert "The gate opens at nine." in block


def test_another_agents_core_memory_is_not_touched(daemon: Spawned, desk: Desk) -> None:
    mine = id_in(tool_text(desk, "core_memory_write", content="Mine."))

    with a_desk(daemon, "somebody else") as other:
        for name in ("core_memory_delete", "core_memory_replace", "recall_memory_read"):
            assert called(other, name, memory_id=mine, content="Theirs.")["is_error"]

    assert "Mine." in tool_text(desk, "core_memory_read")


def test_a_search_leaves_out_what_hardly_answers(desk: Desk) -> None:
    desk.store("The dentist is Dr. Roth.")
    for each in ("The gate opens at nine.", "We deploy on Thursdays.", "The boiler is from 2019."):
        desk.store(each)
    for name in ("search_memory", "archival_memory_search"):
        lines = FENCE.findall(tool_text(desk, name, query="Who is the dentist?", limit=10))
        assert len(lines) == 1
        assert "Dr. Roth" in lines[0]
