"""Organisational facts and their authors, over a real file."""

from __future__ import annotations

from typing import Any

from memd.backends.rooms import Rooms
from memd.domain.caller import Caller
from memd.domain.enums import SeniorityLevel
from memd.domain.org.org import OrgFactAuthor, OrgFactWriteRequest, OrgMemoryQuery

CALLER = Caller(client="test", method="test")
HUMAN = OrgFactAuthor(is_human=True)
SENIOR = OrgFactAuthor(agent_id="ada", seniority=SeniorityLevel.SENIOR)
JUNIOR = OrgFactAuthor(agent_id="bob", seniority=SeniorityLevel.JUNIOR)


def a_request(
    content: str = "Use Litestar", category: str = "convention", **more: Any
) -> OrgFactWriteRequest:
    """Return a fact to write."""
    return OrgFactWriteRequest.model_validate({"content": content, "category": category, **more})


async def wrote(
    house: Rooms, *contents: str, author: OrgFactAuthor = HUMAN, **more: Any
) -> list[str]:
    """Write *contents* as facts, one after the other, and return their ids."""
    return [
        await house.org.write(CALLER, a_request(content, **more), author=author)
        for content in contents
    ]


async def contents(house: Rooms, context: str | None = None, **more: Any) -> list[str]:
    """Return what a query answers, as texts in order."""
    asked: dict[str, Any] = {"context": context, **more}
    facts = await house.org.query(CALLER, OrgMemoryQuery.model_validate(asked))
    return [fact.content for fact in facts]
