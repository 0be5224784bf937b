"""A usage file says what it says, in whose words ever, or is refused with a reason."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.base.limits import NAME_CHARS_MAX, USAGE_BYTES_MAX
from memd.signals.usage import UnreadableSignal, Usage, complete, parse, parse_name

OWN = {
    "v": 1,
    "source": "claude-code",
    "session_id": "7",
    "used_tokens": 162_000,
    "window_tokens": 200_000,
    "used_percent": 81,
    "compact_at_tokens": 167_000,
    "model": "opus",
    "cwd": "/home/ada/work",
    "transcript_path": "/home/ada/.claude/projects/w/7.jsonl",
    "event": "PreCompact",
    "ts": "2026-11-21T01:40:00Z",
}
STATUS_LINE: dict[str, Any] = {
    "session_id": "7",
    "transcript_path": "/home/ada/.claude/projects/w/7.jsonl",
    "cwd": "/home/ada/work",
    "model": {"id": "claude-opus", "display_name": "Opus"},
    "version": "2.1.329",
    "context_window": {
        "total_input_tokens": 999_999,
        "total_output_tokens": 5_000,
        "context_window_size": 200_000,
        "current_usage": {
            "input_tokens": 2_000,
            "output_tokens": 5_000,
            "cache_creation_input_tokens": 10_000,
            "cache_read_input_tokens": 150_000,
        },
        "used_percentage": 81,
        "remaining_percentage": 19,
    },
}


def raw_of(**fields: Any) -> Usage:
    return parse(json.dumps(fields).encode())


def test_the_own_contract_is_read_whole() -> None:
    assert raw_of(**OWN) == Usage(
        source="claude-code",
        session_id="7",
        used_tokens=162_000,
        window_tokens=200_000,
        compact_at_tokens=167_000,
        used_percent=81.0,
        model="opus",
        cwd="/home/ada/work",
        transcript_path="/home/ada/.claude/projects/w/7.jsonl",
        event="PreCompact",
        at=datetime(2026, 11, 21, 1, 40, tzinfo=UTC),
    )


def test_the_documents_words_are_understood() -> None:
    assert raw_of(current_tokens=25_000, max_tokens=30_000) == Usage(
        used_tokens=25_000, window_tokens=30_000
    )


def test_a_percentage_alone_is_enough() -> None:
    assert raw_of(used_percent=81.5) == Usage(used_percent=81.5)


def test_null_and_missing_and_empty_mean_that_it_was_not_said() -> None:
    nothing = dict.fromkeys(OWN)
    assert raw_of(**nothing) == raw_of() == raw_of(model="", cwd="", source=" ") == Usage()


def test_an_unknown_key_is_passed_over() -> None:
    assert raw_of(used_percent=5, cost={"total": 1.5}, more=[1, [2]]) == Usage(used_percent=5.0)


def test_the_raw_status_line_of_claude_code_is_understood_without_its_output_tokens() -> None:
    usage = raw_of(**STATUS_LINE)
    assert (usage.used_tokens, usage.window_tokens, usage.used_percent) == (162_000, 200_000, 81.0)
    assert (usage.source, usage.session_id, usage.model) == ("claude-code", "7", "claude-opus")
    assert (usage.event, usage.transcript_path) == ("statusline", STATUS_LINE["transcript_path"])


def test_a_status_line_before_the_first_response_says_only_how_large_the_window_is() -> None:
    window = {
        "total_input_tokens": 0,
        "context_window_size": 200_000,
        "current_usage": None,
        "used_percentage": None,
    }
    usage = raw_of(**{**STATUS_LINE, "context_window": window})
    assert (usage.used_tokens, usage.used_percent, usage.window_tokens) == (None, None, 200_000)


def test_totals_of_a_whole_session_are_not_taken_for_the_window() -> None:
    window = {"total_input_tokens": 3_000_000, "context_window_size": 200_000}
    usage = raw_of(**{**STATUS_LINE, "context_window": window})
    assert usage.used_tokens is None


def test_a_hook_as_an_assistant_calls_it_is_understood() -> None:
    cursor = raw_of(
        conversation_id="c", hook_event_name="preCompact", context_usage_percent=85,
        context_tokens=170_000, context_window_size=200_000,
    )  # fmt: skip
    assert cursor == Usage(
        session_id="c", event="preCompact", used_percent=85.0,
        used_tokens=170_000, window_tokens=200_000,
    )  # fmt: skip
    letta = raw_of(event_type="PreCompact", context_length=9, max_context_length=10)
    assert (letta.used_tokens, letta.window_tokens, letta.event) == (9, 10, "PreCompact")
    claude = raw_of(session_id="7", hook_event_name="SessionStart", source="resume")
    assert (claude.source, claude.event) == (None, "SessionStart")


@pytest.mark.parametrize(
    "fields",
    [
        {"used_tokens": -1},
        {"used_tokens": "162000"},
        {"used_tokens": True},
        {"used_tokens": 1.5},
        {"used_tokens": [1]},
        {"used_tokens": 2**63},
        {"window_tokens": 0},
        {"compact_at_tokens": 0},
        {"used_percent": 5_000},
        {"used_percent": -0.1},
        {"used_percent": "81"},
        {"used_percent": True},
        {"used_tokens": 200_001, "window_tokens": 20_000},
        {"v": 2},
        {"v": True},
        {"source": 7},
        {"session_id": ["7"]},
        {"session_id": "x" * (NAME_CHARS_MAX + 1)},
        {"session_id": "7\u0000"},
        {"source": "a\x1b]0;b"},
        {"transcript_path": "/a\ud800"},
        {"cwd": {"a": 1}},
        {"model": 7},
        {"model": {"id": 7}},
        {"event": {}},
        {"ts": "yesterday"},
        {"ts": 1_700_000_000},
        {"ts": "0001-01-01T00:00:00+14:00"},
        {"context_window": {"current_usage": [1]}},
        {"context_window": {"current_usage": {"input_tokens": "many"}}},
        {"context_window": {"context_window_size": "large"}},
    ],
)
def test_what_cannot_be_true_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(UnreadableSignal):
        raw_of(**fields)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b"81",
        b'"used_percent"',
        b'{"used_tokens": 162000, "window_to',
        b'{"used_percent": 81} x',
        b'{"used_percent": NaN}',
        b'{"used_percent": Infinity}',
        b'{"used_percent": -Infinity}',
        b'{"used_percent": 1e400}',
        b'{"used_tokens": 1e400}',
        b'{"used_percent": 1, "used_percent": 2}',
        b'{"x": {"a": 1, "a": 2}}',
        b'{"used_tokens": ' + b"9" * 5_000 + b"}",
        b'\xef\xbb\xbf{"used_percent": 81}',
        '{"used_percent": 81}'.encode("utf-16"),
        b'{"model": "\xed\xa0\x80"}',
        b"[" * 60_000,
        b'{"a":' * 12_000,
        b'{"used_percent": 81, "x": "' + b"x" * USAGE_BYTES_MAX + b'"}',
    ],
)
def test_what_is_no_whole_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(UnreadableSignal):
        parse(raw)


def test_a_refusal_holds_nothing_of_the_file() -> None:
    secret = "correct-horse"  # noqa: S105  # stands for whatever a file may hold
    for fields in ({"used_percent": secret}, {"ts": secret}, {"cwd": {secret: 1}}, {"v": secret}):
        with pytest.raises(UnreadableSignal) as refused:
            raw_of(**fields)
        assert secret not in str(refused.value)
        assert refused.value.__cause__ is None


def test_ten_times_the_window_is_the_most_that_is_believed() -> None:
    assert raw_of(used_percent=1_000).used_percent == 1_000.0
    assert raw_of(used_tokens=200_000, window_tokens=20_000).used_tokens == 200_000


FILES = [json.dumps(file).encode() for file in (OWN, STATUS_LINE)]


@given(
    file=st.sampled_from(FILES),
    place=st.integers(0, 900),
    cut=st.integers(0, 900),
    bytes_there=st.binary(max_size=8) | st.sampled_from([b'"', b"[" * 5_000, b"9" * 5_000, b"NaN"]),
)
@example(FILES[0], 2, 0, b"\xff")  # not UTF-8
@example(FILES[0], FILES[0].index(b"162000"), 6, b"9" * 5_000)
@example(FILES[0], FILES[0].index(b"162000"), 6, b"[" * 60_000)
@example(FILES[0], FILES[0].index(b"2026"), 20, b"0001-01-01T00:00:00+02:00")
def test_no_bytes_do_more_than_be_refused(
    file: bytes, place: int, cut: int, bytes_there: bytes
) -> None:
    """A file that something wrote into, in the middle or for the rest, is refused or believable."""
    try:
        usage = parse(file[:place] + bytes_there + file[place + cut :])
    except UnreadableSignal:
        return
    assert usage.used_tokens is None or 0 <= usage.used_tokens < 2**63
    assert usage.used_percent is None or 0 <= usage.used_percent <= 1_000
    for name in (usage.source, usage.session_id, usage.model, usage.event):
        assert name is None or len(name) <= NAME_CHARS_MAX
        assert name is None or name.encode().translate(None, bytes(range(32))) == name.encode()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
keys = st.sampled_from([*OWN, "context_window", "current_tokens", "hook_event_name"])


@given(record=st.dictionaries(keys, anything))
def test_no_value_of_a_known_key_does_more_than_be_refused(record: dict[str, Any]) -> None:
    try:
        usage = parse(json.dumps(record).encode())
    except UnreadableSignal:
        return
    assert usage.used_tokens is None or usage.used_tokens >= 0
    assert usage.used_percent is None or 0 <= usage.used_percent <= 1_000


@pytest.mark.parametrize(
    ("name", "source", "session"),
    [
        ("codex-7.json", "codex", "7"),
        ("claude-code-7.json", "claude-code", "7"),
        (
            "my-own-tool-0d9b8f3e-6c0a-4b7e-9b56-1c2d3e4f5a6b.json",
            "my-own-tool",
            "0d9b8f3e-6c0a-4b7e-9b56-1c2d3e4f5a6b",
        ),
        ("cursor-a-b.json", "cursor", "a-b"),
        ("context_usage.json", "context_usage", "context_usage"),
        ("-7.json", "-7", "-7"),
        ("claude-code-.json", "claude", "code-"),
        ("usage", "usage", "usage"),
    ],
)
def test_a_file_is_named_after_its_assistant_and_session(
    name: str, source: str, session: str
) -> None:
    assert parse_name(Path("/run/usage") / name) == (source, session)


def test_the_name_of_the_file_says_what_the_file_does_not() -> None:
    path = Path("codex-7.json")
    assert complete(raw_of(used_percent=5), path) == raw_of(
        used_percent=5, source="codex", session_id="7"
    )
    assert complete(raw_of(**OWN), path) == raw_of(**OWN)
