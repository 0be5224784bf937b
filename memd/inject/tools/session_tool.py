"""The tool that searches the messages of earlier sessions.

Messages are never injected, only searched (docs/decisions/0092). Both strategies with tools
have it, in the daemon only, like the one for facts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memd.domain.caller import Caller
from memd.domain.ingest import SessionHit, SessionQuery
from memd.domain.inject import ToolDefinition
from memd.domain.trust import mark_of_role
from memd.inject.format import fence
from memd.inject.tools.arguments import BadArgumentError, limit_of, refusal, text_of
from memd.view.labels import body
from memd.view.view import ENTRY_TAG

if TYPE_CHECKING:
    from memd.ingest.sessions import Sessions

SEARCH_SESSIONS = "session_search"
NO_MESSAGES = "No messages found."
LIMIT, LIMIT_MAX = 5, 50
_PEOPLE = {"user": "user", "human": "user", "assistant": "assistant"}
_NAME_CHARS = 64

DEFINITION = ToolDefinition(
    name=SEARCH_SESSIONS,
    description="Search the text of earlier sessions, word by word: what was said, shown and "
    "done in them. Returns passages with their session and time.",
    parameters_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words that were said, not a question."},
            "limit": {
                "type": "integer",
                "description": "How many passages at most.",
                "default": LIMIT,
                "minimum": 1,
                "maximum": LIMIT_MAX,
            },
        },
        "required": ["query"],
    },
)
INSTRUCTION = (
    f" Use {SEARCH_SESSIONS} to find the wording of earlier sessions when what is remembered "
    "of them is not enough."
)


async def search_sessions(sessions: Sessions, caller: Caller, arguments: Mapping[str, Any]) -> str:
    """Return the passages that fit, each in a fence; an error's text begins with ``Error:``."""
    try:
        query = text_of(arguments, "query")
    except BadArgumentError as error:
        return refusal(str(error))
    request = SessionQuery(query=query, limit=limit_of(arguments, LIMIT, LIMIT_MAX))
    results = await sessions.search(caller, request)
    return "\n".join(fence(render_passage(passage)) for passage in results) or NO_MESSAGES


def render_passage(passage: SessionHit) -> str:
    """Return the content of a passage's fence: its session, time, speaker and text.

    A role that is neither a person's nor the assistant's is labelled as a tool.
    """
    who = _PEOPLE.get(passage.role)
    where = re.sub(r"[^\w.:-]", "_", passage.session_id)[:_NAME_CHARS]
    label = f"[session: {where} | {passage.at:%Y-%m-%d} | {who or 'tool'}]"
    return f"{mark_of_role(passage.role)}{label} {body(passage.snippet, tags=(ENTRY_TAG,))}"
