"""What stands between memd and a provider: its budget, and when it is left alone."""

from __future__ import annotations

import asyncio

import pytest
from support.clocks import HeldClock
from support.daemon import until

from memd.base.clock import DAY_US
from memd.base.errors import (
    BusyError,
    ProviderBusyError,
    ProviderError,
    ProviderRefusedError,
)
from memd.base.limits import PROVIDER_REQUESTS_MAX
from memd.domain.values import Value
from memd.llm.llm import Accounts, Cost, LanguageModel, ModelLimits, ProviderIdentity, parse_answer
from memd.llm.meter import FAILURES_MAX, PAUSE_US_MAX, PAUSE_US_MIN, Breaker, Budget
from memd.llm.provider import (
    Completion,
    CompletionRequest,
    PromptErasedError,
    Provider,
    Purpose,
    TokenUsage,
)
from memd.sleep.model.triples import ModelRelations


class Shape(Value):
    a: str


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "1"}', "1"),
        ('```json\n{"a": "1"}\n```', "1"),
        ('Sure:\n```\n{"a": "1"}\n```\nor\n```\n{"a": "2"}\n```', "1"),
        ('Here it is {really}: {"b": 2} - no: {"a": "1"}.', "1"),
        ('{"a": "```\\n{}\\n```"}', "```\n{}\n```"),
        ('{"a": {"a": "1"}}', None),
        ("```json\n{", None),
        ("{" * 100_000, None),
        ("", None),
    ],
)
def test_the_first_object_with_the_keys_is_the_answer(text: str, expected: str | None) -> None:
    answer = parse_answer(text, Shape)
    assert (None if answer is None else answer.a) == expected


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


LIMITS = ModelLimits(1_000_000, 1_000)


def a_model(
    provider: Provider,
    limits: ModelLimits = LIMITS,
    accounts: Accounts | None = None,
) -> LanguageModel:
    return LanguageModel(
        provider,
        ProviderIdentity("stub"),
        HeldClock(),
        purposes=Purpose,
        limits=limits,
        accounts=accounts,
    )


async def fails(model: LanguageModel, purpose: Purpose, times: int) -> None:
    for _ in range(times):
        with pytest.raises(ProviderError):
            await model.complete(CompletionRequest("x", purpose))


