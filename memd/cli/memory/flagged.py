"""``memd flagged``: list, show, release and quarantine suspicious memories."""

from __future__ import annotations

from typing import Annotated

from memd.cli import options, say
from memd.cli.reach import call, daemon
from memd.cli.tables import id_column, table, text_column, word_column

_Ids = Annotated[list[str], options.Argument(metavar="ID...", help="Ids of memories.")]


@options.examples("memd flagged list", "memd flagged list --all", "memd flagged list --json")
def list_(
    every: Annotated[
        bool, options.option("--all", help="Include flagged memories that are not quarantined.")
    ] = False,
    agent: options.Agent = None,
    limit: Annotated[
        int, options.option("--limit", "-n", metavar="N", help="Maximum number of results.")
    ] = 20,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """List quarantined memories of all agents, newest first."""
    params = options.without_none(agent_id=agent, limit=limit)
    answer = call(
        profile,
        "memory.flagged",
        {**params, "quarantined": not every, "everybody": agent is None},
    )
    if json:
        say.print_json(answer)
        return
    table(
        (id_column(), word_column("FROM"), word_column("FLAGS"), text_column("TEXT")),
        (
            (one["id"], one["origin"], ",".join(one["flags"]), one["text"])
            for one in answer["items"]
        ),
    )
    if not answer["items"]:
        say.note("no flagged memories" if every else "no quarantined memories")
    if answer["next"]:
        say.note(f"there are more: use --limit {limit * 5}")


@options.examples("memd flagged show 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def show(
    memory_id: Annotated[str, options.Argument(metavar="ID", help="Id, as printed by list.")],
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Show the full text and origin of a flagged memory. Do not paste it to an assistant."""
    (one,) = call(profile, "memory.flagged", {"id": memory_id})["items"]
    if json:
        say.print_json(one)
        return
    rows = [
        ("state", one["state"]),
        ("flags", ", ".join(one["flags"])),
        ("origin", f"{one['origin']}, agent {say.line(one['agent_id'])}"),
        ("client", say.line(one["client"] or "unknown")),
        ("session", say.line(one["session_id"] or "none")),
        ("source", say.line(one["source"] or "none")),
        ("since", say.local_time(one["flagged_at"], zone=True)),
    ]
    table((word_column("FIELD"), word_column("VALUE")), rows)
    say.out(say.quote(one["text"]))


@options.examples("memd flagged release 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def release(memory_ids: _Ids, profile: options.Profile = None, json: options.Json = False) -> None:
    """Release memories from quarantine. They are found again, with the same trust as before."""
    released, missing = _apply_to_each(profile, "memory.release", memory_ids)
    _report(released, missing, "released", "not in quarantine", json=json)


@options.examples("memd flagged add 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11")
def add(memory_ids: _Ids, profile: options.Profile = None, json: options.Json = False) -> None:
    """Quarantine memories, and move what was derived from them to the trash."""
    quarantined, missing = _apply_to_each(profile, "memory.quarantine", memory_ids)
    _report(quarantined, missing, "quarantined", "no such memory", json=json)


def _apply_to_each(
    profile: str | None, method: str, memory_ids: list[str]
) -> tuple[list[str], list[str]]:
    changed: list[str] = []
    missing: list[str] = []
    with daemon(profile) as client:
        for memory_id in memory_ids:
            (changed if client.call(method, {"id": memory_id}) else missing).append(memory_id)
    return changed, missing


def _report(changed: list[str], missing: list[str], label: str, why: str, *, json: bool) -> None:
    if json:
        say.print_json({label: changed, "missing": missing})
    else:
        for memory_id in changed:
            say.out(memory_id)
    for memory_id in missing:
        say.note(f"memd: {why}: {say.line(memory_id)}")
    if missing:
        raise say.CommandExit(say.Exit.ERROR)
