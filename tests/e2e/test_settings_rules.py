"""Each setting of windows, of who writes and what is told, and of what the process holds."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.daemon import WAIT_S, running
from support.fake_encoder import FakeEncoder, a_model_folder
from support.owner_keys import AnOwner
from support.setting_effects import Stage, a_stage, shows, tree

import memd.serve.rooms
from memd.base.errors import OrgMemoryAccessDeniedError, OrgMemoryQueryError
from memd.client import AsyncClient, Client
from memd.domain.settings.settings import Settings
from memd.embedding import model_files
from memd.embedding.embed import EmbedderThread
from memd.embedding.encoders import EncodedBatch

if TYPE_CHECKING:
    pass

MAPS = Path("/proc/self/maps")
SAID = "We decided to use PostgreSQL 16 for the billing service, because Jonas knows it."
KEY = Ed25519PrivateKey.generate()


@shows("usage.rearm_pct", "usage.drop_pct")
@pytest.mark.parametrize(
    ("rule", "armed", "naps"),
    [({}, True, False), ({"rearm_pct": 0.3}, False, False), ({"drop_pct": 0.1}, True, True)],
)
async def test_a_window_fires_again_below_one_share_and_for_a_loss_above_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: dict[str, float], armed: bool, naps: bool
) -> None:
    async with a_stage(tmp_path / "home", monkeypatch, tree("usage", rule)) as stage:

        async def report(session: str, used: int) -> dict[str, Any]:
            window = {"source": "codex", "session_id": session, "window_tokens": 30_000}
            messages = [{"role": "user", "content": SAID}]
            answer: dict[str, Any] = await stage.call(
                "usage.report", **window, used_tokens=used, messages=messages
            )
            return answer

        assert (await report("full", 25_000))["consolidated"] is not None
        assert (await report("full", 15_000))["armed"] is armed

        assert (await report("fell", 15_000))["consolidated"] is None
        assert ((await report("fell", 12_000))["consolidated"] is not None) is naps


async def _as_owner(stage: Stage, **fact: Any) -> str:
    """Write *fact* with the owner's signature and return its id."""

    def write() -> str:
        with Client(stage.paths.socket, key=stage.paths.operator_key) as client:
            owner = AnOwner(client, KEY)
            owner.register()
            return str(client.call("org.write", owner.written(**fact)))

    return await asyncio.to_thread(write)


@shows("org_memory.write_access.rules.human_allowed")
async def test_people_write_only_what_the_settings_let_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = {"convention": {"human_allowed": False}, "adr": {"human_allowed": True}}
    settings = tree("org_memory.write_access.rules", rules)
    async with a_stage(tmp_path / "home", monkeypatch, settings) as stage:
        await _as_owner(stage, content=SAID, category="adr")
        with pytest.raises(OrgMemoryAccessDeniedError, match="convention"):
            await _as_owner(stage, content=SAID, category="convention")


@shows("org_memory.temporal.track_changes")
async def test_without_tracking_changes_no_past_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tracks in (True, False):
        settings = tree("org_memory.temporal.track_changes", tracks)
        async with a_stage(tmp_path / str(tracks), monkeypatch, settings) as stage:
            before = stage.clock.now.isoformat()
            stage.clock.advance(days=1)
            fact_id = await _as_owner(stage, content=SAID, category="adr")
            stage.clock.advance(days=1)
            if tracks:
                assert (await stage.call("org.snapshot_at", at=before))["items"] == []
            else:
                with pytest.raises(OrgMemoryQueryError, match="is hidden"):
                    await stage.call("org.snapshot_at", at=before)
            assert (await stage.call("org.get", fact_id=fact_id))["content"] == SAID


@shows("daemon.mmap_vectors")
@pytest.mark.skipif(not MAPS.exists(), reason="what a process has mapped is told by Linux alone")
async def test_the_file_is_mapped_unless_the_settings_forbid_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mapped in (True, False):
        settings = tree("daemon.mmap_vectors", mapped)
        async with a_stage(tmp_path / str(mapped), monkeypatch, settings) as stage:
            await stage.remember(SAID)
        # What was written lies in the file itself once a daemon has stopped.
        async with a_stage(tmp_path / str(mapped), monkeypatch, settings) as stage:
            assert (await stage.prompt("Which database for billing?"))["memories"]
            places = [line.split()[-1] for line in MAPS.read_text("utf-8").splitlines()]
            assert (str(stage.paths.database) in places) is mapped


class WideEncoder(FakeEncoder):
    """Makes vectors as long as the store's."""

    def encode(self, texts: list[str]) -> EncodedBatch:
        short = super().encode(texts).vectors
        times = model_files.DIMENSION // short.shape[1]
        wide = np.asarray(np.tile(short, times) / np.sqrt(times), dtype=np.float32)
        return EncodedBatch(wide, [b""] * len(texts))


@shows("daemon.model_idle_minutes")
async def test_the_model_leaves_the_main_memory_when_nobody_asks_for_so_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hurried(folder: Path, *, idle_ms: int) -> EmbedderThread:
        """Live a minute in 60 ms."""
        del folder
        return EmbedderThread(model, loader=WideEncoder().load, idle_ms=idle_ms // 1_000)

    async def asked(minutes: int) -> AsyncClient:
        home = tmp_path / str(minutes)
        home.mkdir()
        settings = Settings.model_validate(tree("daemon.model_idle_minutes", minutes))
        paths = await stack.enter_async_context(running(home, settings=settings))
        client = await stack.enter_async_context(AsyncClient(paths.socket))
        await client.call("memory.store", {"content": SAID, "category": "semantic"})
        await client.call("memory.recall", {"query": SAID})
        return client

    async def loaded(client: AsyncClient) -> bool:
        return bool((await client.call("model.status"))["loaded"])

    model = a_model_folder(tmp_path / "model")
    monkeypatch.setattr(memd.serve.rooms, "EmbedderThread", hurried)
    async with AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        keeps, leaves = await asked(1_440), await asked(1)
        while await loaded(leaves):  # noqa: ASYNC110  # the thread tells nobody
            await asyncio.sleep(0.005)
        assert await loaded(keeps)
