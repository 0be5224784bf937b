"""Bring memories in from files.

An import may be interrupted and run again: parts carry the same references, the
daemon recognises the same text from the same place, and an exported memory keeps
its id, so nothing is there twice.
"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from memd.base.errors import InvalidError
from memd.base.limits import FRAME_BYTES_MAX
from memd.cli import options, parts, say
from memd.cli.progress import Progress
from memd.cli.reach import LONG_SECONDS_MAX, daemon

if TYPE_CHECKING:
    from memd.client import Client

FORMATS = {".md": "markdown", ".markdown": "markdown", ".jsonl": "jsonl", ".ndjson": "jsonl"}
BATCH_ITEMS_MAX = 32
BATCH_BYTES_MAX = FRAME_BYTES_MAX // 2  # JSON may write a character as six bytes


@options.examples(
    "memd import notes.md",
    "memd import ~/notes/*.md --tag notes",
    "memd import memories.jsonl",
    "memd import log.txt --format text --dry-run",
)
def import_(
    files: Annotated[list[Path], options.Argument(metavar="FILE...", help="Files to read.")],
    format_: Annotated[
        str | None,
        options.option(
            "--format", metavar="KIND", help="text, markdown or jsonl; by the file's name."
        ),
    ] = None,
    tag: options.Tags = None,
    namespace: options.Namespace = None,
    dry_run: options.DryRun = False,
    agent: options.Agent = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Remember what files say. Run it again after an interruption: nothing is doubled."""
    common = options.given(tags=tag or None, namespace=namespace, agent_id=agent)
    work = [(file, list(_parts(file, format_))) for file in files]
    total = sum(len(items) for _, items in work)
    if dry_run:
        _report({"parts": total, "files": len(files)}, json=json)
        return
    kinds = ("stored", "pending", "merged", "turned_away", "quarantined", "skipped")
    tally = dict.fromkeys(kinds, 0)
    with (
        daemon(profile, seconds_max=LONG_SECONDS_MAX) as client,
        Progress("importing", unit="parts") as progress,
    ):
        done = 0
        for _, items in work:
            for batch in _batches(items):
                _send(client, batch, common, tally)
                done += len(batch)
                progress.at(done, total)
    _report({"parts": total, "files": len(files), **tally}, json=json)
    if tally["quarantined"]:
        say.note("what looks like an attack is out of sight: memd flagged list")


def _parts(file: Path, kind: str | None) -> Iterator[dict[str, Any]]:
    kind = kind or FORMATS.get(file.suffix.lower(), "text")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidError(f"{file} cannot be read: {error.strerror}", field="file") from error
    except UnicodeDecodeError as error:
        raise InvalidError(f"{file} is not UTF-8 text", field="file") from error
    if kind == "jsonl":
        return parts.jsonl_parts(text.split("\n"), str(file))  # texts may hold other line ends
    if kind == "markdown":
        return parts.markdown_parts(text, str(file.absolute()))
    if kind == "text":
        return parts.text_parts(text, str(file.absolute()))
    raise InvalidError(f"no such format: {kind}", hint="text, markdown or jsonl")


def _batches(items: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for item in items:
        weight = len(jsonlib.dumps(item))
        if batch and (len(batch) >= BATCH_ITEMS_MAX or size + weight > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += weight
    if batch:
        yield batch


def _send(
    client: Client, batch: list[dict[str, Any]], common: dict[str, Any], tally: dict[str, int]
) -> None:
    texts = [item for item in batch if "text" in item]
    entries = [item for item in batch if "text" not in item]
    if texts:
        agent = common.get("agent_id")
        items = [{**{k: v for k, v in common.items() if k != "agent_id"}, **item} for item in texts]
        answer = client.call("memory.ingest_many", options.given(items=items, agent_id=agent))
        for receipt in answer["items"]:
            for name in tally:
                tally[name] += len(receipt.get(name, ()))
    if entries:
        answer = client.call("store.import", {"items": entries})
        tally["stored"] += answer["stored"]
        tally["merged"] += answer["known"]
        tally["skipped"] += answer["skipped"]


def _report(told: dict[str, Any], *, json: bool) -> None:
    if json:
        say.as_json(told)
        return
    say.out(
        ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in told.items() if number)
    )
