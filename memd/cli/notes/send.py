"""Send the items of a file to the daemon, and collect the outcome."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memd.base.errors import InvalidError
from memd.base.limits import FRAME_BYTES_MAX, INGEST_ITEMS_MAX, SOURCE_IDS_MAX
from memd.cli.notes.note import merge_tags, parse_note, source_name
from memd.cli.options import without_none

if TYPE_CHECKING:
    from memd.client import Client

T = TypeVar("T")

BATCH_ITEMS_MAX = INGEST_ITEMS_MAX // 2
BATCH_BYTES_MAX = FRAME_BYTES_MAX // 2  # JSON may write a character as six bytes


@dataclass(slots=True)
class FileOutcome:
    """Outcome of importing one file. The numbers count memories."""

    file: Path
    new: int = 0
    kept: int = 0
    replaced: int = 0
    moved: int = 0
    skipped: int = 0
    quarantined: int = 0
    trashed: int = 0
    forgotten: int = 0
    """Memories of an earlier import that were forgotten, and are not learnt again."""
    redacted: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is left to do after the import, as lines."""
    project: str | None = None
    session: str | None = None
    """The session in the file, if any; the two fields below are about it."""
    messages: int | None = None
    started_at: str | None = None
    error: str | None = None
    """Why the import failed, None if it did not."""

    def as_json(self) -> dict[str, Any]:
        """Return the outcome for ``--json``."""
        return {**asdict(self), "file": str(self.file)}


@dataclass(frozen=True, slots=True)
class Options:
    """Options that apply to all files of an import."""

    tags: Sequence[str] = ()
    namespace: str | None = None
    project: str | None = None
    agent: str | None = None
    dry_run: bool = False
    kind: str | None = None
    """The format of all files; None: detect it by name and content."""
    known_projects: Sequence[str] | None = None
    """The projects whose folders may contain notes, apart from git working trees; None: notes are
    of *project*."""


def send_note(
    client: Client, outcome: FileOutcome, text: str, options: Options, *, markdown: bool
) -> None:
    """Import *text* as the new content of the file, and count the results in *outcome*.

    A file that fits into one request is replaced atomically. If the import of a larger one is
    interrupted, old and new memories coexist until it is imported again.
    """
    draft = parse_note(text, outcome.file, markdown=markdown)
    outcome.problems += draft.problems
    send_items(client, outcome, draft.items, options)


def send_items(
    client: Client, outcome: FileOutcome, items: Sequence[dict[str, Any]], options: Options
) -> None:
    """Replace all memories of the file of *outcome* by *items*.

    If they need several requests, all but the last add items, and the last one supersedes the
    other memories of the file.
    """
    outcome.project = options.project
    common = without_none(
        source=source_name(outcome.file), agent_id=options.agent, dry_run=options.dry_run or None
    )
    batches = list(in_batches([_with_options(item, options) for item in items]))
    if len(batches) <= 1:
        _ask(client, {**common, "items": [item for batch in batches for item in batch]}, outcome)
        return
    kept: list[str] = []
    for batch in batches:
        kept += _ask(client, {**common, "items": batch, "more": True}, outcome)
        if len(kept) > SOURCE_IDS_MAX:
            raise InvalidError(f"more than {SOURCE_IDS_MAX:,} memories", hint="split the file")
    _ask(client, {**common, "kept": kept}, outcome)


def in_batches(
    items: Iterable[T], items_max: int = BATCH_ITEMS_MAX, bytes_max: int = BATCH_BYTES_MAX
) -> Iterator[list[T]]:
    """Yield *items* in batches that fit into one request each, by their size as JSON."""
    batch: list[T] = []
    size = 0
    for item in items:
        weight = len(json.dumps(item))
        if batch and (len(batch) >= items_max or size + weight > bytes_max):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += weight
    if batch:
        yield batch


def _with_options(item: dict[str, Any], options: Options) -> dict[str, Any]:
    tags = merge_tags(item.get("tags", []), list(options.tags))
    placement = without_none(namespace=options.namespace, project_id=options.project)
    return {**item, **placement, **without_none(tags=tags or None)}


def _ask(client: Client, params: Mapping[str, Any], outcome: FileOutcome) -> list[str]:
    answer = client.call("memory.replace_source", dict(params))
    outcome.new += answer["new"]
    outcome.kept += answer["unchanged"]
    outcome.replaced += answer["superseded"]
    outcome.moved += answer["moved"]
    outcome.quarantined += answer["quarantined"]
    outcome.redacted += [kind for kind in answer["redacted"] if kind not in outcome.redacted]
    ids: list[str] = answer["ids"]
    return ids
