"""What stands between memd and a provider: who is left alone after which failures."""

from __future__ import annotations

import pytest
from support.clocks import HeldClock

from memd.base.errors import ProviderBusyError, ProviderError, ProviderRefusedError
from memd.llm.llm import LanguageModel, ModelLimits, ProviderIdentity, strip_fence
from memd.llm.meter import FAILURES_MAX
from memd.llm.provider import Completion, CompletionRequest, TokenUsage
from memd.llm.purposes import Purpose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('Sure:\n```\n{"a": 1}\n```\nor\n```\n{"a": 2}\n```', '{"a": 1}'),
        ('{"a": "```\\n{}\\n```"}', '{"a": "```\\n{}\\n```"}'),
        ("```json\n{", "```json\n{"),
        ("", ""),
    ],
)
def test_the_first_fence_wins_and_json_is_left_alone(text: str, expected: str) -> None:
    assert strip_fence(text) == expected


class FailingProvider:
    """Fails for one purpose, as often as it is asked."""

    def __init__(self, purpose: Purpose, error: ProviderError) -> None:
        self.purpose, self.error = purpose, error
        self.asked: list[Purpose] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        self.asked.append(request.purpose)
        if request.purpose is self.purpose:
            raise self.error
        return Completion("done", TokenUsage(1, 1))

    async def close(self) -> None:
        return


def a_model(provider: FailingProvider) -> LanguageModel:
    identity, limits = ProviderIdentity("stub"), ModelLimits(1_000_000, 1_000)
    return LanguageModel(provider, identity, HeldClock(), purposes=Purpose, limits=limits)


async def fails(model: LanguageModel, purpose: Purpose, times: int) -> None:
    for _ in range(times):
        with pytest.raises(ProviderError):
            await model.complete(CompletionRequest("x", purpose))


@pytest.mark.parametrize(
    ("failing", "other"),
    [(Purpose.REFORMULATION, Purpose.NAP), (Purpose.NAP, Purpose.RERANKING)],
)
async def test_who_waits_and_who_does_not_are_left_alone_apart(
    failing: Purpose, other: Purpose
) -> None:
    provider = FailingProvider(failing, ProviderBusyError("slow"))
    model = a_model(provider)
    await fails(model, failing, FAILURES_MAX + 2)
    assert len(provider.asked) == FAILURES_MAX
    assert (await model.complete(CompletionRequest("x", other))).text == "done"
    status = await model.status()
    assert not status.available
    assert status.retry_at is not None
    await fails(model, failing, 1)
    assert len(provider.asked) == FAILURES_MAX + 1, "the other one's answer closes nothing here"


async def test_what_the_owner_must_mend_holds_for_both() -> None:
    provider = FailingProvider(Purpose.ROUTING, ProviderRefusedError("no key"))
    model = a_model(provider)
    await fails(model, Purpose.ROUTING, 1)
    await fails(model, Purpose.NAP, 1)
    assert provider.asked == [Purpose.ROUTING]
