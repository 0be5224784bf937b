"""``memd shared``: publish, search and retract shared memories."""

from __future__ import annotations

from typing import Annotated

from memd.cli import console, options
from memd.cli.connection import call, change_each
from memd.cli.tables import id_column, print_items, text_column, time_column, word_column


@options.examples(
    'memd shared publish "The staging database is reset every Monday"',
    "cat decision.md | memd shared publish - --agent architect --tag adr",
)
def publish(
    text: Annotated[str, "TEXT", "The text; - reads stdin."],
    category: options.Category = None,
    namespace: options.Namespace = None,
    tag: options.Tags = None,
    agent: options.Agent = None,
) -> None:
    """Publish a text to all agents, in the name of one. Prints the id of the shared copy."""
    content = options.text_or_stdin(text)
    memory_id = call(
        "shared.publish",
        category=category or "semantic",
        content=content,
        namespace=namespace,
        metadata={"tags": tag or []},
        agent_id=agent,
    )
    console.answer({"id": memory_id}, memory_id)


@options.examples(
    'memd shared search "staging database"', "memd shared search", "memd shared search --without qa"
)
def search(
    query: Annotated[str | None, "[QUERY]", "The question; default: the newest."] = None,
    category: options.Kind = None,
    namespace: options.Namespace = None,
    tag: options.Tags = None,
    without: Annotated[str | None, "--without NAME", "Exclude what agent NAME published."] = None,
    limit: options.Limit = 20,
) -> None:
    """Search shared memories, with who published each."""
    answer = call(
        "shared.search",
        text=query,
        exclude_agent=without,
        limit=limit,
        **options.filters(category, namespace, tag),
    )
    print_items(
        {"items": answer},
        (
            id_column(),
            time_column("PUBLISHED", "created_at"),
            word_column("BY", "agent_id"),
            text_column("TEXT", "content"),
        ),
        nothing="no shared memory matches" if query else "no shared memories",
        limit=limit,
    )


@options.examples("memd shared retract 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11 --agent architect")
def retract(
    memory_ids: options.MemoryIds,
    agent: options.Agent = None,
) -> None:
    """Retract shared copies. Only the agent that published them can."""
    change_each("shared.retract", memory_ids, agent, "retracted", "not shared:")
