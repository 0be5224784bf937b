import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.base.errors import InvalidError
from memd.base.limits import NAME_CHARS_MAX
from memd.cli import parts


def test_a_markdown_file_becomes_one_part_a_section() -> None:
    text = "intro\n\n# One\nfirst\n\n## Two\nsecond\n"
    found = list(parts.markdown_parts(text, "notes.md"))
    assert [part["text"] for part in found] == ["intro", "# One\nfirst", "## Two\nsecond"]
    assert [part["source"] for part in found] == ["notes.md#1", "notes.md#2", "notes.md#3"]
    assert {part["origin"] for part in found} == {"import"}


def test_a_hash_sign_inside_fenced_code_is_no_heading() -> None:
    text = "# One\n```sh\n# a comment\nls\n```\nafter\n"
    assert len(list(parts.markdown_parts(text, "n.md"))) == 1


@given(st.text(alphabet="ab #`\n", max_size=400))
def test_the_same_text_always_yields_the_same_parts_and_loses_no_word(text: str) -> None:
    for rule in (parts.text_parts, parts.markdown_parts):
        first, second = list(rule(text, "x")), list(rule(text, "x"))
        assert first == second
        assert " ".join(part["text"] for part in first).split() == text.split()


def test_a_paragraph_without_end_is_cut_at_spaces_within_the_limit() -> None:
    text = "word " * 5_000
    found = [part["text"] for part in parts.text_parts(text, "x")]
    assert max(map(len, found)) <= parts.PART_CHARS_MAX
    assert " ".join(found).split() == text.split()


def test_an_exports_header_is_checked_and_not_imported() -> None:
    lines = [json.dumps(parts.HEADER), "", json.dumps({"text": "a"})]
    assert list(parts.jsonl_parts(lines, "f")) == [{"text": "a"}]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"memd": "export", "v": 99}', "version 99"),
        ('{"memd": "backup", "v": 1}', "not an export"),
        ("[1]", "line 1"),
        ("{", "line 1"),
    ],
)
def test_what_is_no_export_of_this_version_is_refused_by_line(line: str, what: str) -> None:
    with pytest.raises(InvalidError, match=what):
        list(parts.jsonl_parts([line], "f"))


def test_a_reference_is_never_longer_than_a_name_and_keeps_its_end() -> None:
    found = parts.reference("/very" * 200, 12)
    assert len(found) == NAME_CHARS_MAX
    assert found.endswith("#12")
