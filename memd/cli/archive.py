"""What was put away, as a person meets it: found, looked at, brought back."""

from __future__ import annotations

from typing import Annotated, Any

from memd.base.errors import MemoryNotFoundError
from memd.cli import options, say
from memd.cli.reach import ask, daemon
from memd.cli.tables import an_id, table, text_column, time, word


@options.examples('memd archive search "old deploy notes"', "memd archive search -n 20 --json")
def search(
    query: Annotated[
        str | None,
        options.Argument(metavar="[QUERY]", help="Words to look for; without, the newest."),
    ] = None,
    category: options.Category = None,
    namespace: options.Namespace = None,
    tag: options.Tags = None,
    session: options.Session = None,
    limit: Annotated[int, options.option("--limit", "-n", metavar="N", help="How many.")] = 50,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Search what was put away: behind summaries, by the limit you set, or as unimportant."""
    params = options.given(
        text=query,
        categories=[category] if category else None,
        namespaces=[namespace] if namespace else None,
        tags=tag or None,
        session_id=session,
        agent_id=agent,
    )
    found = ask(profile, "archive.search", {**params, "limit": limit})
    if json:
        say.as_json({"items": found})
        return
    table(
        (an_id(), time("ARCHIVED"), word("REASON"), text_column("TEXT")),
        (
            (one["entry"]["id"], one["archived_at"], one["reason"], one["entry"]["content"])
            for one in found
        ),
    )
    if not found:
        say.note("nothing that was put away fits" if query else "nothing was put away")


@options.examples(
    "memd archive restore 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11",
    "memd archive restore --show 0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11",
)
def restore(
    memory_ids: Annotated[
        list[str], options.Argument(metavar="ID...", help="Of the memory, or its archival id.")
    ],
    show: Annotated[
        bool, options.option("--show", help="Only print it; it stays in the archive.")
    ] = False,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Bring memories back from the archive, byte for byte, under the ids they had."""
    found, missing = _each(profile, memory_ids, agent, show=show)
    if json:
        say.as_json({"archived" if show else "restored": found, "missing": missing})
    else:
        for item in found:
            _print(item) if show else say.out(item["id"])
    for memory_id in missing:
        say.note(f"memd: not in the archive: {say.line(memory_id)}")
    if missing:
        raise say.Leave(say.Exit.ERROR)


def _each(
    profile: str | None, memory_ids: list[str], agent: str | None, *, show: bool
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what the daemon shows or brings back, and the ids that are not in the archive."""
    method = "archive.restore" if show else "archive.restore_to_hot"
    found, missing = [], []
    with daemon(profile) as client:
        for memory_id in memory_ids:
            try:
                found.append(client.call(method, options.given(id=memory_id, agent_id=agent)))
            except MemoryNotFoundError:
                missing.append(memory_id)
    return found, missing


@options.examples("memd archive turned-away", "memd archive turned-away --restore")
def turned_away(
    restore: Annotated[
        bool, options.option("--restore", help="Bring all of it back, to be found again.")
    ] = False,
    limit: Annotated[int, options.option("--limit", "-n", metavar="N", help="How many.")] = 50,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """List what was turned away as unimportant, of all agents, or bring it back."""
    whose = {**options.given(agent_id=agent), "everybody": agent is None}
    if restore:
        count = ask(profile, "archive.restore_turned_away", whose)
        say.as_json({"restored": count}) if json else say.out(f"restored {count:,}")
        return
    page = ask(profile, "archive.turned_away", {**whose, "limit": limit})
    if json:
        say.as_json(page)
        return
    entries = [(one["entry"], one["archived_at"]) for one in page["items"]]
    table(
        (an_id(), time("ARCHIVED"), word("AGENT"), text_column("TEXT")),
        ((one["id"], at, one["agent_id"], one["content"]) for one, at in entries),
    )
    if not page["items"]:
        say.note("nothing was turned away")
    if page["next"]:
        say.note(f"there is more: --limit {limit * 5}")


@options.examples("memd archive count", "memd archive count --json")
def count(
    agent: options.Agent = None, profile: options.Profile = None, json: options.Json = False
) -> None:
    """Say how many memories are in the archive."""
    number = ask(profile, "archive.count", options.given(agent_id=agent))
    if json:
        say.as_json({"count": number})
    else:
        say.out(str(number))


def _print(item: dict[str, Any]) -> None:
    entry = item["entry"]
    for name in ("archival_id", "reason"):
        say.note(f"{name + ':':<13} {say.line(str(item[name]))}")
    say.note(f"{'archived_at:':<13} {say.moment(item['archived_at'], zone=True)}")
    for name in ("id", "category"):
        say.note(f"{name + ':':<13} {say.line(str(entry[name]))}")
    say.note(f"{'created_at:':<13} {say.moment(entry['created_at'], zone=True)}")
    say.out(say.quoted(entry["content"]))
