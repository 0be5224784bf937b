"""Take everything out to a file, for another computer or another program."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from memd.base.limits import PAGE_ITEMS_MAX
from memd.cli import options, parts, say
from memd.cli.progress import Progress
from memd.cli.reach import LONG_SECONDS_MAX, daemon

if TYPE_CHECKING:
    from memd.client import Client


@options.examples("memd export memories.jsonl", "memd export | gzip > memories.jsonl.gz")
def export(
    file: Annotated[
        Path | None, options.Argument(help="Where to write; by default standard output.")
    ] = None,
    agent: options.Agent = None,
    profile: options.Profile = None,
) -> None:
    """Write every visible memory as JSONL, the newest first. The first line is a header."""
    fresh = file.with_name(file.name + ".new") if file else None
    params = options.given(agent_id=agent)
    with (
        daemon(profile, seconds_max=LONG_SECONDS_MAX) as client,
        Progress("exporting", unit="memories") as progress,
    ):
        client.call("system.hello")  # nothing is written before somebody answers
        target = closing(_private(fresh)) if fresh else nullcontext(sys.stdout)
        with target as stream:
            stream.write(jsonlib.dumps(parts.HEADER) + "\n")
            count = 0
            for entry in _every(client, params):
                stream.write(say.json_of(entry) + "\n")
                count += 1
                progress.at(count)
    if file and fresh:
        fresh.replace(file)
    say.note(f"exported {count} memories")


def _every(client: Client, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    after: str | None = None
    while True:
        page = client.call(
            "store.export", options.given(**params, after=after, limit=PAGE_ITEMS_MAX // 4)
        )
        yield from page["items"]
        after = page.get("next")
        if after is None:
            return


def _private(path: Path) -> TextIO:
    """Open *path* for writing, readable by its owner alone: it will hold a person's memory."""
    path.touch(mode=0o600)
    return path.open("w", encoding="utf-8")
