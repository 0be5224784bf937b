"""Every way of retrieval in a real daemon: own and shared memories, its filter, its advice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.desk import Desk, a_desk, served

pytestmark = pytest.mark.model

SETTING = "MEMD_MEMORY__RETRIEVAL__"
QUESTION = "How do I deploy the site?"
OWN = "To deploy the site, run make deploy."
SHARED = "Deploy the site on Tuesdays only."
EPISODE = "Ada deployed the site to the new host."
WAYS = {
    "by scores": {},
    # What ranks put last is told only without the threshold (SPEC 8.4.6-7).
    "by ranks": {"FUSION_STRATEGY": "rrf", "MIN_RELEVANCE": "0"},
    "diverse": {"DIVERSITY_PENALTY_ENABLED": "true"},
    "hierarchical": {"RETRIEVER": "hierarchical", "MAX_WORKERS_PER_QUERY": "3"},
    "hierarchical by ranks": {"RETRIEVER": "hierarchical", "FUSION_STRATEGY": "rrf"},
}


def home_in(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def of_retrieval(**values: str) -> dict[str, str]:
    return {f"{SETTING}{name}": value for name, value in values.items()}


def prompt_text(desk: Desk, query: str = QUESTION, **more: Any) -> str:
    """Return what a prompt for *query* says; nothing went wrong on the way."""
    prompt = desk.prompt(query, token_budget=2000, **more)
    assert prompt["degraded"] is None
    return "\n".join(message["content"] for message in prompt["messages"][1:])


@pytest.fixture(params=WAYS)
def desks(
    request: pytest.FixtureRequest, tmp_path: Path, model_dir: Path
) -> Iterator[tuple[Desk, Desk]]:
    """Yield Ada and Bob at a daemon that retrieves in one of the ways."""
    settings = of_retrieval(**WAYS[request.param])
    with (
        served(home_in(tmp_path), model_dir, settings) as daemon,
        a_desk(daemon, "ada") as ada,
        a_desk(daemon, "bob") as bob,
    ):
        ada.store(OWN, "procedural", origin="assistant")  # of the owner it were a preference
        ada.store(EPISODE, "episodic")
        bob.store("Bob deploys the site from his phone.")
        bob.call("shared.publish", content=SHARED, category="semantic")
        ada.settle()
        yield ada, bob


def test_a_prompt_has_ones_own_and_what_others_share_and_nothing_else_of_theirs(
    desks: tuple[Desk, Desk],
) -> None:
    """SPEC 9.5, 14.2: personal and shared, in every way of retrieval."""
    ada, _ = desks
    prompt = prompt_text(ada)

    assert OWN in prompt
    assert "[shared]" in next(line for line in prompt.split("\n") if SHARED in line)
    assert "phone" not in prompt
    assert prompt.count(OWN) == prompt.count(SHARED) == 1
    only = prompt_text(ada, categories=["episodic"])
    assert EPISODE in only
    assert OWN not in only
    assert SHARED not in only


def test_spec_8_7_only_what_cannot_be_inferred_and_whoever_stores_the_rest_is_told(
    tmp_path: Path, model_dir: Path
) -> None:
    """SPEC 7.15, D23: one warning in the log, with category and length and without the text."""
    settings = of_retrieval(NON_INFERABLE_ONLY="true")
    home = home_in(tmp_path)
    with served(home, model_dir, settings) as daemon, a_desk(daemon, "ada") as ada:
        plain = "The site is deployed with make deploy."
        ada.store(plain)
        ada.store("The site is deployed by hand: Ada did not trust the robot.",
                  metadata={"tags": ["non-inferable"]})  # fmt: skip
        ada.settle()

        prompt = prompt_text(ada, "Why is the site deployed by hand?")
        assert "did not trust the robot" in prompt
        assert plain not in prompt
        assert plain in ada.contents(plain)
        log = (home / "daemon.log").read_text("utf-8")

    (line,) = [line for line in log.splitlines() if "not tagged non-inferable" in line]
    assert "level=warning" in line
    assert f"chars={len(plain)}" in line
    assert "make deploy" not in log
