"""What a nap will store, worked out beforehand: secrets out, messages kept, facts drafted."""

from __future__ import annotations

import hashlib
import json
import zlib
from datetime import UTC, datetime
from typing import Any

import pytest

from memd.domain.enums import MemoryCategory, Origin, Trust
from memd.domain.sleep.consolidation import EVERYWHERE_TAG
from memd.sleep.distil.exchanges import NapKind, NapMemory
from memd.sleep.nap.preparation import (
    PreparedNap,
    draft_distilled,
    draft_memories,
    extract,
    read,
)
from memd.sleep.nap.source import NO_CONTEXT, SessionContext
from memd.sleep.transcript.consolidator import MENTION_SHARE, MemoryConsolidator
from memd.sleep.transcript.facts import HEADER
from memd.sleep.transcript.messages import clean, text_to_store
from memd.text.tokens import DefaultTokenEstimator
from memd.view.view import ENTRY_TAG, wrap_untrusted

KEY = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
NOON = "2026-03-01T10:00:00Z"
TAIL: list[dict[str, Any]] = [{"role": "assistant", "content": f"Turn {n}."} for n in range(4)]


def a_nap(*messages: dict[str, Any], **more: Any) -> PreparedNap:
    return prepared([*messages, *TAIL], **more)


def prepared(messages: list[dict[str, Any]], **more: Any) -> PreparedNap:
    reading = read(messages, more.pop("context", NO_CONTEXT), distils=more.pop("distils", False))
    extracted = extract(reading, **{"rule": MemoryConsolidator(), **more})
    return draft_memories(extracted, DefaultTokenEstimator(), "s")


def texts(nap: PreparedNap) -> list[str | None]:
    return [
        None if stored is None else zlib.decompress(stored.zlib).decode()
        for stored in nap.stored_messages
    ]


def test_secrets_are_gone_from_everything_but_the_callers_own_tail() -> None:
    call = {"type": "tool_use", "id": "1", "name": "sh", "input": {"cmd": ["echo", KEY]}}
    nap = prepared(
        [
            {"role": "user", "content": f"error: {KEY}"},
            {"role": "assistant", "content": [call]},
            {"role": "tool", "tool_call_id": "1", "content": KEY},
            *TAIL[:3],
            {"role": "user", "content": KEY},
        ],
        last=True,
    )

    drafts = [draft.content for fact in nap.drafts for draft in fact.drafts.items]
    assert KEY not in json.dumps([nap.extract.shorter, texts(nap), drafts, nap.extract.summary])
    assert nap.extract.answer[0] == nap.extract.shorter[0]
    assert nap.extract.answer[-1] == {"role": "user", "content": KEY}


def test_what_no_file_can_carry_is_replaced() -> None:
    assert clean({"role": "user", "content": "a\x00b\ud800c"}) == {
        "role": "user",
        "content": "a\ufffdb?c",
    }
    nested: Any = "deep"
    for _ in range(5_000):
        nested = [nested]
    odd: dict[Any, Any] = {"role": "user", "content": nested, 5: float("inf")}
    cleaned = clean(odd)
    assert (cleaned["role"], cleaned["5"]) == ("user", None)
    json.dumps(cleaned, allow_nan=False)


def test_a_message_is_kept_with_what_it_calls_and_with_what_arguments() -> None:
    blocks = [
        {"type": "text", "text": "Look."},
        {"type": "tool_use", "name": "read", "input": {"path": "a.py"}},
    ]
    assert text_to_store({"content": blocks}) == 'Look.\n[calls read] {"path": "a.py"}'
    calls = [{"id": "1", "function": {"name": "ls", "arguments": '{"all": true}'}}]
    assert text_to_store({"content": None, "tool_calls": calls}) == '[calls ls] {"all": true}'
    assert text_to_store({}) == ""


def test_a_message_that_says_nothing_is_not_kept() -> None:
    nap = a_nap({"role": "user"}, {"role": "user", "content": " \n"}, {"content": None})
    assert nap.stored_messages[:3] == (None, None, None)
    assert nap.extract.detail.messages_before == 7


def test_equal_messages_are_told_apart_by_their_number() -> None:
    nap = a_nap(*({"role": "user", "content": "ok"} for _ in range(3)))
    assert [stored.nth for stored in nap.stored_messages[:3] if stored] == [0, 1, 2]
    assert len(nap.drafts) == 1


