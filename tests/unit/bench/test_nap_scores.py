"""The bench of what naps keep counts an item, a line and an agreement as it says it does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bench import nap_ratings
from bench.nap_quality import main
from bench.nap_retrieval import CUTS, Asked, Prompt, Stored, dated, recalled, sizes
from bench.nap_scores import (
    Memory,
    agreement,
    covered,
    figures,
    junk_kept,
    kappa,
    score,
    summed,
    words,
)
from bench.reader_labels import (
    PROJECTS,
    SECOND,
    SPLITS,
    Item,
    labels,
    project,
    reading,
    readings,
    session_lines,
    split,
)

SESSIONS = Path(__file__).resolve().parents[4] / "shared" / "data" / "transcripts"
QUOTED_WORDS = 8
LINES = [
    "The parser lives in src/lexer.py.",
    "always use tabs in Makefiles",
    "now run all of the tests",
    "yup",
    "Delete the old fixtures and stop.",
]
MARKED = reading(
    "made",
    [
        '{"item": "1", "kind": "environment", "importance": 1, "lines": [1], "says": "Where.",'
        ' "keys": [["src/lexer.py"], ["parser", "lexing"]], "asked": "Where?"}',
        '{"item": "2", "kind": "preference", "importance": 3, "lines": [2], "says": "Tabs.",'
        ' "keys": [["TABS"]], "asked": "How is it indented?"}',
        '{"user": 1, "does": "environment"}',
        '{"user": 2, "does": "preference"}',
        '{"user": 3, "does": "request"}',
        '{"user": 4, "does": "acknowledgement"}',
        '{"paste": [4, 5]}',
    ],
)


def _memories(*texts: str) -> list[Memory]:
    return [Memory(text, "decision") for text in texts]


def test_an_item_is_covered_when_one_memory_holds_an_alternative_of_every_group() -> None:
    whole = covered(_memories("Lexing is done in SRC/lexer.py"), MARKED.items)
    assert [item.number for item in whole] == ["1"]


def test_an_item_that_two_memories_hold_together_is_not_covered() -> None:
    assert not covered(_memories("the parser", "it is in src/lexer.py"), MARKED.items)


def test_the_digest_covers_and_keeps_no_junk() -> None:
    digest = Memory("parser: src/lexer.py. Asked: now run all of the tests.", "digest", True)
    row = figures(score(MARKED, LINES, [digest], 30_000))
    assert (row["covered"], row["memories"], row["junk_kept"]) == (1, 0, [0, 2])
    assert row["chars_with_digest_per_30k"] == len(digest.text)


def test_coverage_is_weighted_by_importance_and_told_by_kind() -> None:
    row = figures(score(MARKED, LINES, _memories("we use tabs"), 60_000))
    assert row["weighted_coverage"] == 0.75
    assert row["by_kind"] == {"environment": [0, 1], "importance 3": [1, 1], "preference": [1, 1]}
    assert (row["memories_per_30k"], row["chars_per_30k"]) == (0.5, 6)


def test_sessions_are_summed_before_shares_are_taken() -> None:
    one = score(MARKED, LINES, _memories("tabs"), 10_000)
    none = score(MARKED, LINES, [], 20_000)
    row = figures(summed([one, none]))
    assert (row["weighted_coverage"], row["tokens"], row["items"]) == (0.375, 30_000, 4)
    assert row["by_kind"]["preference"] == [1, 2]


@pytest.mark.parametrize(
    ("memory", "kept"),
    [
        ("User: Now run *all* of the tests! They passed.", True),
        ("Run all of the tests.", False),
        ("User: yup. Agent: the lexer is done.", True),
        ("Yup, the lexer is done.", False),
    ],
)
def test_junk_is_a_whole_line_and_a_short_one_a_whole_sentence(memory: str, kept: bool) -> None:
    lines = [LINES[line - 1] for line in MARKED.never_kept()]
    assert bool(junk_kept(_memories(memory), lines)) is kept


def test_a_line_that_an_item_needs_is_no_junk() -> None:
    needs = reading(
        "made",
        [
            '{"item": "1", "kind": "decision", "importance": 2, "lines": [5], "says": "s",'
            ' "keys": [["fixtures"]], "asked": "a"}',
            '{"user": 5, "does": "request"}',
            '{"user": 3, "does": "question"}',
        ],
    )
    assert needs.never_kept() == (3,)


def test_readers_agree_on_items_by_lines_or_keys_and_on_lines_by_what_they_do() -> None:
    other = reading(
        "made",
        [
            '{"item": "1", "kind": "preference", "importance": 2, "lines": [9], "says": "Tabs.",'
            ' "keys": [["indent"]], "asked": "a"}',
            '{"item": "2", "kind": "fix", "importance": 2, "lines": [8], "says": "Else.",'
            ' "keys": [["else"]], "asked": "a"}',
            '{"user": 2, "does": "preference"}',
            '{"user": 3, "does": "question"}',
        ],
    )
    comparison = agreement(MARKED, other)
    assert comparison["items_found"] == [1, 0]
    assert (comparison["lines"], comparison["lines_alike"]) == (2, 1)


def test_readers_who_agree_by_chance_have_a_kappa_of_zero() -> None:
    assert kappa([("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]) == 0
    assert kappa([("a", "a"), ("a", "a")]) is None


def test_a_draw_has_each_text_once_without_its_session_and_repeats_with_its_seed(
    tmp_path: Path,
) -> None:
    kept = {"secret-session": _memories(*(f"memory number {n}" for n in range(20)))}
    kept["another"] = kept["secret-session"]
    for name in ("one.txt", "two.txt"):
        nap_ratings.draw(kept, 25, 7, tmp_path / name)
    drawn = (tmp_path / "one.txt").read_text("utf-8")
    assert drawn == (tmp_path / "two.txt").read_text("utf-8")
    assert drawn.count("memory number") == 20
    assert "secret-session" not in drawn
    assert "secret-session" in (tmp_path / "one.key.json").read_text("utf-8")


def test_marks_are_summed_over_judges_and_a_second_mark_is_refused(tmp_path: Path) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    paths[0].write_text("1 keep\n2. junk\n", "utf-8")
    paths[1].write_text("1: keep\n2 Borderline\n", "utf-8")
    sums = nap_ratings.summed(paths)
    assert sums["all"] == {"judged": 4, "keep": 50.0, "borderline": 25.0, "junk": 25.0}
    paths[0].write_text("1 keep\n1 junk\n", "utf-8")
    with pytest.raises(SystemExit):
        nap_ratings.summed(paths)


def test_every_label_is_of_one_split_and_whole() -> None:
    marked = readings()
    assert set(marked) == set(split())
    parts = [set(readings(part)) for part in SPLITS]
    assert set.union(*parts) == set(marked)
    assert sum(map(len, parts)) == len(marked)
    for each in (*marked.values(), *readings(folder=SECOND).values()):
        for item in each.items:
            _is_well_formed(item)


def _is_well_formed(item: Item) -> None:
    assert item.importance in {1, 2, 3}
    assert 1 <= len(item.keys) <= 4
    assert all(len(key) > 1 for group in item.keys for key in group)
    asked = item.asked.casefold()
    assert not any(key.casefold() in asked for group in item.keys for key in group)


def test_a_session_that_is_held_back_is_not_shown(tmp_path: Path) -> None:
    held = next(name for name, part in split().items() if part == "held")
    with pytest.raises(SystemExit, match="held back"):
        main([str(tmp_path), "--show", held])


def test_a_pair_needs_items_of_earlier_sessions_only() -> None:
    names = [path.stem for path in PROJECTS.glob("*.jsonl")]
    for labelled in (labels(), *map(project, names)):
        for pair in labelled.pairs:
            assert len(labelled.needs(pair)) == len(pair.needs)
            assert all(need.split("#")[0] < pair.session for need in pair.needs)


@pytest.mark.parametrize("name", [path.stem for path in PROJECTS.glob("*.jsonl")])
def test_a_question_about_a_public_repository_has_none_of_its_keys(name: str) -> None:
    for each in project(name).readings.values():
        for item in each.items:
            _is_well_formed(item)


def test_of_a_public_repository_each_moment_is_one_session() -> None:
    messages = [{"role": "user", "content": "yes"}]
    sessions = {
        "2026-01-07_06-43-06Z-a-long-name": messages * 2,
        "2026-01-07_06-43-06Z-a-long": messages,
        "2026-01-07_06-43Z-a-long-name": messages * 3,
    }
    assert list(dated(sessions)) == ["2026-01-07_06-43-06Z-a-long-name"]


def test_what_comes_back_is_counted_by_items_and_by_weight() -> None:
    light, heavy = MARKED.items
    nowhere = dict.fromkeys(CUTS, False)
    rows = [
        Asked("fit", light, there=True, brought=True, by_cosine={5: False, 10: True}),
        Asked("fit", heavy, there=True, brought=False, by_cosine=nowhere),
    ]
    assert recalled(rows) == {
        "items": 2,
        "stored": [2, 1.0],
        "in_prompt": [1, 0.25],
        "cosine_5": [0, 0.0],
        "cosine_10": [1, 0.25],
    }


def test_a_prompt_without_a_memory_is_refused_and_preferences_are_no_entries() -> None:
    counts = sizes([Prompt(("use tabs",), 0, (), 10), Prompt(("a", "b", "c"), 3, (), 30)])
    assert counts == {
        "prompts": 2,
        "entries_a_prompt": 1.5,
        "tokens_a_prompt": 20,
        "preferences_a_prompt": 0.5,
        "refused": 1,
    }


def test_nearest_by_cosine_counts_a_text_once() -> None:
    vectors = {"a": np.array([1, 0], "<f4"), "b": np.array([0.6, 0.8], "<f4")}
    stored = Stored({"1": "a", "2": "b", "3": "a"}, vectors)
    assert stored.nearest(np.array([0, 1], "<f4"), 5) == ("b", "a")
    assert Stored().nearest(np.array([0, 1], "<f4"), 5) == ()


def test_labels_quote_no_sentence_of_a_session() -> None:
    if not SESSIONS.is_dir():
        pytest.skip("the sessions are not here")
    marked = readings()
    lines = session_lines(SESSIONS, [*marked])
    texts = {name: words("\n".join(file)) for name, file in lines.items()}
    for name, each in [*marked.items(), *readings(folder=SECOND).items()]:
        quoted = [item.number for item in each.items if quotes(item.says, texts[name])]
        assert not quoted, name


def quotes(says: str, session: str) -> bool:
    """Return whether so many words in a row are the session's own."""
    mine = words(says).split()
    runs = (mine[start : start + QUOTED_WORDS] for start in range(len(mine) - QUOTED_WORDS + 1))
    return any(f" {' '.join(run)} " in f" {session} " for run in runs)
