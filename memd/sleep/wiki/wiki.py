"""Memories as a folder of Markdown files, for people and for tools that read files (SPEC 16.16).

Each agent has a folder of its own: ``raw/`` with its memories as they were told,
``wiki/`` with what was made of them, and ``index.md``. An export makes the folder
what the memories are now: files of memories that are no longer there are
removed. All text passes ``view``, and the head of a file is quoted, so that no
memory can pretend to be another one's head (docs/decisions/0040).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from memd.base import log
from memd.base.clock import Clock, SystemClock, from_us
from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.files import WikiExport
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.settings.consolidation import WikiExportConfig
from memd.domain.sleep.consolidation import (
    COMPRESSED_EXPERIENCE_TAG,
    COMPRESSED_TAG,
    CONSOLIDATED_TAG,
    SUMMARY_SOURCE,
)
from memd.domain.trust import mark
from memd.guard.outgoing import outgoing
from memd.sleep.strategies.pages import ListableBackend, iter_pages
from memd.sleep.wiki import wiki_files
from memd.sleep.wiki.wiki_files import MARK
from memd.view.fold import fold, seen_from
from memd.view.labels import guarded
from memd.view.view import one_line, view

RAW, WIKI = "raw", "wiki"
NAME_BYTES_MAX = 200
_FILES_AT_ONCE = 64
_SUMMARIES = frozenset((CONSOLIDATED_TAG, COMPRESSED_TAG))
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\]")
_HASHED = re.compile(r"-[0-9a-f]{8}\Z")
_SHAPE_CHARS_MAX = 200
_HEAD = ("id", "agent_id", "category", "created_at", "whose")
_TITLES = ("Strategic Decisions", "Applicable Contexts")
_OURS = re.compile(
    rf"(?:{'|'.join(map(fold, _HEAD))}):\s*[\"']"
    rf"|.{{0,6}}{fold(MARK)}|##\s*(?:{'|'.join(map(fold, _TITLES))})|#\s*{fold('Memories of')}\b"
)
"""How the lines begin that memd itself writes into these files."""
_NOTHING = "_Nothing is recorded._"

Files = dict[str, str]
Run = Callable[..., Awaitable[Any]]


@runtime_checkable
class KeepsOriginals(Protocol):
    """A backend that knows what was told from what was made of it."""

    async def originals(
        self, agent_id: str, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """Return a page of what was told, newest first, and where the next one begins."""
        ...


class _View(NamedTuple):
    """One folder of an export; *files* is None when its memories could not be read."""

    name: str
    files: Files | None
    cut: bool = False


class WikiExporter:
    """Writes an agent's memories below *root*. *run* takes what may wait for the disk."""

    def __init__(
        self,
        *,
        backend: ListableBackend,
        config: WikiExportConfig,
        root: Path,
        clock: Clock | None = None,
        run: Run | None = None,
    ) -> None:
        self._backend = backend
        self._config = config
        self._root = root
        self._clock = clock or SystemClock()
        self._run = run or _at_once

    async def export(self, agent_id: str, root: Path | None = None) -> WikiExport:
        """Make the agent's folder below *root* what its memories are now, and say what is there.

        Nothing is written when the settings say ``enabled = false``. A view whose
        memories cannot be read is left as it was. The index comes last, so whoever
        reads it finds what it names. Raises what :func:`wiki_files.update` raises.
        """
        if self.is_off:
            return WikiExport(agent_id=agent_id)
        root = root or self._root
        folder = folder_name(agent_id)
        views = [
            await self._view(RAW, agent_id, self._config.include_raw_tier, self._raw_pages),
            await self._view(WIKI, agent_id, self._config.include_compressed_tier, self._made),
        ]
        removed = 0
        for each in views:
            if each.files is not None:
                removed += await self._written(root, (folder, each.name), each.files)
        counts = {each.name: len(each.files or ()) for each in views}
        cut = tuple(each.name for each in views if each.cut)
        text = index(agent_id, counts, cut, from_us(self._clock.now_us()))
        await self._run(wiki_files.update, root, (folder,), {"index.md": text})
        return WikiExport(
            agent_id=agent_id,
            path=str(root / folder),
            raw=counts[RAW],
            wiki=counts[WIKI],
            removed=removed,
            cut=cut,
            failed=tuple(each.name for each in views if each.files is None),
        )

    @property
    def is_off(self) -> bool:
        """Return whether the settings forbid any export, by name."""
        return not self._config.enabled and "enabled" in self._config.model_fields_set

    async def _view(
        self,
        name: str,
        agent_id: str,
        is_enabled: bool,  # noqa: FBT001  # a setting, handed on
        read: Callable[[str, int], Awaitable[tuple[Files, bool]]],
    ) -> _View:
        if not is_enabled:
            return _View(name, {})
        try:
            files, cut = await read(agent_id, self._config.max_entries_per_view or PAGE_ITEMS_MAX)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001  # whatever a backend raises concerns one view
            log.warning("wiki view not read", view=name, error=type(error).__name__)
            return _View(name, None)
        return _View(name, files, cut)

    async def _raw_pages(self, agent_id: str, limit: int) -> tuple[Files, bool]:
        entries: list[MemoryEntry] = []
        async for page in self._originals(agent_id):
            entries += [entry for entry in page if entry.passing is None and not _is_made(entry)]
            if len(entries) > limit:
                break
        return named(entries[:limit], raw_page), len(entries) > limit

    async def _originals(self, agent_id: str) -> AsyncIterator[tuple[MemoryEntry, ...]]:
        if not isinstance(self._backend, KeepsOriginals):
            async for page in iter_pages(
                self._backend, agent_id, MemoryQuery(limit=PAGE_ITEMS_MAX)
            ):
                yield page
            return
        after: str | None = None
        while True:
            page, after = await self._backend.originals(agent_id, after, PAGE_ITEMS_MAX)
            yield page
            if after is None:
                return

    async def _made(self, agent_id: str, limit: int) -> tuple[Files, bool]:
        by_name: dict[str, MemoryEntry] = {}
        for tag in (COMPRESSED_EXPERIENCE_TAG, CONSOLIDATED_TAG, COMPRESSED_TAG):
            query = MemoryQuery(tags=(tag,), limit=PAGE_ITEMS_MAX)
            of_tag: dict[str, MemoryEntry] = {}
            async for page in iter_pages(self._backend, agent_id, query):
                of_tag |= {entry.id: entry for entry in page if _is_made(entry)}
                if len(of_tag) > limit:
                    break
            by_name |= of_tag
        newest = sorted(by_name.values(), key=lambda entry: entry.created_at, reverse=True)
        return named(newest[:limit], wiki_page), len(newest) > limit

    async def _written(self, root: Path, folders: tuple[str, ...], files: Files) -> int:
        """Write *files* a few at a time, remove what is stale, and say how much that was."""
        every = list(files.items())
        for start in range(0, len(every), _FILES_AT_ONCE):
            some = dict(every[start : start + _FILES_AT_ONCE])
            await self._run(wiki_files.update, root, folders, some)
        removed: int = await self._run(wiki_files.prune, root, folders, frozenset(files))
        return removed


