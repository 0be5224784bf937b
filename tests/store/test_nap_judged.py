"""A nap asks the model about the user's sentences, and goes by rule where there is none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from support.fakes import HashEmbedder
from support.nights import nap_over
from support.store import ADA, a_house

from memd.base.errors import DegradedError, MemdError, ModelError, StoppingError
from memd.domain.encoding import SentenceLogits
from memd.domain.memory import MemoryQuery
from memd.sleep.window.trigger import Reason

UNSEEN = "Endpoints share one schema file here."
RULE = "We never push to main."
DECISION = SentenceLogits(9.0, (0.0, 0.0, 9.0, 0.0, 0.0), -9.0, 0.0, *[-9.0] * 5)
MESSAGES = [
    {"role": "user", "content": UNSEEN},
    {"role": "assistant", "content": "Understood."},
    {"role": "user", "content": RULE},
]


class JudgingEmbedder(HashEmbedder):
    """Says of each sentence that it is a decision worth keeping, or fails."""

    def __init__(self, error: MemdError | None = None) -> None:
        super().__init__()
        self.asked: list[list[str]] = []
        self._error = error

    async def classify(
        self, messages: Sequence[Sequence[str]], agents: Collection[int] = ()
    ) -> list[list[SentenceLogits]]:
        del agents
        self.asked += [list(sentences) for sentences in messages]
        if self._error is not None:
            raise self._error
        return [[DECISION] * len(each) for each in messages]


async def texts_of_nap(embedder: HashEmbedder, folder: Path, reason: str) -> set[str]:
    async with a_house(folder / "memd.db", embedder=embedder) as house:
        await nap_over(house, MESSAGES, reason=reason, last=True)
        entries = await house.recall.retrieve(ADA, MemoryQuery(limit=100))
        return {entry.content for entry in entries if "digest" not in entry.metadata.tags}


async def test_what_the_model_finds_worth_keeping_is_stored(tmp_path: Path) -> None:
    embedder = JudgingEmbedder()
    assert await texts_of_nap(embedder, tmp_path, Reason.ENDED.value) == {UNSEEN, RULE}
    assert [each for each in embedder.asked if each] == [[UNSEEN.rstrip(".")], [RULE.rstrip(".")]]


@pytest.mark.parametrize("error", [DegradedError("none"), ModelError("damaged"), None])
async def test_without_the_model_the_rules_decide(tmp_path: Path, error: MemdError | None) -> None:
    embedder = HashEmbedder() if error is None else JudgingEmbedder(error)
    assert await texts_of_nap(embedder, tmp_path, Reason.ENDED.value) == {RULE}


async def test_a_nap_that_is_stopped_meanwhile_stores_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoppingError):
        await texts_of_nap(JudgingEmbedder(StoppingError("bye")), tmp_path, Reason.ENDED.value)


async def test_a_nap_on_request_asks_no_model(tmp_path: Path) -> None:
    embedder = JudgingEmbedder()
    await texts_of_nap(embedder, tmp_path, "asked")
    assert embedder.asked == []
