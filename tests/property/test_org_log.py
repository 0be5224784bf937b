"""Whatever is written, the facts are what replaying their log gives, at each moment (SPEC 15.5)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from support.gate import drawn
from support.org import HUMAN
from support.store import a_writer

from memd.domain.enums import OperationType, OrgFactCategory
from memd.domain.trust import Screened
from memd.store.check.row_checks import check_facts
from memd.store.file.connect import Writing
from memd.store.org import fact_index, org, org_facts
from memd.store.org.org import FactContent, Operation, Stamp
from memd.store.org.org_facts import SnapshotRow

FACTS = ("a", "b", "c")


class Step(NamedTuple):
    """Publish (*word* given) or retract a fact, some microseconds after the step before."""

    fact_id: str
    word: str | None
    category: OrgFactCategory
    after_us: int


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(FACTS),
        st.none()
        | st.sampled_from(("litestar", "flask", "django rest", "100% _", "")).map(
            lambda word: f"use {word}"
        ),
        st.sampled_from(OrgFactCategory),
        st.integers(-5, 20),  # a clock may be set back
    ),
    max_size=25,
)


@contextmanager
def a_log(steps: Sequence[Step]) -> Iterator[tuple[Writing, list[Operation]]]:
    """Do *steps* in a store in the main memory; yields it with the operations that were written."""
    done: list[Operation] = []
    with a_writer(Path(":memory:")) as conn:
        now_us = 1_000
        for number, step in enumerate(steps):
            now_us += step.after_us
            stamp = Stamp(f"o{number}", HUMAN, "test", now_us, b"salt")
            if step.word is None:
                operation = org.retract(conn, step.fact_id, stamp)
            else:
                wording = FactContent(step.category, Screened(step.word))
                operation = org.publish(conn, step.fact_id, wording, stamp)
            if operation is not None:
                done.append(operation)
        yield conn, done


def replayed(log: Sequence[Operation]) -> list[SnapshotRow]:
    """Return what a person would say stands after *log*: the rule, told the long way round."""
    facts: dict[str, SnapshotRow] = {}
    for operation in log:
        before = facts.get(operation.fact_id)
        retracts = operation.kind is OperationType.RETRACT
        facts[operation.fact_id] = SnapshotRow(
            fact_id=operation.fact_id,
            content=before.content if retracts and before else str(operation.content),
            category=operation.category,
            tags="[]",
            created_at_us=before.created_at_us if before else operation.at_us,
            retracted_at_us=operation.at_us if retracts else None,
            version=operation.version,
        )
    return [facts[fact_id] for fact_id in sorted(facts)]


@drawn(gate=25, long=100)
@given(STEPS)
def test_the_facts_are_what_replaying_the_log_gives(steps: list[Step]) -> None:
    with a_log(steps) as (conn, log):
        assert org_facts.snapshot_at(conn, 10**15) == replayed(log)
        standing = [row for row in replayed(log) if row.retracted_at_us is None]
        now = [org_facts.get(conn, fact_id) for fact_id in FACTS]
        assert [(row.fact_id, row.content, row.version) for row in now if row is not None] == [
            (row.fact_id, row.content, row.version) for row in standing
        ]
        assert list(check_facts(conn)) == []
        assert fact_index.TABLE.is_intact(conn)


@drawn(gate=25, long=100)
@given(STEPS, st.lists(st.integers(900, 1_500), min_size=1, max_size=10))
def test_a_moment_is_what_replaying_the_log_up_to_it_gives(
    steps: list[Step], moments: list[int]
) -> None:
    with a_log(steps) as (conn, log):
        for at_us in {*moments, *(operation.at_us for operation in log)}:
            until = [operation for operation in log if operation.at_us <= at_us]
            assert org_facts.snapshot_at(conn, at_us) == replayed(until)


@drawn(gate=25, long=100)
@given(STEPS)
def test_versions_count_up_by_one_and_times_never_go_back(steps: list[Step]) -> None:
    with a_log(steps) as (conn, log):
        assert [operation.at_us for operation in log] == sorted(o.at_us for o in log)
        for fact_id in FACTS:
            versions = org_facts.history(conn, fact_id)
            assert [row.version for row in versions] == list(range(1, len(versions) + 1))
            assert [row.operation_id for row in versions] == [
                operation.operation_id for operation in log if operation.fact_id == fact_id
            ]
            kinds = [row.kind for row in versions]
            assert "RETRACT" not in kinds[:1]
            assert ("RETRACT", "RETRACT") not in set(itertools.pairwise(kinds))


@drawn(gate=25, long=100)
@given(STEPS, st.sampled_from(("litestar", "use", "rest", "%", "_", "e f")))
def test_a_literal_search_finds_exactly_what_holds_the_text(steps: list[Step], text: str) -> None:
    with a_log(steps) as (conn, log):
        keys = fact_index.find_literal(conn, text, list(OrgFactCategory), 100)
        held = [row for row in replayed(log) if row.retracted_at_us is None and text in row.content]
        expected = sorted(held, key=lambda row: (row.content.index(text), len(row.content)))
        rows = org_facts.by_keys(conn, keys)
        assert {row.fact_id for row in rows} == {row.fact_id for row in held}
        places = [(row.content.index(text), len(row.content)) for row in rows]
        assert places == [(row.content.index(text), len(row.content)) for row in expected]
