"""A transcript is uploaded in parts, completely or not at all, and by few connections at once."""

from __future__ import annotations

import json
from typing import Any

from support.gated_rooms import OPERATOR, APeer, Desk

from memd.base.limits import FRAME_BYTES_MAX, NAP_TRANSCRIPT_BYTES_MAX, TRANSCRIPTS_ARRIVING_MAX
from memd.rpc.envelope import Request
from memd.serve.dispatch import ActiveRequest


def recorded(text: str) -> str:
    """Return the transcript of a session in which the user said *text*."""
    params = {"type": "user", "message": {"role": "user", "content": text}}
    return json.dumps(params, ensure_ascii=False)


async def call(desk: Desk, line: APeer, method: str, **params: Any) -> dict[str, Any]:
    asking = ActiveRequest(OPERATOR, peer=line)
    frame = await desk.dispatch.answer(Request(1, method, params), asking)
    assert frame is not None
    answer: dict[str, Any] = json.loads(frame)
    return answer


async def send(desk: Desk, line: APeer, text: str, **params: Any) -> dict[str, Any]:
    return await call(desk, line, "session.import", text=text, **params)


async def imported(desk: Desk) -> dict[str, list[str]]:
    """Return what was said in each session that memd knows, by its id."""
    params: dict[str, list[str]] = {}
    for session in (await call(desk, APeer(), "session.list"))["result"]["items"]:
        name = session["session_id"]
        page = await call(desk, APeer(), "session.messages", session_id=name)
        params[name] = [message["text"] for message in page["result"]["items"]]
    return params


async def test_parts_become_one_transcript(desk: Desk) -> None:
    line, text = APeer(), "where the h\u00e9ron nests"
    whole = recorded(text)
    half = whole.index("\u00e9") + 1
    first = await send(desk, line, whole[:half], more=True)
    assert first["result"]["taken"] == half
    assert await imported(desk) == {}
    last = await send(desk, line, whole[half:], offset=half, session_id="s")
    assert (last["result"]["taken"], last["result"]["session_id"]) == (len(whole), "s")
    assert await imported(desk) == {"s": [text]}


async def test_a_transcript_that_does_not_name_its_session_asks_for_its_id(desk: Desk) -> None:
    refused = await send(desk, APeer(), recorded("nameless"))
    assert "pass session_id" in refused["error"]["data"]["hint"]


async def test_a_part_that_does_not_follow_is_refused_and_the_next_first_one_begins_anew(
    desk: Desk,
) -> None:
    line, half = APeer(), recorded("half of it")[:40]
    await send(desk, line, half, more=True)
    refused = await send(desk, line, "another", offset=3)
    assert refused["error"]["data"]["field"] == "offset"
    refused = await send(desk, line, "it", offset=len(half))
    assert refused["error"]["data"]["field"] == "offset", "what had arrived is given up"
    await send(desk, line, half, more=True)
    await send(desk, line, recorded("a whole one"), session_id="s")
    assert await imported(desk) == {"s": ["a whole one"]}


async def test_each_connection_has_its_own_and_of_too_many_the_first_is_given_up(
    desk: Desk,
) -> None:
    lines = [APeer() for _ in range(TRANSCRIPTS_ARRIVING_MAX + 1)]
    parts = [recorded(f"this is the talk number {number}") for number in range(len(lines))]
    for line, part in zip(lines, parts, strict=True):
        await send(desk, line, part[:40], more=True)
    answers = [
        await send(desk, line, part[40:], offset=40, session_id=f"s{number}")
        for number, (line, part) in enumerate(zip(lines, parts, strict=True))
    ]
    assert [("error" in answer) for answer in answers] == [True] + [False] * (len(lines) - 1)
    assert await imported(desk) == {
        f"s{number}": [f"this is the talk number {number}"] for number in range(1, len(lines))
    }


async def test_a_transcript_over_its_limit_is_refused_and_not_kept(desk: Desk) -> None:
    line = APeer()
    part = "x" * (FRAME_BYTES_MAX // 2)
    offset = 0
    while offset <= NAP_TRANSCRIPT_BYTES_MAX - len(part):
        await send(desk, line, part, offset=offset, more=True)
        offset += len(part)
    refused = await send(desk, line, "x", offset=offset)
    assert refused["error"]["data"]["kind"] == "too_large"
    assert "error" in await send(desk, line, "", offset=offset)
    assert await imported(desk) == {}
