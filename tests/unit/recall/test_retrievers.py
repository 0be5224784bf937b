"""Which words of a question are looked up, and whose turns come first among the nearest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from support.rows import a_row, an_id_source, inserted
from support.store import a_writer

from memd.domain.memory import MemoryFilter
from memd.recall import candidates
from memd.recall.candidates import person_first, rare_terms, sparse_search
from memd.recall.question import question
from memd.recall.ranking.features import Statistics
from memd.recall.scope import RecallFilter, SearchScope, SearchTarget, agent_scope
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.search import fulltext

TEXTS = ("common rare", "common kite", "common", "common", "common seldom")


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[Writing]:
    ids = an_id_source()
    with a_writer(tmp_path / "memd.db") as conn:
        agent_key = names.ensure_agent(conn, "ada", 1)
        rows = [a_row(ids, content=text, agent_key=agent_key) for text in TEXTS]
        inserted(conn, rows, 1)
        yield conn


def _scope() -> SearchScope:
    return agent_scope(1, RecallFilter(MemoryFilter(), 1), None)


def _statistics(conn: Reading, terms: Sequence[str]) -> Statistics:
    return Statistics(*fulltext.statistics(conn, _scope().owners, terms))


def _rare(conn: Reading, terms: list[str]) -> list[str]:
    return list(rare_terms(terms, _statistics(conn, terms)))


def _sparse_keys(conn: Reading, written: Mapping[str, str]) -> list[int]:
    (keys,), _ = sparse_search(conn, [SearchTarget(_scope(), None)], written, 10, list(written))
    return keys


def test_in_a_small_store_every_term_is_looked_up(conn: Writing) -> None:
    assert _rare(conn, ["common", "rare"]) == ["common", "rare"]


def test_in_a_large_store_the_rarest_are_as_long_as_they_hold_few_memories(
    conn: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "POSTINGS_MAX", 2)

    assert _rare(conn, ["common", "kite", "rare", "seldom"]) == [
        "kite",
        "rare",
    ]


def test_a_question_of_common_terms_only_looks_up_the_rarest(
    conn: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "POSTINGS_MAX", 2)

    assert _rare(conn, ["unknown", "common"]) == ["common"]


def test_terms_that_nobody_used_find_nothing(conn: Writing) -> None:
    assert _sparse_keys(conn, {"unknown": "unknown"}) == []
    assert _sparse_keys(conn, {}) == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("We keep two databases in Frankfurt.", "Which database is it?"),
        ("The generalizations were hers.", "generalization"),
        ("Der Schlüssel liegt in der Kärntner Straße.", "STRASSE straße"),
        ("Her résumé is in the drawer.", "re\u0301sume\u0301"),
    ],
)
def test_a_word_finds_itself_whatever_its_stem_is_stemmed_to(
    conn: Writing, text: str, query: str
) -> None:
    (key,) = inserted(conn, [a_row(an_id_source(7), content=text, agent_key=1)], 1)
    asked = question(query, frozenset(), fulltext.stemmer(conn))

    assert _sparse_keys(conn, asked.written) == [key]


def test_of_the_nearest_what_a_person_says_comes_first_each_in_its_order(conn: Writing) -> None:
    ids = an_id_source(100)
    rows = [
        a_row(ids, content=f"By {speaker}", speaker=speaker)
        for speaker in ("Bo", "ULLA", "Ulla", "Bo")
    ]
    bo, capitals, ulla, bo_again = inserted(conn, rows, 1)
    nobody = 1

    nearest = [bo, nobody, ulla, bo_again, capitals]
    assert person_first(conn, nearest, "ulla", 4) == [ulla, capitals, bo, nobody]
    assert person_first(conn, nearest, "nobody we know", 3) == nearest[:3]
