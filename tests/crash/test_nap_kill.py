"""A daemon that is killed while it naps: the next one finishes the nap, and does it once (P3)."""

from __future__ import annotations

import json
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from support.daemon import spawned, wait_until

from memd.client import Client

TURNS = 400
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": f"Harbour {n} must never be opened before noon."}
    if n % 2
    else {"role": "tool", "name": "sh", "content": f"Crane {n} stands still. " * 20}
    for n in range(TURNS)
]


def naps(client: Client) -> list[dict[str, Any]]:
    runs = client.call("sleep.report", {"limit": 100})["items"]
    return [run for run in runs if run["kind"] == "nap"]


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_nap_happens_once_whenever_the_kill_came(tmp_path: Path, seed: int) -> None:
    delay_s = random.Random(seed).uniform(0.08, 0.5)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(
        f"[usage]\ntranscript_roots = {json.dumps([str(tmp_path)])}\n"
    )
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("".join(f"{json.dumps(m)}\n" for m in MESSAGES), "utf-8")
    bare = {"MEMD_MODEL_DIR": str(tmp_path / "none")}
    with spawned(tmp_path, bare) as daemon:
        usage = daemon.paths.socket.with_name("usage")
        wait_until(usage.is_dir, "the folder is there")
        usage_file = {"used_tokens": 25_000, "transcript_path": str(transcript)}
        (usage / "codex-s1.json").write_text(json.dumps(usage_file), "utf-8")
        time.sleep(delay_s)
        daemon.stop(signal.SIGKILL)

    with spawned(tmp_path, bare) as daemon, daemon.client() as client:
        wait_until(lambda: len(naps(client)) == 1, "the nap is made up for")
        (nap,) = naps(client)
        session = client.call("session.list")["items"][0]
        (window,) = client.call("usage.list")["items"]

        assert nap["state"] == "done"
        assert nap["steps"][0]["rows"] == session["memories"] == client.call("memory.count")
        assert session["memories"] >= 1
        assert nap["detail"]["facts"] > TURNS * 0.9  # of the list
        assert session["messages"] == TURNS
        assert window["armed"] is False
        assert window["napped_at"] is not None
        assert client.call("store.check")["ok"] is True
        time.sleep(0.5)
        assert len(naps(client)) == 1
