"""The optional re-ranker in a real daemon: in recall, in prompts, missing and then coming."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.daemon import WAIT_S
from support.desk import Desk, a_desk, served

from memd.base.paths import RERANKER_NAME
from memd.embedding.cross_encoder import RerankerThread
from memd.embedding.install import export
from memd.embedding.install_reranker import CARD_LOGITS, CARD_QUESTION, CARD_TEXTS, install, verify
from memd.embedding.model_files import read_manifest, status

QUESTION = "How many people live in Berlin?"
ANSWER = "The German capital has 3,520,031 registered inhabitants."
OTHER = "How many people in Berlin live for the museum of art?"
DENSE = {"search_mode": "dense"}


def a_home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def reranker_of(desk: Desk) -> dict[str, object]:
    """Return what ``model.status`` says about the re-ranker, ``system.status`` the same."""
    reranker: dict[str, object] = desk.client.call("model.status")["reranker"]
    assert desk.client.call("system.status")["model"]["reranker"] == reranker
    return {name: reranker[name] for name in ("installed", "loaded", "name")}


@pytest.fixture
def models(tmp_path: Path, model_dir: Path) -> Path:
    """Return a folder of models of its own, in which the re-ranker is missing."""
    models = tmp_path / "models"
    models.mkdir()
    (models / model_dir.name).symlink_to(model_dir)
    return models / model_dir.name


@pytest.fixture
def desk(tmp_path: Path, models: Path) -> Iterator[Desk]:
    settings = {
        "MEMD_MEMORY__RETRIEVAL__QUERY_SPECIFIC_RERANK_ENABLED": "true",
        "MEMD_MEMORY__RETRIEVAL__MIN_RELEVANCE": "0",
    }
    with served(a_home(tmp_path), models, settings) as daemon, a_desk(daemon, "ada") as desk:
        for text in (ANSWER, OTHER, "The kitchen is painted yellow."):
            desk.store(text)
        yield desk


@pytest.mark.model
def test_x12_a_reranker_is_used_from_when_it_comes_and_done_without_before(
    desk: Desk, models: Path, reranker_dir: Path
) -> None:
    assert reranker_of(desk) == {"installed": False, "loaded": False, "name": None}
    before = desk.recall(QUESTION, **DENSE)
    assert "memd model install --reranker" in before["degraded"]
    assert before["memories"][0]["content"] == OTHER
    refused = desk.prompt(QUESTION, token_budget=2000)
    assert "reranker failed" in refused["degraded"]

    shutil.copytree(reranker_dir, models.with_name(RERANKER_NAME))
    after = desk.recall(QUESTION, **DENSE)
    assert after["degraded"] is None
    assert reranker_of(desk) == {"installed": True, "loaded": True, "name": RERANKER_NAME}
    scores = {memory["content"]: memory["relevance_score"] for memory in after["memories"]}
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    plain = desk.recall(QUESTION, reranker_enabled=False, **DENSE)["memories"]
    first = {memory["content"]: memory["relevance_score"] for memory in plain}
    assert scores[ANSWER] / first[ANSWER] > scores[OTHER] / first[OTHER]
    prompt = desk.prompt(QUESTION, token_budget=2000)
    assert prompt["degraded"] is None
    assert ANSWER in prompt["messages"][1]["content"]


@pytest.mark.model
def test_a_damaged_reranker_is_named_with_the_command_that_mends_it(
    desk: Desk, models: Path, reranker_dir: Path
) -> None:
    folder = models.with_name(RERANKER_NAME)
    shutil.copytree(reranker_dir, folder)
    with (folder / "model.onnx").open("r+b") as file:
        file.write(b"damaged")

    asked = desk.recall(QUESTION, **DENSE)

    assert asked["degraded"].startswith("the re-ranker is damaged")
    assert asked["degraded"].endswith("run: memd model install --reranker")
    assert reranker_of(desk)["installed"] is False
    assert asked["memories"][0]["content"] == OTHER


@pytest.mark.model
def test_one_recall_can_ask_for_it_or_not(desk: Desk) -> None:
    assert desk.recall(QUESTION, reranker_enabled=False, **DENSE)["degraded"] is None
    assert desk.recall(QUESTION, reranker_enabled=True, **DENSE)["degraded"] is not None


@pytest.mark.model
def test_the_hierarchical_retriever_prepares_prompts(tmp_path: Path, models: Path) -> None:
    settings = {"MEMD_MEMORY__RETRIEVAL__RETRIEVER": "hierarchical"}
    with served(a_home(tmp_path), models, settings) as daemon, a_desk(daemon, "ada") as desk:
        desk.store("To deploy the site, run make deploy.", "procedural", origin="assistant")
        desk.store("Ada deployed the site to the new host.", "episodic")

        prompt = desk.prompt("How do I deploy the site?", token_budget=2000)

    assert "make deploy" in prompt["messages"][1]["content"]
    assert prompt["degraded"] is None


def test_the_real_model_gives_the_numbers_of_its_card_and_is_carried_whole(
    reranker_dir: Path, tmp_path: Path
) -> None:
    manifest = read_manifest(reranker_dir)
    assert manifest is not None
    verify(reranker_dir, manifest)
    export(reranker_dir, tmp_path / "carried.zip")
    install(
        tmp_path / "there" / "reranker",
        source=tmp_path / "carried.zip",
        progress=lambda _what, _share: None,
    )
    assert status(tmp_path / "there" / "reranker").fingerprint == manifest.fingerprint
    shutil.copytree(reranker_dir, tmp_path / "folder")
    install(
        tmp_path / "there" / "reranker",
        source=tmp_path / "folder",
        progress=lambda _what, _share: None,
    )
    assert status(tmp_path / "there" / "reranker").installed


async def test_the_real_model_answers_in_its_thread(reranker_dir: Path) -> None:
    thread = RerankerThread(reranker_dir, answer_ms=int(WAIT_S * 1_000))
    try:
        scores = await thread.score(CARD_QUESTION, CARD_TEXTS)
    finally:
        await thread.close()
    assert scores == pytest.approx(CARD_LOGITS, abs=1.0)
