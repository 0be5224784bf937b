"""X7 to X10 and X12: ingest, importance, recall and the prompt block as seed 001 shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.daemon import Spawned
from support.desk import Desk, a_desk, served
from support.ranked_candidates import a_preference, a_ranked

from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.recall.answer import choose, pack
from memd.view.labels import memory_block

PREFERENCE = "I prefer PostgreSQL in 2026 at Acme because async APIs are reliable."
PLAIN = MemoryRetrievalConfig()

DAY = (
    "we got up before the sun did and drank our coffee on the steps of the cottage, while the dog "
    "chased a hare over the wet field and lost it in the hedge. nobody spoke for a long while, "
    "since there was nothing to add to such a morning, and the kettle was still warm.",
    "after lunch the pump broke down, so water had to be fetched in buckets from the stream behind "
    "the mill. two washers and a length of old hose put it right in the end, although it still "
    "hums like a hive and loses a drop or two with each stroke of the piston.",
    "in the evening somebody read aloud from a novel about whaling, badly, doing all the voices, "
    "until even the children begged for mercy and went to bed of their own accord. we kept the "
    "fire going and played cards for matches, and the youngest of us won every single hand.",
)

EXAMPLE = """\
<memory>
[SEMANTIC] User is a backend engineer specializing in Python and PostgreSQL.
[SEMANTIC] User is building a SaaS product with FastAPI and Stripe integration.
[PROCEDURAL] Communication style: direct, technical, no preamble.
[EPISODIC] 2024-01-20: Discussed database migration from MySQL to PostgreSQL.
[EPISODIC] 2024-01-18: User reported issue with Alembic autogenerate on enums.
</memory>"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model_dir: Any) -> Iterator[Spawned]:
    with served(tmp_path_factory.mktemp("home"), model_dir) as daemon:
        yield daemon


@pytest.fixture
def user(daemon: Spawned, request: pytest.FixtureRequest) -> Iterator[Desk]:
    with a_desk(daemon, request.node.name) as desk:
        yield desk


@pytest.mark.model
def test_x7_a_first_time_user_keeps_everything(user: Desk) -> None:
    receipt = user.client.call(
        "memory.ingest",
        {"text": "\n\n".join(DAY), "user_id": "x7", "session_id": "s", "memory_type_hint": None},
    )

    assert len(receipt["stored"]) == len(DAY)
    assert receipt["turned_away"] == receipt["pending"] == []
    for item in receipt["stored"]:
        assert 0.3 <= item["importance"] <= 1.0
        assert item["category"] == "episodic"
    assert receipt["stored"][0]["importance"] >= 0.6


@pytest.mark.model
def test_x7_the_hint_wins(user: Desk) -> None:
    receipt = user.ingest(PREFERENCE, session_id="s", memory_type_hint="social")

    assert [item["category"] for item in receipt["stored"]] == ["social"]
    assert user.preferences() == {}


@pytest.mark.model
def test_x8_the_preference_is_set_once_and_then_updated(user: Desk) -> None:
    (first,) = user.ingest(PREFERENCE, session_id="one")["stored"]
    (row,) = user.call("preference.list")["items"]

    (again,) = user.ingest(PREFERENCE, session_id="two")["stored"]

    assert first["importance"] == 1.0
    assert first["category"] == "procedural"
    assert again["importance"] == pytest.approx(0.4, abs=0.01)
    (updated,) = user.call("preference.list")["items"]
    assert updated["name"] == row["name"]
    assert updated["value"] == row["value"] == PREFERENCE
    assert updated["updated_at"] > row["updated_at"]


@pytest.mark.model
def test_x9_recall_takes_the_documents_parameters(user: Desk) -> None:
    user.store(PREFERENCE)

    answer = user.client.call(
        "memory.recall",
        {
            "query": "Which database at Acme?",
            "user_id": user.agent_id,
            "top_k": 5,
            "token_budget": 2000,
            "memory_types": None,
            "search_mode": "dense",
        },
    )

    (memory,) = answer["memories"]
    assert memory["user_id"] == user.agent_id
    assert memory["memory_type"] == "semantic"
    assert memory["content"] == PREFERENCE
    assert answer["total_tokens"] == memory["token_count"]
    assert answer["budget_used"] == answer["total_tokens"] / 2000


