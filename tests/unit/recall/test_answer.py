"""SPEC 2.8-2.12, 4, D5: from ranked candidates to what is answered."""

from __future__ import annotations

from typing import Any

import pytest
from support.ranked_candidates import a_preference, a_ranked

from memd.domain.enums import MemoryState
from memd.domain.recall import RecallRequest, RecallResult
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.recall.answer import AnswerContent, AnswerEntries, choose, render
from memd.recall.candidates import Ranking
from memd.recall.ranking.rankings import RankedCandidate
from memd.recall.select import Selection
from memd.store.memory.rows import StoredMemory

PLAIN = MemoryRetrievalConfig()


def a_request(**more: Any) -> RecallRequest:
    return RecallRequest(**({"query": "q", "top_k": 5, "token_budget": 100} | more))


def a_row(item: RankedCandidate, **more: Any) -> StoredMemory:
    """Return the row of *item*."""
    its = item.measured.candidate
    fields: dict[str, Any] = dict.fromkeys(StoredMemory._fields)
    fields |= {
        "memory_key": its.memory_key, "memory_id": its.memory_id, "agent_id": "ada",
        "namespace": "default", "category": "semantic", "level": "persistent", "origin": "person",
        "trust": 2, "content": its.own, "token_count": its.token_count, "importance": 0.6,
        "confidence": 1.0, "created_at_us": its.created_at_us, "state": "active", "part": 0,
        "is_summary": 0, "tags": "[]",
    }  # fmt: skip
    return StoredMemory(**(fields | more))


def answer_of(items: list[RankedCandidate], rows: list[StoredMemory], **more: Any) -> Any:
    ranked = Ranking(items, 0.9, degraded=None)
    by_key = {row.memory_key: row for row in rows}
    entries = AnswerEntries(preferences=[], items=items, preferences_left_out=0, minimum=None)
    return render(
        AnswerContent(entries, by_key, ranked, Selection(items, len(items), [])),
        a_request(**more),
        "ada",
    )


@pytest.mark.parametrize(("budget", "shown"), [(100, 5), (60, 3), (59, 2), (20, 1), (19, 0)])
def test_preferences_take_at_most_half_of_the_budget(budget: int, shown: int) -> None:
    rows = [a_preference(10) for _ in range(6)]

    chosen = choose([], rows, PLAIN, budget=budget, most=5)

    assert chosen.preferences == rows[:shown]
    assert chosen.preferences_left_out == 6 - shown


def test_what_preferences_leave_is_for_memories() -> None:
    chosen = choose([a_ranked(90), a_ranked(80)], [a_preference(20)], PLAIN, budget=100, most=5)

    assert [item.measured.candidate.token_count for item in chosen.items] == [80]


def test_the_memory_behind_a_shown_preference_is_not_shown_again() -> None:
    same, other = a_ranked(), a_ranked()
    row = a_preference(memory_key=same.measured.candidate.memory_key)

    assert choose([same, other], [row], PLAIN, budget=100, most=5).items == [other]


def test_a_preference_that_does_not_fit_leaves_its_memory_in_the_list() -> None:
    same = a_ranked(60)
    row = a_preference(60, memory_key=same.measured.candidate.memory_key)

    chosen = choose([same], [row], PLAIN, budget=100, most=5)

    assert chosen.items == [same]
    assert chosen.preferences_left_out == 1


def test_another_memory_that_says_what_a_shown_preference_says_is_not_shown() -> None:
    again, other = a_ranked(own="I prefer tea."), a_ranked(own="I prefer tea. And cake.")

    prefers = [a_preference(value="I prefer tea.")]
    chosen = choose([again, other], prefers, PLAIN, budget=100, most=5)

    assert chosen.items == [other]


@pytest.mark.parametrize(
    ("memories", "preferred", "minimum"),
    [
        ([200, 150], [], 150),
        ([200], [70], 140),
        ([130], [70], 130),
        ([], [70], 140),
        ([], [], None),
        ([50, 200], [], None),
        ([200], [40], None),
    ],
)
def test_when_nothing_fits_the_least_that_would_is_named(
    memories: list[int], preferred: list[int], minimum: int | None
) -> None:
    chosen = choose(
        [a_ranked(tokens) for tokens in memories],
        [a_preference(tokens) for tokens in preferred],
        PLAIN,
        budget=100,
        most=5,
    )

    assert chosen.minimum == minimum
    if minimum is not None:
        assert not chosen.items
        assert not chosen.preferences


def test_diversity_looks_at_a_larger_pool_and_puts_repetitions_back() -> None:
    config = MemoryRetrievalConfig(diversity_penalty_enabled=True)
    one = a_ranked(own="the nginx port is 8080", relevance=1.0)
    two = a_ranked(own="the nginx port is 8080", relevance=0.95)
    other = a_ranked(own="ada likes tea", relevance=0.6)

    chosen = choose([one, two, other], [], config, budget=100, most=2)

    assert chosen.items == [one, other]


def test_a_memory_that_was_erased_meanwhile_is_neither_shown_nor_counted() -> None:
    there, gone = a_ranked(30), a_ranked(20)

    answer = answer_of([there, gone], [a_row(there)])

    assert [memory.id for memory in answer.memories] == [there.measured.candidate.memory_id]
    assert answer.total_tokens == 30
    assert answer.budget_used == 0.3


def test_the_answer_carries_what_is_known_of_a_memory() -> None:
    item = a_ranked(relevance=0.7)
    row = a_row(
        item,
        session_id="s",
        speaker="Ann",
        reference="chat/1",
        tags='["a", "b"]',
        state="archived",
        updated_at_us=5_000_000,
    )

    (memory,) = answer_of([item], [row]).memories

    assert (memory.session_id, memory.speaker, memory.source) == ("s", "Ann", "chat/1")
    assert memory.tags == ("a", "b")
    assert memory.relevance_score == 0.7
    assert memory.state is MemoryState.ARCHIVED
    assert memory.compressed
    assert not memory.preference
    assert memory.why is None
    assert memory.updated_at is not None


def test_why_is_added_when_asked_for() -> None:
    item = a_ranked()

    (memory,) = answer_of([item], [a_row(item)], why=True).memories

    assert memory.why is not None
    assert memory.why.features["score"] == 0.5
    assert "cos" in memory.why.features


def test_nothing_is_an_empty_block() -> None:
    assert RecallResult().prompt_block == "<memory>\n</memory>"
    assert answer_of([], []).prompt_block == "<memory>\n</memory>"
