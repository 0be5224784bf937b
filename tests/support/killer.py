"""A real daemon that is killed over and over, and the judge of what it acknowledged (P1, P3).

    python -m support.killer FOLDER --cycles 300 --seed 1 [--mutant ack_early]

One process forks the daemon after its imports, so that a cycle costs
milliseconds, talks to it over its socket, and lets it die by SIGKILL: at an
operation on the file in the phase whose turn it is, or at a random moment.
After each start the acknowledged writes of the cycle before are asked for, at
the end all of them, and the file is checked. The report is one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import mmap
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import apsw
from support.fakes import HashEmbedder

from memd import daemon
from memd.backends.assembly import assembled
from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import MemdError
from memd.base.paths import Paths
from memd.client import Client
from memd.model.caller import Caller
from memd.model.settings import DaemonSettings, Settings
from memd.model.settings_consolidation import WikiExportConfig
from memd.serve.events import Events
from memd.serve.rooms import Rooms
from memd.sleep.exports import exporting
from memd.sleep.naps import Naps
from memd.sleep.sleep import sleeping
from memd.store import database, transactions
from memd.store.connect import Writing

PHASES = ("idle", "ingest", "bulk", "delete", "forget", "embed", "checkpoint")
METHODS = {
    "memory.ingest": "ingest",
    "memory.ingest_many": "bulk",
    "memory.delete": "delete",
    "memory.forget": "forget",
    "embed": "embed",
}
CYCLE_S = 0.12  # after which a daemon that did not die of itself is killed
OPERATIONS = {"ingest": 40, "bulk": 40, "delete": 10, "forget": 20, "embed": 40, "checkpoint": 25}


class Shared:
    """What the daemon's last breath leaves behind: its phase, in memory that outlives it."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, 4096)

    def enter(self, phase: str) -> None:
        self._page[0] = PHASES.index(phase)

    @property
    def phase(self) -> str:
        return PHASES[self._page[0]]


class Fuse:
    """Kills its process at the *number*-th operation on the file within *phase*."""

    def __init__(self, shared: Shared, phase: str, number: int) -> None:
        self._shared = shared
        self._phase = phase
        self._left = number

    def burn(self) -> None:
        if self._shared.phase == self._phase:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class FusedVFS(apsw.VFS):
    """The system's files, with a fuse before and after each write, sync and truncation."""

    def __init__(self, fuse: Fuse) -> None:
        self._base = apsw.vfs_names()[0]
        super().__init__("fused", self._base, makedefault=True)
        self._fuse = fuse

    def xOpen(self, name: Any, flags: list[int]) -> FusedFile:  # noqa: N802  # SQLite's name
        return FusedFile(self._base, name, flags, self._fuse)


class FusedFile(apsw.VFSFile):
    """One file."""

    def __init__(self, base: str, name: Any, flags: list[int], fuse: Fuse) -> None:
        super().__init__(base, name, flags)
        self._fuse = fuse

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802  # SQLite's name
        self._fuse.burn()
        super().xWrite(data, offset)
        self._fuse.burn()

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        self._fuse.burn()
        super().xSync(flags)
        self._fuse.burn()

    def xTruncate(self, size: int) -> None:  # noqa: N802  # SQLite's name
        self._fuse.burn()
        super().xTruncate(size)


# The daemon's side, after the fork.


def _instrument(shared: Shared, mutant: str | None) -> None:
    """Note the phase around every transaction, and plant the mutant."""
    transacted: Callable[..., Any] = transactions.transacted
    checkpointing = transactions.checkpointing
    if mutant == "ack_early":
        transacted = _answers_before_commit

    def in_phase(conn: Writing, work: Any, caller: Caller, batch: str | None, now: int) -> Any:
        shared.enter(METHODS.get(caller.method, "idle"))
        try:
            return transacted(conn, work, caller, batch, now)
        finally:
            shared.enter("idle")

    def in_checkpoint(conn: Writing, mode: int, wait_ms: int) -> None:
        shared.enter("checkpoint")
        try:
            checkpointing(conn, mode, wait_ms)
        finally:
            shared.enter("idle")

    vars(transactions).update(transacted=in_phase, checkpointing=in_checkpoint)
    vars(database).update(CHECKPOINT_PAGES=60)  # so that every cycle has several


