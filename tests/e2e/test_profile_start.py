"""A profile starts with as much work as the first one, however many there are beside it.

Counted, in a process of its own: modules imported, calls of memd's functions, statements of
SQL. What would show: a folder that is looked through, an import that a name brings along.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from support.commands import run_python
from support.two_profiles import surroundings

from memd.base.paths import Paths

BESIDE = 40
PROGRAM = """
import asyncio, json, sys, threading
before = set(sys.modules)
calls, statements = {}, [0]
def seen(frame, event, arg):
    if event == "call" and "/memd/" in frame.f_code.co_filename:
        name = frame.f_code.co_filename.rpartition("/memd/")[2] + ":" + frame.f_code.co_qualname
        calls[name] = calls.get(name, 0) + 1
    elif event == "c_call" and getattr(arg, "__name__", "") in ("execute", "executemany"):
        statements[0] += 1
threading.setprofile(seen)
sys.setprofile(seen)
from memd.base.paths import Paths
from memd.daemon import run
from memd.domain.settings.settings import Settings
async def start():
    ready = asyncio.Event()
    work = asyncio.create_task(run(Settings(), Paths.resolve(), ready=ready.set))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
    sys.setprofile(None)
    threading.setprofile(None)
    told = json.dumps({"modules": sorted(set(sys.modules) - before), "calls": calls,
                       "statements": statements[0]})
    waiting.cancel()
    work.cancel()
    await asyncio.gather(work, waiting, return_exceptions=True)
    return told
print(asyncio.run(start()))
"""


class Start(NamedTuple):
    """What a daemon did until it answered."""

    modules: set[str]
    calls: dict[str, int]
    statements: int


def started(home: Path, profile: str) -> Start:
    printed = run_python(PROGRAM, env=surroundings(home, {"MEMD_PROFILE": profile}))
    start = json.loads(printed.splitlines()[-1])
    return Start(set(start["modules"]), start["calls"], start["statements"])


def test_a_profile_starts_with_the_work_of_the_first(tmp_path: Path) -> None:
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    alone.mkdir()
    beside.mkdir()
    for number in range(BESIDE):
        paths = Paths.resolve(f"other-{number}", home=beside, environ={})
        for each in (paths.database, paths.config_file, paths.operator_key, paths.lock):
            each.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            each.write_text("")

    for what in ("made", "there already"):
        first, other = started(alone, "default"), started(beside, "work")

        assert other.modules == first.modules, what
        # How often is waited, and how far the background got, is the system's.
        assert 10 < other.statements <= first.statements + 10, what
        more = {
            name: (count, first.calls.get(name, 0))
            for name, count in other.calls.items()
            if count > first.calls.get(name, 0) + 5
        }
        assert more == {}, what
        assert len(first.calls) > 200, what
