"""SPEC 7.15, D23: who stores what no prompt will have is told, and never refused."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.entries import a_request
from support.store import ADA, a_house

from memd.base import log
from memd.ingest.guard import advise_on_tags
from memd.model.memory import MemoryMetadata

TAGGED = MemoryMetadata(tags=("non-inferable",))


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    log.configure(stream=stream, environ={})
    yield stream
    log.configure()


def test_spec_7_15_one_warning_has_category_and_length_and_never_the_text(
    logged: io.StringIO,
) -> None:
    assert not advise_on_tags(a_request("JWT over sessions"))

    (line,) = logged.getvalue().splitlines()
    assert "level=warning" in line
    assert "category=episodic" in line
    assert "chars=17" in line
    assert "JWT" not in line


def test_spec_7_15_what_is_tagged_is_not_warned_of(logged: io.StringIO) -> None:
    assert advise_on_tags(a_request(metadata=TAGGED))
    assert logged.getvalue() == ""


@pytest.mark.parametrize("advises", [True, False])
async def test_spec_7_15_a_store_is_never_blocked_and_warned_of_where_it_matters(
    logged: io.StringIO, tmp_path: Path, advises: bool
) -> None:
    async with a_house(tmp_path / "memd.db") as house:
        ingest = replace(house.ingest, advises=advises)

        assert await ingest.store(ADA, a_request())
        assert await ingest.store(ADA, a_request("another", metadata=TAGGED))
        assert await house.recall.count(ADA, None) == 2

    assert logged.getvalue().count("not tagged non-inferable") == int(advises)
