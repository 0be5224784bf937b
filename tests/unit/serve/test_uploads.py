"""A transcript arrives in parts, whole or not at all, and of few connections at once."""

from __future__ import annotations

import json
from typing import Any

from support.access import the_operator
from support.rooms import FakeHouse

from memd.base.limits import FRAME_BYTES_MAX, NAP_TRANSCRIPT_BYTES_MAX, TRANSCRIPTS_ARRIVING_MAX
from memd.rpc.envelope import Request
from memd.serve.dispatch import ActiveRequest
from memd.serve.events import Link, Listener


class Line:
    """A connection."""

    listener: Listener | None = None
    link: Link | None = None

    def may_hear(self, agent_id: str) -> bool:
        return bool(agent_id)

    def offer(self, frame: bytes) -> bool:
        return bool(frame)


class Desk:
    """A house, and calls to it."""

    def __init__(self) -> None:
        house = FakeHouse()
        self._naps = house.naps
        self._dispatch = house.dispatch()

    async def send(self, line: Line, text: str, **params: Any) -> dict[str, Any]:
        call = ActiveRequest(the_operator(), peer=line)
        asked = Request(1, "session.import", {"text": text, **params})
        frame = await self._dispatch.answer(asked, call)
        assert frame is not None
        answer: dict[str, Any] = json.loads(frame)
        return answer

    @property
    def imported(self) -> list[bytes]:
        return self._naps.imported


async def test_parts_become_one_transcript() -> None:
    desk, line = Desk(), Line()
    first = await desk.send(line, "where the h\u00e9", more=True)
    assert first["result"]["taken"] == 12
    assert desk.imported == []
    last = await desk.send(line, "ron nests", offset=12, session_id="s")
    assert (last["result"]["taken"], last["result"]["session_id"]) == (21, "s")
    assert desk.imported == ["where the h\u00e9ron nests".encode()]


async def test_a_part_that_does_not_follow_is_refused_and_the_next_first_one_begins_anew() -> None:
    desk, line = Desk(), Line()
    await desk.send(line, "half of ", more=True)
    refused = await desk.send(line, "another", offset=3)
    assert refused["error"]["data"]["field"] == "offset"
    refused = await desk.send(line, "it", offset=8)
    assert refused["error"]["data"]["field"] == "offset", "what had arrived is given up"
    await desk.send(line, "half of ", more=True)
    await desk.send(line, "a whole one")
    assert desk.imported == [b"a whole one"]


async def test_each_connection_has_its_own_and_of_too_many_the_first_is_given_up() -> None:
    desk = Desk()
    lines = [Line() for _ in range(TRANSCRIPTS_ARRIVING_MAX + 1)]
    for number, line in enumerate(lines):
        await desk.send(line, str(number), more=True)
    answers = [await desk.send(line, "!", offset=1) for line in lines]
    assert [("error" in answer) for answer in answers] == [True] + [False] * (len(lines) - 1)
    assert desk.imported == [f"{number}!".encode() for number in range(1, len(lines))]


async def test_a_transcript_over_its_limit_is_refused_and_not_kept() -> None:
    desk, line = Desk(), Line()
    part = "x" * (FRAME_BYTES_MAX // 2)
    offset = 0
    while offset <= NAP_TRANSCRIPT_BYTES_MAX - len(part):
        await desk.send(line, part, offset=offset, more=True)
        offset += len(part)
    refused = await desk.send(line, "x", offset=offset)
    assert refused["error"]["data"]["kind"] == "too_large"
    assert "error" in await desk.send(line, "", offset=offset)
    assert desk.imported == []
