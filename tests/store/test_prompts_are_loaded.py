"""The daemon loads what the first prompt needs by itself, soon after its start."""

from __future__ import annotations

import sys
from pathlib import Path

from support.commands import run_python

FIRST_PROMPT = """
import asyncio, sys
from contextlib import AsyncExitStack
from importlib import import_module
from memd.serve import rooms as build
from memd.base.clock import SystemClock
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.domain.settings.settings import Settings

async def main():
    build.LOAD_PROMPTS_AFTER_S = 0
    async with AsyncExitStack() as stack:
        paths = Paths.resolve()
        for folder in (paths.data_dir, paths.keys_dir):
            folder.mkdir(parents=True, exist_ok=True)
        rooms = await build.rooms(Settings(), paths, SystemClock(), stack)
        await rooms._load_prompts()
        before = set(sys.modules)
        for area in ("inject", "memory"):
            import_module(f"memd.serve.routes.{area}")
        from memd.domain.inject import PrepareRequest
        await rooms.inject.prepare(Caller(agent_id="ann"), PrepareRequest(query="Which port?"))
        print(*sorted(name for name in set(sys.modules) - before if name.startswith("memd")))

asyncio.run(main())
"""


def test_a_first_prompt_loads_nothing_that_a_daemon_at_rest_has_not_loaded(tmp_path: Path) -> None:
    env = {"MEMD_HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    assert run_python(FIRST_PROMPT, env=env).split() == []
