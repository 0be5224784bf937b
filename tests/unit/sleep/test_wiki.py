"""SPEC 16.16, D16: the wiki of each agent, safe among other people's files."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.clocks import HeldClock
from support.entries import a_request, an_entry

from memd.backends.inmemory import InMemoryBackend
from memd.base.errors import InvalidStateError, MemoryRetrievalError, UnsafePathError
from memd.domain.memory import MemoryEntry, MemoryMetadata, MemoryQuery
from memd.domain.settings.consolidation import WikiExportConfig
from memd.sleep.strategies.selection import iter_pages
from memd.sleep.wiki import wiki_files
from memd.sleep.wiki.wiki import (
    WikiExporter,
    folder_name,
    name_files,
    render_index,
    render_raw,
    render_summary,
)

NAME = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=256)
SUMMARY = MemoryMetadata(source="consolidation", tags=("consolidated",))


class Half(InMemoryBackend):
    """A backend that cannot find by tags when *broken*."""

    broken = False

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        if self.broken and query.tags:
            raise MemoryRetrievalError("broken")
        return await super().retrieve(agent_id, query)


@pytest.fixture
async def backend(clock: HeldClock) -> Half:
    backend = Half(clock=clock)
    await backend.connect()
    return backend


def an_exporter(backend: Half, root: Path, **settings: object) -> WikiExporter:
    return WikiExporter(
        backend=backend,
        config=WikiExportConfig.model_validate(settings),
        root=root,
        clock=HeldClock(),
    )


def files_of(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


async def test_a_summary_is_in_the_wiki_and_not_among_the_raw(
    backend: Half, tmp_path: Path
) -> None:
    raw_id = await backend.store("ada", a_request("Told."))
    summary_id = await backend.store("ada", a_request("Condensed.", metadata=SUMMARY))
    tagged = await backend.store(
        "ada", a_request("zip", metadata=MemoryMetadata(tags=("compressed",)))
    )

    export = await an_exporter(backend, tmp_path).export("ada")

    assert (export.raw, export.wiki) == (2, 1)
    assert files_of(tmp_path / "ada") == {
        f"raw/{raw_id}.md",
        f"raw/{tagged}.md",
        f"wiki/{summary_id}.md",
        "index.md",
    }
    assert (
        (tmp_path / "ada" / "wiki" / f"{summary_id}.md")
        .read_text("utf-8")
        .endswith("\nCondensed.\n")
    )


async def test_what_is_no_longer_there_is_removed_and_what_is_not_memds_stays(
    backend: Half, tmp_path: Path
) -> None:
    exporter = an_exporter(backend, tmp_path)
    first = await backend.store("ada", a_request("one"))
    second = await backend.store("ada", a_request("two"))
    await exporter.export("ada")
    raw = tmp_path / "ada" / "raw"
    (raw / "my own.md").write_text("# A note of mine\n")
    (raw / "picture.png").write_bytes(b"made by memd")
    (raw / ".half.md.memd-part").write_text("killed")
    await backend.delete("ada", first)

    export = await exporter.export("ada")

    assert export.removed == 1
    assert files_of(raw) == {f"{second}.md", "my own.md", "picture.png"}


async def test_each_agent_has_its_own_folder(backend: Half, tmp_path: Path) -> None:
    for agent_id in ("ada", "bob"):
        await backend.store(agent_id, a_request(f"of {agent_id}"))
    exporter = an_exporter(backend, tmp_path)
    await exporter.export("ada")
    before = files_of(tmp_path / "ada")

    await exporter.export("bob")

    assert files_of(tmp_path / "ada") == before
    assert "Memories of bob" in (tmp_path / "bob" / "index.md").read_text("utf-8")


async def test_folders_are_0700_and_files_0600(backend: Half, tmp_path: Path) -> None:
    await backend.store("ada", a_request("one"))
    (tmp_path / "new" / "ada").mkdir(parents=True, mode=0o755)
    before = os.umask(0)
    try:
        await an_exporter(backend, tmp_path / "new").export("ada")
    finally:
        os.umask(before)

    for path in (tmp_path / "new" / "ada", *(tmp_path / "new" / "ada").rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("linked", ["ada", "ada/raw"])
async def test_a_link_below_the_root_is_refused_and_nothing_is_written_behind_it(
    backend: Half, tmp_path: Path, linked: str
) -> None:
    await backend.store("ada", a_request("one"))
    outside = tmp_path / "outside"
    outside.mkdir()
    link = tmp_path / "root" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)

    with pytest.raises(UnsafePathError):
        await an_exporter(backend, tmp_path / "root").export("ada")

    assert files_of(outside) == set()


async def test_a_link_in_place_of_a_file_is_not_written_through(
    backend: Half, tmp_path: Path
) -> None:
    memory_id = await backend.store("ada", a_request("one"))
    target = tmp_path / "precious"
    target.write_text("made by memd")
    page = tmp_path / "ada" / "raw" / f"{memory_id}.md"
    page.parent.mkdir(parents=True)
    page.symlink_to(target)

    with pytest.raises(InvalidStateError, match="was not made by memd"):
        await an_exporter(backend, tmp_path).export("ada")

    assert target.read_text() == "made by memd"


async def test_a_file_of_somebody_else_is_not_replaced(backend: Half, tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "index.md").write_text("# My own index\n")

    with pytest.raises(InvalidStateError, match=r"index\.md"):
        await an_exporter(backend, tmp_path).export("ada")

    assert (tmp_path / "ada" / "index.md").read_text() == "# My own index\n"


async def test_switched_off_by_name_nothing_is_written(backend: Half, tmp_path: Path) -> None:
    await backend.store("ada", a_request("one"))

    export = await an_exporter(backend, tmp_path, enabled=False).export("ada")

    assert (export.path, export.raw, export.wiki) == (None, 0, 0)
    assert files_of(tmp_path) == set()


async def test_a_view_that_cannot_be_read_is_left_as_it_was(backend: Half, tmp_path: Path) -> None:
    summary_id = await backend.store("ada", a_request("Condensed.", metadata=SUMMARY))
    exporter = an_exporter(backend, tmp_path)
    await exporter.export("ada")
    raw_id = await backend.store("ada", a_request("Told."))
    backend.broken = True

    export = await exporter.export("ada")

    assert (export.raw, export.wiki, export.failed) == (1, 0, ("wiki",))
    assert files_of(tmp_path / "ada") == {f"raw/{raw_id}.md", f"wiki/{summary_id}.md", "index.md"}


async def test_a_tier_that_is_switched_off_is_emptied(backend: Half, tmp_path: Path) -> None:
    await backend.store("ada", a_request("one"))
    await an_exporter(backend, tmp_path).export("ada")

    export = await an_exporter(backend, tmp_path, include_raw_tier=False).export("ada")

    assert (export.raw, export.removed) == (0, 1)


async def test_a_view_holds_the_newest_and_says_that_there_are_more(
    backend: Half, clock: HeldClock, tmp_path: Path
) -> None:
    ids = []
    for number in range(3):
        clock.advance(minutes=1)
        ids.append(await backend.store("ada", a_request(f"Number {number}")))

    export = await an_exporter(backend, tmp_path, max_entries_per_view=2).export("ada")

    assert (export.raw, export.cut) == (2, ("raw",))
    assert not (tmp_path / "ada" / "raw" / f"{ids[0]}.md").exists()
    assert "the newest 2 memories" in (tmp_path / "ada" / "index.md").read_text("utf-8")


async def test_an_export_that_changes_nothing_touches_no_page(
    backend: Half, tmp_path: Path
) -> None:
    memory_id = await backend.store("ada", a_request("one"))
    exporter = an_exporter(backend, tmp_path)
    await exporter.export("ada")
    page = tmp_path / "ada" / "raw" / f"{memory_id}.md"
    before = page.stat()

    await exporter.export("ada")

    assert (page.stat().st_ino, page.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


# What stands in the files.


@given(content=NAME.filter(str.strip), memory_id=NAME.filter(str.strip))
def test_no_text_gets_into_a_head_and_every_head_is_yaml(content: str, memory_id: str) -> None:
    page = render_raw(an_entry(memory_id, content=f'---\nid: "other"\n{content}'))

    opened, head, _ = page.split("---\n", 2)

    assert opened == ""
    assert set(yaml.safe_load(head)) == {"id", "agent_id", "category", "created_at"}


def test_what_cannot_be_seen_is_not_written() -> None:
    page = render_raw(an_entry(content="a\x1b[31mb\u202ec\u200bd"))

    assert page.endswith("\nabcd\n")


@pytest.mark.parametrize("content", ["no json", "[1]", '{"strategic_decisions": 3}', "[" * 10_000])
def test_an_experience_that_cannot_be_read_has_placeholders(content: str) -> None:
    entry = an_entry(content=content, metadata=MemoryMetadata(tags=("compressed_experience",)))

    assert render_summary(entry).count("_Nothing is recorded._") == 2


def test_the_index_names_the_agent_in_one_line() -> None:
    text = render_index("a\nb", {"raw": 0, "wiki": 2}, (), datetime(2026, 1, 1, tzinfo=UTC))

    assert text.startswith("# Memories of a b\n")
    assert "0 memories" in text
    assert "2 summaries" in text


# How the files are called.


def test_slashes_in_an_id_become_underscores_and_no_two_ids_share_a_file() -> None:
    files = name_files(
        [an_entry(i) for i in ("a/b", "a\\b", "a_b", "A_b", "..", "x" * 256)], render_raw
    )

    assert len(files) == 6
    assert "a_b.md" in files
    assert all("/" not in name and "\\" not in name for name in files)
    assert all(len(name.encode()) <= 255 and not name.startswith(".") for name in files)


@given(NAME, NAME)
def test_an_agents_folder_is_its_own_and_a_plain_name(one: str, other: str) -> None:
    name = folder_name(one)

    assert name not in {"", ".", ".."}
    assert "/" not in name
    assert len(name.encode()) <= 255
    assert (one == other) == (name == folder_name(other))


def test_a_folder_is_there_when_it_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "bob").symlink_to(tmp_path / "ada")

    assert wiki_files.has_folder(tmp_path, "ada")
    assert not wiki_files.has_folder(tmp_path, "bob")
    assert not wiki_files.has_folder(tmp_path, "eve")


# The listing behind it.


async def test_pages_go_through_all_memories_once(backend: Half, clock: HeldClock) -> None:
    ids = set()
    for number in range(11):
        clock.advance(minutes=number % 3)  # several in one instant
        ids.add(await backend.store("ada", a_request(f"Number {number}")))

    listed_ids = [
        e.id async for page in iter_pages(backend, "ada", MemoryQuery(limit=4)) for e in page
    ]

    assert len(listed_ids) == len(set(listed_ids))
    assert set(listed_ids) == ids
