"""PROMISES H18, H19, H24-H31 over the socket: what is wrong is named, and nothing of it is kept.

Every error is typed and names the field, never quotes what was sent, stores
nothing, and leaves the connection alive.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.daemon import WAIT_S, Spawned, spawned
from support.desk import Desk, a_desk
from support.work_units import effort

from memd.base.errors import InvalidError, MemoryStoreError, TooLargeError, UnknownMethodError
from memd.base.limits import FRAME_BYTES_MAX, TEXT_CHARS_MAX
from memd.rpc import faults

pytestmark = pytest.mark.model

MARK = "xyzzy-plugh"
"""Stands in every bad value, and must stand in no error."""


@pytest.fixture(scope="module")
def desk(daemon: Spawned) -> Iterator[Desk]:
    with a_desk(daemon, "bad input") as desk:
        desk.store("The kitchen is painted yellow.")
        yield desk


NUL = f"{MARK}\x00"
LONG = MARK + "x" * TEXT_CHARS_MAX
INGEST, STORE, RECALL = "memory.ingest", "memory.store", "memory.recall"
A_TEXT: dict[str, Any] = {"text": MARK}
A_STORE: dict[str, Any] = {"content": MARK, "category": "semantic"}
A_USAGE: dict[str, Any] = {"source": "x", "session_id": "s", "used_percent": 50}
A_FACT: dict[str, Any] = {"category": "convention", "content": MARK}
A_QUERY: dict[str, Any] = {"query": MARK}

# A larger integer than memd's JSON holds is refused before it has a field.
WRONG: list[tuple[str, dict[str, Any], str | None]] = [
    (INGEST, {"text": ""}, "text"),
    (INGEST, {"text": " \n\u00a0 "}, "text"),
    (INGEST, {"text": None}, "text"),
    (INGEST, {"text": 7}, "text"),
    (INGEST, {"text": [MARK]}, "text"),
    (INGEST, {"text": {"text": MARK}}, "text"),
    (INGEST, {}, "text"),
    (INGEST, {"text": NUL}, "text"),
    (INGEST, {"text": LONG}, "text"),
    (INGEST, {**A_TEXT, "caption": NUL}, "caption"),
    (INGEST, {**A_TEXT, "caption": "\udcff"}, "caption"),
    (INGEST, {**A_TEXT, "agent_id": "a", "user_id": "a"}, "user_id"),
    (INGEST, {**A_TEXT, "unknown": MARK}, "unknown"),
    (INGEST, {**A_TEXT, "category": MARK}, "category"),
    (INGEST, {**A_TEXT, "category": "Semantic"}, "category"),
    (INGEST, {**A_TEXT, "level": MARK}, "level"),
    (INGEST, {**A_TEXT, "origin": MARK}, "origin"),
    (INGEST, {**A_TEXT, "namespace": ""}, "namespace"),
    (INGEST, {**A_TEXT, "namespace": MARK * 100}, "namespace"),
    (INGEST, {**A_TEXT, "agent_id": " "}, "agent_id"),
    (INGEST, {**A_TEXT, "agent_id": "__shared__"}, "agent_id"),
    (INGEST, {**A_TEXT, "session_id": 5}, "session_id"),
    (INGEST, {**A_TEXT, "order": -1}, "order"),
    (INGEST, {**A_TEXT, "order": 2**63}, None),
    (INGEST, {**A_TEXT, "order": "1"}, "order"),
    (INGEST, {**A_TEXT, "order": True}, "order"),
    (INGEST, {**A_TEXT, "confidence": 1.5}, "confidence"),
    (INGEST, {**A_TEXT, "confidence": "0.5"}, "confidence"),
    (INGEST, {**A_TEXT, "occurred_at": "2026-01-01T00:00:00"}, "occurred_at"),
    (INGEST, {**A_TEXT, "occurred_at": MARK}, "occurred_at"),
    (INGEST, {**A_TEXT, "occurred_at": 12}, "occurred_at"),
    (INGEST, {**A_TEXT, "occurred_at": "0001-01-01T00:00:00+01:00"}, "occurred_at"),
    (INGEST, {**A_TEXT, "occurred_at": "9999-12-31T23:59:59-05:00"}, "occurred_at"),
    (INGEST, {**A_TEXT, "expires_at": "2999-01-01"}, "expires_at"),
    (INGEST, {**A_TEXT, "tags": MARK}, "tags"),
    (INGEST, {**A_TEXT, "tags": [""]}, "tags.0"),
    (INGEST, {**A_TEXT, "tags": [f"{MARK}{n}" for n in range(65)]}, "tags"),
    (INGEST, {**A_TEXT, "idempotency_key": ""}, "idempotency_key"),
    ("memory.ingest_many", {"items": []}, "items"),
    ("memory.ingest_many", {"items": [A_TEXT] * 257}, "items"),
    ("memory.ingest_many", {"items": [A_TEXT, {"text": NUL}]}, "items.1.text"),
    (STORE, {"content": MARK}, "category"),
    (STORE, {**A_STORE, "category": "semantic "}, "category"),
    (STORE, {**A_STORE, "content": "\t"}, "content"),
    (STORE, {**A_STORE, "content": NUL}, "content"),
    (STORE, {**A_STORE, "metadata": {"source": MARK, "importance": 1}}, "metadata.importance"),
    (STORE, {**A_STORE, "metadata": MARK}, "metadata"),
    (STORE, {**A_STORE, "expires_at": "2999-01-01T00:00:00"}, "expires_at"),
    (STORE, {**A_STORE, "expires_at": "9999-12-31T23:59:59-05:00"}, "expires_at"),
    ("usage.report", {**A_USAGE, "ts": "9999-12-31T23:59:59-05:00"}, "ts"),
    ("org.propose", {**A_FACT, "valid_from": "0001-01-01T00:00:00+01:00"}, "valid_from"),
    ("org.as_of", {"valid": "0001-01-01T00:00:00+01:00"}, "valid"),
    (STORE, {**A_STORE, "id": MARK}, "id"),
    (STORE, {**A_STORE, "created_at": "2026-01-01T00:00:00Z"}, "created_at"),
    (RECALL, {}, "query"),
    (RECALL, {"query": " "}, "query"),
    (RECALL, {"query": NUL}, "query"),
    (RECALL, {**A_QUERY, "top_k": 0}, "top_k"),
    (RECALL, {**A_QUERY, "top_k": -1}, "top_k"),
    (RECALL, {**A_QUERY, "top_k": 10**9}, "top_k"),
    (RECALL, {**A_QUERY, "top_k": 2.5}, "top_k"),
    (RECALL, {**A_QUERY, "top_k": "5"}, "top_k"),
    (RECALL, {**A_QUERY, "token_budget": 0}, "token_budget"),
    (RECALL, {**A_QUERY, "token_budget": 10**12}, "token_budget"),
    (RECALL, {**A_QUERY, "categories": [MARK]}, "categories.0"),
    (RECALL, {**A_QUERY, "categories": "semantic"}, "categories"),
    (RECALL, {**A_QUERY, "search_mode": MARK}, "search_mode"),
    (RECALL, {**A_QUERY, "min_relevance": 1.01}, "min_relevance"),
    (RECALL, {**A_QUERY, "min_relevance": True}, "min_relevance"),
    (RECALL, {**A_QUERY, "why": 1}, "why"),
    (RECALL, {**A_QUERY, "since": "2026-01-01T00:00:00"}, "since"),
    (RECALL, {**A_QUERY, "limit": 3}, "limit"),
    ("memory.retrieve", {"limit": 0}, "limit"),
    ("memory.retrieve", {"limit": 1001}, "limit"),
    ("memory.list", {"after": MARK}, "after"),
    ("memory.list", {"after": f"--5/{MARK}"}, "after"),
    ("memory.list", {"after": f"{'9' * 30}/{MARK}"}, "after"),
    ("memory.get", {"id": ""}, "id"),
    ("memory.get", {"id": NUL}, "id"),
    ("memory.get", {"id": MARK * 100}, "id"),
    ("memory.count", {"category": MARK}, "category"),
    ("preference.set", {"name": MARK, "value": ""}, "value"),
    ("preference.set", {"name": "", "value": MARK}, "name"),
]


@pytest.mark.parametrize(
    ("method", "params", "field"),
    WRONG,
    ids=[f"{method}-{field}-{number}" for number, (method, _, field) in enumerate(WRONG)],
)
def test_what_is_wrong_is_named_and_nothing_is_stored(
    desk: Desk, method: str, params: dict[str, Any], field: str | None
) -> None:
    before = desk.count()

    error = desk.refused(method, **params)

    assert error.field == field
    assert error.kind in {"invalid", "denied"}
    assert MARK not in f"{error.message} {error.hint}"
    assert desk.count() == before
    assert desk.preferences() == {}


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"),
    ],
)
def test_an_empty_span_of_time_is_refused(desk: Desk, since: str, until: str) -> None:
    error = desk.refused(RECALL, **A_QUERY, since=since, until=until)

    assert isinstance(error, InvalidError)
    assert "since" in error.message


def test_a_past_expiry_is_a_refused_store(desk: Desk) -> None:
    error = desk.refused(STORE, **A_STORE, expires_at="2001-01-01T00:00:00Z")

    assert isinstance(error, MemoryStoreError)
    assert error.field == "expires_at"
    assert desk.count() == 1


def test_a_text_larger_than_a_frame_is_refused_before_it_is_sent(desk: Desk) -> None:
    error = desk.refused(INGEST, text="ä" * FRAME_BYTES_MAX)

    assert isinstance(error, TooLargeError)
    assert desk.count() == 1


def test_a_lone_surrogate_is_refused_by_the_client_and_by_the_daemon(
    daemon: Spawned, desk: Desk
) -> None:
    assert isinstance(desk.refused(INGEST, text=f"{MARK}\ud800"), InvalidError)

    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(WAIT_S)
        raw.connect(str(daemon.paths.socket))
        for body in (rb'"text":"xyzzy-plugh\ud800"', b'"text":"xyzzy-plugh\xed\xa0\x80"'):
            raw.sendall(
                b'{"jsonrpc":"2.0","id":1,"method":"memory.ingest","params":{'
                b'"agent_id":"bad-input",' + body + b"}}\n"
            )
            answer = json.loads(_line(raw))
            assert answer["error"]["code"] in {-32602, -32700}
            assert MARK not in json.dumps(answer)
    assert desk.count() == 1


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_what_is_no_number_is_refused(daemon: Spawned, desk: Desk, number: str) -> None:
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(WAIT_S)
        raw.connect(str(daemon.paths.socket))
        raw.sendall(
            b'{"jsonrpc":"2.0","id":1,"method":"memory.ingest","params":{"text":"x",'
            b'"agent_id":"bad-input","confidence":' + number.encode() + b"}}\n"
        )
        answer = json.loads(_line(raw))

    assert answer["error"]["code"] in {-32602, -32700}
    assert desk.count() == 1


SYNTAX = [
    '"', "(" * 3000, "NOT", "x:y", "*", "NEAR(", 'a"b', "OR " * 2000, "own:kitchen AND -yellow",
    "{own context}: kitchen", "^kitchen", "kitchen + yellow", "'; DROP TABLE memory;--", "%_\\",
    "\u202ekitchen", "👩‍👩‍👧‍👦" * 2_500, "x" * 60_000, "? !", "12 34", "ﷺ",
]  # fmt: skip


@pytest.mark.parametrize("query", SYNTAX, ids=range(len(SYNTAX)))
def test_any_query_is_only_words(daemon: Spawned, desk: Desk, query: str) -> None:
    """All that is asked together takes no more than one question may."""
    with effort(daemon.process.pid) as spent:
        for mode in ("hybrid", "dense", "words"):
            answer = desk.recall(query, search_mode=mode)
            assert isinstance(answer["memories"], list)
        assert isinstance(desk.call("memory.retrieve", text=query), list)
        assert desk.call("archive.search", text=query) == []

    assert spent.units < 300


@pytest.mark.parametrize("text", SYNTAX, ids=range(len(SYNTAX)))
def test_any_text_is_stored_as_text(daemon: Spawned, text: str) -> None:
    name = text[:40].replace("/", "|")
    with a_desk(daemon, "any text") as desk:
        memory_id = desk.store(
            text, namespace=name, metadata={"source": name, "tags": [name]}, session_id=name
        )
        memory = desk.get(memory_id)
        assert memory is not None
        assert memory["content"] == text
        assert memory["namespace"] == memory["metadata"]["source"] == name
        listed = desk.call("memory.list", namespaces=[name], tags=[name], session_id=name)
        assert memory_id in [entry["id"] for entry in listed["items"]]
        desk.call("memory.delete", id=memory_id)


@pytest.mark.parametrize(
    "text",
    ["👩‍👩‍👧‍👦" * 1_250, "x" * 400_000, "é́" * 30_000, "\n" * 45_000 + "end", "a b " * 100_000],
)
def test_a_text_made_to_be_slow_is_taken_in_bounded_time(daemon: Spawned, text: str) -> None:
    with a_desk(daemon, "slow texts") as desk, a_desk(daemon, "bystander") as other:
        with effort(daemon.process.pid) as spent:
            receipt = desk.ingest(text)
            assert receipt["stored"] or receipt["pending"] or receipt["turned_away"]
            assert other.count() == 0
        assert spent.units < 300
        desk.call("memory.forget", filter={"since": "2000-01-01T00:00:00Z"})


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(min_size=1, max_size=80))
def test_a_query_of_any_characters_never_fails_inside(desk: Desk, query: str) -> None:
    for mode in ("words", "hybrid"):
        with contextlib.suppress(InvalidError):  # blank, NUL; any other error is a fault
            desk.recall(query, search_mode=mode)


@pytest.mark.parametrize("time", ["2026-11-20", "yesterday", "2026-11-20T09:30:00", ""])
def test_a_time_that_is_none_is_answered_with_one(desk: Desk, time: str) -> None:
    with pytest.raises(InvalidError, match="such as 2026-11-20T09:30:00Z") as refused:
        desk.ingest(MARK, occurred_at=time)
    assert refused.value.field == "occurred_at"


def test_a_category_of_facts_as_prompts_call_it_is_answered_with_its_name(desk: Desk) -> None:
    for method, params in (
        ("org.write", {"content": MARK, "category": "decision"}),
        ("org.query", {"categories": ["decision"]}),
    ):
        with pytest.raises(InvalidError, match=r"\badr\b.*; what prompts call a decision is adr"):
            desk.client.call(method, params)


@pytest.mark.parametrize(
    ("method", "nearest"),
    [
        ("memory.add", "memory.ingest"),
        ("memory.search", "memory.recall"),
        ("Memory.Ingest", "memory.ingest"),
        ("ingest", "memory.ingest"),
        ("usage.reprot", "usage.report"),
        ("sessions.list", "session.list"),
        ("memory.nope", None),
        ("tools/burn", None),
    ],
)
def test_an_unknown_method_is_answered_with_the_nearest(
    desk: Desk, method: str, nearest: str | None
) -> None:
    with pytest.raises(UnknownMethodError) as refused:
        desk.call(method)
    guess = f"did you mean {nearest}? " if nearest else ""
    assert refused.value.hint == f"{guess}rpc.discover lists all methods"


def test_every_kind_of_error_that_was_raised_here_has_a_code() -> None:
    assert {"invalid", "denied", "memory_store", "too_large"} <= set(faults.CODES)


def _line(raw: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"\n"):
        part = raw.recv(65_536)
        assert part, "the daemon closed the connection"
        received += part
    return received


def test_a_page_of_long_texts_ends_early_and_says_where_to_go_on(tmp_path: Path) -> None:
    """In a daemon without the model: that all is listed waits for no vector."""
    with spawned(tmp_path) as daemon, a_desk(daemon, "long pages") as desk:
        ids = {desk.store(f"{number} {'a' * (TEXT_CHARS_MAX // 2)}") for number in range(3)}
        listed: list[str] = []
        pages, after = 0, None
        while pages == 0 or after is not None:
            page = desk.call("memory.list", limit=1_000, after=after)
            listed += [item["id"] for item in page["items"]]
            pages, after = pages + 1, page["next"]
        assert sorted(listed) == sorted(ids)
        assert pages > 1
