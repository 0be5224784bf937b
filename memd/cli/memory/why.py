"""``memd why``: the origin of a memory, with its source messages or memories."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from memd.cli import options, say
from memd.cli.memory.answers import speaker_label
from memd.cli.reach import call
from memd.cli.tables import id_for_reader


@options.examples("memd why 6f2f9b11", "memd why 6f2f9b11 --full", "memd why 6f2f9b11 --json")
def why(
    memory_id: Annotated[
        str, options.Argument(metavar="ID", help="Id, as printed by search or list.")
    ],
    full: Annotated[
        bool, options.option("--full", help="Print whole messages, not only their beginnings.")
    ] = False,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Show where a memory came from.

    For a memory of a nap: the session and the messages it was distilled from. For a summary:
    its source memories. For an imported memory: the file.
    """
    params = options.without_none(id=memory_id, agent_id=agent)
    explanation = call(profile, "memory.why", {**params, "full": full})
    if explanation is None:
        say.report_unknown(memory_id)
        raise say.CommandExit(say.Exit.ERROR)
    if json:
        say.print_json(explanation)
        return
    first = _indent(explanation["memory"]["content"])
    say.out(first if sys.stdout.isatty() else say.mark_line(first.strip()))
    for line in _about(explanation):
        say.out(say.dim(say.line(line)))
    for turn in explanation["turns"]:
        _show_turn(turn)
    for source in explanation["sources"]:
        when = say.local_time(source.get("occurred_at") or source["created_at"])
        say.out(f"\n{say.bold(when)} {say.dim(id_for_reader(source['id']))}")
        say.out(_indent(source["content"]))
    if explanation["sources_left"]:
        say.note(f"and {explanation['sources_left']} more")


_WHERE = ("session", "project")


def _about(explanation: dict[str, Any]) -> list[str]:
    """Return the known facts about a memory's origin, one per line."""
    memory, run = explanation["memory"], explanation["made_by"]
    lines = []
    if run is not None:
        lines.append(f"{run['kind']} of {say.local_time(run['at'])}, run {run['run_id']}")
    lines += [f"{name} {memory[f'{name}_id']}" for name in _WHERE if memory.get(f"{name}_id")]
    if memory["metadata"].get("source"):
        lines.append(f"from {memory['metadata']['source']}")
    kinds = [memory["category"], *memory["metadata"]["tags"]]
    return [*lines, ", ".join(kinds), _describe_sources(explanation)]


def _describe_sources(explanation: dict[str, Any]) -> str:
    if explanation["turns"]:
        missing = sum(turn["text"] is None for turn in explanation["turns"])
        count = len(explanation["turns"]) - missing
        if not count:
            return "made from messages that are no longer kept"
        if "digest" in explanation["memory"]["metadata"]["tags"]:
            return "made from the whole session; its first and last messages:"
        note = f" ({missing} more no longer kept)" if missing else ""
        return f"made from {count} message{'s' if count > 1 else ''}:{note}"
    if explanation["sources"]:
        total = len(explanation["sources"]) + explanation["sources_left"]
        return f"made from {total} memor{'ies' if total > 1 else 'y'}:"
    return "stored as received"


def _show_turn(turn: dict[str, Any]) -> None:
    if turn["text"] is None:
        return
    who = speaker_label(turn["role"] or "message")
    when = "" if turn["at"] is None else say.local_time(turn["at"])
    place = "" if turn["ordinal"] is None else f"message {turn['ordinal']}"
    say.out(f"\n{say.bold(who)} {say.dim(' · '.join(part for part in (when, place) if part))}")
    say.out(_indent(turn["text"]))


def _indent(text: str) -> str:
    """Return a text as indented or marked lines, so that none can pass for a heading."""
    if sys.stdout.isatty():
        return say.quote(text)
    return "\n".join(f"  {line}" for line in say.printable(text).split("\n"))
