"""SPEC 18.2's numbers: defaults, stages, chunks, hard negatives, the loss, what a run may say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from support.fakes import HashEmbedder

from memd.domain.learn import TERMINAL, TuneRequest, TuneRun, TuneStage
from memd.learn.tuning import adapter, encoder, tuning
from memd.learn.tuning.adapter import ContrastivePairs, Matrix
from memd.learn.tuning.documents import AdapterPipeline
from memd.learn.tuning.evaluation import LabelledQuestion, compare_ranks, ndcg
from memd.learn.tuning.stages import CHOOSE, FIT, HELD_OUT, WEIGH, split_pairs
from memd.store.learn.tunings import MemoryText


def unit(rows: Any) -> Matrix:
    made = np.asarray(rows, dtype=np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


def test_a_request_has_the_documents_defaults_and_bounds() -> None:
    """18.2.3."""
    asked = TuneRequest()
    assert (asked.temperature, asked.top_k, asked.batch_size) == (0.02, 4, 128)
    assert asked.validation_split == 0.1
    for wrong in ({"validation_split": 0.0}, {"validation_split": 1.0}, {"temperature": 0.0}):
        with pytest.raises(ValidationError):
            TuneRequest.model_validate(wrong)


def test_there_are_five_stages_and_eight_states() -> None:
    """18.2.2."""
    assert [str(stage) for stage in tuning.ORDER] == [
        "generating_data", "mining_negatives", "training", "evaluating", "deploying",
    ]  # fmt: skip
    assert set(TuneStage) - set(tuning.ORDER) == {"idle", "complete", "failed"}
    assert set(TERMINAL) == {"complete", "failed"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"stage": "idle", "progress": 0.5},
        {"stage": "idle", "error": "no"},
        {"stage": "failed", "completed_at": "2026-01-01T00:00:00Z"},
        {"stage": "training", "error": "no"},
        {"stage": "complete"},
        {"stage": "failed", "error": "no"},
    ],
)
def test_a_run_that_contradicts_itself_is_refused(wrong: dict[str, Any]) -> None:
    """18.2.10."""
    with pytest.raises(ValidationError):
        TuneRun.model_validate({"run_id": "r", "started_at": "2026-01-01T00:00:00Z", **wrong})


async def test_chunks_have_512_words_and_both_parts_have_pairs(tmp_path: Path) -> None:
    """18.2.4: below the folder, in order; the lead-in and at most 200 characters."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text(" ".join(["word"] * 513), "utf-8")
    (tmp_path / "in" / "deep" / "b.rst").write_text("Second. More.", "utf-8")
    pipeline = AdapterPipeline(HashEmbedder(), tmp_path / "out")

    await pipeline.generate_training_data(str(tmp_path / "in"))

    training, held = (
        [json.loads(line) for line in (tmp_path / "out" / name).read_text("utf-8").splitlines()]
        for name in ("training.jsonl", "validation.jsonl")
    )
    assert [len(row["positive"].split()) for row in training] == [512, 1]
    assert [row["positive"] for row in held] == ["Second. More."]
    assert len(training[0]["query"]) == len("What is known about this: ") + 200


def test_a_hard_negative_is_near_and_not_as_near_as_the_answer() -> None:
    """18.2.5: the nearest first, below .95 of the answer's cosine, never the answer."""
    cosines = (0.8, 0.79, 0.761, 0.759, 0.5, 0.4, 0.3, 0.2)
    passages = np.array([[c, np.sqrt(1 - c * c)] for c in cosines], dtype=np.float32)

    negatives = adapter.mine(unit([[1.0, 0.0]]), passages, np.array([0]))

    assert negatives.tolist() == [[3, 4, 5, 6]]
    few = adapter.mine(unit([[1.0, 0.0]]), passages[:4], np.array([0]))
    assert few.tolist() == [[3, -1, -1, -1]]


