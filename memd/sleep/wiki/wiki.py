"""Write memories as a folder of Markdown files, for people and programs (SPEC 16.16).

Each agent has a folder with ``raw/`` for its original memories, ``wiki/`` for their summaries, and
``index.md``. An export also removes the files of memories that no longer exist. All text passes
``view``, and the values in the head of a file are quoted, so that no memory can imitate the head of
another (decision 0040).
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
from memd.base.errors import InvalidStateError
from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.files import WikiExport
from memd.domain.inject import SupportsRetrieve
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.settings.consolidation import WikiExportConfig
from memd.domain.sleep.consolidation import (
    COMPRESSED_EXPERIENCE_TAG,
    COMPRESSED_TAG,
    CONSOLIDATED_TAG,
    SUMMARY_SOURCE,
)
from memd.domain.trust import mark
from memd.guard.redaction import redact
from memd.sleep.strategies.selection import iter_pages
from memd.sleep.wiki import wiki_files
from memd.sleep.wiki.wiki_files import MARK
from memd.view.fold import fold, skip_invisible
from memd.view.labels import escape_label
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
_OWN_LINES = re.compile(
    rf"(?:{'|'.join(map(fold, _HEAD))}):\s*[\"']"
    rf"|.{{0,6}}{fold(MARK)}|##\s*(?:{'|'.join(map(fold, _TITLES))})|#\s*{fold('Memories of')}\b"
)
"""Beginnings of lines that memd itself writes into these files, folded."""
_NOTHING = "_Nothing is recorded._"

Files = dict[str, str]
Run = Callable[..., Awaitable[Any]]


@runtime_checkable
class KeepsOriginals(Protocol):
    """A backend that can list original memories, without summaries."""

    async def originals(
        self, agent_id: str, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """Return a page of original memories, newest first, and the cursor of the next page."""
        ...


class _View(NamedTuple):
    """One folder of an export; *files* is None if its memories could not be read."""

    name: str
    files: Files | None
    truncated: bool = False


class WikiExporter:
    """Writes agents' memories below *root*; *run* executes calls that may block on the disk."""

    def __init__(
        self,
        *,
        backend: SupportsRetrieve,
        config: WikiExportConfig,
        root: Path,
        clock: Clock | None = None,
        run: Run | None = None,
    ) -> None:
        self._backend = backend
        self._config = config
        self._root = root
        self._clock = clock or SystemClock()
        self._run = run or _call_directly

    async def export(self, agent_id: str, root: Path | None = None) -> WikiExport:
        """Synchronise the agent's folder below *root* with its memories, and return a report.

        Nothing is written if the settings say ``enabled = false``. A view whose memories cannot be
        read is not changed. The index is written last, so that everything it names exists. Raises
        what :func:`wiki_files.update` raises.
        """
        if self.is_disabled:
            return WikiExport(agent_id=agent_id)
        root = root or self._root
        folder = folder_name(agent_id)
        views = [
            await self._read_view(RAW, agent_id, self._config.include_raw_tier, self._raw_pages),
            await self._read_view(
                WIKI, agent_id, self._config.include_compressed_tier, self._summary_pages
            ),
        ]
        removed = 0
        for exported in views:
            if exported.files is not None:
                path = (folder, exported.name)
                removed += await self._write(root, path, exported.files)
        counts = {exported.name: len(exported.files or ()) for exported in views}
        truncated = tuple(exported.name for exported in views if exported.truncated)
        text = render_index(agent_id, counts, truncated, from_us(self._clock.now_us()))
        await self._run(wiki_files.update, root, (folder,), {"index.md": text})
        return WikiExport(
            agent_id=agent_id,
            path=str(root / folder),
            raw=counts[RAW],
            wiki=counts[WIKI],
            removed=removed,
            cut=truncated,
            failed=tuple(exported.name for exported in views if exported.files is None),
        )

    @property
    def is_disabled(self) -> bool:
        """Whether the settings explicitly forbid every export."""
        return not self._config.enabled and "enabled" in self._config.model_fields_set

    def refuse_if_disabled(self) -> None:
        """Raise InvalidStateError if the settings explicitly forbid every export."""
        if self.is_disabled:
            raise InvalidStateError(
                "memory.consolidation.wiki_export.enabled is false: nothing is exported",
                hint="memd config unset memory.consolidation.wiki_export.enabled",
            )

    async def _read_view(
        self,
        name: str,
        agent_id: str,
        is_enabled: bool,  # noqa: FBT001  # a setting, passed on
        read: Callable[[str, int], Awaitable[tuple[Files, bool]]],
    ) -> _View:
        if not is_enabled:
            return _View(name, {})
        try:
            files, truncated = await read(
                agent_id, self._config.max_entries_per_view or PAGE_ITEMS_MAX
            )
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001  # an error concerns one view only
            log.warning("wiki view not read", view=name, error=type(error).__name__)
            return _View(name, None)
        return _View(name, files, truncated)

    async def _raw_pages(self, agent_id: str, limit: int) -> tuple[Files, bool]:
        entries: list[MemoryEntry] = []
        async for page in self._originals(agent_id):
            entries += [entry for entry in page if entry.passing is None and not _is_summary(entry)]
            if len(entries) > limit:
                break
        return name_files(entries[:limit], render_raw), len(entries) > limit

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

    async def _summary_pages(self, agent_id: str, limit: int) -> tuple[Files, bool]:
        summaries: dict[str, MemoryEntry] = {}
        for tag in (COMPRESSED_EXPERIENCE_TAG, CONSOLIDATED_TAG, COMPRESSED_TAG):
            query = MemoryQuery(tags=(tag,), limit=PAGE_ITEMS_MAX)
            tagged: dict[str, MemoryEntry] = {}
            async for page in iter_pages(self._backend, agent_id, query):
                tagged |= {entry.id: entry for entry in page if _is_summary(entry)}
                if len(tagged) > limit:
                    break
            summaries |= tagged
        newest = sorted(summaries.values(), key=lambda entry: entry.created_at, reverse=True)
        return name_files(newest[:limit], render_summary), len(newest) > limit

    async def _write(self, root: Path, folders: tuple[str, ...], files: Files) -> int:
        """Write *files* a few at a time, remove stale ones, and return the number removed."""
        items = list(files.items())
        for start in range(0, len(items), _FILES_AT_ONCE):
            batch = dict(items[start : start + _FILES_AT_ONCE])
            await self._run(wiki_files.update, root, folders, batch)
        removed: int = await self._run(wiki_files.prune, root, folders, frozenset(files))
        return removed


