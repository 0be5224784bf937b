"""``memd export``, and the import of a full export.

The file is JSON lines: a header, the records, and an end line with their number, which shows
that the file is complete (docs/move.md). It is written page by page to a temporary file, which
is renamed at the end. A file that exists is not overwritten.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from memd.base.errors import CallerError, InvalidError, InvalidStateError
from memd.base.limits import FRAME_BYTES_MAX, PAGE_ITEMS_MAX
from memd.base.paths import Paths, require_folder_of
from memd.base.settings import find
from memd.cli import console, options
from memd.cli.access.client import add_command
from memd.cli.connection import LONG_SECONDS_MAX, daemon, iter_items, iter_pages
from memd.cli.notes.send import FileOutcome, in_batches
from memd.cli.progress import Progress

if TYPE_CHECKING:
    from memd.client import Client

HEADER = {"memd": "export", "v": 1}
"""Header of an export of one agent's visible memories."""
WHOLE_VERSION = 4
WHOLE = {"memd": "export", "v": WHOLE_VERSION}
"""Header of a full export."""
END = "end"
CLIENT = "client"
MEMORY = "memory"
"""The kind of a memory. An export of one agent has only memories, and leaves the kind out."""


def jsonl_parts(lines: Iterable[str], source: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSONL file, skipping the header line of an export.

    Raises InvalidError, with the line number, for a line that is not a JSON object, and for an
    export of a newer memd.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        item = _parse_object(line)
        if item is None:
            raise InvalidError(f"{source}, line {number}: not a JSON object", field="file")
        if number == 1 and "memd" in item:
            check_header(item, source)
            continue
        yield item


def _parse_object(line: str) -> dict[str, Any] | None:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) else None


def check_header(header: dict[str, Any], source: str) -> None:
    """Raise InvalidError unless *header* is that of an export which this memd can read."""
    if header.get("memd") != HEADER["memd"]:
        raise InvalidError(f"{source}: not an export of memories", field="file")
    version = header.get("v")
    if not isinstance(version, int) or version > WHOLE_VERSION:
        raise InvalidError(
            f"{source}: an export of version {version}; this memd reads up to {WHOLE_VERSION}",
            field="file",
            hint="upgrade memd",
        )


_STDOUT = Path("-")
_PAGE = PAGE_ITEMS_MAX // 4
_BATCH_ITEMS_MAX = 200
_BATCH_BYTES_MAX = FRAME_BYTES_MAX // 3  # JSON may write a character as six bytes
_PROBLEMS_MAX = 20

Line = tuple[int, dict[str, Any]]


@options.examples(
    "memd export everything.jsonl",
    "memd export - | gzip > everything.jsonl.gz",
    "memd export ada.jsonl --agent ada",
    has_json=False,
)
def export(
    file: Annotated[Path | None, "FILE", "File to write; default: stdout, also for -."] = None,
    agent: Annotated[
        str | None, "--agent NAME", "Export only the visible memories of this agent, newest first."
    ] = None,
) -> None:
    """Export everything as JSON lines.

    That is the memories of all agents, preferences, facts and lessons, but no keys and no audit.
    "memd import" reads it, on this or another computer. A FILE that exists is not overwritten.
    Exit code 1: damaged records were left out.
    """
    file = None if file == _STDOUT else file
    kinds: Counter[str] = Counter()
    with daemon(seconds_max=LONG_SECONDS_MAX) as client:
        client.call("system.hello")  # fail before writing anything if no daemon runs
        damaged: list[str] = []
        lines = _everything(client, damaged) if agent is None else _visible(client, agent)
        # A bar would be drawn over lines that go to the terminal.
        to_terminal = file is None and sys.stdout.isatty()
        bar = nullcontext() if to_terminal else Progress("exporting")
        with _open_output(file) as stream, bar as progress:
            for line in lines:
                stream.write(console.to_json(line) + "\n")
                kinds[END if "memd" in line else line.get("kind", MEMORY)] += 1
                if progress is not None:
                    progress.at(kinds.total() - kinds[END])
    others = kinds.total() - kinds[MEMORY] - kinds[END]
    rest = f" and {console.count(others, 'other record')}" if others else ""
    console.note(f"exported {console.count(kinds[MEMORY], 'memory')}{rest}")
    if agent is None:
        settings = find(Paths.resolve().config_file)
        more = "" if settings is None else f", and the settings in {settings}"
        console.note(f"not exported: clients' keys{more}")
    for name in damaged[:_PROBLEMS_MAX]:
        console.note(f"damaged, not exported: {name}")
    if damaged:
        console.note(f"not exported: {console.count(len(damaged), 'record')}; run: memd check")
        raise console.CommandExit(console.Exit.ERROR)