def test_results_in_blocks_are_a_tools() -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "7", "name": "cat"}]}
    result = [{"type": "tool_result", "tool_use_id": "7", "content": "x = 1"}]
    nap = a_nap(call, {"role": "user", "content": result})
    assert nap.stored_messages[1] is not None
    assert nap.stored_messages[1].role == "tool"
    assert [(f.request.text, f.request.origin) for f in nap.drafts] == [
        ("[cat] x = 1", Origin.TOOL)
    ]


@pytest.mark.parametrize(
    ("message", "origin"),
    [
        ({"role": "user", "content": "use tabs"}, Origin.PERSON),
        ({"role": "human", "content": "decided: tabs"}, Origin.PERSON),
        ({"role": "assistant", "content": "decided: tabs"}, Origin.ASSISTANT),
        ({"role": "system", "content": "decided: tabs"}, Origin.ASSISTANT),
        ({"content": "decided: tabs"}, Origin.ASSISTANT),
        ({"role": "tool", "content": "tabs"}, Origin.TOOL),
        ({"role": "user", "content": f"{HEADER}\n\n- decided: tabs"}, Origin.ASSISTANT),
        ({"role": "user", "content": f"{HEADER}\n\n- [sh] tabs"}, Origin.TOOL),
    ],
)
def test_a_fact_comes_from_whoever_said_it(message: dict[str, Any], origin: Origin) -> None:
    (fact,) = a_nap(message).drafts
    assert fact.request.origin is origin


def test_only_the_owner_has_preferences() -> None:
    (draft,) = a_nap({"role": "user", "content": "My favourite editor is Helix."}).drafts
    (of_a_tool,) = a_nap({"role": "tool", "content": "My favourite editor is Vim."}).drafts
    assert draft.drafts.items[0].preference is not None
    assert draft.drafts.items[0].preference.name == "favorite_editor"
    assert draft.drafts.items[0].category is MemoryCategory.PROCEDURAL
    assert of_a_tool.drafts.items[0].preference is None


def test_the_time_of_a_message_is_when_its_facts_happened() -> None:
    at = {"role": "user", "content": "use tabs", "timestamp": "2026-03-01T10:00:00Z"}
    unset, never = "1970-01-01T00:00:07Z", "9999-12-31T23:59:59-12:00"
    for broken in ("yesterday", "2026-03-01T10:00:00", 7, unset, never):
        (fact,) = a_nap({**at, "timestamp": broken}).drafts
        assert fact.request.occurred_at is None
    (fact,) = a_nap(at).drafts
    assert fact.request.occurred_at == datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_the_last_nap_takes_the_facts_of_the_tail_too() -> None:
    tail = {"role": "user", "content": "and lock the door"}
    whole = [{"role": "user", "content": "use tabs"}, *TAIL, tail]
    for last, texts in ((False, ["use tabs"]), (True, ["use tabs", "and lock the door"])):
        nap = prepared(whole, last=last)
        assert [fact.request.text for fact in nap.drafts] == texts
        assert len(nap.stored_messages) == 6


def test_what_the_session_knows_is_counted_and_not_drafted_again() -> None:
    messages = [
        {"role": "user", "content": text} for text in ("use tabs", "cafe\u0301", "and lock")
    ]
    known = frozenset(hashlib.sha256(text.encode()).digest() for text in ("use tabs", "caf\xe9"))
    before, nap = a_nap(*messages), a_nap(*messages, context=SessionContext(known))

    assert [fact.request.text for fact in nap.drafts] == ["and lock"]
    assert (nap.extract.known_count, nap.extract.detail.facts) == (2, 3)
    assert (nap.extract.summary, nap.stored_messages) == (
        before.extract.summary,
        before.stored_messages,
    )


def test_a_short_list_is_left_as_it_is() -> None:
    nap = a_nap()
    assert nap.extract.answer == tuple(TAIL)
    assert nap.extract.summary == ""
    assert nap.extract.detail.messages_removed == 0
    assert nap.drafts == ()


def test_a_long_fact_is_cut_like_any_text() -> None:
    line = "result: " + " ".join(f"word{n}" for n in range(3_000))
    (fact,) = a_nap({"role": "assistant", "content": line}).drafts
    assert len(fact.drafts.items) > 1
    assert all(draft.token_count <= 254 for draft in fact.drafts.items)


def a_nap_by_itself(*messages: dict[str, Any], **more: Any) -> PreparedNap:
    rule = MemoryConsolidator(mention_share=MENTION_SHARE)
    return a_nap(*messages, rule=rule, distils=True, **more)


