"""Frames: what is read is strict JSON, whatever bytes arrive."""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.work_units import effort

from memd.base.errors import InvalidError, ParseError, TooLargeError
from memd.base.limits import FRAME_BYTES_MAX, FRAME_DEPTH_MAX
from memd.rpc import envelope

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab"), inner, max_size=4),
    max_leaves=20,
)


@given(plain)
def test_what_is_written_is_read_again(value: Any) -> None:
    frame = envelope.write(value)
    assert frame.endswith(b"\n")
    assert frame.count(b"\n") == 1
    assert envelope.parse_request(frame[:-1]) == value


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_with_a_typed_error(frame: bytes) -> None:
    with contextlib.suppress(ParseError, InvalidError):
        envelope.write(envelope.parse_request(frame))


@pytest.mark.parametrize(
    "frame",
    [
        b"[" * 100_000,
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"1" * 5_000,
        b'{"a": 1, "a": 2}',
        b'{"x": {"a": 1, "a": 2}}',
        '{"a": 1}'.encode("utf-16"),
        b'\xef\xbb\xbf{"a": 1}',
        b'"\xed\xa0\x80"',
        b'"a\x00b"',
        b"{",
        b"",
        b"'a'",
        b"[1,]",
        b"[" * (FRAME_DEPTH_MAX + 1) + b"]" * (FRAME_DEPTH_MAX + 1),
        b'{"a":' * (FRAME_DEPTH_MAX + 1) + b"1" + b"}" * (FRAME_DEPTH_MAX + 1),
    ],
)
def test_what_is_not_strict_json_is_a_parse_error(frame: bytes) -> None:
    with pytest.raises(ParseError):
        envelope.parse_request(frame)


@pytest.mark.parametrize("line", [b"POST / HTTP/1.1\r", b"{", b'  "jsonrpc": "2.0",'])
def test_a_line_of_http_or_of_indented_json_is_told_what_a_line_is(line: bytes) -> None:
    with pytest.raises(ParseError) as refusal:
        envelope.parse_request(line)
    assert "one JSON object per line" in (refusal.value.hint or "")


@pytest.mark.parametrize(
    "frame", [b"1e400", b"[-1e999]", b"9223372036854775808", b"[-9223372036854775809]"]
)
def test_a_number_out_of_range_is_invalid(frame: bytes) -> None:
    with pytest.raises(InvalidError):
        envelope.parse_request(frame)


def test_the_limits_themselves_are_allowed() -> None:
    assert envelope.parse_request(b"[9223372036854775807,-9223372036854775808]") == [
        2**63 - 1,
        -(2**63),
    ]
    envelope.parse_request(b"[" * FRAME_DEPTH_MAX + b"]" * FRAME_DEPTH_MAX)


def test_brackets_in_a_string_are_not_depth() -> None:
    text = '[{"' * 1_000 + '\\"' * 50
    assert envelope.parse_request(envelope.write([text])[:-1]) == [text]


def test_a_hostile_megabyte_is_read_in_bounded_time() -> None:
    frames = {
        "lists": b"[" + b"[]," * 340_000 + b"1]",
        "escapes": b'"' + b'\\"' * 520_000,
        "quotes": b'"' * 1_048_576,
        "objects": b"{" * 40 + b'"\\' * 500_000,
    }
    gc.freeze()  # a daemon has not the objects of two thousand tests to walk
    try:
        for name, frame in frames.items():
            with effort() as spent, contextlib.suppress(ParseError):
                envelope.parse_request(frame)
            assert spent.units < 50, name
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "a\x00b"])
def test_a_text_that_cannot_be_stored_is_invalid_wherever_it_stands(text: str) -> None:
    for value in (text, [text], {"a": {"b": [text]}}, {text: 1}):
        with pytest.raises(InvalidError):
            envelope.check_texts(value)
    envelope.check_texts({"a": ["fine \U0001f600"]})


@pytest.mark.parametrize("text", ["\ud800", "a\x00b"])
def test_a_text_that_cannot_be_stored_is_named_by_its_place(text: str) -> None:
    params = {"items": [{"text": "fine"}, {"text": text}], "agent_id": "a"}
    with pytest.raises(InvalidError, match=r"^items\.1\.text: holds a ") as caught:
        envelope.check_texts(params)
    assert caught.value.field == "items.1.text"


def test_a_frame_over_the_limit_is_too_large() -> None:
    with pytest.raises(TooLargeError):
        envelope.parse_request(b" " * (FRAME_BYTES_MAX + 1))


@given(
    st.lists(st.binary(min_size=1, max_size=20).map(lambda b: b.replace(b"\n", b"x"))), st.data()
)
def test_a_stream_is_cut_at_its_line_ends_however_it_arrives(
    lines: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(
        line + data.draw(st.sampled_from([b"\n", b"\r\n", b"\n\n"])) for line in lines
    )
    splitter = envelope.Splitter()
    frames: list[bytes] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        frames += splitter.feed(stream[:size])
        stream = stream[size:]
    assert frames == [line.strip(b" \t\r") for line in lines if line.strip(b" \t\r")]
    assert not splitter.pending
    assert splitter.overflow is None


def test_the_frames_before_one_over_the_limit_are_kept() -> None:
    splitter = envelope.Splitter(bytes_max=4)
    assert splitter.feed(b"1\n2\n34567\n8\n") == [b"1", b"2"]
    assert isinstance(splitter.overflow, TooLargeError)
    assert splitter.feed(b"9\n") == []


def test_an_unfinished_frame_over_the_limit_is_not_waited_for() -> None:
    splitter = envelope.Splitter(bytes_max=4)
    assert splitter.feed(b"1234") == []
    assert splitter.overflow is None
    splitter.feed(b"5")
    assert splitter.overflow is not None


def test_a_frame_is_as_deep_as_it_may_be_and_no_deeper() -> None:
    depth = FRAME_DEPTH_MAX - 1
    envelope.parse_request(b"[" * depth + b"[],[]" + b"]" * depth)
    with pytest.raises(ParseError):
        envelope.parse_request(b"[" * depth + b"[[]],[]" + b"]" * depth)