def _answers_before_commit(
    conn: Writing, work: Callable[[], Any], caller: Caller, batch: str | None, now_us: int
) -> Any:
    """The mutant: the reply goes out, the COMMIT waits for the next write."""
    del caller, batch, now_us
    conn.touched.clear()
    if conn.in_transaction:
        conn.execute("COMMIT")
    conn.execute("BEGIN IMMEDIATE")
    return work()


def _serve(paths: Paths, fuse: Fuse, shared: Shared, ready: int, mutant: str | None) -> NoReturn:
    """Be the daemon until killed."""
    vfs = FusedVFS(fuse)
    _instrument(shared, mutant)

    async def build(settings: Settings, paths: Paths, clock: Clock, stack: AsyncExitStack) -> Rooms:
        embedder = HashEmbedder()
        house = await assembled(settings, paths.database, embedder, paths.model_dir, clock, stack)
        naps = Naps(house, settings, paths.socket.with_name("usage"), environ={})
        sleep = sleeping(house, settings)
        return Rooms(
            ingest=house.ingest,
            recall=house.recall,
            archive=house.archive,
            archival=house.archival,
            upkeep=house.upkeep,
            agents=house.agents,
            sessions=house.sessions,
            usage=naps,
            naps=naps,
            events=Events(),
            embedder=embedder,
            wiki=exporting(house, WikiExportConfig(), paths.data_dir / "wiki"),
            sleep=sleep.night,
            rhythm=sleep.rhythm,
            background=(house.queue.run, house.rhythm, sleep.rhythm.run),
        )

    def say_ready() -> None:
        os.write(ready, b"r")

    log.configure(level="error")
    settings = Settings(daemon=DaemonSettings(mmap_vectors=False))
    try:
        asyncio.run(daemon.run(settings, paths, build=build, ready=say_ready))
    except BaseException:  # noqa: BLE001  # the judge must see it, and the fork must not go on
        traceback.print_exc()
    finally:
        del vfs
        sys.stderr.flush()
        os._exit(1)


# The judge's side.


@dataclass
class Ledger:
    """What was acknowledged, and what may or may not have happened."""

    kept: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    fresh: list[str] = field(default_factory=list)
    """What the last cycle touched."""
    serial: int = 0