def _everything(client: Client, damaged: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines of a full export; the names of damaged records are added to *damaged*."""
    yield WHOLE
    count = 0
    for page in iter_pages(client, "store.dump", {"limit": _PAGE}):
        damaged += page["damaged"]
        count += len(page["items"])
        yield from page["items"]
    yield {"kind": END, "records": count}


def _visible(client: Client, agent: str) -> Iterator[dict[str, Any]]:
    yield HEADER
    yield from iter_items(client, "store.export", {"agent_id": agent, "limit": _PAGE})


@contextmanager
def _open_output(file: Path | None) -> Iterator[TextIO]:
    """Yield the stream to write to: stdout, a device, a pipe, or a regular *file*.

    A regular file gets its name at the end, so that it is complete or does not exist. Only its
    owner can read it, because it contains all memories. Raises InvalidStateError if it exists, as
    a backup does.
    """
    if file is None:
        yield sys.stdout
        return
    try:
        file = file.resolve()
        if file.exists():
            if file.is_file():
                raise InvalidStateError(f"{file} exists", hint="choose another name")
            with file.open("w", encoding="utf-8") as stream:
                yield stream
            return
        require_folder_of(file)
        temporary = file.with_name(file.name + ".new")
        try:
            temporary.unlink(missing_ok=True)
            temporary.touch(mode=0o600)
            with temporary.open("w", encoding="utf-8") as stream:
                yield stream
            temporary.replace(file)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        error.filename = error.filename or str(file)
        raise


# Import.


def is_whole(file: Path) -> bool:
    """Return whether *file* begins with the header of a full export, of any version."""
    try:
        with file.open(encoding="utf-8-sig") as stream:
            head = json.loads(stream.readline(1_000))
    except (OSError, ValueError, RecursionError):
        return False
    version = head.get("v") if isinstance(head, dict) and head.get("memd") == "export" else None
    return isinstance(version, int) and version > 1


def import_records(
    client: Client, outcome: FileOutcome, *, dry_run: bool, tell: Callable[[str], None]
) -> None:
    """Import all records of an export, reporting progress to *tell*.

    A bad line is reported by its number and does not stop the others. Raises InvalidError at
    the end if there was one, or if the file is truncated.
    """
    end_lines: list[int] = []
    problems: list[str] = []
    clients: list[dict[str, Any]] = []
    count = 0
    lines = _lines(outcome.file, problems, end_lines)
    for batch in in_batches(lines, _BATCH_ITEMS_MAX, _BATCH_BYTES_MAX):
        count += len(batch)
        clients += [record for _, record in batch if record.get("kind") == CLIENT]
        if not dry_run:
            _send(client, batch, outcome, problems)
        tell(f"importing {outcome.file.name}, {console.count(count, 'record')}")
    if not dry_run:
        outcome.notes += _next_steps(client, clients)
    else:
        records = console.count(count, "record")
        outcome.problems.append(f"{records}; duplicates are detected when they are sent")
    if outcome.skipped:
        records = console.count(outcome.skipped, "record")
        outcome.problems.append(f"{records} skipped: forgotten or deleted here since the export")
    outcome.problems += problems[:_PROBLEMS_MAX]
    if len(problems) > _PROBLEMS_MAX:
        outcome.problems.append(f"and {len(problems) - _PROBLEMS_MAX:,} more")
    if not end_lines:
        raise InvalidError("the file is truncated: its end is missing")
    if problems:
        raise InvalidError(f"not imported: {len(problems):,} of {console.count(count, 'record')}")


def _next_steps(client: Client, records: Sequence[dict[str, Any]]) -> list[str]:
    """Return what this computer lacks after the import of *records* of clients, as lines."""
    lines = ["the settings are not moved, such as access rules of facts (docs/move.md)"]
    closed = {item["name"] for item in client.call("client.list")["items"] if item["revoked_at"]}
    commands = [
        add_command(record)
        for record in records
        if record.get("name") in closed and record.get("revoked_at") is None
    ]
    if commands:
        lines.append("keys are not moved, and these clients' agents are closed without; make them:")
        lines += commands
    return lines


def _lines(file: Path, problems: list[str], end_lines: list[int]) -> Iterator[Line]:
    with file.open(encoding="utf-8-sig", errors="replace", newline="\n") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            item = _parse_object(line)
            if item is None:
                problems.append(f"line {number}: not a JSON object")
            elif number == 1:
                check_header(item, file.name)
            elif item.get("kind") == END:
                end_lines.append(number)
            else:
                yield number, item


def _send(client: Client, batch: list[Line], outcome: FileOutcome, problems: list[str]) -> None:
    """Send *batch*; if it is refused, send its halves, down to the line at fault."""
    try:
        done = client.call("store.load", {"items": [record for _, record in batch]})
    except CallerError as error:
        if error.kind == "denied":
            raise
        if len(batch) == 1:
            problems.append(f"line {batch[0][0]}: {error.message}")
            return
        half = len(batch) // 2
        _send(client, batch[:half], outcome, problems)
        _send(client, batch[half:], outcome, problems)
        return
    outcome.new += done["stored"]
    outcome.kept += done["known"]
    outcome.skipped += done["skipped"]
    for problem in done["problems"]:
        hint = f" ({problem['hint']})" if problem["hint"] else ""
        problems.append(f"line {batch[problem['index']][0]}: {problem['message']}{hint}")
