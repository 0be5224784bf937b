"""Kill a real daemon again and again, and check that acknowledged writes are stored (P1, P3).

    python -m support.crash_loop FOLDER --cycles 300 --seed 1 [--mutant ack_early]

The daemon is forked after the imports, so a cycle takes milliseconds. It is killed with SIGKILL, at
an operation on the file in a given phase or at a random moment. After each start, the acknowledged
writes of the cycle before are read, and the sessions that a nap or night may have changed; at the
end all of them, and the file is checked. With a mutant it stops at the first write that is lost or
partial. Each cycle is days after the one before, so that nights have work. It prints a report as
one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.crash_loop_facts import KEEPS, Keeper
from support.crash_loop_sleep import SLEEPS, Sleeper
from support.crashing_daemon import MUTANTS, Fuse, Shared, serve
from support.daemon import WAIT_S
from support.forked import import_memd, keep

from memd.base.errors import MemdError
from memd.base.paths import Paths
from memd.client import Client

# Lives are counted in operations on the file: a busy machine does as many, in more time.
AGE_MAX = 6_000  # of a daemon whose phase does not come
ANY_AGE_MAX = 800  # of one that dies at a random moment
OPERATIONS = {  # of each phase, at one of which a daemon dies; in the order of the lives
    "ingest": 40, "bulk": 40, "undo": 60, "delete": 10, "forget": 20, "embed": 40,
    "checkpoint": 25, "night": 200, "nap": 400, "org": 300, "files": 300,
}  # fmt: skip
ANY = "any"  # a daemon that dies at a random moment
NEWEST = 40  # sessions that the last sleep may have touched
DAYS = 2  # from one life to the next


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
        self.lives = 0
        self.slept = False
        self.sleeper = Sleeper(self.paths)
        self.keeper = Keeper(self.paths)

    def cycle(self, phase: str) -> None:
        """Let one daemon live: judge what its predecessor acknowledged, then work it to death."""
        number = self.chance.randint(1, OPERATIONS[phase]) if phase in OPERATIONS else 0
        pid = self._start(Fuse(self.shared, phase, number))
        try:
            self._judge(self.ledger.fresh, newest=NEWEST if self.slept else 0)
            self.ledger.fresh = []
            self._work_to_death(pid, phase)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.kills[self.shared.phase] += 1

    def has_found(self) -> bool:
        """Whether something was lost or is half done: the end of a control. No daemon may live."""
        self.keeper.halves.update(self.keeper.verdict())
        return bool(self.lost or self.sleeper.halves or self.keeper.halves)

    def verdict(self) -> dict[str, Any]:
        """Start once more, ask for everything, check the file."""
        pid = self._start(Fuse(self.shared, ANY, 0))
        self._judge([*self.ledger.kept, *self.ledger.gone], newest=self.lives, everything=True)
        key = self.paths.operator_key
        with Client(socket=self.paths.socket, timeout=600.0, key=key) as client:
            checked = client.call("store.check")
            client.call("system.shutdown")
        os.waitpid(pid, 0)
        self.starts_ms.sort()
        return {
            "acks": self.acks,
            "kept": len(self.ledger.kept),
            "lost": len(self.lost),
            "risen": len(self.risen),
            "halves": sorted({*self.sleeper.halves, *self.keeper.halves, *self.keeper.verdict()}),
            "writes": self.keeper.acks,
            "sleeps": self.sleeper.acks,
            "kills": dict(self.kills),
            "ok": checked["ok"],
            "problems": checked["problems"],
            "start_ms_max": round(self.starts_ms[-1], 1),
        }

    def _start(self, fuse: Fuse) -> int:
        began = time.monotonic()
        reading, writing = os.pipe()
        self.shared.enter("idle")
        self.shared.born()
        pid = os.fork()
        self.lives += 1
        if pid == 0:
            os.close(reading)
            days = DAYS * self.lives
            serve(self.paths, fuse, self.shared, writing, days=days, mutant=self.mutant)
        os.close(writing)
        assert os.read(reading, 1), "the daemon did not start"
        os.close(reading)
        self.starts_ms.append((time.monotonic() - began) * 1000)
        return pid

    def _judge(self, ids: list[str], *, newest: int, everything: bool = False) -> None:
        """Ask for *ids* and *newest* sessions; if it dies under that, after its next start."""
        try:
            with Client(socket=self.paths.socket) as client:
                for memory_id in ids:
                    self._judge_one(client, memory_id)
                if newest:
                    self.sleeper.judge(client, newest=newest)
                self.keeper.judge(client, everything=everything)
        except MemdError:
            self.ledger.fresh = ids

    def _judge_one(self, client: Client, memory_id: str) -> None:
        if memory_id in self.ledger.unsure:
            return
        memory = client.call("memory.get", _of(id=memory_id))
        if memory_id in self.ledger.gone:
            if memory is not None:
                self.risen.add(memory_id)
        elif memory is None or memory["content"] != self.ledger.kept[memory_id]:
            self.lost.add(memory_id)

    def _work_to_death(self, pid: int, phase: str) -> None:
        self.slept = phase in SLEEPS
        age = AGE_MAX if phase in OPERATIONS else self.chance.randint(0, ANY_AGE_MAX)
        last = self.shared.operations + age
        self.sleeper.sessions.append(f"s{self.lives}")
        hands = []
        if phase not in KEEPS:  # where a kill is to be met in what is written alone
            seed = self.chance.randrange(1 << 30)
            hands.append(threading.Thread(target=self._tell, args=(seed,)))
        if self.slept or phase in KEEPS:
            work = self.sleeper.work if self.slept else self.keeper.work
            seed = self.chance.randrange(1 << 30)
            hands.append(threading.Thread(target=work, args=(phase, seed)))
        else:
            hands.append(threading.Thread(target=self._tell_many))
        for hand in hands:
            hand.start()
        while self.shared.operations < last and any(hand.is_alive() for hand in hands):
            time.sleep(0.005)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        for hand in hands:
            hand.join()

    def _tell(self, seed: int) -> None:
        """Tell single texts; now and then delete or forget one of them."""
        chance, mine = random.Random(seed), list[str]()
        session_id = self.sleeper.sessions[-1]
        with suppress(MemdError), Client(socket=self.paths.socket, timeout=WAIT_S) as client:
            while True:
                if mine and chance.random() < 0.4:
                    self._remove(client, mine.pop(), chance)
                    continue
                text = self._text()
                answer = client.call(
                    "memory.ingest", _of(session_id=session_id, text=text, category="episodic")
                )
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

    def _tell_many(self) -> None:
        session_id = self.sleeper.sessions[-1]
        with suppress(MemdError), Client(socket=self.paths.socket, timeout=WAIT_S) as client:
            while True:
                texts = [self._text() for _ in range(6)]
                given = {"session_id": session_id, "category": "episodic"}
                items = [{"text": text, **given} for text in texts]
                answer = client.call("memory.ingest_many", _of(items=items))
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
    parser.add_argument("--mutant", choices=MUTANTS)
    phases = (*OPERATIONS, ANY)
    parser.add_argument("--phases", nargs="+", choices=phases, default=phases)
    parser.add_argument("--kills-min", type=int, default=0, help="in each phase, or go on")
    given = parser.parse_args()
    judge = Judge(given.folder, given.seed, given.mutant)
    for number in range(given.cycles):
        judge.cycle(given.phases[number % len(given.phases)])
        if given.mutant and judge.has_found():
            break
    for number in range(given.cycles):  # where chance gave a phase too few
        short = [one for one in given.phases if one != ANY and judge.kills[one] < given.kills_min]
        if not short:
            break
        judge.cycle(short[number % len(short)])
    print(json.dumps(judge.verdict()))
    return 0


if __name__ == "__main__":
    import_memd()  # before the first fork, so that each life is short
    keep()
    sys.exit(main())
