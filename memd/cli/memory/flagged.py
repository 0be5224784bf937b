"""``memd flagged``: list, show, release and quarantine suspicious memories."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated

from memd.cli import console, options
from memd.cli.connection import call, change_each
from memd.cli.tables import id_column, print_items, table, text_column, word_column

_Ids = Annotated[list[str], "ID...", "Ids of memories."]


@options.examples("memd flagged list", "memd flagged list --all", "memd flagged list --json")
def list_(
    every: Annotated[bool, "--all", "Include flagged memories that are not quarantined."] = False,
    agent: options.Agent = None,
    limit: options.PageLimit = 20,
    after: options.After = None,
) -> None:
    """List quarantined memories of all agents, newest first."""
    answer = call(
        "memory.flagged",
        agent_id=agent,
        limit=limit,
        after=after,
        quarantined=not every,
        everybody=agent is None,
    )
    more = "" if after is None else "more "
    print_items(
        answer,
        (
            id_column(),
            word_column("FROM", "origin"),
            word_column("FLAGS", lambda memory: ",".join(memory["flags"])),
            text_column("TEXT", "text"),
        ),
        nothing=f"no {more}{'flagged' if every else 'quarantined'} memories",
    )


@options.examples("memd flagged show 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def show(memory_id: options.MemoryId) -> None:
    """Show the full text and the origin of a flagged memory.

    Do not paste it into an assistant.
    """
    (memory,) = call("memory.flagged", id=memory_id)["items"]
    if console.print_if_json(memory):
        return
    rows = [
        ("state", memory["state"]),
        ("flags", ", ".join(memory["flags"])),
        ("origin", f"{memory['origin']}, agent {console.line(memory['agent_id'])}"),
        ("client", console.line(memory["client"] or "unknown")),
        ("session", console.line(memory["session_id"] or "none")),
        ("source", console.line(memory["source"] or "none")),
        ("since", console.local_time(memory["flagged_at"], zone=True)),
    ]
    table((word_column("FIELD", itemgetter(0)), word_column("VALUE", itemgetter(1))), rows)
    console.out(console.quote(memory["text"]))


@options.examples("memd flagged release 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def release(memory_ids: _Ids) -> None:
    """Release memories from quarantine.

    Searches find them again, with the same trust as before.
    """
    change_each("memory.release", memory_ids, None, "released", "not in quarantine:")


@options.examples("memd flagged add 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def add(memory_ids: _Ids) -> None:
    """Quarantine memories.

    Memories that were derived from them go to the trash.
    """
    why = "no such memory:"
    change_each("memory.quarantine", memory_ids, None, "quarantined", why)
