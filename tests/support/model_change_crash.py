"""Kill a real daemon while it switches its embedding model, and check its answers (0182).

    python -m support.model_change_crash FOLDER --kills 2 --seed 1 [--mutant used_at_once]

Each change switches to the other of two models whose vectors have nothing in common. The daemon is
killed at an operation on the file within one kind of step: the switch begins, vectors are computed,
the cache is filled, the new model is activated, old vectors are deleted. Before the kill and after
each start, every answer must be exactly that of the model which is reported to be in use. The
answers of each model are recorded in a run without a kill; that they are those of brute force is
checked by tests/store/test_model_switch.py. With a mutant it stops at the first wrong answer. It
prints a report as one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.crashing_daemon import MUTANTS, Fuse, Shared, serve
from support.daemon import WAIT_S
from support.fakes import fingerprint
from support.forked import import_memd, keep
from tokenizers import Tokenizer, models, pre_tokenizers

from memd.base.errors import MemdError
from memd.base.paths import Paths
from memd.client import Client
from memd.embedding.model_files import ONNX_FILE, write_manifest
from memd.text.tokens import TOKENIZER_FILE

DIMENSIONS = {"hash": 32, "other": 48, "third": 24}
STEPS = {  # of each kind of step, at one of whose operations a daemon dies
    "model begun": 8, "model vectors": 60, "model cache": 30, "model over": 8, "model tidied": 60,
}  # fmt: skip
TEXTS = [
    f"Crate {number} holds {number * 7919 % 10007} lanterns for Ms Fjord-{number % 97}."
    for number in range(600)  # the cache takes two steps of 500
]
ASKED = ("crate 17 lanterns", "Ms Fjord-5", "who holds crate 200")
LIMIT = 10


class Judge:
    """Starts the daemon, has it change models, kills it, and holds its answers to the truth."""

    def __init__(self, home: Path, seed: int, mutant: str | None) -> None:
        self.paths = Paths.resolve(
            home=home, environ={"MEMD_MODEL_DIR": str(home / "models" / "hash")}
        )
        self.chance = random.Random(seed)
        self.mutant = mutant
        self.shared = Shared()
        self.kills: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.answers = 0
        self.meanwhile = 0
        """Of them, while a change was under way."""
        self.resumed = 0
        self.truth: dict[str, dict[str, list[str]]] = {}
        self.leaving, self.coming = "hash", "other"
        for name, dimension in DIMENSIONS.items():
            folder = home / "models" / name
            folder.mkdir(parents=True)
            (folder / ONNX_FILE).write_bytes(b"weights")
            words = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))  # noqa: S106
            words.pre_tokenizer = pre_tokenizers.Whitespace()
            words.save(str(folder / TOKENIZER_FILE))
            write_manifest(folder, fingerprint(name, dimension))

    def tell(self) -> None:
        """Fill the store and note what each model answers, in a life that ends in peace."""
        with self._peace() as client:
            for at in range(0, len(TEXTS), 100):
                items = [{"text": text, "category": "episodic"} for text in TEXTS[at : at + 100]]
                client.call("memory.ingest_many", {"agent_id": "ada", "items": items})
            while client.call("system.status")["pending"]:
                time.sleep(0.01)
            for name in ("other", "third", "hash"):
                client.call("model.use", {"name": name})
                while client.call("model.status")["coming"]:
                    time.sleep(0.01)
                self.truth[name] = {asked: answer(client, asked) for asked in ASKED}
        for asked in ASKED:  # or nothing is shown
            assert len({str(truth[asked]) for truth in self.truth.values()}) == len(DIMENSIONS)

    def life(self, step: str, number: int) -> None:
        """Let one daemon change models, or go on with a change, until the kill or the end of it."""
        pid = self._start(Fuse(self.shared, step, number))
        try:
            with suppress(MemdError), self._client() as client:
                self._change(client)
                os.kill(pid, signal.SIGKILL)  # the step never came
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.kills[self.shared.phase] += 1

    def verdict(self) -> dict[str, Any]:
        """Let the last change end, and check the file."""
        with self._peace() as client:
            self._change(client)
            checked = client.call("store.check")
            kept = client.call("memory.count", {"agent_id": "ada"})
        return {
            "kills": dict(self.kills),
            "answers": self.answers,
            "meanwhile": self.meanwhile,
            "resumed": self.resumed,
            "wrong": self.wrong[:5],
            "kept": kept,
            "ok": checked["ok"],
            "problems": checked["problems"],
        }

    def _change(self, client: Client) -> None:
        """Ask until the change is complete; begin one when none is under way."""
        status = client.call("model.status")
        self._came_about(status["in_use"])
        if status["coming"] is None and status["in_use"] == self.leaving:
            self._ask(client)
            status = client.call("model.use", {"name": self.coming})
        elif status["coming"] is not None:
            self.resumed += 1
        while status["coming"] is not None:
            before = self.answers
            self._ask(client)
            self.meanwhile += self.answers - before
            status = client.call("model.status")
        self._came_about(status["in_use"])
        for _ in range(8):  # old vectors are removed meanwhile
            self._ask(client)

    def _came_about(self, in_use: str) -> None:
        if in_use == self.coming:
            names = list(DIMENSIONS)
            self.leaving = in_use
            self.coming = names[(names.index(in_use) + 1) % len(names)]

    def _ask(self, client: Client) -> None:
        """Every answer is that of one model: the one in use before it, or after it."""
        for asked in ASKED:
            before = client.call("model.status")["in_use"]
            contents = answer(client, asked)
            self.answers += 1
            if contents == self.truth[before][asked]:
                continue
            after = client.call("model.status")["in_use"]
            if after == before or contents != self.truth[after][asked]:
                self.wrong.append(f"{before} {after} {asked}: {len(contents)} {contents[:2]}")

    @contextmanager
    def _peace(self) -> Iterator[Client]:
        """Let a daemon live that no fuse ends."""
        pid = self._start(Fuse(self.shared, "never", 0))
        try:
            with self._client() as client:
                yield client
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _client(self) -> Client:
        key = self.paths.operator_key
        return Client(self.paths.socket, timeout=WAIT_S, key=key if key.exists() else None)

    def _start(self, fuse: Fuse) -> int:
        reading, writing = os.pipe()
        self.shared.enter("idle")
        self.shared.born()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            serve(self.paths, fuse, self.shared, writing, days=0, mutant=self.mutant)
        os.close(writing)
        if not os.read(reading, 1):
            os.waitpid(pid, 0)
            if self.shared.phase not in STEPS:
                raise AssertionError("the daemon did not start")
        os.close(reading)
        return pid


def answer(client: Client, asked: str) -> list[str]:
    """Return what is found, best first."""
    given = {"agent_id": "ada", "text": asked, "limit": LIMIT}
    return [str(entry["content"]) for entry in client.call("memory.retrieve", given)]


def main() -> int:
    """Kill in each kind of step, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=2, help="in each kind of step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutant", choices=MUTANTS)
    given = parser.parse_args()
    judge = Judge(given.folder, given.seed, given.mutant)
    judge.tell()
    for step, operations in STEPS.items():
        for lives in range(10 * given.kills):
            if judge.kills[step] >= given.kills or (given.mutant and judge.wrong):
                break
            judge.life(step, 1 if lives == 0 else judge.chance.randint(1, operations))
    print(json.dumps(judge.verdict()))
    return 0


if __name__ == "__main__":
    import_memd()  # before the first fork, so that each life is short
    keep()
    sys.exit(main())
