"""The part of :mod:`support.crash_loop` that writes facts and files, and detects partial ones.

Over the socket: acknowledged texts are stored word for word, the versions of a fact are
consecutive, and the fact has the text of the last one. In the file, at the end: no fact without
a version, and no text of a file without its path.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
from support.daemon import WAIT_S

from memd.base.errors import MemdError
from memd.base.paths import Paths
from memd.client import Client

KEEPS = ("org", "files")
EDITS = 4  # of one file, before it is deleted or left alone

Said = tuple[int, str | None]  # a fact's version and its text; None: retracted


class Keeper:
    """Writes facts and files; remembers what was acknowledged."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._key: Path | None = None
        self._serial = 0
        self.facts: dict[str, Said] = {}
        self.files: dict[str, str | None] = {}
        """What each path says; None: deleted or renamed."""
        self.unsure: set[str] = set()
        """Paths that a write without an answer was about."""
        self.fresh: set[str] = set()
        """Facts and paths of the last life."""
        self.halves: set[str] = set()
        self.acks = 0

    def work(self, phase: str, seed: int) -> None:
        """Write in the way of *phase* until the daemon is dead."""
        chance = random.Random(seed)
        with suppress(MemdError), self._client(phase) as client:
            while True:
                if phase == "org":
                    self._fact(client, chance)
                else:
                    self._file(client, chance)

    def _client(self, phase: str) -> Client:
        if phase == "org" and self._key is None:
            with Client(self._paths.socket, timeout=WAIT_S, key=self._paths.operator_key) as client:
                name = f"scribe{self._next()}"
                params = {"name": name, "agent_id": "scribe", "seniority": "senior"}
                self._key = Path(client.call("client.add", params)["key_file"])
        return Client(self._paths.socket, timeout=WAIT_S, key=self._key if phase == "org" else None)

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    # Facts.

    def _fact(self, client: Client, chance: random.Random) -> None:
        number = self._next()
        known = [one for one in self.fresh if self.facts.get(one, (0, None))[1] is not None]
        old = chance.choice(known) if known and chance.random() < 0.6 else None
        if old is not None and chance.random() < 0.3:
            client.call("org.retract", {"fact_id": old})
            self._acknowledged(old, None)
            return
        text = f"The shed{number % 7} uses Pump{number}."
        params = {"category": "adr", "content": text, **({"fact_id": old} if old else {})}
        self._acknowledged(client.call("org.write", params), text)

    def _acknowledged(self, fact_id: str, text: str | None) -> None:
        self.facts[fact_id] = (self.facts.get(fact_id, (0, None))[0] + 1, text)
        self.fresh.add(fact_id)
        self.acks += 1

    # Files.

    def _file(self, client: Client, chance: random.Random) -> None:
        """Create a file, edit it, give it another name, and delete it or leave it."""
        number = self._next()
        path = f"/memories/n{number}.md"
        text = f"Note {number} counts 0 ducks."
        self._tool(client, {path: text}, command="create", path=path, file_text=text)
        for edit in range(chance.randrange(EDITS)):
            new = f"Note {number} counts {edit + 1} ducks."
            words = {"old_str": f"{edit} ducks", "new_str": f"{edit + 1} ducks"}
            self._tool(client, {path: new}, command="str_replace", path=path, **words)
            text = new
        if chance.random() < 0.5:
            other = f"/memories/m{number}.md"
            moved = {path: None, other: text}
            self._tool(client, moved, command="rename", old_path=path, new_path=other)
            path = other
        if chance.random() < 0.3:
            self._tool(client, {path: None}, command="delete", path=path)

    def _tool(self, client: Client, then: dict[str, str | None], **given: Any) -> None:
        self.unsure.update(then)
        self.fresh.update(then)
        answer = client.call("inject.file", {"agent_id": "ada", **given})
        if answer["is_error"]:
            self.halves.add(answer["text"])
        self.files.update(then)
        self.unsure.difference_update(then)
        self.acks += 1

    # What must hold after each start.

    def judge(self, client: Client, *, everything: bool = False) -> None:
        """Look at what the last life wrote, or at all that was ever written."""
        names = {*self.facts, *self.files} if everything else set(self.fresh)
        for name in names:
            if name in self.facts:
                self.halves.update(self._of_fact(client, name))
            elif name in self.files and name not in self.unsure:
                self.halves.update(self._of_file(client, name))
        self.fresh = set()

    def _of_fact(self, client: Client, fact_id: str) -> Iterator[str]:
        version, text = self.facts[fact_id]
        history = client.call("org.history", {"fact_id": fact_id})["items"]
        numbers = [entry["version"] for entry in history]
        if numbers != list(range(1, len(numbers) + 1)) or len(numbers) not in {
            version, version + 1
        }:  # fmt: skip
            yield f"fact {fact_id}: versions {numbers}, {version} acknowledged"
            return
        if history[version - 1]["content"] != text:
            yield f"fact {fact_id}: version {version} is not what was acknowledged"
        fact = client.call("org.get", {"fact_id": fact_id})
        if (None if fact is None else fact["content"]) != history[-1]["content"]:
            yield f"fact {fact_id}: it does not match its log"
        self.facts[fact_id] = (len(numbers), history[-1]["content"])

    def _of_file(self, client: Client, path: str) -> Iterator[str]:
        answer = client.call("inject.file", {"agent_id": "ada", "command": "view", "path": path})
        text = self.files[path]
        if answer["is_error"] != (text is None):
            yield f"{path}: is {'gone' if text else 'back'}"
        elif text is not None and text not in answer["text"]:
            yield f"{path}: says something else"

    def verdict(self) -> list[str]:
        """Return the halves in the file, which no daemon has open."""
        conn = apsw.Connection(str(self._paths.database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return [fault for fault, rows in _HALVES.items() if conn.execute(rows).fetchall()]
        finally:
            conn.close()


_HALVES = {
    "a fact without what it says": """
        SELECT 1
          FROM org_operation AS o
         WHERE o.kind = 'PUBLISH'
           AND NOT EXISTS (SELECT 1 FROM statement AS s WHERE s.operation_key = o.operation_key)
        """,
    "a file's text without its path": """
        SELECT 1
          FROM memory AS m
         WHERE m.namespace = 'files' AND m.state IN ('active', 'pending')
           AND NOT EXISTS (SELECT 1 FROM memory_file AS f WHERE f.memory_key = m.memory_key)
        """,
}
