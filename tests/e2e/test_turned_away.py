"""What a stream loses at the gate of importance is named, counted, listed and brought back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support import forked
from support.daemon import ROOT, Spawned, environment, wait_until
from support.desk import Desk, pending

pytestmark = pytest.mark.model

Typed = Callable[..., tuple[int, str, str]]
LONG_PAGE_BYTES = 4_500
SAID = "We went home by the old road"


@pytest.fixture
def memd(daemon: Spawned) -> Typed:
    def typed(*words: str) -> tuple[int, str, str]:
        done = forked.run(words, env=environment(daemon.paths.database.parent.parent, {}))
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    return typed


def sensors(count: int) -> str:
    """Return *count* paragraphs of one shape, as a log or a table of a wiki has them."""
    return "\n\n".join(
        f"Sensor {number} in hall {number % 3} of the old mill was read in the morning. It showed "
        f"{40 + number} percent, which is close to the day before. Nothing had to be repaired, and "
        "the miller wrote the value into the log as on every other working day of that summer."
        for number in range(count)
    )


def turned_away(desk: Desk) -> int:
    count: int = desk.client.call("system.status")["turned_away"]
    return count


def test_twelve_paragraphs_of_one_shape_in_one_call_stay_visible(desk: Desk) -> None:
    receipt = desk.ingest(sensors(12), origin="assistant")
    desk.settle()

    chunks = sum(len(receipt[name]) for name in ("stored", "pending"))
    assert chunks >= 12
    assert desk.count() == chunks
    assert desk.archived() == 0


def test_a_text_of_four_paragraphs_by_a_new_agent_is_kept_whole(desk: Desk) -> None:
    receipt = desk.ingest(sensors(4), origin="tool")

    assert len(receipt["stored"]) == 4
    assert receipt["turned_away"] == []


def test_what_was_turned_away_is_counted_listed_and_brought_back_by_one_command(
    desk: Desk, memd: Typed
) -> None:
    desk.ingest(SAID, session_id="one", origin="assistant", project_id="home")
    (item,) = desk.ingest(SAID, session_id="two", origin="assistant", project_id="home")[
        "turned_away"
    ]
    assert "memd archive turned-away" in item["reason"]
    assert turned_away(desk) == 1

    code, out, err = memd("status")
    assert code == 0
    assert "turned away:           1" in out
    assert "memd archive turned-away" in err
    listed = json.loads(memd("archive", "turned-away", "--json")[1])["items"]
    assert [one["entry"]["id"] for one in listed] == [item["id"]]
    assert SAID in memd("archive", "turned-away")[1]
    other = memd("archive", "turned-away", "--restore", "--agent", "nobody")
    assert other == (0, "restored 0\n", "")

    assert memd("archive", "turned-away", "--restore") == (0, "restored 1\n", "")

    assert turned_away(desk) == 0
    assert desk.count() == 2
    assert memd("archive", "turned-away")[2] == "nothing was turned away\n"


def test_an_agent_lists_and_brings_back_its_own_page_by_page(desk: Desk) -> None:
    for number in range(4):
        desk.ingest(SAID, session_id=f"s{number}", origin="assistant", project_id="home")

    first = desk.call("archive.turned_away", limit=2)
    rest = desk.call("archive.turned_away", limit=2, after=first["next"])

    assert len(first["items"]) == 2
    assert len(rest["items"]) == 1
    assert rest["next"] is None
    assert desk.call("archive.restore_turned_away") == 3
    assert desk.count() == 4


@pytest.mark.parametrize("larger", [False, pytest.param(True, marks=pytest.mark.long)])
def test_the_pages_of_this_repository_are_imported_whole_and_every_chunk_is_found(
    desk: Desk, memd: Typed, *, larger: bool
) -> None:
    """The few that are longer than all others together are for the release command (0217)."""
    pages = [
        str(page)
        for page in sorted((ROOT / "docs").glob("*.md"))
        if (page.stat().st_size > LONG_PAGE_BYTES) == larger
    ]

    code, out, _ = memd("import", *pages, "--agent", desk.agent_id, "--json")
    wait_until(lambda: pending(desk.client) == 0, "every chunk has its vector", 600.0)

    assert code == 0
    report = json.loads(out)
    assert desk.archived() == turned_away(desk) == 0
    chunks = [*entries(desk)]
    assert (
        len(chunks) == report["new"] - report["quarantined"]
    )  # pages that quote the fence's own end
    assert [chunk["id"] for chunk in chunks if not is_found(desk, chunk)] == []


def entries(desk: Desk) -> Iterator[dict[str, Any]]:
    after: str | None = None
    while True:
        page = desk.call("memory.list", limit=500, after=after)
        yield from page["items"]
        after = page["next"]
        if after is None:
            return


def is_found(desk: Desk, chunk: dict[str, Any]) -> bool:
    """Return whether a search for the first words of *chunk* has it.

    In both ways: tables of the socket's methods have forty words in common, and fill the answer.
    """
    query = " ".join(chunk["content"].split()[:40])[:300]
    answer = desk.recall(query, top_k=10)
    return chunk["id"] in {memory["id"] for memory in answer["memories"]}