async def _call_directly(call: Callable[..., Any], *args: Any) -> Any:
    return call(*args)


def _is_summary(entry: MemoryEntry) -> bool:
    """Return whether *entry* was made from other memories, and so belongs to the wiki view."""
    tags = _SUMMARIES.intersection(entry.metadata.tags)
    is_lesson = COMPRESSED_EXPERIENCE_TAG in entry.metadata.tags
    return is_lesson or (bool(tags) and entry.metadata.source == SUMMARY_SOURCE)


# Contents of the files.


def render_raw(entry: MemoryEntry) -> str:
    """Return the content of a memory's file: its head, then its text."""
    return f"{_head(entry)}\n{_escape_text(entry.content)}\n"


def _escape_text(content: str) -> str:
    """Return a memory's text for a file, with lines escaped that imitate memd's own.

    So a reader of several concatenated files can rely on the heads.
    """
    return "\n".join(map(_escape_line, view(redact(content)).split("\n")))


def _escape_line(line: str) -> str:
    start = skip_invisible(line, 0)
    if _OWN_LINES.match(fold(line[start : start + _SHAPE_CHARS_MAX])):
        return f"{line[:start]}\\{line[start:]}"
    return escape_label(line)


def render_summary(entry: MemoryEntry) -> str:
    """Return the content of the file of a summary, or of the lessons of an experience."""
    if COMPRESSED_EXPERIENCE_TAG not in entry.metadata.tags:
        return render_raw(entry)
    lesson = _parse_object(entry.content)
    parts = (
        lesson.get("strategic_decisions"),
        lesson.get("applicable_contexts"),
    )
    sections = [
        f"## {title}\n\n{_bullets(lines)}\n" for title, lines in zip(_TITLES, parts, strict=True)
    ]
    return "\n".join((_head(entry), *sections))


def render_index(
    agent_id: str, counts: Mapping[str, int], truncated: Sequence[str], exported_at: datetime
) -> str:
    """Return the content of ``index.md``, which links the two views."""
    raw_text, summaries_text = (_count_text(counts[name], name, truncated) for name in (RAW, WIKI))
    return (
        f"# Memories of {one_line(agent_id)}\n\n<!-- {MARK} -->\n\n"
        f"Exported {exported_at.isoformat()}.\n\n"
        f"- [{RAW}]({RAW}/): {raw_text}, as stored\n"
        f"- [{WIKI}]({WIKI}/): {summaries_text} of them\n"
    )


def _count_text(count: int, name: str, truncated: Sequence[str]) -> str:
    singular, plural = {RAW: ("memory", "memories"), WIKI: ("summary", "summaries")}[name]
    text = f"{count} {singular if count == 1 else plural}"
    return f"the newest {text}" if name in truncated else text


def _head(entry: MemoryEntry) -> str:
    fields = {
        "id": entry.id,
        "agent_id": entry.agent_id,
        "category": entry.category.value,
        "created_at": entry.created_at.isoformat(),
    }
    if {"origin", "trust"} & entry.model_fields_set and (
        owner_mark := mark(entry.origin, entry.trust)
    ):
        fields["whose"] = owner_mark.strip(" []")
    # JSON strings are valid YAML, since one_line has removed control characters.
    lines = [
        f"{name}: {json.dumps(one_line(redact(v)), ensure_ascii=False)}"
        for name, v in fields.items()
    ]
    return "\n".join(("---", f"# {MARK}", *lines, "---", ""))


def _bullets(lines: object) -> str:
    bullets = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    return "\n".join(f"- {one_line(redact(line))}" for line in bullets) or _NOTHING


def _parse_object(content: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# File names.


def name_files(entries: Iterable[MemoryEntry], page: Callable[[MemoryEntry], str]) -> Files:
    """Return the content of each entry's file by its name; no two names differ in case only."""
    files: Files = {}
    names_taken: set[str] = set()
    for entry in entries:
        name = _safe_name(entry.id)
        if name.casefold() in names_taken:
            name = f"{name}-{_short_hash(entry.id)}"
        names_taken.add(name.casefold())
        files[f"{name}.md"] = page(entry)
    return files


def folder_name(agent_id: str) -> str:
    """Return the name of an agent's folder; different agents have different names.

    >>> folder_name("ada"), folder_name("a/b"), folder_name("..")
    ('ada', 'a_b-c14cddc0', '_.-5ec1f7e7')
    """
    name = _safe_name(agent_id)
    is_plain = name == agent_id and not _HASHED.search(name)
    return name if is_plain else f"{name}-{_short_hash(agent_id)}"


def _safe_name(name: str) -> str:
    """Return *name* as a valid file name: without slashes, not hidden, not too long."""
    plain = _UNSAFE.sub("_", one_line(name)) or "_"
    plain = f"_{plain[1:]}" if plain.startswith(".") else plain
    return plain.encode()[:NAME_BYTES_MAX].decode(errors="ignore")


def _short_hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]
