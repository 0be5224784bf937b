"""X31: memories as a folder of Markdown files, written by hand."""

from __future__ import annotations

from pathlib import Path

import yaml
from support.clocks import HeldClock
from support.entries import a_request

from memd.api import MemoryMetadata, WikiExportConfig
from memd.backends.inmemory import InMemoryBackend
from memd.sleep.wiki.wiki import WikiExporter

LEARNED = (
    '{"strategic_decisions": ["retry with a backup"], "applicable_contexts": [],'
    ' "source_artifact_ids": ["x"], "compression_ratio": 0.5, "compressor_version": "v1"}'
)


async def test_x31_an_export_has_raw_and_wiki_pages_and_an_index(tmp_path: Path) -> None:
    backend = InMemoryBackend(clock=HeldClock())
    await backend.connect()
    memory_id = await backend.store("ada", a_request("JWT over sessions: decided.\n\nIn March."))
    learned = await backend.store(
        "ada", a_request(LEARNED, metadata=MemoryMetadata(tags=("compressed_experience",)))
    )
    exporter = WikiExporter(
        backend=backend,
        config=WikiExportConfig(enabled=True, export_root=str(tmp_path)),
        root=tmp_path,
        clock=HeldClock(),
    )

    done = await exporter.export("ada")

    folder = tmp_path / "ada"
    assert (done.path, done.raw, done.wiki) == (str(folder), 1, 1)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.md")}
    assert files == {f"raw/{memory_id}.md", f"wiki/{learned}.md", "index.md"}
    _, head, body = (folder / "raw" / f"{memory_id}.md").read_text("utf-8").split("---\n", 2)
    assert yaml.safe_load(head) == {
        "id": memory_id,
        "agent_id": "ada",
        "category": "episodic",
        "created_at": "2026-03-17T12:00:00+00:00",
    }
    assert body == "\nJWT over sessions: decided.\n\nIn March.\n"
    page = (folder / "wiki" / f"{learned}.md").read_text("utf-8")
    assert "## Strategic Decisions\n\n- retry with a backup\n" in page
    assert "## Applicable Contexts\n\n_Nothing is recorded._\n" in page
    index = (folder / "index.md").read_text("utf-8")
    assert "[raw](raw/): 1 memory" in index
    assert "[wiki](wiki/): 1 summary" in index
    assert "2026-03-17T12:00:00+00:00" in index
