"""What is exported after a night is what was told, not what the night made of it."""

from __future__ import annotations

import json
from pathlib import Path

from support import aged
from support.daemon import spawned

from memd.base.paths import Paths


async def test_an_export_after_a_night_holds_every_original_and_no_summary(tmp_path: Path) -> None:
    await aged.fill(Paths.resolve(home=tmp_path, environ={}))
    with spawned(tmp_path, {}) as daemon, daemon.client(timeout=60) as client:
        before = client.call("store.export", {"limit": 1_000})["items"]
        told = {item["content"] for item in before}
        assert told
        run = client.call("sleep.run", {})
        assert any(step["name"] == "consolidation" and step["rows"] for step in run["steps"])
        listed = client.call("memory.list", {"limit": 1_000})["items"]
        assert len(listed) < len(before), "the night made the listing shorter"
        after = client.call("store.export", {"limit": 1_000})["items"]
        assert {item["content"] for item in after} == told
        assert "Consolidated" not in json.dumps(after)
