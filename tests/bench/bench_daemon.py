"""A real daemon on a throw-away profile, with the installed model, for one measurement."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.daemon import Spawned, running, spawned

from memd.base.limits import INGEST_ITEMS_MAX, PAGE_ITEMS_MAX
from memd.base.paths import Paths
from memd.client import Client
from memd.embedding.model_files import INSTALL_HINT, read_manifest

TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Stage:
    """The daemon and a connection to it."""

    daemon: Spawned
    client: Client

    def ingest(self, agent: str, items: Sequence[dict[str, Any]]) -> None:
        for start in range(0, len(items), INGEST_ITEMS_MAX):
            batch = list(items[start : start + INGEST_ITEMS_MAX])
            self.client.call("memory.ingest_many", {"items": batch, "agent_id": agent})

    def settle(self) -> None:
        """Wait until every memory has its vector."""
        while self.client.call("system.status")["pending"]:
            time.sleep(0.05)

    def recall(self, agent: str, query: str, **more: Any) -> dict[str, Any]:
        params = {"query": query, "agent_id": agent, **more}
        answer: dict[str, Any] = self.client.call("memory.recall", params)
        return answer

    def memories(self, agent: str) -> Iterator[dict[str, Any]]:
        """Yield every visible memory of an agent."""
        more: dict[str, Any] = {}
        while more.get("after", True):
            params = {"agent_id": agent, "limit": PAGE_ITEMS_MAX, **more}
            page = self.client.call("memory.list", params)
            yield from page["items"]
            more = {"after": page["next"]}

    def rss_mb(self) -> float:
        return float(self.client.call("system.status")["rss_bytes"]) / 1e6

    def status_mb(self, name: str) -> float:
        """Return a line of the process's status file, such as VmRSS, in MB; Linux only."""
        text = Path(f"/proc/{self.daemon.process.pid}/status").read_text("ascii")
        line = next(line for line in text.splitlines() if line.startswith(f"{name}:"))
        return int(line.split()[1]) * 1_024 / 1e6


def new_places(home: Path) -> Paths:
    """Return the places of a memd in *home*, where a store can be written."""
    paths = Paths.resolve(home=home, environ={})
    paths.data_dir.mkdir(parents=True, mode=0o700)
    return paths


def write_result(result: Any, out: Path | None) -> None:
    """Print *result* as JSON, and write it to *out* where that is asked for."""
    print(json.dumps(result, indent=1))
    save_result(result, out)


def save_result(result: Any, out: Path | None) -> None:
    """Write *result* as JSON to *out* where that is asked for."""
    if out is not None:
        out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


def model_dir() -> Path:
    """Return where the model of the person who measures is installed."""
    return Paths.resolve(environ=os.environ).model_dir


def installed_model() -> Path:
    """Return ``model_dir``; without a model there nothing can be measured, and it exits."""
    if read_manifest(model_dir()) is None:
        raise SystemExit(f"no model in {model_dir()}; {INSTALL_HINT}")
    return model_dir()


@contextlib.asynccontextmanager
async def running_with_model(home: Path, model: Path) -> AsyncIterator[Paths]:
    """Run the daemon in this loop below *home*, with the model of the folder *model*."""
    link = Paths.resolve(home=home, environ={}).model_dir
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(model, target_is_directory=True)
    async with running(home) as paths:
        yield paths


@contextlib.contextmanager
def staged(home: Path | None = None, **settings: str) -> Iterator[Stage]:
    """Start the product with its defaults but for *settings*; yields it when it answers."""
    # An installed memd is compiled: whatever the shell says, so is the one that is measured.
    more = {"MEMD_MODEL_DIR": str(installed_model()), "PYTHONDONTWRITEBYTECODE": ""}
    more |= settings
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as made:
        place = home or Path(made)
        with spawned(place, more) as daemon, daemon.client(timeout=TIMEOUT_S) as client:
            yield Stage(daemon, client)
            daemon.stop()
