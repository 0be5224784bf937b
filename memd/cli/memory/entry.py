"""``memd why`` and ``memd edit``: show the origin of a memory, and change its text."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

from memd.base.errors import InvalidError, InvalidStateError
from memd.base.paths import Paths
from memd.cli import console, options
from memd.cli.connection import call, daemon
from memd.cli.memory.answers import speaker_label
from memd.cli.tables import id_for_reader


@options.examples("memd why 6f2f9b11", "memd why 6f2f9b11 --full", "memd why 6f2f9b11 --json")
def why(
    memory_id: options.MemoryId,
    full: Annotated[bool, "--full", "Print whole messages, not only their beginnings."] = False,
    agent: options.Agent = None,
) -> None:
    """Show where a memory came from.

    For a memory of a nap: the session and the messages it was distilled from. For a summary:
    its source memories. For an imported memory: the file. For an edited one: its earlier texts.
    """
    explanation = call("memory.why", id=memory_id, full=full, agent_id=agent)
    if explanation is None:
        raise console.unknown_memory(memory_id)
    if console.print_if_json(explanation):
        return
    first = _indent(explanation["memory"]["content"])
    console.out(first if sys.stdout.isatty() else console.mark_line(first.strip()))
    for line in _about(explanation):
        console.out(console.dim(console.line(line)))
    for turn in explanation["turns"]:
        _show_turn(turn)
    for source in explanation["sources"]:
        when = console.local_time(source.get("occurred_at") or source["created_at"])
        console.out(f"\n{console.bold(when)} {console.dim(id_for_reader(source['id']))}")
        console.out(_indent(source["content"]))
    if explanation["sources_left"]:
        console.note(f"and {explanation['sources_left']} more")
    for earlier in explanation["earlier"]:
        when = console.local_time(earlier["replaced_at"])
        console.out(f"\n{console.bold('before ' + when)} {console.dim('edited then')}")
        console.out(_indent(earlier["content"]))


_WHERE = ("session", "project")
_CLIENTS = {"operator": "your own command", "local": "a program without a key"}


def _about(explanation: dict[str, Any]) -> list[str]:
    """Return the known facts about a memory's origin, one per line."""
    memory, run = explanation["memory"], explanation["made_by"]
    lines = []
    if run is not None:
        lines.append(f"{run['kind']} of {console.local_time(run['at'])}, run {run['run_id']}")
    lines += [f"{name} {memory[f'{name}_id']}" for name in _WHERE if memory.get(f"{name}_id")]
    if memory["metadata"].get("source"):
        lines.append(f"from {memory['metadata']['source']}")
    kinds = [memory["category"], *memory["metadata"]["tags"]]
    when = console.local_time(memory["occurred_at"] or memory["created_at"])
    client = explanation["client"]
    by_client = f", by {_CLIENTS.get(client, client)}" if client else ""
    origin = f"origin {memory['origin']}, {when}{by_client}"
    return [*lines, origin, ", ".join(kinds), _describe_sources(explanation)]


def _describe_sources(explanation: dict[str, Any]) -> str:
    if explanation["turns"]:
        damaged = sum(turn["damaged"] for turn in explanation["turns"])
        missing = sum(turn["text"] is None for turn in explanation["turns"]) - damaged
        count = len(explanation["turns"]) - missing - damaged
        if not count:
            return f"made from messages that are {'damaged' if damaged else 'no longer kept'}"
        if "digest" in explanation["memory"]["metadata"]["tags"]:
            return "made from the whole session; its first and last messages:"
        notes = [(missing, "no longer kept"), (damaged, "damaged")]
        left_out = ", ".join(f"{number} more {state}" for number, state in notes if number)
        return f"made from {console.count(count, 'message')}:{left_out and f' ({left_out})'}"
    if explanation["sources"]:
        total = len(explanation["sources"]) + explanation["sources_left"]
        return f"made from {console.count(total, 'memory')}:"
    return "edited since it was stored:" if explanation["earlier"] else "stored as received"


def _show_turn(turn: dict[str, Any]) -> None:
    if turn["text"] is None:
        return
    who = speaker_label(turn["role"] or "message")
    when = "" if turn["at"] is None else console.local_time(turn["at"])
    place = "" if turn["ordinal"] is None else f"message {turn['ordinal']}"
    console.out(
        f"\n{console.bold(who)} {console.dim(' · '.join(part for part in (when, place) if part))}"
    )
    console.out(_indent(turn["text"]))


def _indent(text: str) -> str:
    """Return a stored text with each line indented or marked, so that none looks like a heading."""
    if sys.stdout.isatty():
        return console.quote(text)
    return "\n".join(f"  {line}" for line in console.printable(text).split("\n"))


@options.examples(
    "memd edit 6f2f9b11",
    'memd edit 6f2f9b11 --text "We deploy on Thursdays"',
    "sed s/heron/stork/ note.md | memd edit 6f2f9b11 --text -",
)
def edit(
    memory_id: options.MemoryId,
    text: Annotated[str | None, "--text TEXT", "The new text; - reads stdin."] = None,
    agent: options.Agent = None,
) -> None:
    """Edit the text of a memory in your editor.

    That is $VISUAL or $EDITOR. The memory keeps its id and tags.
    """
    named = options.without_none(id=memory_id, agent_id=agent)
    with daemon() as client:
        entry = client.call("memory.get", named)
        if entry is None:
            raise console.unknown_memory(memory_id)
        content = _content(entry["content"], text)
        if content == entry["content"]:
            console.note("nothing was changed")
        else:
            changed = {"id": entry["id"], "content": content, "origin": "person"}
            entry = client.call("memory.update", {**named, **changed})
    console.print_if_json({"memory": entry})
    console.report_secrets(content, entry["content"])


def _content(before: str, text: str | None) -> str:
    raw = sys.stdin.read() if text == "-" else text
    after = (_run_editor(before) if raw is None else raw).rstrip("\n")
    if not after.strip():
        raise InvalidError("the new text is empty", hint="to delete the memory: memd delete")
    return after


def _run_editor(text: str) -> str:
    """Let the person edit *text* in a private temporary file and return the result."""
    if not sys.stdin.isatty():
        raise InvalidError("no terminal for the editor", hint="use --text TEXT, or --text -")
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    runtime = Paths.resolve().runtime_dir  # on most systems not on a disk
    with tempfile.TemporaryDirectory(dir=runtime if runtime.is_dir() else None) as folder:
        file = Path(folder) / "memory.md"
        file.write_text(text + "\n", encoding="utf-8")
        try:
            code = subprocess.run([*editor, str(file)], check=False).returncode  # noqa: S603  # the person's own
        except OSError as error:
            raise InvalidStateError(
                f"{editor[0]} cannot be started: {error.strerror}", hint="set EDITOR, or use --text"
            ) from error
        if code:
            raise InvalidStateError(f"{editor[0]} exited with code {code}; nothing was changed")
        return file.read_text(encoding="utf-8")
