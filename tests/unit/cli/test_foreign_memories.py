"""Memories of other programs."""

from __future__ import annotations

import json

from memd.base.limits import NAME_CHARS_MAX
from memd.cli.transfer.foreign import parse_memories


def test_a_long_name_of_an_entity_is_cut_as_a_tag() -> None:
    row = {"type": "entity", "name": "A" * 300, "observations": ["likes tea"]}
    (item,) = parse_memories(json.dumps(row)) or ({},)
    assert item["text"] == f"{'A' * 300}: likes tea"
    assert item["tags"] == ["A" * NAME_CHARS_MAX]
