"""One endpoint over real HTTP: what it answers, and each way in which it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.llm_endpoint import Answer, BrokenOff, Endless, Hang, Raw, Status, an_endpoint

from memd.base.errors import ProviderBusyError, ProviderRefusedError
from memd.llm.openai_compatible import OpenAICompatible
from memd.llm.provider import Completion, CompletionRequest, Purpose

REQUEST = CompletionRequest("how are you", Purpose.NAP, system="be brief", timeout_ms=30_000)


async def complete_with(
    url: str, request: CompletionRequest = REQUEST, key: str | None = None
) -> Completion:
    provider = OpenAICompatible(url, "small", timeout_ms=30_000, api_key_file=key)
    try:
        return await provider.complete(request)
    finally:
        await provider.close()


async def test_a_streamed_answer_is_read_whole_with_its_usage() -> None:
    with an_endpoint("fine, thanks, and über all else well") as stub:
        completion = await complete_with(stub.url)

    assert completion.text == "fine, thanks, and über all else well"
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (19 // 4, 36 // 4)
    assert not completion.usage.estimated
    (request_body,) = stub.asked
    assert request_body["model"] == "small"
    assert request_body["stream"] is True
    assert [each["role"] for each in request_body["messages"]] == ["system", "user"]
    assert stub.keys == [None]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"])
async def test_a_stream_is_complete_with_its_last_event_however_the_line_ends(end: bytes) -> None:
    body = b'data: {"choices": [{"delta": {"content": "fine"}}]}\n\ndata: [DONE]' + end
    with an_endpoint(Raw(body, "text/event-stream")) as stub:
        assert (await complete_with(stub.url)).text == "fine"


async def test_a_stream_that_ends_within_an_event_broke_off() -> None:
    body = b'data: {"choices": [{"delta": {"content": "fine"}}]}\n\ndata: {"choi'
    with (
        an_endpoint(Raw(body, "text/event-stream")) as stub,
        pytest.raises(ProviderBusyError, match="broke off"),
    ):
        await complete_with(stub.url)


async def test_a_server_that_does_not_stream_is_understood() -> None:
    body = b'{"choices": [{"message": {"role": "assistant", "content": "plain"}}]}'
    with an_endpoint(Raw(body)) as stub:
        completion = await complete_with(stub.url)
    assert completion.text == "plain"
    assert completion.usage.estimated


async def test_a_server_that_knows_no_schema_is_asked_without_one() -> None:
    def rule(body: dict[str, Any]) -> Answer:
        return Status(400) if "response_format" in body else "{}"

    with an_endpoint(rule) as stub:
        completion = await complete_with(
            stub.url, CompletionRequest("a", Purpose.NAP, schema={"type": "object"})
        )
    assert completion.text == "{}"
    assert [("response_format" in each) for each in stub.asked] == [True, False]


HUGE = b'data: {"choices": [{"delta": {"content": "' + b"x" * 2_000_000 + b'"}}]}\n\n'


@pytest.mark.parametrize(
    "answer",
    [
        Status(500),
        Status(503),
        Status(429),
        Endless(),
        BrokenOff("and then"),
        Raw(b"<html>proxy</html>", "text/html"),
        Raw(b"[1, 2]"),
        Raw(b'{"choices": 3}'),
        Raw(b'{"choices": [{"message": {"content": [1]}}]}'),
        Raw(b'{"error": {"message": "out of memory"}}'),
        Raw(b"[" * 100_000),
        Raw(b"\xff\xfe\x00" * 100),
        Raw(b"data: {nonsense\n\n", "text/event-stream"),
        Raw(b"data: \xff\xfe\n\n", "text/event-stream"),
        Raw(HUGE, "text/event-stream"),
        Raw(b"", "text/event-stream"),
        Raw(b""),
    ],
    ids=lambda answer: type(answer).__name__,
)
async def test_what_is_no_completion_may_come_right_later(answer: Answer) -> None:
    with an_endpoint(answer) as stub, pytest.raises(ProviderBusyError) as error:
        await complete_with(stub.url)
    assert error.value.retry


async def test_an_endpoint_that_hangs_is_given_up_in_its_time() -> None:
    request = CompletionRequest("a", Purpose.NAP, timeout_ms=100)
    with an_endpoint(Hang()) as stub, pytest.raises(ProviderBusyError, match="did not answer"):
        await complete_with(stub.url, request)


async def test_nobody_listens() -> None:
    with an_endpoint("gone") as stub:
        url = stub.url
    with pytest.raises(ProviderBusyError, match="out of reach"):
        await complete_with(url)


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404])
async def test_what_the_owner_must_mend_is_final(code: int) -> None:
    with an_endpoint(Status(code)) as stub, pytest.raises(ProviderRefusedError) as error:
        await complete_with(stub.url)
    assert not error.value.retry


async def test_a_key_is_read_from_a_file_of_its_owner_alone(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-secret\n")
    key.chmod(0o600)
    with an_endpoint("fine") as stub:
        await complete_with(stub.url, key=str(key))
        key.chmod(0o644)
        with pytest.raises(ProviderRefusedError, match="not its owner's alone"):
            await complete_with(stub.url, key=str(key))
    assert stub.keys == ["Bearer sk-secret"]


async def test_no_proxy_of_the_environment_sees_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    with an_endpoint("from the proxy") as proxy, an_endpoint("direct") as stub:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        monkeypatch.setenv("ALL_PROXY", proxy.url.removesuffix("/v1"))
        assert (await complete_with(stub.url)).text == "direct"
    assert not proxy.asked


async def test_an_empty_answer_is_an_answer() -> None:
    with an_endpoint("") as stub:
        assert (await complete_with(stub.url)).text == ""
