"""Tools that memd adds to the documented ones: they search facts and earlier sessions.

In the daemon, both strategies with tools have them. A strategy over another backend has no
organisational memory (docs/decisions/0076) and no sessions. Messages are only searched, never
injected (docs/decisions/0092).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memd.domain.caller import Caller
from memd.domain.ingest import SessionHit, SessionQuery
from memd.domain.trust import mark_of_role
from memd.inject.format import fence, knowledge_line
from memd.inject.knowledge import Knowledge
from memd.inject.tools.arguments import define_tool, limit_of, limit_schema, text_of, text_schema
from memd.view.labels import body
from memd.view.view import ENTRY_TAG

if TYPE_CHECKING:
    from memd.ingest.sessions import Sessions

LIMIT, LIMIT_MAX = 5, 50

# Facts.

SEARCH_FACTS = "search_org_facts"
NO_FACTS = "No facts found."

FACTS_TOOL = define_tool(
    SEARCH_FACTS,
    "Search what this organisation has settled: decisions and their reasons, procedures, "
    "conventions, definitions.",
    ("query",),
    query=text_schema("What to look for, in a few words."),
    limit=limit_schema("How many facts at most.", LIMIT, LIMIT_MAX),
)
FACTS_TOOL_INSTRUCTION = (
    f" Use {SEARCH_FACTS} to look up what this organisation has settled (decisions, procedures, "
    "conventions, definitions) at the beginning of a task."
)


async def search_facts(
    knowledge: Knowledge | None, caller: Caller, arguments: Mapping[str, Any]
) -> str:
    """Return the facts that fit, each in a fence. Raises BadArgumentError."""
    if knowledge is None:
        return NO_FACTS
    query = text_of(arguments, "query")
    limit = limit_of(arguments, min(LIMIT, knowledge.facts_max), knowledge.facts_max)
    facts = await knowledge.search_facts(caller, query, limit)
    return "\n".join(fence(knowledge_line(fact)) for fact in facts) or NO_FACTS


# Earlier sessions.

SEARCH_SESSIONS = "session_search"
NO_MESSAGES = "No messages found."
_SPEAKERS = {"user": "user", "human": "user", "assistant": "assistant"}
_NAME_CHARS = 64
"""Characters of a session's id in a label."""

SESSIONS_TOOL = define_tool(
    SEARCH_SESSIONS,
    "Search the text of earlier sessions, word by word: what was said, shown and done in them. "
    "Returns passages with their session and time.",
    ("query",),
    query=text_schema("Words that were said, not a question."),
    limit=limit_schema("How many passages at most.", LIMIT, LIMIT_MAX),
)
SESSIONS_TOOL_INSTRUCTION = (
    f" Use {SEARCH_SESSIONS} to find the wording of earlier sessions when what is remembered "
    "of them is not enough."
)


async def search_sessions(
    sessions: Sessions | None, caller: Caller, arguments: Mapping[str, Any]
) -> str:
    """Return the passages that fit, each in a fence. Raises BadArgumentError."""
    if sessions is None:
        return NO_MESSAGES
    query = text_of(arguments, "query")
    request = SessionQuery(query=query, limit=limit_of(arguments, LIMIT, LIMIT_MAX))
    results = await sessions.search(caller, request)
    return "\n".join(fence(render_passage(passage)) for passage in results) or NO_MESSAGES


def render_passage(passage: SessionHit) -> str:
    """Return the content of a passage's fence: its session, time, speaker and text.

    A role that is neither a person's nor the assistant's is labelled as a tool.
    """
    speaker = _SPEAKERS.get(passage.role, "tool")
    session = re.sub(r"[^\w.:-]", "_", passage.session_id)[:_NAME_CHARS]
    label = f"[session: {session} | {passage.at:%Y-%m-%d} | {speaker}]"
    return f"{mark_of_role(passage.role)}{label} {body(passage.snippet, tags=(ENTRY_TAG,))}"
