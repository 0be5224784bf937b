"""A check finds a changed log, facts that differ from it, and a wrong full-text index."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.org import CALLER, HUMAN, a_request, contents, wrote
from support.store import a_house, tampering

TEXT = "the lighthouse is closed"

ROW_FAULTS = {
    "a text changed": "UPDATE org_operation SET content = 'the lighthouse is open'"
    " WHERE version = 1",
    "an author changed": "UPDATE org_operation SET is_human = 0, author_id = 'eve',"
    " seniority = 'c_suite' WHERE version = 1",
    "a time changed": "UPDATE org_operation SET at_us = at_us - 1 WHERE version = 1",
    "a version taken out": "DELETE FROM org_operation WHERE version = 2",
    "two versions changed places": "UPDATE org_operation SET version = version + 10"
    " WHERE version < 3; UPDATE org_operation SET version = 13 - version WHERE version > 10",
    "a fact changed": "UPDATE org_fact SET content = 'the lighthouse is open'",
    "a fact retracted past the log": "UPDATE org_fact SET retracted_at_us = created_at_us",
    "a fact without a log": "INSERT INTO org_fact (fact_id, operation_key, version, category,"
    " content, created_at_us) VALUES ('ghost', 1, 1, 'adr', 'the lighthouse is open', 1)",
    "a fact missing": "DELETE FROM org_fact",
}


async def a_file(path: Path) -> None:
    async with a_house(path) as house:
        (fact_id,) = await wrote(house, "one")
        await house.org.write(CALLER, a_request("two", fact_id=fact_id), author=HUMAN)
        await house.org.write(CALLER, a_request(TEXT, fact_id=fact_id), author=HUMAN)
        assert (await house.upkeep.check(CALLER)).ok


@pytest.mark.parametrize("fault", ROW_FAULTS)
async def test_a_log_or_a_fact_that_was_changed_is_found(tmp_path: Path, fault: str) -> None:
    path = tmp_path / "memd.db"
    await a_file(path)
    with tampering(path) as conn:
        for sql in ROW_FAULTS[fault].split(";"):
            conn.execute(sql)
    async with a_house(path) as house:
        report = await house.upkeep.check(CALLER)
        assert any(problem.startswith("fact ") for problem in report.problems), report
        assert not any("lighthouse" in problem for problem in report.problems)


CACHE_FAULTS = {
    "a word too many": "INSERT INTO fts_org (rowid, content, category) VALUES (99, 'ghost', 'adr')",
    "a word missing": "INSERT INTO fts_org (fts_org, rowid, content, category)"
    " SELECT 'delete', fact_key, content, category FROM org_fact_words",
}


@pytest.mark.parametrize("fault", CACHE_FAULTS)
async def test_a_words_cache_that_lies_is_found_and_rebuilt(tmp_path: Path, fault: str) -> None:
    path = tmp_path / "memd.db"
    await a_file(path)
    with tampering(path) as conn:
        conn.execute(CACHE_FAULTS[fault])
    async with a_house(path) as house:
        report = await house.upkeep.check(CALLER)
        assert any("index of facts" in problem for problem in report.problems), report
        await house.upkeep.rebuild(CALLER)
        assert (await house.upkeep.check(CALLER)).ok
        assert await contents(house, "closed lighthouses") == [TEXT]