async def _at_once(call: Callable[..., Any], *args: Any) -> Any:
    return call(*args)


def _is_made(entry: MemoryEntry) -> bool:
    """Return whether *entry* was made from others: such are shown in the wiki."""
    tags = _SUMMARIES.intersection(entry.metadata.tags)
    learned = COMPRESSED_EXPERIENCE_TAG in entry.metadata.tags
    return learned or (bool(tags) and entry.metadata.source == SUMMARY_SOURCE)


# What stands in the files.


def raw_page(entry: MemoryEntry) -> str:
    """Return a memory as a file: its head, then its text."""
    return f"{_head(entry)}\n{_text(entry.content)}\n"


def _text(content: str) -> str:
    """Return a memory's text as it may stand in a file: no line of it looks like memd's.

    Whoever reads several files as one tells by the heads where a memory begins and whose it is.
    """
    return "\n".join(map(_line, view(outgoing(content)).split("\n")))


def _line(line: str) -> str:
    place = seen_from(line, 0)
    if _OURS.match(fold(line[place : place + _SHAPE_CHARS_MAX])):
        return f"{line[:place]}\\{line[place:]}"
    return guarded(line)


def wiki_page(entry: MemoryEntry) -> str:
    """Return what was made of memories as a file: a summary's text, or what was learned."""
    if COMPRESSED_EXPERIENCE_TAG not in entry.metadata.tags:
        return raw_page(entry)
    learned = _parsed(entry.content)
    parts = (
        learned.get("strategic_decisions"),
        learned.get("applicable_contexts"),
    )
    sections = [
        f"## {title}\n\n{_bullets(lines)}\n" for title, lines in zip(_TITLES, parts, strict=True)
    ]
    return "\n".join((_head(entry), *sections))