class Judge:
    """Starts, talks to, kills and judges the daemon."""

    def __init__(self, home: Path, seed: int, mutant: str | None) -> None:
        self.paths = Paths.resolve(home=home, environ={})
        self.chance = random.Random(seed)
        self.mutant = mutant
        self.shared = Shared()
        self.ledger = Ledger()
        self.kills: Counter[str] = Counter()
        self.acks = 0
        self.lost: set[str] = set()
        self.risen: set[str] = set()
        self.starts_ms: list[float] = []

    def cycle(self, phase: str | None) -> None:
        """Let one daemon live: judge what its predecessor acknowledged, then work it to death."""
        number = self.chance.randint(1, OPERATIONS[phase]) if phase else 0
        pid = self._start(Fuse(self.shared, phase or "", number))
        try:
            self._judge(self.ledger.fresh)
            self.ledger.fresh = []
            self._work_to_death(pid)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.kills[self.shared.phase] += 1

    def verdict(self) -> dict[str, Any]:
        """Start once more, ask for everything, check the file."""
        pid = self._start(Fuse(self.shared, "", 0))
        self._judge([*self.ledger.kept, *self.ledger.gone])
        with Client(socket=self.paths.socket, timeout=600.0) as client:
            checked = client.call("store.check")
            client.call("system.shutdown")
        os.waitpid(pid, 0)
        self.starts_ms.sort()
        return {
            "acks": self.acks,
            "kept": len(self.ledger.kept),
            "lost": len(self.lost),
            "risen": len(self.risen),
            "kills": dict(self.kills),
            "ok": checked["ok"],
            "problems": checked["problems"],
            "start_ms_max": round(self.starts_ms[-1], 1),
        }

    def _start(self, fuse: Fuse) -> int:
        began = time.monotonic()
        reading, writing = os.pipe()
        self.shared.enter("idle")
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _serve(self.paths, fuse, self.shared, writing, self.mutant)
        os.close(writing)
        assert os.read(reading, 1), "the daemon did not start"
        os.close(reading)
        self.starts_ms.append((time.monotonic() - began) * 1000)
        return pid

    def _judge(self, ids: list[str]) -> None:
        """Ask for *ids*; a daemon that dies under it is asked again after its next start."""
        try:
            with Client(socket=self.paths.socket) as client:
                for memory_id in ids:
                    self._judge_one(client, memory_id)
        except MemdError:
            self.ledger.fresh = ids

    def _judge_one(self, client: Client, memory_id: str) -> None:
        if memory_id in self.ledger.unsure:
            return
        found = client.call("memory.get", _of(id=memory_id))
        if memory_id in self.ledger.gone:
            if found is not None:
                self.risen.add(memory_id)
        elif found is None or found["content"] != self.ledger.kept[memory_id]:
            self.lost.add(memory_id)

    def _work_to_death(self, pid: int) -> None:
        until = time.monotonic() + CYCLE_S * self.chance.uniform(0.2, 1.0)
        hands = [
            threading.Thread(target=self._tell, args=(until, self.chance.randrange(1 << 30))),
            threading.Thread(target=self._tell_many, args=(until,)),
        ]
        for hand in hands:
            hand.start()
        while time.monotonic() < until and any(hand.is_alive() for hand in hands):
            time.sleep(0.002)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        for hand in hands:
            hand.join()

    def _tell(self, until: float, seed: int) -> None:
        """Tell single texts; now and then delete or forget one of them."""
        chance, mine = random.Random(seed), list[str]()
        with suppress(MemdError), Client(socket=self.paths.socket, timeout=5.0) as client:
            while time.monotonic() < until + 1.0:
                if mine and chance.random() < 0.4:
                    self._remove(client, mine.pop(), chance)
                    continue
                text = self._text()
                answer = client.call("memory.ingest", _of(session_id="s", text=text))
                mine += self._acknowledged(answer, text)

    def _remove(self, client: Client, memory_id: str, chance: random.Random) -> None:
        self.ledger.unsure.add(memory_id)
        if chance.random() < 0.5:
            client.call("memory.delete", _of(id=memory_id))
        else:
            client.call("memory.forget", _of(ids=[memory_id]))
        self.ledger.unsure.discard(memory_id)
        self.ledger.kept.pop(memory_id, None)
        self.ledger.gone.add(memory_id)
        self.ledger.fresh.append(memory_id)
        self.acks += 1

    def _tell_many(self, until: float) -> None:
        with suppress(MemdError), Client(socket=self.paths.socket, timeout=5.0) as client:
            while time.monotonic() < until + 1.0:
                texts = [self._text() for _ in range(6)]
                answer = client.call(
                    "memory.ingest_many", _of(items=[{"text": text} for text in texts])
                )
                for text, receipt in zip(texts, answer["items"], strict=True):
                    self._acknowledged(receipt, text)

    def _text(self) -> str:
        self.ledger.serial += 1
        number = self.ledger.serial
        return f"Crate {number} holds {number * 7919 % 10007} lanterns for Ms Fjord-{number % 97}."

    def _acknowledged(self, receipt: dict[str, Any], text: str) -> list[str]:
        ids = [
            item["id"]
            for group in ("stored", "pending", "merged", "turned_away")
            for item in receipt[group]
        ]
        for memory_id in ids:
            self.ledger.kept[memory_id] = text
            self.ledger.fresh.append(memory_id)
        self.acks += 1
        return ids


def _of(**params: Any) -> dict[str, Any]:
    return {"agent_id": "ada", **params}


def main() -> int:
    """Run the cycles and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cycles", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutant", choices=["ack_early"])
    given = parser.parse_args()
    judge = Judge(given.folder, given.seed, given.mutant)
    phases = [*OPERATIONS, None]
    for number in range(given.cycles):
        judge.cycle(phases[number % len(phases)])
    print(json.dumps(judge.verdict()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