def test_x9_what_does_not_fit_is_skipped_and_smaller_ones_are_tried() -> None:
    candidates = [a_ranked(tokens) for tokens in (900, 1500, 1000, 100, 50)]
    chosen = choose(candidates, [], PLAIN, budget=2000, most=5)

    taken = [item.measured.candidate.token_count for item in chosen.items]
    assert taken == [900, 1000, 100]
    assert sum(taken) == 2000
    packed = pack((900, 1500, 1000, 100, 50), 2000, 5)
    assert (packed.places, packed.tokens) == ([0, 2, 3], 2000)


@given(
    costs=st.lists(st.integers(1, 500), max_size=20),
    preferred=st.lists(st.integers(1, 300), max_size=6),
    budget=st.integers(1, 2000),
    top_k=st.integers(1, 10),
)
def test_x9_no_budget_is_ever_exceeded(
    costs: list[int], preferred: list[int], budget: int, top_k: int
) -> None:
    chosen = choose(
        [a_ranked(tokens) for tokens in costs],
        [a_preference(n) for n in preferred],
        PLAIN,
        budget=budget,
        most=top_k,
    )

    first = sum(row.token_count for row in chosen.preferences)
    rest = sum(item.measured.candidate.token_count for item in chosen.items)
    assert first <= budget // 2
    assert first + rest <= budget
    assert len(chosen.items) <= top_k
    assert len(chosen.preferences) + chosen.preferences_left_out == len(preferred)
    fits_nothing = not chosen.items and not chosen.preferences
    assert (chosen.minimum is not None) == (fits_nothing and bool(costs or preferred))


@pytest.mark.model
@pytest.mark.parametrize("budget", [1, 7, 13, 20, 33, 50, 100, 1000])
def test_x9_budget_used_is_always_the_share_that_was_used(user: Desk, budget: int) -> None:
    user.call("preference.set", name="tone", value="Be brief.")
    for fact in ("The hall is red.", "The kitchen, where we eat, is yellow.", "The attic is dark."):
        user.store(fact)

    answer = user.recall("rooms", token_budget=budget, search_mode="dense")

    total = sum(memory["token_count"] for memory in answer["memories"])
    assert answer["total_tokens"] == total <= budget
    assert answer["budget_used"] == total / budget


def test_x10_the_block_is_the_documents_byte_for_byte() -> None:
    lines = [line[1:].split("] ", 1) for line in EXAMPLE.splitlines()[1:-1]]

    assert memory_block((kind.lower(), content) for kind, content in lines) == EXAMPLE


@pytest.mark.model
def test_x10_recall_renders_its_memories_so(user: Desk) -> None:
    for line in EXAMPLE.splitlines()[1:-1]:
        kind, content = line[1:].split("] ", 1)
        user.store(content, category=kind.lower())

    answer = user.recall("the user's work on PostgreSQL", search_mode="dense")

    assert len(answer["memories"]) == 5
    assert answer["prompt_block"].splitlines() == [
        "<memory>",
        *(f"[{m['memory_type'].upper()}] {m['content']}" for m in answer["memories"]),
        "</memory>",
    ]
    assert set(answer["prompt_block"].splitlines()) == set(EXAMPLE.splitlines())


@pytest.mark.model
def test_x12_without_the_re_rank_model_the_blended_score_counts(user: Desk) -> None:
    for content in ("The hall is red.", "The kitchen is yellow."):
        user.store(content)
    plain = {m["id"]: m for m in user.recall("red hall", search_mode="dense")["memories"]}

    answer = user.recall("red hall", search_mode="dense", reranker_enabled=True)

    assert answer["degraded"] == "no re-ranker: ordered without; run: memd model install --reranker"
    for memory in answer["memories"]:
        before = plain[memory["id"]]["relevance_score"]
        blended = 0.8 * before + 0.2 * memory["importance"]
        assert memory["relevance_score"] == pytest.approx(blended)
    scores = [memory["relevance_score"] for memory in answer["memories"]]
    assert scores == sorted(scores, reverse=True)
