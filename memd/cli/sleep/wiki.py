"""``memd wiki``: export memories as Markdown files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from memd.base.limits import PAGE_ITEMS_MAX
from memd.cli import console, options
from memd.cli.connection import LONG_SECONDS_MAX, daemon
from memd.cli.memory.answers import report_other_agents

if TYPE_CHECKING:
    from memd.client import Client
    from memd.domain.memory import MemoryEntry, MemoryQuery


@options.examples("memd wiki", "memd wiki ~/notes/memd", "memd wiki --agent ada --json")
def wiki(
    folder: Annotated[str | None, "[DIR]", "Target folder; default: memd's own."] = None,
    agent: options.Agent = None,
) -> None:
    """Export memories as Markdown files with an index.

    Each agent has its own folder. A later export updates it and keeps files that memd did not
    write.
    """
    with daemon(seconds_max=LONG_SECONDS_MAX) as client:
        if folder is None:
            done = client.call("wiki.export", options.without_none(agent_id=agent))
        else:
            done = _export_here(client, agent, Path(folder).expanduser().resolve())
    if console.is_json():
        console.print_json(done)
    else:
        console.out(console.line(done["path"]))
        console.note(
            f"{console.count(done['raw'], 'memory')}, {console.count(done['wiki'], 'summary')}"
        )
    if done["raw"] == 0 and not console.is_json():
        report_other_agents(agent)
    _report_problems(done)


def _report_problems(done: dict[str, Any]) -> None:
    """Report to stderr what the export lacks, and exit if it wrote nothing or not everything."""
    for view in done["cut"]:
        console.note(f"memd: {view} holds only the newest {done[view]}; more do not fit")
    for view in done["failed"]:
        console.note(f"memd: {view} could not be read and was left unchanged")
    if done["failed"]:
        raise console.CommandExit(console.Exit.ERROR)


def _export_here(client: Client, agent: str | None, root: Path) -> dict[str, Any]:
    """Export in this process: a sandboxed daemon cannot write everywhere the person can.

    The folder is registered with the daemon, so that ``forget`` names it.
    """
    import asyncio

    from memd.base.paths import Paths
    from memd.cli.upkeep.config import settings_of
    from memd.sleep.wiki.wiki import WikiExporter, folder_name

    agent_id = agent or client.call("system.hello")["caller"]["agent_id"]
    settings, _ = settings_of(Paths.resolve())
    config = settings.memory.consolidation.wiki_export
    exporter = WikiExporter(backend=RemotePages(client), config=config, root=root)
    exporter.refuse_if_disabled()
    copy = {"target": str(root / folder_name(agent_id))}
    client.call("store.note_copy", copy)
    done = asyncio.run(exporter.export(agent_id))
    client.call("store.note_copy", {**copy, "made": True})
    return done.model_dump(mode="json")


class RemotePages:
    """The backend that ``WikiExporter`` needs, over one connection to the daemon."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return the memories that *query*, which must have no text, lists."""
        params = query.model_dump(mode="json", include={"tags", "until"}, exclude_none=True)
        pages: list[MemoryEntry] = []
        after: str | None = None
        while len(pages) < query.limit:
            page, after = await self._page("memory.list", agent_id, after, query.limit, params)
            pages += page
            if after is None:
                break
        return tuple(pages[: query.limit])

    async def originals(
        self, agent_id: str, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """Return a page of original memories, newest first, and the mark of the next page."""
        return await self._page("store.export", agent_id, after, limit, {})

    async def _page(
        self, method: str, agent_id: str, after: str | None, limit: int, more: dict[str, Any]
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        from memd.domain.memory import MemoryEntry

        params = {"agent_id": agent_id, "limit": min(limit, PAGE_ITEMS_MAX), **more}
        page = self._client.call(method, params | options.without_none(after=after))
        return tuple(map(MemoryEntry.model_validate, page["items"])), page["next"]