@pytest.mark.parametrize(
    ("failing", "other"), [(Purpose.REFORMULATION, Purpose.NAP), (Purpose.NAP, Purpose.RERANKING)]
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


@pytest.mark.parametrize(
    ("purpose", "why"),
    [
        (Purpose.NAP, "it failed repeatedly"),
        (Purpose.ROUTING, "it failed repeatedly in interactive use"),
    ],
)
async def test_an_error_and_the_status_say_alike_why_it_is_not_asked(
    purpose: Purpose, why: str
) -> None:
    model = a_model(FailingProvider(purpose, ProviderBusyError("slow")))
    await fails(model, purpose, FAILURES_MAX)
    with pytest.raises(ProviderBusyError) as caught:
        await model.complete(CompletionRequest("x", purpose))
    assert str(caught.value) == why
    assert (await model.status()).why_not == why


async def test_what_the_owner_must_mend_holds_for_both() -> None:
    provider = FailingProvider(Purpose.ROUTING, ProviderRefusedError("no key"))
    model = a_model(provider)
    await fails(model, Purpose.ROUTING, 1)
    await fails(model, Purpose.NAP, 1)
    assert provider.asked == [Purpose.ROUTING]


class PastCosts:
    """Costs from before, which are read at the second try."""

    def __init__(self) -> None:
        self.failures = 1

    async def note(self, cost: Cost) -> None:
        del cost

    async def past(self) -> list[tuple[int, int]]:
        self.failures -= 1
        if self.failures >= 0:
            raise BusyError("the store is locked")
        return [(HeldClock().now_us(), 900)]


async def test_past_costs_that_could_not_be_read_are_read_again() -> None:
    provider = FailingProvider(Purpose.ROUTING, ProviderBusyError("slow"))
    model = a_model(provider, ModelLimits(1_000), PastCosts())
    with pytest.raises(BusyError):
        await model.status()

    assert (await model.status()).night_tokens_spent == 900


async def test_a_caller_goes_on_by_rule_while_past_costs_cannot_be_read() -> None:
    provider = FailingProvider(Purpose.ROUTING, ProviderBusyError("slow"))
    model = a_model(provider, accounts=PastCosts())
    relations = ModelRelations(model)
    assert await relations.read({1: "Billing uses Redis."}) == {}
    assert provider.asked == []
    await relations.read({1: "Billing uses Redis."})
    assert provider.asked == [Purpose.TRIPLES]


async def test_an_answer_that_came_after_something_was_forgotten_has_its_cost_recorded() -> None:
    erasures, turn, accounts = [0], asyncio.Event(), Costs()
    limits = ModelLimits(1_000_000, erasures=lambda: erasures[0])
    provider = HeldProvider(turn)
    model = a_model(provider, limits, accounts)
    task = asyncio.ensure_future(model.complete(CompletionRequest("x", Purpose.NAP)))
    await until(lambda: provider.asked == 1, "the prompt is sent")
    erasures[0] = 1
    turn.set()
    with pytest.raises(PromptErasedError):
        await task
    assert [cost.usage for cost in accounts.costs] == [TokenUsage(1, 1)]
    assert (await model.status()).night_tokens_spent == 2


class Costs:
    """The costs of this start; there are none from before."""

    def __init__(self) -> None:
        self.costs: list[Cost] = []

    async def note(self, cost: Cost) -> None:
        self.costs.append(cost)

    async def past(self) -> list[tuple[int, int]]:
        return []


async def test_a_prompt_that_was_not_sent_costs_nothing() -> None:
    """It was refused, as something was forgotten since, or cancelled while it waited its turn."""
    erasures, turn = [0], asyncio.Event()
    provider = HeldProvider(turn)
    model = a_model(provider, ModelLimits(1_000_000, erasures=lambda: erasures[0]))
    prompts = [CompletionRequest("x", Purpose.NAP) for _ in range(PROVIDER_REQUESTS_MAX + 1)]
    tasks = [asyncio.ensure_future(model.complete(prompt)) for prompt in prompts]
    await until(lambda: provider.asked == PROVIDER_REQUESTS_MAX, "no more are sent at once")
    tasks.pop().cancel()
    turn.set()
    await asyncio.gather(*tasks)
    spent = (await model.status()).night_tokens_spent

    erasures[0] = 1
    with pytest.raises(PromptErasedError):
        await model.complete(CompletionRequest("x", Purpose.NAP, erasures=0))

    assert spent == 2 * PROVIDER_REQUESTS_MAX
    assert (await model.status()).night_tokens_spent == spent


class HeldProvider:
    """Answers once *turn* has come."""

    def __init__(self, turn: asyncio.Event) -> None:
        self.turn, self.asked = turn, 0

    async def complete(self, request: CompletionRequest) -> Completion:
        del request
        self.asked += 1
        await self.turn.wait()
        return Completion("done", TokenUsage(1, 1))

    async def close(self) -> None:
        return


def test_what_is_reserved_cannot_be_spent_twice_and_comes_back_unspent() -> None:
    budget = Budget(100)
    assert budget.reserve(60, 0)
    assert not budget.reserve(60, 0)
    budget.settle(60, 10, 0)
    assert budget.used_tokens(0) == 10
    assert budget.reserve(90, 0)


def test_a_day_later_what_was_spent_counts_no_more() -> None:
    budget = Budget(100)
    budget.note(100, 0)
    assert not budget.reserve(1, DAY_US - 1)
    assert budget.reserve(100, DAY_US)


def test_nothing_may_be_spent_of_nothing() -> None:
    assert not Budget(0).reserve(1, 0)


def test_failures_in_a_row_open_the_breaker_for_ever_longer_and_success_closes_it() -> None:
    breaker = Breaker()
    for _ in range(FAILURES_MAX - 1):
        breaker.record_failure(0)
    assert not breaker.is_open(0)
    breaker.record_failure(0)
    assert breaker.is_open(PAUSE_US_MIN - 1)
    assert not breaker.is_open(PAUSE_US_MIN)
    breaker.record_failure(PAUSE_US_MIN)
    assert breaker.is_open(3 * PAUSE_US_MIN - 1)
    breaker.record_success()
    assert not breaker.is_open(0)


def test_a_refusal_opens_it_at_once_and_longest() -> None:
    breaker = Breaker()
    breaker.record_failure(0, refused=True)
    assert breaker.is_open(PAUSE_US_MAX - 1)
