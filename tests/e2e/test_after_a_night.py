"""After a night: what it put away can be found, and an export has what was told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import old_store
from support.daemon import Spawned, spawned, wait_until

from memd.base.errors import InvalidStateError, MemoryNotFoundError
from memd.base.paths import Paths

SETTINGS = {
    "MEMD_MEMORY__CONSOLIDATION__INTERVAL": "never",  # only the nights that are asked for
    "MEMD_MEMORY__CONSOLIDATION__STRATEGY": "dual_mode",
    "MEMD_MEMORY__CONSOLIDATION__WIKI_EXPORT__ENABLED": "true",
    "MEMD_MEMORY__CONSOLIDATION__WIKI_EXPORT__TRIGGER": "on_consolidation",
}


@pytest.fixture
async def filled(tmp_path: Path) -> Path:
    await old_store.fill(Paths.resolve(home=tmp_path, environ={}))
    return tmp_path


@pytest.fixture
def daemon(filled: Path) -> Iterator[Spawned]:
    with spawned(filled, SETTINGS) as daemon:
        yield daemon


def listed(client: Any) -> dict[str, dict[str, Any]]:
    items: list[dict[str, Any]] = client.call("memory.list", {"limit": 100})["items"]
    return {item["id"]: item for item in items}


def have_a_night(client: Any) -> None:
    """Have one, as soon as the daemon has seen that none is left over from before."""

    def had() -> bool:
        try:
            client.call("sleep.run")
        except InvalidStateError:
            return False
        return True

    wait_until(had, "a night can be had")


def test_what_a_night_put_away_is_shown_and_brought_back_as_it_was(daemon: Spawned) -> None:
    with daemon.client() as client:
        before = listed(client)
        have_a_night(client)
        away = client.call("archive.search", {"limit": 100})

        assert away
        assert client.call("archive.count") == len(away)
        assert {item["reason"] for item in away} <= {"consolidated", "compressed"}
        modes = {item["mode"] for item in away if item["reason"] == "consolidated"}
        assert modes <= {"abstractive", "extractive"}
        for item in away:
            was = before[item["entry"]["id"]]
            shown = client.call("archive.restore", {"id": item["archival_id"]})
            assert shown == item
            back = client.call("archive.restore_to_hot", {"id": item["archival_id"]})
            changed = {name for name, value in was.items() if back[name] != value}
            assert changed <= {"updated_at"}
        assert client.call("archive.count") == 0
        assert set(before) <= set(listed(client))


def test_what_is_in_the_archive_is_not_another_agents(daemon: Spawned) -> None:
    with daemon.client() as client:
        have_a_night(client)
        archival_id = client.call("archive.search", {})[0]["archival_id"]

        for method in ("archive.restore", "archive.restore_to_hot"):
            with pytest.raises(MemoryNotFoundError, match="no such memory in the archive"):
                client.call(method, {"id": archival_id, "agent_id": "bob"})
        assert client.call("archive.search", {"agent_id": "bob"}) == []


def test_the_wiki_follows_a_night(daemon: Spawned) -> None:
    folder = daemon.paths.data_dir / "wiki" / "default"
    with daemon.client() as client:
        ids = set(listed(client))
        have_a_night(client)
        wait_until((folder / "index.md").exists, "the wiki is written")

        entries = listed(client)
        made = {i for i, entry in entries.items() if entry["metadata"]["source"] == "consolidation"}
        assert made
        assert {path.stem for path in (folder / "wiki").iterdir()} == made
        assert {path.stem for path in (folder / "raw").iterdir()} == ids
        for memory_id in made:
            page = (folder / "wiki" / f"{memory_id}.md").read_text("utf-8")
            assert page.endswith(f"\n{entries[memory_id]['content']}\n")


async def test_an_export_after_a_night_holds_every_original_and_no_summary(tmp_path: Path) -> None:
    await old_store.fill(Paths.resolve(home=tmp_path, environ={}))
    with spawned(tmp_path, {}) as daemon, daemon.client(timeout=60) as client:
        before = client.call("store.export", {"limit": 1_000})["items"]
        originals = {item["content"] for item in before}
        assert originals
        run = client.call("sleep.run", {})
        assert any(step["name"] == "consolidation" and step["rows"] for step in run["steps"])
        listed = client.call("memory.list", {"limit": 1_000})["items"]
        assert len(listed) < len(before), "the night made the listing shorter"
        after = client.call("store.export", {"limit": 1_000})["items"]
        assert {item["content"] for item in after} == originals
        assert "Consolidated" not in json.dumps(after)
