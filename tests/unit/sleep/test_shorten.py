"""SPEC 16.8, 16.10, D8: dense texts are shortened word for word, sparse ones by a model or rule."""

from __future__ import annotations

import asyncio

import pytest
from support.entries import an_entry
from support.stub_provider import Answer, StubProvider
from support.work_units import effort

from memd.base.errors import ProviderBusyError, ProviderRefusedError
from memd.base.limits import FACT_CHARS_MAX, PROVIDER_REQUESTS_MAX
from memd.domain.backend import CompletionProvider
from memd.sleep.strategies import ask as asking
from memd.sleep.strategies.shorten import (
    AbstractiveSummarizer,
    ExtractivePreserver,
    anchors,
    find_facts,
)

HASH = "0123456789abcdef0123456789abcdef01234567"
UUID = "550e8400-e29b-41d4-a716-446655440000"
URL = "https://api.example.com/v2/users/12345"


def test_facts_are_addresses_then_identifiers_then_versions_then_pairs() -> None:
    text = f"port: 5432\nreleased as v1.2.3 with {HASH}\n{UUID} is at {URL}"
    assert find_facts(text) == (URL, UUID, HASH, "v1.2.3", "port: 5432")


def test_a_fact_stands_once_and_there_are_at_most_max_facts() -> None:
    text = "\n".join(["key_0: 0", *(f"key_{number}: {number}" for number in range(40))])
    block = ExtractivePreserver().extract(text)
    assert [line for line in block.split("\n") if line.startswith("- ")] == [
        f"- key_{number}: {number}" for number in range(20)
    ]
    assert ExtractivePreserver(max_facts=3).extract(text).count("\n- ") == 3


def test_the_block_has_a_header_the_facts_and_the_anchors() -> None:
    block = ExtractivePreserver(anchor_length=4).extract("port: 5432")
    assert block == (
        "[Extractive preservation]\nKey facts:\n- port: 5432\n"
        "[START] port...\n[MID] ...t: 5...\n[END] ...5432"
    )


def test_a_short_text_without_facts_is_its_own_start() -> None:
    assert ExtractivePreserver().extract("short text") == (
        "[Extractive preservation]\n[START] short text"
    )


def test_anchors_are_start_middle_and_end_with_points_where_they_were_cut() -> None:
    assert anchors("abcdefghij", 4) == ("abcd...", "...defg...", "...ghij")
    assert anchors("abcd", 4) == ("abcd", "", "")
    assert anchors("abcde", 4) == ("abcd...", "abcd...", "...bcde")  # they overlap


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("v1.2 and v1.2.3 and v1.2.3.4", ["v1.2.3", "v1.2.3.4"]),
        ("3.11.4, 2.0.0-rc1 and 1.2", ["3.11.4", "2.0.0"]),
        ("runs 3.12.1.", ["3.12.1"]),
        ("the host 192.168.1.100 answers", []),
        ("at 10.0.0.1:8080", []),
    ],
)
def test_a_version_has_three_parts_and_an_address_is_none(text: str, versions: list[str]) -> None:
    assert list(find_facts(text)) == versions


def test_a_key_without_a_value_does_not_take_the_next_line() -> None:
    assert find_facts("API_KEY=\nDEBUG=true") == ("DEBUG=true",)
    assert find_facts("services:\n\n  web: nginx") == ("web: nginx",)


@pytest.mark.parametrize(
    "line",
    [
        "Note: prose",
        "Note: we have to ask Ada about the lease",
        "12:30 lunch",
        "Alice: I would rather go by train this time",
        "reminder: water the plants",
        "and: this is how it went on, sadly.",
    ],
)
def test_prose_and_times_are_no_pairs(line: str) -> None:
    assert find_facts(line) == ()


def test_a_bare_address_is_a_fact_once_and_no_pair() -> None:
    assert find_facts(URL) == (URL,)
    assert find_facts(f"{URL} is down") == (URL,)


@pytest.mark.parametrize(
    "line",
    [
        "host: 192.168.1.100",
        "Status: active",
        "log.level = debug",
        "max-conns: 50",
        "  timeout: 30 s",
        "description: a small web server",
        "NOTE=not prose where the sign is an equals sign",
    ],
)
def test_a_pair_is_kept_as_it_stands(line: str) -> None:
    assert find_facts(line) == (line.strip(),)


def test_a_fact_has_an_end() -> None:
    (fact,) = find_facts("key=" + "x" * 10_000)
    assert fact == "key=" + "x" * (FACT_CHARS_MAX - 4) + "..."


@pytest.mark.parametrize("name", ["max_facts", "anchor_length"])
def test_less_than_one_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        ExtractivePreserver(**{name: 0})


@pytest.mark.parametrize("piece", ["https://", "ab12-", "1.", "a:", "a-", "\na : ", "v1.2.3", "f"])
def test_a_text_made_to_be_slow_costs_no_more_than_its_length(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    with effort() as spent:
        assert len(ExtractivePreserver().extract(text)) < 20_000
    assert spent.units < 400


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
