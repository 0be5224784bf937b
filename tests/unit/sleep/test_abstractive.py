"""SPEC 16.10, D8: sparse texts are shortened by a language model, or by rule."""

from __future__ import annotations

import asyncio

import pytest
from support.entries import an_entry
from support.providers import Answer, StubProvider

from memd.base.errors import ProviderBusyError, ProviderRefusedError
from memd.base.limits import PROVIDER_REQUESTS_MAX
from memd.domain.backend import CompletionProvider
from memd.sleep.strategies import ask as asking
from memd.sleep.strategies.shorten import AbstractiveSummarizer

LONG = "word " * 100
CUT = LONG[:200] + "..."
BUSY = ProviderBusyError("too many")
REFUSED = ProviderRefusedError("wrong key")


def with_answers(*answers: Answer) -> tuple[StubProvider, AbstractiveSummarizer]:
    provider = StubProvider(answers)
    return provider, AbstractiveSummarizer(provider=provider, model="small")


async def test_without_a_provider_a_text_is_its_first_200_characters() -> None:
    summarizer = AbstractiveSummarizer()
    assert await summarizer.summarize(LONG) == CUT
    assert await summarizer.summarize("x" * 200) == "x" * 200
    assert await summarizer.summarize("short") == "short"


async def test_a_provider_is_asked_with_the_text_in_a_fence() -> None:
    provider = StubProvider(["  in short  \n"])
    assert isinstance(provider, CompletionProvider)
    summarizer = AbstractiveSummarizer(
        provider=provider, model="small", max_summary_tokens=77, temperature=0.1
    )

    assert await summarizer.summarize("a </memory-entry> b", agent_id="ada") == "in short"

    (request,) = provider.asked
    assert request.prompt == "<memory-entry>\na <\\/memory-entry> b\n</memory-entry>"
    assert (request.model, request.max_tokens, request.temperature) == ("small", 77, 0.1)
    assert "<memory-entry>" in request.system


async def test_200_tokens_and_temperature_0_3_are_asked_for_by_default() -> None:
    provider, summarizer = with_answers("ok")
    await summarizer.summarize(LONG)
    assert (provider.asked[0].max_tokens, provider.asked[0].temperature) == (200, 0.3)


@pytest.mark.parametrize("model", ["", "  ", None])
def test_a_provider_needs_a_model_that_is_not_blank(model: str | None) -> None:
    with pytest.raises(ValueError, match="model"):
        AbstractiveSummarizer(provider=StubProvider(["x"]), model=model)


def test_a_blank_model_is_refused_without_a_provider_too() -> None:
    with pytest.raises(ValueError, match="model"):
        AbstractiveSummarizer(model=" ")


@pytest.mark.parametrize(
    "answer",
    [BUSY, RuntimeError("a bug there"), TimeoutError(), "", " \n", "a\x00b", "\ud800"],
    ids=repr,
)
async def test_no_answer_a_bug_and_an_empty_reply_fall_back(answer: Answer) -> None:
    _, summarizer = with_answers(answer)
    assert await summarizer.summarize(LONG) == CUT


async def test_a_provider_that_takes_too_long_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(StubProvider):
        async def complete(self, prompt: str, **_: object) -> str:
            await asyncio.sleep(60)
            return prompt

    monkeypatch.setattr(asking, "PROVIDER_ANSWER_MS_MAX", 1)
    summarizer = AbstractiveSummarizer(provider=Silent(["x"]), model="small")
    assert await summarizer.summarize(LONG) == CUT


@pytest.mark.parametrize("error", [REFUSED, MemoryError(), RecursionError()], ids=repr)
async def test_what_no_fallback_mends_goes_on_upwards(error: BaseException) -> None:
    _, summarizer = with_answers(error)
    with pytest.raises(type(error)):
        await summarizer.summarize(LONG)


async def test_a_cancelled_caller_gets_no_fallback() -> None:
    _, summarizer = with_answers(asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await summarizer.summarize(LONG)


async def test_a_batch_is_answered_at_the_same_time_and_in_the_order_given() -> None:
    provider = StubProvider(lambda prompt: prompt.split("\n")[1].upper())
    summarizer = AbstractiveSummarizer(provider=provider, model="small")
    entries = [an_entry(f"m{number}", content=f"text {number}") for number in range(9)]

    summaries = await summarizer.summarize_batch(entries)

    assert summaries == tuple((f"m{number}", f"TEXT {number}") for number in range(9))
    assert 1 < provider.most <= PROVIDER_REQUESTS_MAX
    assert await summarizer.summarize_batch(()) == ()


@pytest.mark.parametrize("error", [BUSY, REFUSED, ValueError("odd")], ids=repr)
async def test_one_failure_falls_back_for_that_entry_alone(error: Exception) -> None:
    summarizer = AbstractiveSummarizer(
        provider=StubProvider(lambda prompt: error if "bad" in prompt else "fine"), model="small"
    )
    bad = "bad " * 100
    entries = [an_entry("a"), an_entry("b", content=bad), an_entry("c")]

    summaries = await summarizer.summarize_batch(entries)

    assert summaries == (("a", "fine"), ("b", bad[:200] + "..."), ("c", "fine"))


async def test_what_is_done_together_fails_with_its_own_error_and_stops_the_rest() -> None:
    calls_done: list[int] = []

    async def call(item: int) -> int:
        if item == 0:
            raise REFUSED
        await asyncio.sleep(0.01)
        calls_done.append(item)
        return item

    with pytest.raises(ProviderRefusedError):
        await asking.gather_limited(call, range(20))
    assert calls_done == []
