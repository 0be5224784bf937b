"""The tool that searches the organisation's facts (docs/decisions/0076).

Both strategies with tools have it, in the daemon only: a strategy over another backend has no
organisational memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memd.domain.caller import Caller
from memd.domain.inject import ToolDefinition
from memd.inject.format import fence, knowledge_line
from memd.inject.knowledge import Knowledge
from memd.inject.tools.arguments import BadArgumentError, limit_of, refusal, text_of

SEARCH_FACTS = "search_org_facts"
NO_FACTS = "No facts found."
LIMIT, LIMIT_MAX = 5, 50

DEFINITION = ToolDefinition(
    name=SEARCH_FACTS,
    description="Search what this organisation has settled: decisions and their reasons, "
    "procedures, conventions, definitions.",
    parameters_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for, in a few words."},
            "limit": {
                "type": "integer",
                "description": "How many facts at most.",
                "default": LIMIT,
                "minimum": 1,
                "maximum": LIMIT_MAX,
            },
        },
        "required": ["query"],
    },
)
INSTRUCTION = (
    f" Use {SEARCH_FACTS} to look up what this organisation has settled (decisions, procedures, "
    "conventions, definitions) at the beginning of a task."
)


async def search_facts(knowledge: Knowledge, caller: Caller, arguments: Mapping[str, Any]) -> str:
    """Return the facts that fit, each in a fence; an error's text begins with ``Error:``."""
    try:
        query = text_of(arguments, "query")
    except BadArgumentError as error:
        return refusal(str(error))
    limit = limit_of(arguments, min(LIMIT, knowledge.facts_max), knowledge.facts_max)
    facts = await knowledge.search_facts(caller, query, limit)
    return "\n".join(fence(knowledge_line(each)) for each in facts) or NO_FACTS
