"""``memd import``: import notes, recorded sessions, exports of memd and of other programs.

An import can be interrupted and repeated without duplicates: unchanged text of a note is kept,
removed text superseded, and exported memories keep their ids. A file that cannot be read does
not stop the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from memd.base.errors import (
    IngestionError,
    InvalidError,
    MemdError,
    SecretRefusedError,
    TooLargeError,
)
from memd.cli import console, options
from memd.cli.connection import LONG_SECONDS_MAX, daemon
from memd.cli.memory.answers import report_stored_languages
from memd.cli.notes import folder
from memd.cli.notes.note import merge_tags
from memd.cli.notes.send import FileOutcome, Options, in_batches, send_note
from memd.cli.progress import Progress
from memd.cli.project import find_project_id, folder_name, known_projects, project_of_folder
from memd.cli.transfer import export, foreign, sessions

if TYPE_CHECKING:
    from memd.client import Client

KINDS = ("text", "markdown", "jsonl")
COUNTS = ("new", "replaced", "moved", "kept", "skipped", "quarantined")


@options.examples(
    "memd import ~/notes",
    "memd import ~/notes --dry-run",
    "memd import notes.md shopping.txt --tag home",
    "memd import ~/.claude/projects/-home-ada-proj --dry-run",
    "memd import memories.jsonl",
    "memd import ~/Downloads/chatgpt-export.zip --dry-run",
    "memd import ~/proj/.aider.chat.history.md",
    "memd import ~/.local/share/opencode/opencode.db ~/.claude-mem/claude-mem.db",
    "memd forget --source ~/notes/old.md",
)
def import_(
    files: Annotated[
        list[Path], "PATH...", "Files, or folders with .md, .markdown, .txt and .jsonl files."
    ],
    format_: Annotated[
        str | None, "--format KIND", "text, markdown or jsonl; default: by file name."
    ] = None,
    tag: options.Tags = None,
    namespace: options.Namespace = None,
    project: Annotated[
        str | None,
        "--project PROJECT",
        "Project of notes: its folder's name, path or id; default: that of each file's folder.",
    ] = None,
    any_project: Annotated[bool, "--no-project", "Notes are of no project."] = True,
    dry_run: options.DryRun = False,
    agent: options.Agent = None,
) -> None:
    """Import notes, recorded sessions and exports of other programs.

    Notes: each section of a file becomes a memory, of the project of its folder: the git working
    tree, or a folder in which an assistant has worked. Import an edited file again: text that is
    gone from it is archived. To erase the memories of a file: memd forget --source FILE.

    Sessions: memd recognises the files of assistants, the exports of ChatGPT, Claude and opencode,
    and aider's history. It keeps a few memories and a digest of each session, and its messages for
    "memd search --sessions". Of MCP's server-memory, mem0 and claude-mem it imports each memory;
    without --agent each user of mem0 becomes an agent.

    An import can be repeated: "kept" counts what was there already.
    """
    if format_ not in {None, *KINDS}:
        raise InvalidError(f"unknown format {format_}", hint="use text, markdown or jsonl")
    if project and not any_project:
        raise InvalidError("--project and --no-project exclude each other")
    notes = folder.find(files)
    outcomes = [FileOutcome(path, error=why) for path, why in notes.failed.items()]
    flags = Options(tag or (), namespace, None, agent, dry_run, format_)
    if notes.files:
        flags = _with_project(flags, project, any_project=any_project)
        try:
            _import(notes.files, flags, outcomes)
        except MemdError:
            if any(outcome.new or outcome.kept for outcome in outcomes):
                _report(outcomes, notes.skipped, flags)
                console.note("stopped; to go on, repeat the import: what is known is stored once")
            raise
    _report(outcomes, notes.skipped, flags)
    if any(outcome.new for outcome in outcomes) and not (console.is_json() or dry_run):
        report_stored_languages()
    if any(outcome.error for outcome in outcomes):
        raise console.CommandExit(console.Exit.ERROR)


def _with_project(flags: Options, project: str | None, *, any_project: bool) -> Options:
    """Return *flags* with the id of *project*, or with the projects that notes may be of."""
    project_id = find_project_id(project, flags.agent, stores=True)
    known = known_projects(flags.agent) if any_project and project is None else None
    return replace(flags, project=project_id, known_projects=known)


def _import(files: Sequence[Path], flags: Options, outcomes: list[FileOutcome]) -> None:
    """Import *files*, the earliest sessions first; *outcomes* has also those before an error."""
    with (
        daemon(seconds_max=LONG_SECONDS_MAX) as client,
        Progress("importing", unit="files") as progress,
    ):
        client.call("system.hello")  # fail before reading anything if no daemon runs
        for number, path in enumerate(sorted(files, key=sessions.began_at)):
            progress.at(number, len(files), "importing")
            place = partial(progress.at, number, len(files))
            outcomes.append(FileOutcome(path))
            _import_file(client, outcomes[-1], flags, place)
        progress.at(len(files), len(files), "importing")


def _import_file(
    client: Client, outcome: FileOutcome, flags: Options, tell: Callable[[str], None]
) -> None:
    """Import the file of *outcome*, and record the result or an error of this file in it.

    Progress of long steps goes to *tell*. Raises MemdError for an error that ends the whole import.
    """
    path, kind = outcome.file, flags.kind
    suffix = path.suffix.lower()
    try:
        if kind is None and not path.is_dir() and sessions.is_session(path):
            sessions.send(client, outcome, flags, tell)
        elif kind is None and foreign.is_export(path):
            foreign.send(client, outcome, flags, tell)
        elif kind == "jsonl" or (kind is None and suffix in folder.LINES):
            if export.is_whole(path):
                _refuse_placement(flags)
                export.import_records(client, outcome, dry_run=flags.dry_run, tell=tell)
            else:
                _send_lines(client, outcome, flags)
        else:
            markdown = suffix in folder.MARKDOWN if kind is None else kind == "markdown"
            if flags.known_projects is not None:
                project = project_of_folder(path.parent, flags.known_projects)
                flags = replace(flags, project=project)
            send_note(client, outcome, folder.read(path), flags, markdown=markdown)
    except (InvalidError, IngestionError, SecretRefusedError, TooLargeError) as error:
        outcome.error = error.message
    except MemdError as error:
        outcome.error = error.message
        raise


def _refuse_placement(flags: Options) -> None:
    """Raise InvalidError for options that say where memories go: in a full export they have it."""
    if flags.agent or flags.tags or flags.namespace or flags.project:
        raise InvalidError(
            "an export of all agents: --agent, --tag, --namespace and --project do not apply"
        )


def _send_lines(client: Client, outcome: FileOutcome, flags: Options) -> None:
    """Import JSON lines: an export of memd, or ingest requests."""
    try:
        text = outcome.file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidError("not UTF-8 text") from error
    lines = text.split("\n")  # splitlines() would also split at other characters
    items = list(export.jsonl_parts(lines, outcome.file.name))
    if items and not any("text" in item or "content" in item for item in items):
        from memd.signals.transcripts import KNOWN

        raise InvalidError(f"neither an export of memd nor a session of {KNOWN}")
    if flags.dry_run:
        outcome.problems.append(f"{len(items):,} lines; duplicates are detected when they are sent")
        return
    for batch in in_batches(items):
        _send_batch(client, batch, outcome, flags)


def _send_batch(
    client: Client, batch: Sequence[dict[str, Any]], outcome: FileOutcome, flags: Options
) -> None:
    common = options.without_none(
        tags=list(flags.tags) or None, namespace=flags.namespace, project_id=flags.project
    )
    texts = [{**common, "deliberate": True, **item} for item in batch if "text" in item]
    entries = [_placed_entry(item, flags) for item in batch if "text" not in item]
    if texts:
        params = options.without_none(items=texts, agent_id=flags.agent)
        for receipt in client.call("memory.ingest_many", params)["items"]:
            outcome.new += len(receipt["stored"]) + len(receipt["pending"])
            outcome.kept += len(receipt["merged"])
            outcome.skipped += len(receipt["turned_away"])
            outcome.quarantined += len(receipt["quarantined"])
    if entries:
        answer = client.call("store.import", {"items": entries})
        outcome.new += answer["stored"]
        outcome.kept += answer["known"]
        outcome.skipped += answer["skipped"]


def _placed_entry(entry: dict[str, Any], flags: Options) -> dict[str, Any]:
    """Return an exported memory with the agent, namespace, project and tags of *flags*."""
    placement = options.without_none(
        agent_id=flags.agent, namespace=flags.namespace, project_id=flags.project
    )
    metadata = entry.get("metadata")
    if flags.tags and isinstance(metadata, dict):
        tags = merge_tags(metadata.get("tags") or [], list(flags.tags))
        placement["metadata"] = {**metadata, "tags": tags}
    return {**entry, **placement}


# Output.


def _report(outcomes: Sequence[FileOutcome], skipped: Counter[str], flags: Options) -> None:
    counts = {name: sum(getattr(outcome, name) for outcome in outcomes) for name in COUNTS}
    failed = sum(outcome.error is not None for outcome in outcomes)
    if console.print_if_json(
        {
            "files": len(outcomes),
            **counts,
            "failed": failed,
            "dry_run": flags.dry_run,
            "skipped_files": dict(skipped),
            "results": [outcome.as_json() for outcome in outcomes],
        }
    ):
        return
    for outcome in outcomes:
        _report_file(outcome)
    ignored = ", ".join(f"{name} {number:,}" for name, number in sorted(skipped.items()))
    console.out(
        ("would be: " if flags.dry_run else "")
        + _summary({"files": len(outcomes)} | counts | {"failed": failed})
        + ("" if failed or any(counts.values()) or not outcomes else ", new 0")
        + (f"; ignored: {ignored}" if ignored else "")
    )
    if counts["quarantined"]:
        console.note("what looks like an attack is quarantined; to review it: memd flagged list")


def _report_file(outcome: FileOutcome) -> None:
    """Print the outcome of one file, nothing if it was unchanged."""
    name = _short(outcome.file)
    for problem in outcome.problems:
        console.note(f"memd: {name}: {problem}")
    if outcome.error is not None:
        console.note(f"memd: {name}: {outcome.error}")
    if outcome.redacted:
        console.note(f"memd: {name}: secrets were replaced ({', '.join(outcome.redacted)})")
    if outcome.new or outcome.replaced or outcome.moved or outcome.skipped:
        counts = _summary({count: getattr(outcome, count) for count in COUNTS})
        console.out(f"{name}{_placement(outcome)}: {counts}")
    for line in outcome.notes:
        console.note(console.line(line))


def _placement(outcome: FileOutcome) -> str:
    """Return the day of a file's session and the project of the file in brackets."""
    day = outcome.started_at and console.local_time(outcome.started_at)[:10]
    project = outcome.project and console.line(folder_name(outcome.project))
    about = ", ".join(part for part in (day, project) if part)
    return f" ({about})" if about else ""


def _short(path: Path) -> str:
    """Return a path relative to the current folder, if it is below it."""
    here = Path.cwd()
    return console.line(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _summary(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items() if number) or "nothing"