def test_what_is_trained_is_the_ranking_loss_of_the_batch_and_its_hard_negatives() -> None:
    """18.2.6: its slope is that of -log softmax(cosine / temperature), taken by differences."""
    drawn = np.random.default_rng(5)
    pairs = ContrastivePairs(
        unit(drawn.normal(size=(4, 6))),
        unit(drawn.normal(size=(9, 6))),
        np.array([0, 1, 2, 0]),
        np.array([[4, 5], [6, -1], [0, 8], [0, 7]]),
    )
    matrix = (np.eye(6) + 0.1 * drawn.normal(size=(6, 6))).astype(np.float32)
    temperature = 0.5

    def loss(at: Any) -> float:
        asked = pairs.questions.astype(float) @ at.T
        asked /= np.linalg.norm(asked, axis=1, keepdims=True)
        total = 0.0
        for row, own in enumerate(pairs.positives):
            batch = [own, *(key for other, key in enumerate(pairs.positives) if other != row)]
            against = [own, *(key for key in batch[1:] if key != own)]
            against += [key for key in pairs.negatives[row] if key >= 0 and key != own]
            logits = pairs.passages[against].astype(float) @ asked[row] / temperature
            total += float(np.log(np.exp(logits).sum()) - logits[0])
        return total / len(pairs.questions)

    slope = adapter._slope(pairs, np.arange(4), matrix, temperature)

    for place in ((0, 0), (2, 5), (4, 1)):
        step = np.zeros((6, 6))
        step[place] = 1e-5
        by_differences = (loss(matrix + step) - loss(matrix - step)) / 2e-5
        assert slope[place] == pytest.approx(by_differences, rel=1e-3, abs=1e-5)


def test_a_matrix_brings_questions_nearer_to_their_answers_and_is_the_same_each_time() -> None:
    drawn = np.random.default_rng(9)
    passages = unit(drawn.normal(size=(60, 16)))
    mixed = drawn.normal(size=(16, 16)) * 0.3 + np.eye(16)
    questions = unit(passages @ mixed + 0.1 * drawn.normal(size=(60, 16)))
    none = np.full((60, 4), -1)
    pairs = ContrastivePairs(questions, passages, np.arange(60), none)

    made = adapter.train(pairs)

    near = (adapter.apply(made, questions) * passages).sum(1).mean()
    assert near > (questions * passages).sum(1).mean()
    assert (adapter.train(pairs) == made).all()


def test_the_worth_of_a_rank_is_the_documents() -> None:
    """18.2.7: one-based, nothing beyond ten."""
    assert [ndcg(rank) for rank in (0, 1, 3, 10, 11)] == [0.0, 1.0, 0.5, 1 / np.log2(11), 0.0]


def test_the_newest_are_held_out_and_each_part_has_some() -> None:
    for count in (50, 120, 5_000):
        parts = split_pairs(count, 0.1)
        assert parts == sorted(parts, key=[FIT, WEIGH, CHOOSE, HELD_OUT].index)
        assert parts.count(HELD_OUT) == parts.count(CHOOSE) <= 100
        assert min(map(parts.count, (FIT, WEIGH, CHOOSE, HELD_OUT))) >= 8


def ranks(better: int, worse: int, same: int) -> tuple[list[int], list[int]]:
    """Return ranks before and after of so many questions."""
    before = [2] * better + [1] * worse + [3] * same
    return before, [1] * better + [2] * worse + [3] * same


def test_a_gain_within_two_standard_errors_is_not_better() -> None:
    some = compare_ranks(*ranks(better=10, worse=5, same=85))  # 1.3 standard errors

    assert some.tuned_ndcg > some.base_ndcg
    assert some.tuned_recall == some.base_recall
    assert not some.better
    assert compare_ranks(*ranks(better=15, worse=3, same=82)).better


def test_what_loses_a_question_or_an_answer_is_not_better() -> None:
    before, after = ranks(better=15, worse=0, same=85)

    assert compare_ranks(before, after).better
    assert not compare_ranks([*before, 10], [*after, 0]).better
    assert not compare_ranks(before, after, (0.5, 0.48)).better


def test_gains_are_shares_of_the_base_and_nothing_of_nothing() -> None:
    nothing = compare_ranks([0, 0], [1, 1])

    assert (nothing.base_ndcg, nothing.improvement_ndcg, nothing.improvement_recall) == (0, 0, 0)
    assert compare_ranks([2], [1]).improvement_recall == 0.0
    assert round(compare_ranks([3, 3], [1, 1]).improvement_ndcg, 6) == 1.0


@pytest.mark.parametrize(
    ("answers", "passages"),
    [((3,), (3, 8, 9)), ((0, 1, 2), (0, 1, 2)), ((0, 1, 2, 3), (0, 1, 2, 3))],
)
def test_an_encoder_is_evaluated_on_the_answers_and_the_latest_others(
    monkeypatch: pytest.MonkeyPatch, answers: tuple[int, ...], passages: tuple[int, ...]
) -> None:
    monkeypatch.setattr(encoder, "PASSAGES_MAX", 3)
    texts = [MemoryText(key, "ada", None, "x", None, None, None) for key in range(10)]
    questions = [LabelledQuestion(key, "ada", "?") for key in answers]
    chosen = encoder.choose_passages(questions, texts)
    assert tuple(text.memory_key for text in chosen) == passages
    assert encoder.choose_passages(questions, texts[:2])[-1:] == texts[1:2]
