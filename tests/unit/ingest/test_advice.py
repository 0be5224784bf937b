"""SPEC 7.15, D23: who stores what no prompt will have is told, and never refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from support.entries import a_request
from support.store import ADA, BOB, a_house

from memd.domain.memory import MemoryMetadata
from memd.domain.settings.settings import Settings
from memd.ingest.filing import advise_on_tags

TAGGED = MemoryMetadata(tags=("non-inferable",))


def test_spec_7_15_one_warning_has_category_and_length_and_never_the_text(
    log_output: io.StringIO,
) -> None:
    assert not advise_on_tags(a_request("JWT over sessions"))

    (line,) = log_output.getvalue().splitlines()
    assert "level=warning" in line
    assert "category=episodic" in line
    assert "chars=17" in line
    assert "JWT" not in line


def test_spec_7_15_what_is_tagged_is_not_warned_of(log_output: io.StringIO) -> None:
    assert advise_on_tags(a_request(metadata=TAGGED))
    assert log_output.getvalue() == ""


@pytest.mark.parametrize("decides", [True, False])
async def test_s4_d23_store_warns_where_the_tag_decides_else_notes_it_once_and_never_blocks(
    log_output: io.StringIO, tmp_path: Path, decides: bool
) -> None:
    tree = {"memory": {"retrieval": {"non_inferable_only": decides}}}
    async with a_house(tmp_path / "memd.db", settings=Settings.model_validate(tree)) as house:
        for text in ("one", "two", "three"):
            assert await house.ingest.store(ADA, a_request(text))
        assert await house.ingest.store(BOB, a_request("another", metadata=TAGGED))
        assert await house.recall.count(ADA, None) == 3

    lines = log_output.getvalue().splitlines()
    advice = [line for line in lines if "not tagged non-inferable" in line]
    assert len(advice) == (3 if decides else 1)
    assert all("level=warning" in line for line in advice) is decides
    assert log_output.getvalue().count("no prompt will have it") == (3 if decides else 0)
