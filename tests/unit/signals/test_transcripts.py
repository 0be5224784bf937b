"""Whatever an assistant's transcript looks like, a nap gets its messages in order, each once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.foreign_files import jsonl
from support.gate import drawn

from memd.signals import transcripts
from memd.signals.transcripts import Transcript, read, usage_of
from memd.signals.usage import MissingSignal, UnreadableSignal

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "transcripts" / "claude-code-log"


def contents(transcript: Transcript) -> list[str]:
    return [str(message["content"]) for message in transcript.messages]


PLAIN = jsonl({"role": "user", "content": "hi"}, {"role": "tool", "name": "ls", "content": "a"})


def test_messages_as_the_documents_write_them_are_read() -> None:
    read_back = read(PLAIN)
    assert read_back.format == "messages"
    assert read_back.messages == [
        {"role": "user", "content": "hi"},
        {"role": "tool", "content": "a", "name": "ls"},
    ]
    assert read(json.dumps([{"role": "user", "content": "hi"}], indent=2).encode()).messages == [
        {"role": "user", "content": "hi"}
    ]


def test_the_time_of_a_message_is_handed_on_as_it_stands() -> None:
    message = {"role": "user", "content": "hi", "timestamp": "yesterday"}
    assert read(jsonl(message)).messages == [message]
    for odd in (1_700_000_000, None, "", "x" * 65):
        assert "timestamp" not in read(jsonl({**message, "timestamp": odd})).messages[0]


def test_what_says_that_a_tool_failed_is_handed_on() -> None:
    failed = {"role": "tool", "content": "no", "exit_code": 2, "is_error": True}
    assert read(json.dumps({**failed, "exitCode": "2", "of": 1}).encode()).messages == [failed]


def test_a_broken_line_is_counted_and_the_others_are_read() -> None:
    raw = PLAIN + b'{"role": "user", "cont\n\n42\n"text"\n[1]\n' + b"[" * 100_000 + b"\n" + PLAIN
    read_back = read(raw)
    assert (len(read_back.messages), read_back.skipped) == (4, 5)


def test_a_line_that_is_still_being_written_costs_only_itself() -> None:
    assert contents(read(PLAIN + b'{"role": "user", "content": "half')) == ["hi", "a"]


def test_what_no_store_can_hold_does_not_come_through() -> None:
    (message,) = read(rb'{"role": "user", "content": "a\u0000\ud800b\ud83d\ude00"}').messages
    assert message["content"] == "a?b\N{GRINNING FACE}"


def test_an_empty_transcript_has_no_messages() -> None:
    assert read(b"") == read(b" \n\n") == Transcript([], None, "empty")
    assert usage_of(b"") is None


@pytest.mark.parametrize("raw", [b"# Notes", b'{"a": 1}', b"\x28\xb5\x2f\xfd\x00", b"[1, 2]", b"9"])
def test_what_is_no_transcript_is_refused_without_its_words(raw: bytes) -> None:
    with pytest.raises(UnreadableSignal) as refused:
        read(raw)
    assert "Notes" not in str(refused.value)


def test_a_transcript_is_read_only_below_its_roots(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "7.jsonl"
    path.parent.mkdir()
    path.write_bytes(PLAIN)
    assert contents(read(path, [path.parent])) == ["hi", "a"]
    with pytest.raises(UnreadableSignal):
        read(path, [tmp_path / "elsewhere"])
    with pytest.raises(MissingSignal):
        usage_of(path.with_name("8.jsonl"), [path.parent])


def test_of_a_transcript_over_the_limit_the_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "TRANSCRIPT_BYTES_MAX", 200)
    path = tmp_path / "7.jsonl"
    path.write_bytes(jsonl(*({"role": "user", "content": f"{n:03}"} for n in range(100))))
    read_back = read(path)
    assert contents(read_back)[-1] == "099"
    assert 1 < len(read_back.messages) < 10
    assert read_back.skipped == 0


@pytest.mark.skipif(not REAL.is_dir(), reason="the collected transcripts are not here")
def test_real_lines_of_claude_code_are_read() -> None:
    read_back = {path.stem: read(path, [REAL]) for path in REAL.glob("*.jsonl")}
    assert {one.format for one in read_back.values()} == {"claude-code"}
    assert {name: len(one.messages) for name, one in read_back.items()} == {
        "edge_cases": 9,
        "representative_messages": 11,
        "session_b": 3,
        "todowrite_examples": 11,
    }
    edge = read_back["edge_cases"]
    assert edge.skipped == 3  # "massive error", 42, [1]
    assert "Lorem ipsum" in contents(edge)[2]
    assert "caf\N{LATIN SMALL LETTER E WITH ACUTE}" in contents(edge)[6]
    called = read_back["representative_messages"].messages[3]["content"][0]
    assert (called["type"], called["id"], called["name"]) == ("tool_use", "tool_001", "Edit")


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "user", "m1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "id", "name", "message", "output"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
KEYS = [
    "type", "uuid", "parentUuid", "message", "payload", "content", "id", "toolCalls", "tokens",
    "$rewindTo", "$set", "messages", "role", "isSidechain", "sessionId", "isMeta",
]  # fmt: skip
KINDS = ["user", "assistant", "gemini", "response_item", "event_msg", "session_meta", "system"]


odd_records = st.builds(
    lambda kind, read_back: {**read_back, "type": kind},
    st.sampled_from(KINDS) | values,
    st.dictionaries(st.sampled_from(KEYS), values, max_size=6),
)


@drawn(gate=50, long=300)
@given(read_back=st.lists(odd_records, max_size=8))
def test_no_record_however_odd_stops_the_reading(read_back: list[dict[str, Any]]) -> None:
    raw = jsonl(*read_back)
    try:
        messages = read(raw).messages
        usage_of(raw)
    except UnreadableSignal:
        return
    assert all(isinstance(message["role"], str) and "content" in message for message in messages)