def index(
    agent_id: str, counts: Mapping[str, int], cut: Sequence[str], exported_at: datetime
) -> str:
    """Return the page that leads to the two views."""
    raw, made = (_counted(counts[name], name, cut) for name in (RAW, WIKI))
    return (
        f"# Memories of {one_line(agent_id)}\n\n<!-- {MARK} -->\n\n"
        f"Exported {exported_at.isoformat()}.\n\n"
        f"- [{RAW}]({RAW}/): {raw}, as they were told\n"
        f"- [{WIKI}]({WIKI}/): {made}, made of them\n"
    )


def _counted(count: int, name: str, cut: Sequence[str]) -> str:
    what = {RAW: ("memory", "memories"), WIKI: ("summary", "summaries")}[name]
    text = f"{count} {what[count != 1]}"
    return f"the newest {text}" if name in cut else text


def _head(entry: MemoryEntry) -> str:
    fields = {
        "id": entry.id,
        "agent_id": entry.agent_id,
        "category": entry.category.value,
        "created_at": entry.created_at.isoformat(),
    }
    if {"origin", "trust"} & entry.model_fields_set and (
        said_by := mark(entry.origin, entry.trust)
    ):
        fields["whose"] = said_by.strip(" []")
    # JSON's strings are YAML's, once what YAML cannot show is gone.
    lines = [
        f"{name}: {json.dumps(one_line(outgoing(v)), ensure_ascii=False)}"
        for name, v in fields.items()
    ]
    return "\n".join(("---", f"# {MARK}", *lines, "---", ""))


def _bullets(lines: object) -> str:
    bullets = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    return "\n".join(f"- {one_line(outgoing(line))}" for line in bullets) or _NOTHING


def _parsed(content: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# How the files are called.


def named(entries: Iterable[MemoryEntry], page: Callable[[MemoryEntry], str]) -> Files:
    """Return the file of each entry by its name; no two names differ in letter case only."""
    files: Files = {}
    taken: set[str] = set()
    for entry in entries:
        name = _plain(entry.id)
        if name.casefold() in taken:
            name = f"{name}-{_short_hash(entry.id)}"
        taken.add(name.casefold())
        files[f"{name}.md"] = page(entry)
    return files


def folder_name(agent_id: str) -> str:
    """Return the name of an agent's folder; no two agents have one.

    >>> folder_name("ada"), folder_name("a/b"), folder_name("..")
    ('ada', 'a_b-c14cddc0', '_.-5ec1f7e7')
    """
    name = _plain(agent_id)
    plain = name == agent_id and not _HASHED.search(name)
    return name if plain else f"{name}-{_short_hash(agent_id)}"


def _plain(name: str) -> str:
    """Return *name* as it may be called in any folder: no slash, not hidden, not too long."""
    plain = _UNSAFE.sub("_", one_line(name)) or "_"
    plain = f"_{plain[1:]}" if plain.startswith(".") else plain
    return plain.encode()[:NAME_BYTES_MAX].decode(errors="ignore")


def _short_hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]
