"""``memory.retrieval.synthesize`` over the socket: what prompts are made of unless told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.daemon import running

from memd.client import AsyncClient
from memd.domain.settings.settings import Settings

LESSON = "The nginx port must be free before nginx starts."


@pytest.mark.parametrize("setting", [True, False])
async def test_the_setting_decides_and_the_parameter_of_a_call_wins(
    tmp_path: Path, setting: bool
) -> None:
    tree = {"memory": {"retrieval": {"synthesize": setting}}}
    settings = Settings.model_validate(tree)
    async with (
        running(tmp_path, settings=settings) as paths,
        AsyncClient(socket=paths.socket) as client,
    ):
        await client.call("learn.outcome", {"final_response": "Done.", "lesson": LESSON})

        async def said(**more: Any) -> str:
            asked = {"query": "Which nginx port must be free?", **more}
            prompt = await client.call("inject.prepare", asked)
            return str(prompt["messages"][-1]["content"])

        block, entries = f"[learnings] {LESSON}", "[lesson | score: "
        assert (block in await said(), entries in await said()) == (setting, not setting)
        assert block in await said(synthesize=True)
        assert entries in await said(synthesize=False)
