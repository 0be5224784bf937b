"""Tool definitions and the instruction of the strategy ``self_editing`` (SPEC 13.4)."""

from __future__ import annotations

from memd.base.limits import NAME_CHARS_MAX
from memd.domain.inject import SelfEditingMemoryConfig
from memd.inject.tools.arguments import define_tool, limit_schema, text_schema
from memd.inject.tools.tool_based import QUALIFIES, SEARCH_LIMIT, SEARCH_LIMIT_MAX

_CONTENT = text_schema("The text to remember, complete in itself.")
_ID = text_schema("The id of a memory.", maxLength=NAME_CHARS_MAX)
_QUERY = text_schema("What to look for, in a few words.")
_CATEGORY = text_schema("episodic, procedural, semantic or social.")
_LIMIT = limit_schema("How many memories at most.", SEARCH_LIMIT, SEARCH_LIMIT_MAX)

_BLOCKS = (
    "You keep a memory of your own, with tools. Core memory is in every prompt: a few short, "
    "lasting facts about the user and the work. {core} Everything else lies in archival memory, "
    "which archival_memory_search looks through before you decide and archival_memory_write adds "
    "to, and in recall memory: recall_memory_write keeps what happened, recall_memory_read reads "
    "one memory by its id."
)
_WRITABLE = (
    "It holds {most} at most: core_memory_write adds one as soon as you learn it, core_memory_read "
    "gives their ids, core_memory_replace and core_memory_delete mend what no longer holds."
)
_READ_ONLY = "You can read it with core_memory_read and not change it."
_EMPTY = "Nothing is in core memory yet."


def instruction(config: SelfEditingMemoryConfig, *, empty: bool) -> str:
    """Return the instruction that explains the memory blocks and tools (SPEC D23).

    *empty*: core memory is empty.
    """
    writable = _WRITABLE.format(most=config.core_max_entries)
    core = writable if config.allow_core_writes else _READ_ONLY
    parts = [_BLOCKS.format(core=core), QUALIFIES, *([_EMPTY] if empty else [])]
    return " ".join(parts)


DEFINITIONS = (
    define_tool(
        "core_memory_read", "List the core memory: what is always in the prompt, with its ids."
    ),
    define_tool(
        "core_memory_write",
        "Add a short, lasting fact to the core memory. It is in every prompt from then on.",
        ("content",),
        content=_CONTENT,
    ),
    define_tool(
        "core_memory_replace",
        "Put another text in place of a core memory that has changed or was wrong.",
        ("memory_id", "content"),
        memory_id=_ID,
        content=_CONTENT,
    ),
    define_tool(
        "core_memory_delete",
        "Delete a core memory that no longer holds, to make room.",
        ("memory_id",),
        memory_id=_ID,
    ),
    define_tool(
        "archival_memory_search",
        "Search everything that is remembered.",
        ("query",),
        query=_QUERY,
        category=_CATEGORY,
        limit=_LIMIT,
    ),
    define_tool(
        "archival_memory_write",
        "Remember something for later, under a category. It is found by searching.",
        ("content", "category"),
        content=_CONTENT,
        category=_CATEGORY,
    ),
    define_tool(
        "recall_memory_read",
        "Read one memory by its id.",
        ("memory_id",),
        memory_id=_ID,
    ),
    define_tool(
        "recall_memory_write",
        "Remember something that happened.",
        ("content",),
        content=_CONTENT,
    ),
)
