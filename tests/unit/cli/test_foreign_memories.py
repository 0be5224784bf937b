"""Memories of other programs."""

from __future__ import annotations

import json

from memd.base.limits import NAME_CHARS_MAX
from memd.cli.transfer.memories import parse_memories


def test_a_long_name_of_an_entity_is_cut_as_a_tag() -> None:
    row = {"type": "entity", "name": "A" * 300, "observations": ["likes tea"]}
    memories = parse_memories(json.dumps(row))
    assert memories is not None
    (item,) = memories.by_user[None]
    assert item["text"] == f"{'A' * 300}: likes tea"
    assert item["tags"] == ["A" * NAME_CHARS_MAX]


def test_what_is_no_short_text_of_mem0_is_left_out() -> None:
    row = {
        "memory": "likes tea", "user_id": 7, "run_id": "r" * 300, "categories": 3,
        "metadata": {"note": "a\nb", "ended": False, "list": ["a"], "empty": {}}, "hash": "h",
        "expiration_date": "2027-01-01",
    }  # fmt: skip
    memories = parse_memories(json.dumps([row, row]))
    assert memories is not None
    (item, _) = memories.by_user["7"]
    assert item == {"text": "likes tea", "origin": "import", "tags": ["ended:false"]}
    left_out = ("run_id", "categories", "metadata.note", "metadata.list", "expiration_date")
    assert memories.left_out == dict.fromkeys(left_out, 2)