def test_a_nap_by_itself_drafts_what_is_distilled_and_not_the_facts() -> None:
    rule = {"role": "user", "content": "We never push to main.", "timestamp": NOON}
    noise = {"role": "tool", "content": "error: 7\nTypeError in parse_line of main.go"}
    short = {"role": "user", "content": "yup!"}

    on_request, automatic = a_nap(rule, noise, short), a_nap_by_itself(rule, noise, short)

    assert [fact.request.text for fact in on_request.drafts] == [
        "We never push to main.",
        "[tool] error: 7\nTypeError in parse_line of main.go",
        "yup!",
    ]
    memories = {each.request.text: each for each in automatic.drafts}
    assert "yup!" not in memories
    memory = memories["We never push to main."]
    assert memory.places == (0,)
    assert memory.slot
    assert (memory.request.origin, memory.request.occurred_at) == (
        Origin.PERSON,
        datetime(2026, 3, 1, 10, tzinfo=UTC),
    )
    assert memory.request.tags[0] == "nap"
    assert automatic.extract.detail.facts == 3  # those of the list


def test_what_memd_said_itself_is_not_distilled_and_teaches_nothing() -> None:
    fence = wrap_untrusted(ENTRY_TAG, "[semantic] We never push to main. Lesson: lock the door.")
    message = {"role": "user", "content": f"Deploy it.\n{fence}"}
    answered = {"role": "tool", "name": "mcp__memd__memory_search", "content": "always use 8443"}
    texts = [each.request.text for each in a_nap_by_itself(message, answered).drafts]
    assert not any("push" in text or "door" in text or "8443" in text for text in texts)


CATEGORIES = [
    (NapKind.DECISION, MemoryCategory.SEMANTIC),
    (NapKind.CORRECTION, MemoryCategory.SEMANTIC),
    (NapKind.CONSTRAINT, MemoryCategory.SEMANTIC),
    (NapKind.ENVIRONMENT, MemoryCategory.SEMANTIC),
    (NapKind.OUTCOME, MemoryCategory.SEMANTIC),
    (NapKind.PREFERENCE, MemoryCategory.PROCEDURAL),
    (NapKind.FIX, MemoryCategory.PROCEDURAL),
    (NapKind.DIGEST, MemoryCategory.EPISODIC),
]


@pytest.mark.parametrize(("kind", "category"), CATEGORIES)
def test_what_is_distilled_is_one_memory_however_long_filed_by_its_kind(
    kind: NapKind, category: MemoryCategory
) -> None:
    text = "The gate is closed at night. " * 60
    memory = NapMemory(text, kind, (1, 0), "s", Origin.TOOL)
    messages = [{}, {"timestamp": NOON}]
    made_of = draft_distilled(memory, messages.__getitem__, DefaultTokenEstimator(), "s")
    (draft,) = made_of.drafts.items
    assert draft.content == text.strip()
    tags = ("nap", kind.value, *(("non-inferable",) if kind is NapKind.FIX else ()))
    assert (draft.category, made_of.drafts.tags) == (category, tags)
    assert (made_of.drafts.origin, made_of.drafts.trust) == (Origin.TOOL, Trust.UNTRUSTED)
    assert made_of.request.occurred_at is not None


def test_every_kind_is_filed() -> None:
    assert {kind for kind, _ in CATEGORIES} == set(NapKind)


@pytest.mark.parametrize(
    ("text", "kind", "origin", "name"),
    [
        ("My favourite editor is Helix.", NapKind.PREFERENCE, Origin.PERSON, "favorite_editor"),
        ("My favourite editor is Helix.", NapKind.PREFERENCE, Origin.ASSISTANT, None),
        ("My favourite editor is Helix.", NapKind.DECISION, Origin.PERSON, None),
        ("Test the cart. I hate sleeps.", NapKind.PREFERENCE, Origin.PERSON, None),
        ("Never open it by hand.", NapKind.FIX, Origin.PERSON, None),
    ],
)
def test_only_a_preference_in_its_owners_words_has_a_name(
    text: str, kind: NapKind, origin: Origin, name: str | None
) -> None:
    memory = NapMemory(text, kind, (0,), "s", origin)
    made_of = draft_distilled(memory, [{}].__getitem__, DefaultTokenEstimator(), "s")
    preference = made_of.drafts.items[0].preference
    assert (preference and preference.name) == name
    everywhere = memory._replace(is_everywhere=True)
    tagged = draft_distilled(everywhere, [{}].__getitem__, DefaultTokenEstimator(), "s")
    assert (EVERYWHERE_TAG in tagged.drafts.tags) == (name is None)
    assert EVERYWHERE_TAG not in made_of.drafts.tags
