"""Hooks and pumps read and write JSON as Python's own module does, without loading it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.daemon import ROOT

from memd.assist import quick_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)
BROKEN = (
    "", " ", "{", "[1,", '{"a"}', '{"a":1,}', "nul", "'a'", '"a', '"\n"', "1 2", "{} x", "+1", "01",
    "[1]]", "\\", '"\\x"', '{1: 2}',
)  # fmt: skip


@given(VALUES)
def test_what_is_written_is_what_json_writes(value: Any) -> None:
    assert quick_json.dumps(value) == json.dumps(value, separators=(",", ":"))


@given(VALUES, st.sampled_from((None, 1)), st.booleans())
def test_what_json_writes_is_read_as_it_reads_it(value: Any, indent: int | None, asc: bool) -> None:
    text = f" \r\n{json.dumps(value, indent=indent, ensure_ascii=asc)}\t\n"
    assert quick_json.loads(text) == value
    if text.isascii() or not any(0xD800 <= ord(letter) < 0xE000 for letter in text):
        assert quick_json.loads(text.encode()) == value


@given(st.text() | st.text('[]{}:,"0123456789.eE+-tfn \\u', max_size=20))
def test_a_text_is_json_to_both_or_to_neither(text: str) -> None:
    assert _read(quick_json.loads, text) == _read(json.loads, text)


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # that it is one is the contract
        quick_json.loads(text)


def test_it_is_refused_where_json_itself_was_never_loaded() -> None:
    code = (
        f"import sys; sys.path.append({str(ROOT)!r}); from memd.assist import quick_json\n"
        f"for text in {BROKEN!r}:\n"
        "    try: quick_json.loads(text)\n"
        "    except ValueError: continue\n"
        "    raise SystemExit(text)"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


def test_what_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(RecursionError):
        quick_json.loads("[" * 200_000)


def test_a_mark_of_the_byte_order_is_no_part_of_it() -> None:
    assert quick_json.loads(b"\xef\xbb\xbf{}") == {}


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ValueError, match="utf-8"):
        quick_json.loads(b'"\xff"')


def test_a_python_without_these_functions_has_json_itself() -> None:
    code = (
        "import sys; sys.modules['_json'] = None; from memd.assist import quick_json as q;"
        "assert q.loads(b' {\"a\": [1]} ') == {'a': [1]}; "
        "assert q.dumps([1, 2]) == '[1,2]'"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def _read(loads: Any, text: str) -> Any:
    try:
        value = loads(text)
    except ValueError:
        return "refused"
    return repr(value) if not (isinstance(value, float) and math.isnan(value)) else "nan"
